/** Payment links, each with a payment page. */
import { useLocation } from 'wouter-preact';
import { usePage, useParam } from '../address.js';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { Toggle, useCanWrite } from '../parts/act.js';
import { Copy, LinkButton } from '../parts/bits.js';
import { ChoiceField, ChoiceFilter, useChoices } from '../parts/choices.js';
import { Search, Select } from '../parts/filters.js';
import { Form, type Values } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { t, wholeNumber } from '../texts/texts.js';
import { LinkFields, linkOf } from './link-form.js';
import { Price } from './products.js';

type PaymentLink = Item<'paymentLinks.list'>;

export function LinkSwitch({ link: { id, product, memo, active } }: { link: PaymentLink }) {
  const { mutateAsync } = useWrite('paymentLinks.update');
  return (
    <Toggle
      what={t('takePaymentsLinkName', { name: product.name, memo })}
      isOn={active}
      set={(isOn) => mutateAsync({ id, active: isOn })}
    />
  );
}

/** The product, and the merchant's name for the link. */
function LinkName({ product, name }: PaymentLink) {
  return (
    <>
      <bdi>{product.name}</bdi>
      {name !== null && (
        <>
          {' · '}
          <bdi>{name}</bdi>
        </>
      )}
    </>
  );
}

export const LINK_COLUMNS: readonly Column<PaymentLink>[] = [
  { title: t('product'), kind: 'main', cell: LinkName },
  { title: t('memo'), cell: ({ memo }) => <code>{memo}</code> },
  { title: t('payments'), kind: 'wide', cell: ({ paymentCount }) => wholeNumber(paymentCount) },
  {
    title: t('on'),
    cell: (link) => (
      <span class="code-line">
        <LinkSwitch link={link} />
        <Copy text={link.url} what={t('theUrlLinkMemo', { memo: link.memo })} />
      </span>
    ),
  },
  { title: t('price'), kind: 'money', cell: ({ product }) => <Price {...product} /> },
];

const STATES = [
  ['', t('onAndOff')],
  ['true', t('on')],
  ['false', t('off')],
] as const;

export function Links() {
  const [search] = useParam('search');
  const [active] = useParam('active');
  const [productId] = useParam('product');
  const canWrite = useCanWrite();
  const links = useRead('paymentLinks.list', {
    page: usePage(),
    ...(search && { search }),
    ...(productId && { productId }),
    ...((active === 'true' || active === 'false') && { active: active === 'true' }),
  });
  return (
    <Page
      title={t('paymentLinks')}
      actions={
        canWrite && (
          <LinkButton href="/links/new" icon="plus">
            {t('newLink')}
          </LinkButton>
        )
      }
    >
      <div class="grid">
        <Search name="search" label={t('searchNameProductMemo')} />
        <ChoiceFilter name="product" label={t('product')} of="products.list" none={t('allProducts')} />
        <Select name="active" label={t('state')} options={STATES} />
      </div>
      <List
        title={t('paymentLinks')}
        query={links}
        columns={LINK_COLUMNS}
        href={({ id }) => `/links/${id}`}
        empty={search || active || productId ? t('noLinksMatch') : t('noPaymentLinksYet')}
      />
    </Page>
  );
}

export function NewLink() {
  const [productId, choose] = useParam('product');
  const products = useChoices('products.list', { none: t('chooseProduct'), chosen: productId });
  const create = useWrite('paymentLinks.create');
  const canWrite = useCanWrite();
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      const link = await create.mutateAsync({ productId: values.text('productId'), ...linkOf(values, null) });
      say(t('linkReady'));
      navigate(`/links/${link.id}`);
    } catch {}
  };
  return (
    <Page title={t('newPaymentLink')} back={{ href: '/links', label: t('paymentLinks') }}>
      {products.isEmpty && canWrite ? (
        <div class="empty">
          {t('linkNeedsProduct')} <LinkButton href="/products/new">{t('ready.product')}</LinkButton>
        </div>
      ) : (
        <Form
          submit={t('createLink')}
          isBusy={create.isPending}
          failure={create.error ? failureOf(create.error) : null}
          onSubmit={submit}
        >
          <ChoiceField
            name="productId"
            label={t('product')}
            choices={products}
            value={productId}
            onInput={choose}
            hint={t('manyPeopleCanPay')}
          />
          <LinkFields link={null} />
        </Form>
      )}
    </Page>
  );
}

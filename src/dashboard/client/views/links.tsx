/** Payment links, each with a payment page. */
import { useLocation } from 'wouter-preact';
import { usePage, useParam } from '../address.js';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { Toggle, useCanWrite } from '../parts/act.js';
import { Copy, LinkButton } from '../parts/bits.js';
import { ChoiceField, ChoiceFilter, useChoices } from '../parts/choices.js';
import { Search, Select } from '../parts/filters.js';
import { Field, Form } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { Price } from './products.js';

type PaymentLink = Item<'paymentLinks.list'>;

export function LinkSwitch({ link: { id, product, memo, active } }: { link: PaymentLink }) {
  const { mutateAsync } = useWrite('paymentLinks.update');
  return (
    <Toggle
      what={`Take payments on the link of ${product.name}, memo ${memo}`}
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
  { title: 'Product', kind: 'main', cell: LinkName },
  { title: 'Memo', cell: ({ memo }) => <code>{memo}</code> },
  { title: 'Payments', kind: 'wide', cell: ({ paymentCount }) => paymentCount.toLocaleString('en') },
  {
    title: 'On',
    cell: (link) => (
      <span class="code-line">
        <LinkSwitch link={link} />
        <Copy text={link.url} what={`the URL of the link with memo ${link.memo}`} />
      </span>
    ),
  },
  { title: 'Price', kind: 'money', cell: ({ product }) => <Price {...product} /> },
];

const STATES = [
  ['', 'On and off'],
  ['true', 'On'],
  ['false', 'Off'],
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
      title="Payment links"
      actions={
        canWrite && (
          <LinkButton href="/links/new" icon="plus">
            New link
          </LinkButton>
        )
      }
    >
      <div class="grid">
        <Search name="search" label="Search by name, product, memo or address" />
        <ChoiceFilter name="product" label="Product" of="products.list" none="All products" />
        <Select name="active" label="State" options={STATES} />
      </div>
      <List
        title="Payment links"
        query={links}
        columns={LINK_COLUMNS}
        href={({ id }) => `/links/${id}`}
        empty={search || active || productId ? 'No links match.' : 'No payment links yet. Create one for a product.'}
      />
    </Page>
  );
}

export function NewLink() {
  const [productId, choose] = useParam('product');
  const products = useChoices('products.list', { none: 'Choose a product', chosen: productId });
  const create = useWrite('paymentLinks.create');
  const canWrite = useCanWrite();
  const [, navigate] = useLocation();
  const submit = async (chosen: string, name: string | null) => {
    try {
      const link = await create.mutateAsync({ productId: chosen, name });
      say('The link is ready.');
      navigate(`/links/${link.id}`);
    } catch {}
  };
  return (
    <Page title="New payment link" back={{ href: '/links', label: 'Payment links' }}>
      {products.isEmpty && canWrite ? (
        <div class="empty">
          A link needs a product. <LinkButton href="/products/new">Create a product</LinkButton>
        </div>
      ) : (
        <Form
          submit="Create the link"
          isBusy={create.isPending}
          failure={create.error ? failureOf(create.error) : null}
          onSubmit={(values) => submit(values.text('productId'), values.orNull('name'))}
        >
          <ChoiceField
            name="productId"
            label="Product"
            choices={products}
            value={productId}
            onInput={choose}
            hint="Many people can pay with one link: print its QR code, or share its URL. For a single order, create a checkout."
          />
          <Field name="name" label="Your name for the link" isOptional hint="Payers do not see it." />
        </Form>
      )}
    </Page>
  );
}

/** One product: its links and the form of its fields, which also creates products. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { Ask, Delete, useCanWrite } from '../parts/act.js';
import { AssetFields } from '../parts/asset.js';
import { Code, Facts, LinkButton } from '../parts/bits.js';
import { useChanges } from '../parts/changes.js';
import { ChoiceField, useChoices } from '../parts/choices.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { t, wholeNumber } from '../texts/texts.js';
import { LINK_COLUMNS } from './links.js';
import { Price, ProductSwitch } from './products.js';

type Product = Item<'products.list'>;

const BACK = { href: '/products', label: t('products') };

export function Product({ id }: { id: string }) {
  const product = useRead('products.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={product} title={t('product')} back={BACK}>
      {(data) => <Details product={data} />}
    </Loaded>
  );
}

function Details({ product }: { product: Product }) {
  const { id, name } = product;
  const canWrite = useCanWrite();
  const links = useRead('paymentLinks.list', { productId: id, pageSize: 10 });
  const payments = useRead('payments.list', { productId: id, pageSize: 1 }, { keepPrevious: false });
  const remove = useWrite('products.delete');
  return (
    <Page
      title={name}
      about={id}
      back={BACK}
      badge={<ProductSwitch product={product} />}
      actions={
        canWrite && (
          <>
            <LinkButton href={`/links/new?product=${id}`} icon="plus">
              {t('newLink')}
            </LinkButton>
            <LinkButton href={`/checkouts/new?product=${id}`} plain>
              {t('newCheckout')}
            </LinkButton>
          </>
        )
      }
    >
      <Facts
        facts={[
          [t('price'), <Price key="price" {...product} />],
          [t('wallet'), product.wallet.name],
          [t('issuer'), product.assetIssuer && <Code text={product.assetIssuer} what={t('theIssuer')} whole />],
          [t('piecesLeft'), product.stock !== null && wholeNumber(product.stock)],
          [t('productId'), <Code key="id" text={id} what={t('theProductsId')} whole />],
        ]}
      />
      <Section title={t('paymentLinks')}>
        <List
          title={t('paymentLinks')}
          query={links}
          columns={LINK_COLUMNS}
          href={(link) => `/links/${link.id}`}
          empty={t('noLinksYet')}
          paged={false}
        />
      </Section>
      {canWrite && (
        <Section title={t('change')}>
          <ProductForm product={product} />
        </Section>
      )}
      {canWrite && (
        <Section title={t('stock')}>
          <Stock product={product} />
        </Section>
      )}
      {canWrite && (
        <Section title={t('delete')}>
          <p class="hint">{t('productPaymentsCannotDeleted')}</p>
          {payments.data?.meta.total === 0 && (
            <Delete label={t('deleteTheProduct')} name={name} id={id} write={remove} to="/products">
              <p>{t('paymentLinksDeletedPages')}</p>
            </Delete>
          )}
        </Section>
      )}
    </Page>
  );
}

export const NewProduct = () => (
  <Page title={t('newProduct')} back={BACK}>
    <ProductForm product={null} />
  </Page>
);

const PRICE_TYPES = [
  { value: 'FIXED', label: t('fixedPrice') },
  { value: 'CUSTOM', label: t('customerChooses') },
];

const fieldsOf = (values: Values, priceType: string) => ({
  name: values.text('name'),
  description: values.orNull('description'),
  imageUrl: values.orNull('imageUrl'),
  walletId: values.text('walletId'),
  assetCode: values.text('assetCode'),
  assetIssuer: values.orNull('assetIssuer'),
  currency: values.orNull('currency'),
  priceType: priceType as 'FIXED' | 'CUSTOM',
  price: priceType === 'FIXED' ? values.orNull('price') : null,
  minAmount: priceType === 'CUSTOM' ? values.orNull('minAmount') : null,
  ...(values.text('tolerancePercent') && { tolerancePercent: values.text('tolerancePercent') }),
});

/** Null for no limit. */
const stockIn = (values: Values): number | null => (values.text('stock') === '' ? null : Number(values.text('stock')));

function ProductForm({ product: now }: { product: Product | null }) {
  const create = useWrite('products.create');
  const update = useWrite('products.update');
  const write = now ? update : create;
  const { first: product, save } = useChanges(
    now && { ...now, walletId: now.wallet.id },
    (changes: Partial<ReturnType<typeof fieldsOf>>) => update.mutateAsync({ id: now!.id, ...changes }),
  );
  const draft = useDraft(`product:${product?.id ?? 'new'}`);
  const [priceType, setPriceType] = useState(draft.first('priceType') ?? product?.priceType ?? 'FIXED');
  const [code, setCode] = useState(draft.first('assetCode') ?? product?.assetCode ?? 'XLM');
  const [walletId, chooseWallet] = useState(draft.first('walletId') ?? product?.wallet.id ?? '');
  const wallets = useChoices('wallets.list', { none: t('chooseWallet'), chosen: walletId });
  const [, navigate] = useLocation();
  const [currency, setCurrency] = useState(draft.first('currency') ?? product?.currency ?? '');
  const unit = currency.trim() || code;

  const submit = async (values: Values) => {
    try {
      const saved = product
        ? await save(fieldsOf(values, priceType))
        : await create.mutateAsync({ ...fieldsOf(values, priceType), stock: stockIn(values) });
      draft.forget();
      say(product ? t('saved') : t('nameCreated', { name: saved.name }));
      if (!product) navigate(`/products/${saved.id}`);
    } catch {}
  };
  return (
    <Form
      submit={product ? t('save') : t('createTheProduct')}
      isBusy={write.isPending}
      failure={write.error ? failureOf(write.error) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Field name="name" label={t('name')} value={product?.name ?? ''} />
      <Field name="description" label={t('description')} isLong isOptional value={product?.description ?? ''} />
      <Field
        name="imageUrl"
        label={t('imageUrl')}
        isOptional
        inputMode="url"
        value={product?.imageUrl ?? ''}
        placeholder="https://…"
      />
      <ChoiceField
        name="walletId"
        label={t('walletReceivesMoney')}
        choices={wallets}
        value={walletId || wallets.only}
        onInput={chooseWallet}
      />
      <AssetFields walletId={walletId || wallets.only} value={product ?? undefined} draft={draft} onCode={setCode} />
      <Field
        name="currency"
        label={t('currencyPrice')}
        isOptional
        value={currency}
        onInput={setCurrency}
        placeholder="EUR"
        hint={t('priceCurrencyHint', { code })}
      />
      <Choice
        name="priceType"
        legend={t('price')}
        type="radio"
        value={[priceType]}
        options={PRICE_TYPES}
        onInput={setPriceType}
      />
      <PriceField product={product} isFixed={priceType === 'FIXED'} unit={unit} />
      <Field
        name="tolerancePercent"
        label={t('tolerance')}
        isOptional
        inputMode="decimal"
        value={product?.tolerancePercent ?? ''}
        suffix="%"
        hint={t('toleranceHint')}
      />
      {product === null && <StockField />}
      {product && <p class="hint">{t('newTermsApplyNext')}</p>}
    </Form>
  );
}

const PriceField = ({ product, isFixed, unit }: { product: Product | null; isFixed: boolean; unit: string }) =>
  isFixed ? (
    <Field name="price" label={t('price')} inputMode="decimal" value={product?.price ?? ''} suffix={unit} />
  ) : (
    <Field
      name="minAmount"
      label={t('leastAmount')}
      isOptional
      inputMode="decimal"
      value={product?.minAmount ?? ''}
      suffix={unit}
    />
  );

const StockField = () => (
  <Field name="stock" label={t('piecesInStock')} isOptional type="number" inputMode="numeric" hint={t('stockHint')} />
);

/** Changed by a number, since orders change it, too. */
function Stock({ product: { id, stock } }: { product: Product }) {
  const update = useWrite('products.update');
  const submit = async (values: Values) => {
    try {
      const changes = stock === null ? { stock: stockIn(values) } : { stockChange: values.text('stockChange') };
      const after = await update.mutateAsync({ id, ...changes });
      say(after.stock === null ? t('saved') : t('nLeft', { n: after.stock }));
    } catch {}
  };
  return (
    <>
      <Form
        key={stock === null ? 'set' : 'change'}
        submit={stock === null ? t('save') : t('changeStock')}
        isBusy={update.isPending}
        failure={update.error ? failureOf(update.error) : null}
        onSubmit={submit}
      >
        {stock === null ? (
          <StockField />
        ) : (
          <Field name="stockChange" label={t('stockBy')} hint={t('stockByHint')} alsoOf={['stock']} />
        )}
      </Form>
      {stock !== null && (
        <Ask
          label={t('noLimit')}
          title={t('noLimitAsk')}
          confirm={t('noLimit')}
          write={update}
          input={{ id, stock: null }}
          done={t('saved')}
        >
          <p>{t('noLimitHint')}</p>
        </Ask>
      )}
    </>
  );
}

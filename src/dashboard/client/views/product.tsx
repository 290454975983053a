/** One product: its links and the form of its fields, which also creates products. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { Delete, useCanWrite } from '../parts/act.js';
import { AssetFields } from '../parts/asset.js';
import { Code, Facts, LinkButton } from '../parts/bits.js';
import { ChoiceField, useChoices } from '../parts/choices.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { LINK_COLUMNS } from './links.js';
import { Price, ProductSwitch } from './products.js';

type Product = Item<'products.list'>;

const BACK = { href: '/products', label: 'Products' };

export function Product({ id }: { id: string }) {
  const product = useRead('products.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={product} title="Product" back={BACK}>
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
              New link
            </LinkButton>
            <LinkButton href={`/checkouts/new?product=${id}`} plain>
              New checkout
            </LinkButton>
          </>
        )
      }
    >
      <Facts
        facts={[
          ['Price', <Price key="price" {...product} />],
          ['Wallet', product.wallet.name],
          ['Issuer', product.assetIssuer && <Code text={product.assetIssuer} what="the issuer" whole />],
          ['Pieces left', product.stock],
          ['Product id', <Code key="id" text={id} what="the product’s id" whole />],
        ]}
      />
      <Section title="Payment links">
        <List
          title="Payment links"
          query={links}
          columns={LINK_COLUMNS}
          href={(link) => `/links/${link.id}`}
          empty="No links yet."
          paged={false}
        />
      </Section>
      {canWrite && (
        <Section title="Change">
          <ProductForm product={product} />
        </Section>
      )}
      {canWrite && (
        <Section title="Delete">
          <p class="hint">A product with payments cannot be deleted: switch it off instead.</p>
          {payments.data?.meta.total === 0 && (
            <Delete what="product" name={name} id={id} write={remove} to="/products">
              <p>Its payment links are deleted with it: their pages stop working.</p>
            </Delete>
          )}
        </Section>
      )}
    </Page>
  );
}

export const NewProduct = () => (
  <Page title="New product" back={BACK}>
    <ProductForm product={null} />
  </Page>
);

const PRICE_TYPES = [
  { value: 'FIXED', label: 'A fixed price' },
  { value: 'CUSTOM', label: 'The customer chooses' },
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

function ProductForm({ product }: { product: Product | null }) {
  const create = useWrite('products.create');
  const update = useWrite('products.update');
  const write = product ? update : create;
  const draft = useDraft(`product:${product?.id ?? 'new'}`);
  const [priceType, setPriceType] = useState(draft.first('priceType') ?? product?.priceType ?? 'FIXED');
  const [code, setCode] = useState(draft.first('assetCode') ?? product?.assetCode ?? 'XLM');
  const [walletId, chooseWallet] = useState(draft.first('walletId') ?? product?.wallet.id ?? '');
  const wallets = useChoices('wallets.list', { none: 'Choose a wallet', chosen: walletId });
  const [, navigate] = useLocation();
  const [currency, setCurrency] = useState(draft.first('currency') ?? product?.currency ?? '');
  const unit = currency.trim() || code;

  const submit = async (values: Values) => {
    try {
      const saved = product
        ? await update.mutateAsync({ id: product.id, ...fieldsOf(values, priceType) })
        : await create.mutateAsync(fieldsOf(values, priceType));
      draft.forget();
      say(product ? 'Saved.' : `${saved.name} is created.`);
      if (!product) navigate(`/products/${saved.id}`);
    } catch {}
  };
  return (
    <Form
      submit={product ? 'Save' : 'Create the product'}
      isBusy={write.isPending}
      failure={write.error ? failureOf(write.error) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Field name="name" label="Name" value={product?.name ?? ''} />
      <Field name="description" label="Description" isLong isOptional value={product?.description ?? ''} />
      <Field
        name="imageUrl"
        label="Image URL"
        isOptional
        inputMode="url"
        value={product?.imageUrl ?? ''}
        placeholder="https://…"
      />
      <ChoiceField
        name="walletId"
        label="Wallet that receives the money"
        choices={wallets}
        value={walletId || wallets.only}
        onInput={chooseWallet}
      />
      <AssetFields walletId={walletId || wallets.only} value={product ?? undefined} draft={draft} onCode={setCode} />
      <Field
        name="currency"
        label="Currency of the price"
        isOptional
        value={currency}
        onInput={setCurrency}
        placeholder="EUR"
        hint={`Its code, such as EUR: customers pay the equivalent in ${code} at the current rate. Without one, the price is in ${code}.`}
      />
      <Choice
        name="priceType"
        legend="Price"
        type="radio"
        value={[priceType]}
        options={PRICE_TYPES}
        onInput={setPriceType}
      />
      <PriceField product={product} isFixed={priceType === 'FIXED'} unit={unit} />
      <Field
        name="tolerancePercent"
        label="Tolerance"
        isOptional
        inputMode="decimal"
        value={product?.tolerancePercent ?? ''}
        suffix="%"
        hint="From 0 to 5: how much less is enough, such as when an exchange deducts a fee."
      />
      {product && (
        <p class="hint">New terms apply from the next ledger on. Earlier payments are judged by the old terms.</p>
      )}
    </Form>
  );
}

const PriceField = ({ product, isFixed, unit }: { product: Product | null; isFixed: boolean; unit: string }) =>
  isFixed ? (
    <Field name="price" label="Price" inputMode="decimal" value={product?.price ?? ''} suffix={unit} />
  ) : (
    <Field
      name="minAmount"
      label="Least amount"
      isOptional
      inputMode="decimal"
      value={product?.minAmount ?? ''}
      suffix={unit}
    />
  );

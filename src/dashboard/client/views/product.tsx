/** One product: its links, and its fields to change. Also the form of a new one. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { Ask, useCanWrite } from '../parts/act.js';
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
  const remove = useWrite('products.delete');
  const [, navigate] = useLocation();
  return (
    <Page
      title={name}
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
          <Ask
            label="Delete the product"
            title={`Delete ${name}?`}
            confirm="Delete"
            isDestructive
            write={remove}
            input={{ id }}
            done={`${name} is deleted.`}
            onDone={() => navigate('/products')}
          >
            <p>Its payment links are deleted with it: their pages stop working.</p>
          </Ask>
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
  const isXlm = code.trim() === 'XLM';

  const fieldsOf = (values: Values) => ({
    name: values.text('name'),
    description: values.orNull('description'),
    imageUrl: values.orNull('imageUrl'),
    walletId: values.text('walletId'),
    assetCode: values.text('assetCode'),
    assetIssuer: isXlm ? null : values.orNull('assetIssuer'),
    priceType: priceType as 'FIXED' | 'CUSTOM',
    price: priceType === 'FIXED' ? values.orNull('price') : null,
    minAmount: priceType === 'CUSTOM' ? values.orNull('minAmount') : null,
  });
  const submit = async (values: Values) => {
    try {
      const saved = product
        ? await update.mutateAsync({ id: product.id, ...fieldsOf(values) })
        : await create.mutateAsync(fieldsOf(values));
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
      onSubmit={(values) => void submit(values)}
      draft={draft}
    >
      <Field name="name" label="Name" value={product?.name ?? ''} />
      <Field name="description" label="Description" isLong isOptional value={product?.description ?? ''} />
      <Field
        name="imageUrl"
        label="Address of a picture"
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
      <Field
        name="assetCode"
        label="Asset"
        value={code}
        onInput={setCode}
        hint="XLM, or the code of an issued asset such as USDC."
      />
      {!isXlm && (
        <Field name="assetIssuer" label="Issuer of the asset" value={product?.assetIssuer ?? ''} placeholder="G…" />
      )}
      <Choice
        name="priceType"
        legend="Price"
        type="radio"
        value={[priceType]}
        options={PRICE_TYPES}
        onInput={setPriceType}
      />
      {priceType === 'FIXED' ? (
        <Field name="price" label="Price" inputMode="decimal" value={product?.price ?? ''} suffix={code} />
      ) : (
        <Field
          name="minAmount"
          label="Least amount"
          isOptional
          inputMode="decimal"
          value={product?.minAmount ?? ''}
          suffix={code}
        />
      )}
      {product && (
        <p class="hint">New terms count from the next ledger on. Payments before it are judged by the old ones.</p>
      )}
    </Form>
  );
}

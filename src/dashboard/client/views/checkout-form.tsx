/** The form of a new checkout: from a product, or for whatever else was ordered. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { useParam } from '../address.js';
import { failureOf, useRead, useWrite } from '../api.js';
import { Tabs, useOptions } from '../parts/filters.js';
import { Field, Form, type Values } from '../parts/form.js';
import { Page } from '../parts/page.js';
import { say } from '../parts/toast.js';

const KINDS = [
  ['', 'Of a product'],
  ['free', 'Of anything else'],
] as const;
const HOUR_MS = 3_600_000;
const LIFETIMES = [
  ['1', '1 hour'],
  ['24', '1 day'],
  ['168', '7 days'],
  ['720', '30 days'],
] as const;

export function NewCheckout() {
  const [kind, setKind] = useParam('of');
  const isFree = kind === 'free';
  const create = useWrite('checkouts.create');
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    const common = {
      reference: values.orNull('reference'),
      successUrl: values.orNull('successUrl'),
      cancelUrl: values.orNull('cancelUrl'),
      expiresAt: new Date(Date.now() + Number(values.text('hours')) * HOUR_MS).toISOString(),
    };
    const amount = values.text('amount');
    const ordered = isFree
      ? {
          walletId: values.text('walletId'),
          name: values.text('name'),
          assetCode: values.text('assetCode'),
          assetIssuer: values.orNull('assetIssuer'),
          amount,
        }
      : {
          productId: values.text('productId'),
          ...(values.text('quantity') && { quantity: Number(values.text('quantity')) }),
          ...(amount && { amount }),
        };
    try {
      const checkout = await create.mutateAsync({ ...ordered, ...common });
      say('The checkout is ready.');
      navigate(`/checkouts/${checkout.id}`);
    } catch {}
  };
  return (
    <Page title="New checkout" back={{ href: '/checkouts', label: 'Checkouts' }}>
      <Tabs label="Kind of order" options={KINDS} value={isFree ? 'free' : ''} set={setKind} />
      <Form
        submit="Make the checkout"
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={(values) => void submit(values)}
      >
        {isFree ? <FreeFields /> : <ProductFields />}
        <Field name="reference" label="Your reference" isOptional hint="Such as the order’s number." />
        <Field name="hours" label="Can be paid for" options={LIFETIMES} value="24" />
        <Field
          name="successUrl"
          label="Page that follows once it is paid"
          isOptional
          inputMode="url"
          placeholder="https://…"
        />
        <Field
          name="cancelUrl"
          label="Page for whoever does not pay"
          isOptional
          inputMode="url"
          placeholder="https://…"
        />
      </Form>
    </Page>
  );
}

function ProductFields() {
  const [chosen, choose] = useParam('product');
  const products = useRead('products.list', { pageSize: 100, active: true });
  const items = products.data?.items ?? [];
  const product = items.find(({ id }) => id === chosen);
  const options = [['', 'Choose a product'], ...items.map(({ id, name }) => [id, name] as const)] as const;
  return (
    <>
      <Field key={options.length} name="productId" label="Product" options={options} value={chosen} onInput={choose} />
      {product?.priceType === 'CUSTOM' ? (
        <Field name="amount" label="Amount" inputMode="decimal" suffix={product.assetCode} />
      ) : (
        <Field
          name="quantity"
          label="Quantity"
          type="number"
          inputMode="numeric"
          value="1"
          {...(product ? { hint: `${product.price} ${product.assetCode} each` } : {})}
        />
      )}
    </>
  );
}

function FreeFields() {
  const wallets = useOptions('wallets.list', 'Choose a wallet');
  const [code, setCode] = useState('XLM');
  return (
    <>
      <Field name="name" label="What it is for" />
      <Field name="amount" label="Amount" inputMode="decimal" suffix={code} />
      <Field name="assetCode" label="Asset" value="XLM" onInput={setCode} />
      {code.trim() !== 'XLM' && <Field name="assetIssuer" label="Issuer of the asset" placeholder="G…" />}
      <Field
        key={wallets.length}
        name="walletId"
        label="Wallet that receives the money"
        options={wallets}
        value={wallets.length === 2 ? wallets[1]![0] : ''}
      />
    </>
  );
}

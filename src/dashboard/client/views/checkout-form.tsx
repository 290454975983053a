/** The form of a new checkout, for a product or for any other order. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import type { Language } from '../../../../contracts/languages.js';
import { useParam } from '../address.js';
import { failureOf, useRead, useWrite } from '../api.js';
import { priceText } from '../format.js';
import { useMay } from '../parts/act.js';
import { AssetFields } from '../parts/asset.js';
import { ChoiceField, useChoices } from '../parts/choices.js';
import { type Draft, useDraft } from '../parts/draft.js';
import { Tabs } from '../parts/filters.js';
import { Field, Form, type Values } from '../parts/form.js';
import { Page } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { LANGUAGE } from '../words.js';

const KINDS = [
  ['', 'For a product'],
  ['free', 'For anything else'],
] as const;
const HOUR_MS = 3_600_000;
const LIFETIMES = [
  ['1', '1 hour'],
  ['24', '1 day'],
  ['168', '7 days'],
  ['720', '30 days'],
] as const;

const commonOf = (values: Values) => ({
  reference: values.orNull('reference'),
  customerEmail: values.orNull('customerEmail'),
  language: values.text('customerEmail') ? (values.text('language') as Language) : null,
  successUrl: values.orNull('successUrl'),
  cancelUrl: values.orNull('cancelUrl'),
});

function orderOf(values: Values, isFree: boolean) {
  const amount = values.text('amount');
  return isFree
    ? {
        walletId: values.text('walletId'),
        name: values.text('name'),
        assetCode: values.text('assetCode'),
        assetIssuer: values.orNull('assetIssuer'),
        ...(values.text('currency') ? { currency: values.text('currency'), price: values.text('price') } : { amount }),
      }
    : {
        productId: values.text('productId'),
        ...(values.text('quantity') && { quantity: Number(values.text('quantity')) }),
        ...(amount && { amount }),
        ...(values.text('price') && { price: values.text('price') }),
      };
}

export function NewCheckout() {
  const [kind, setKind] = useParam('of');
  const isFree = kind === 'free';
  const create = useWrite('checkouts.create');
  const draft = useDraft('checkout:new');
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      const order = { ...orderOf(values, isFree), ...commonOf(values) };
      const hours = Number(values.text('hours'));
      const expiresAt = new Date(Date.now() + hours * HOUR_MS).toISOString();
      const checkout = await create.mutateAsync({ ...order, expiresAt }, { ...order, hours });
      draft.forget();
      say('The checkout is ready.');
      navigate(`/checkouts/${checkout.id}`);
    } catch {}
  };
  return (
    <Page title="New checkout" back={{ href: '/checkouts', label: 'Checkouts' }}>
      <Tabs label="Kind of order" options={KINDS} value={isFree ? 'free' : ''} set={setKind} />
      <Form
        submit="Create the checkout"
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        {isFree ? <FreeFields draft={draft} /> : <ProductFields />}
        <Field name="reference" label="Your reference" isOptional hint="Such as the order number." />
        <ReceiptFields />
        <Field name="hours" label="Expires after" options={LIFETIMES} value="24" alsoOf={['expiresAt']} />
        <Field
          name="successUrl"
          label="Page after payment"
          hint="On your website. Without one, the customer sees the receipt."
          isOptional
          inputMode="url"
          placeholder="https://…"
        />
        <Field
          name="cancelUrl"
          label="Page for customers who cancel"
          hint="On your website, such as the basket."
          isOptional
          inputMode="url"
          placeholder="https://…"
        />
      </Form>
    </Page>
  );
}

const LANGUAGES = Object.entries(LANGUAGE);

function ReceiptFields() {
  const may = useMay('notifications.get');
  const { data } = useRead('notifications.get', {}, { enabled: may });
  return (
    <>
      <Field
        name="customerEmail"
        label="Customer’s e-mail"
        isOptional
        placeholder="ana@customer.example"
        hint={
          data?.sending === false
            ? 'You can find the order by it. No receipt is sent: this service has no mail server.'
            : 'Gets a receipt once the order is paid. You can find the order by it.'
        }
      />
      <Field name="language" label="Language of the receipt" options={LANGUAGES} value="en" />
    </>
  );
}

function ProductFields() {
  const [chosen, choose] = useParam('product');
  const products = useChoices('products.list', { none: 'Choose a product', chosen, active: true });
  const { data: product } = useRead('products.get', { id: chosen }, { enabled: chosen !== '', keepPrevious: false });
  return (
    <>
      <ChoiceField name="productId" label="Product" choices={products} value={chosen} onInput={choose} />
      {product?.priceType === 'CUSTOM' ? (
        <Field
          name={product.currency ? 'price' : 'amount'}
          label="Amount"
          inputMode="decimal"
          suffix={product.currency ?? product.assetCode}
        />
      ) : (
        <Field
          name="quantity"
          label="Quantity"
          type="number"
          inputMode="numeric"
          value="1"
          {...(product ? { hint: `${priceText(product.price!, product)} each` } : {})}
        />
      )}
    </>
  );
}

function FreeFields({ draft }: { draft: Draft }) {
  const [walletId, choose] = useState(draft.first('walletId') ?? '');
  const wallets = useChoices('wallets.list', { none: 'Choose a wallet', chosen: walletId });
  const [code, setCode] = useState('XLM');
  const [currency, setCurrency] = useState(draft.first('currency') ?? '');
  const unit = currency.trim();
  return (
    <>
      <Field name="name" label="What it is for" />
      <Field name={unit ? 'price' : 'amount'} label="Amount" inputMode="decimal" suffix={unit || code} />
      <Field
        name="currency"
        label="Currency of the amount"
        isOptional
        onInput={setCurrency}
        placeholder="EUR"
        hint={`Its code, such as EUR: the customer pays the equivalent in ${code} at the current rate. Without one, the amount is in ${code}.`}
      />
      <ChoiceField
        name="walletId"
        label="Wallet that receives the money"
        choices={wallets}
        value={walletId || wallets.only}
        onInput={choose}
      />
      <AssetFields walletId={walletId || wallets.only} draft={draft} onCode={setCode} />
    </>
  );
}

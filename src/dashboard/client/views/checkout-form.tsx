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
import { t } from '../texts/texts.js';
import { LANGUAGE_OPTIONS } from '../words.js';
import { ExtraFields, extrasOf, LinesFields, linesOf } from './checkout-lines.js';

const KINDS = [
  ['', t('forProduct')],
  ['free', t('forAnythingElse')],
  ['lines', t('forLines')],
] as const;
const HOUR_MS = 3_600_000;
const LIFETIMES = [
  ['1', t('hours', { n: 1 })],
  ['24', t('days', { n: 1 })],
  ['168', t('days', { n: 7 })],
  ['720', t('days', { n: 30 })],
] as const;

const commonOf = (values: Values) => ({
  reference: values.orNull('reference'),
  customerEmail: values.orNull('customerEmail'),
  language: values.text('customerEmail') ? (values.text('language') as Language) : null,
  successUrl: values.orNull('successUrl'),
  cancelUrl: values.orNull('cancelUrl'),
});

function orderOf(values: Values, kind: string) {
  if (kind === 'lines') return linesOf(values);
  const amount = values.text('amount');
  return kind === 'free'
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
  const create = useWrite('checkouts.create');
  const draft = useDraft('checkout:new');
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      const order = { ...orderOf(values, kind), ...extrasOf(values), ...commonOf(values) };
      const hours = Number(values.text('hours'));
      const expiresAt = new Date(Date.now() + hours * HOUR_MS).toISOString();
      const checkout = await create.mutateAsync({ ...order, expiresAt }, { ...order, hours });
      draft.forget();
      say(t('checkoutReady'));
      navigate(`/checkouts/${checkout.id}`);
    } catch {}
  };
  return (
    <Page title={t('newCheckout')} back={{ href: '/checkouts', label: t('checkouts') }}>
      <Tabs label={t('kindOrder')} options={KINDS} value={kind} set={setKind} />
      <Form
        submit={t('createCheckout')}
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        {kind === 'free' ? (
          <FreeFields draft={draft} />
        ) : kind === 'lines' ? (
          <LinesFields draft={draft} />
        ) : (
          <ProductFields />
        )}
        <ExtraFields draft={draft} />
        <Field name="reference" label={t('yourReference')} isOptional hint={t('orderNumberHint')} />
        <ReceiptFields />
        <Field name="hours" label={t('expiresAfter')} options={LIFETIMES} value="24" alsoOf={['expiresAt']} />
        <Field
          name="successUrl"
          label={t('pageAfterPayment')}
          hint={t('websiteWithoutCustomerSees')}
          isOptional
          inputMode="url"
          placeholder="https://…"
        />
        <Field
          name="cancelUrl"
          label={t('pageCustomersWhoCancel')}
          hint={t('websiteBasket')}
          isOptional
          inputMode="url"
          placeholder="https://…"
        />
      </Form>
    </Page>
  );
}

function ReceiptFields() {
  const may = useMay('notifications.get');
  const { data } = useRead('notifications.get', {}, { enabled: may });
  return (
    <>
      <Field
        name="customerEmail"
        label={t('customersEMail')}
        isOptional
        placeholder="ana@customer.example"
        hint={data?.sending === false ? t('canFindOrderNo') : t('getsReceiptOnceOrder')}
      />
      <Field name="language" label={t('languageReceipt')} options={LANGUAGE_OPTIONS} value="en" />
    </>
  );
}

function ProductFields() {
  const [chosen, choose] = useParam('product');
  const products = useChoices('products.list', { none: t('chooseProduct'), chosen, active: true });
  const { data: product } = useRead('products.get', { id: chosen }, { enabled: chosen !== '', keepPrevious: false });
  return (
    <>
      <ChoiceField name="productId" label={t('product')} choices={products} value={chosen} onInput={choose} />
      {product?.priceType === 'CUSTOM' ? (
        <Field
          name={product.currency ? 'price' : 'amount'}
          label={t('amount')}
          inputMode="decimal"
          suffix={product.currency ?? product.assetCode}
        />
      ) : (
        <Field
          name="quantity"
          label={t('quantity')}
          type="number"
          inputMode="numeric"
          value="1"
          {...(product ? { hint: t('priceEach', { price: priceText(product.price!, product) }) } : {})}
        />
      )}
    </>
  );
}

function FreeFields({ draft }: { draft: Draft }) {
  const [walletId, choose] = useState(draft.first('walletId') ?? '');
  const wallets = useChoices('wallets.list', { none: t('chooseWallet'), chosen: walletId });
  const [code, setCode] = useState('XLM');
  const [currency, setCurrency] = useState(draft.first('currency') ?? '');
  const unit = currency.trim();
  return (
    <>
      <Field name="name" label={t('whatItIsFor')} />
      <Field name={unit ? 'price' : 'amount'} label={t('amount')} inputMode="decimal" suffix={unit || code} />
      <Field
        name="currency"
        label={t('currencyAmount')}
        isOptional
        onInput={setCurrency}
        placeholder="EUR"
        hint={t('amountCurrencyHint', { code })}
      />
      <ChoiceField
        name="walletId"
        label={t('walletReceivesMoney')}
        choices={wallets}
        value={walletId || wallets.only}
        onInput={choose}
      />
      <AssetFields walletId={walletId || wallets.only} draft={draft} onCode={setCode} />
    </>
  );
}

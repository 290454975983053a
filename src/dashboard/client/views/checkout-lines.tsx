/** Fields of an order in the form of a new checkout: its lines, and discount, coupon and tip, which
 *  any order may have. */
import { useState } from 'preact/hooks';
import { useRead } from '../api.js';
import { priceText } from '../format.js';
import { AssetFields } from '../parts/asset.js';
import { ChoiceField, useChoices } from '../parts/choices.js';
import type { Draft } from '../parts/draft.js';
import { Choice, Field, type Values } from '../parts/form.js';
import { t } from '../texts/texts.js';

const MOST_LINES = 50;

/** Numbers of the lines that the form has. */
const linesIn = (values: Values): string[] => values.all('line');

function lineOf(values: Values, n: number) {
  const text = (name: string) => values.text(`lines.${n}.${name}`);
  return {
    ...(text('productId') ? { productId: text('productId') } : { name: text('name'), price: text('price') }),
    ...(text('quantity') && { quantity: Number(text('quantity')) }),
    ...(text('taxPercent') && { taxPercent: text('taxPercent') }),
  };
}

export const linesOf = (values: Values) => ({
  walletId: values.text('walletId'),
  assetCode: values.text('assetCode'),
  assetIssuer: values.orNull('assetIssuer'),
  ...(values.text('currency') && { currency: values.text('currency') }),
  lines: linesIn(values).map((_, n) => lineOf(values, n)),
  taxIncluded: values.text('tax') !== 'added',
});

/** Discount or coupon, and tip. */
export function extrasOf(values: Values) {
  const [name, percent, amount] = ['name', 'percent', 'amount'].map((each) => values.text(`discount.${each}`));
  const isSome = percent !== '' || amount !== '';
  return {
    ...(isSome && { discount: { ...(name && { name }), ...(percent ? { percent } : { amount: amount! }) } }),
    ...(values.text('couponCode') && { couponCode: values.text('couponCode') }),
    ...(values.text('tip') && { tip: values.text('tip') }),
  };
}

const TAXES = [
  { value: 'included', label: t('pricesContainTax') },
  { value: 'added', label: t('taxIsAdded') },
];

/** Wallet, asset and lines. A line that is taken away leaves the others as they were. */
export function LinesFields({ draft }: { draft: Draft }) {
  const [walletId, choose] = useState(draft.first('walletId') ?? '');
  const wallets = useChoices('wallets.list', { none: t('chooseWallet'), chosen: walletId });
  const [code, setCode] = useState('XLM');
  const [currency, setCurrency] = useState(draft.first('currency') ?? '');
  const [keys, setKeys] = useState(() => draftedLines(draft));
  const unit = currency.trim() || code;
  return (
    <>
      <ChoiceField
        name="walletId"
        label={t('walletReceivesMoney')}
        choices={wallets}
        value={walletId || wallets.only}
        onInput={choose}
      />
      <AssetFields walletId={walletId || wallets.only} draft={draft} onCode={setCode} />
      <Field
        name="currency"
        label={t('currencyAmount')}
        isOptional
        value={currency}
        onInput={setCurrency}
        placeholder="EUR"
        hint={t('amountCurrencyHint', { code })}
      />
      {keys.map((key, n) => (
        <Line
          key={key}
          n={n}
          unit={unit}
          draft={draft}
          remove={keys.length > 1 ? () => setKeys(keys.filter((each) => each !== key)) : null}
        />
      ))}
      <div class="actions">
        <button
          type="button"
          class="plain"
          aria-disabled={keys.length >= MOST_LINES}
          onClick={() => keys.length < MOST_LINES && setKeys([...keys, Math.max(...keys) + 1])}
        >
          {t('addLine')}
        </button>
      </div>
      <Choice name="tax" legend={t('pricesAnd')} type="radio" value={['included']} options={TAXES} />
    </>
  );
}

/** As many as were typed into. */
function draftedLines(draft: Draft): readonly number[] {
  const numbers = Object.keys(draft.all()).map((name) => Number(/^lines\.(\d+)\./.exec(name)?.[1] ?? 0));
  return Array.from({ length: Math.max(0, ...numbers) + 1 }, (_, n) => n);
}

interface LineProps {
  n: number;
  unit: string;
  draft: Draft;
  /** Null for the only one. */
  remove: (() => void) | null;
}

function Line({ n, unit, draft, remove }: LineProps) {
  const [productId, choose] = useState(draft.first(`lines.${n}.productId`) ?? '');
  const choices = useChoices('products.list', { none: t('noProductOwnLine'), chosen: productId, active: true });
  const product = useRead('products.get', { id: productId }, { enabled: productId !== '', keepPrevious: false }).data;
  const number = n + 1;
  return (
    <fieldset class="lines" data-faults={`lines.${n}`}>
      <legend>{t('lineN', { number })}</legend>
      <input type="hidden" name="line" value={n} />
      <ChoiceField
        name={`lines.${n}.productId`}
        label={t('product')}
        choices={choices}
        value={productId}
        onInput={choose}
        {...(product ? { hint: t('priceEach', { price: priceText(product.price ?? '0', product) }) } : {})}
      />
      {productId === '' && (
        <>
          <Field name={`lines.${n}.name`} label={t('whatItIsFor')} />
          <Field name={`lines.${n}.price`} label={t('priceOfOne')} inputMode="decimal" suffix={unit} />
        </>
      )}
      <Field name={`lines.${n}.quantity`} label={t('quantity')} type="number" inputMode="numeric" value="1" />
      <Field name={`lines.${n}.taxPercent`} label={t('tax')} isOptional inputMode="decimal" suffix="%" />
      {remove && (
        <button type="button" class="plain" onClick={remove}>
          {t('removeLineN', { number })}
        </button>
      )}
    </fieldset>
  );
}

const DISCOUNTS = [
  { value: '', label: t('noDiscount') },
  { value: 'percent', label: t('aPercentage') },
  { value: 'amount', label: t('anAmount') },
  { value: 'coupon', label: t('coupon') },
];

export function ExtraFields({ draft }: { draft: Draft }) {
  const [kind, setKind] = useState(draft.first('discountBy') ?? '');
  return (
    <>
      <Choice
        name="discountBy"
        legend={t('discount')}
        type="radio"
        value={[kind]}
        options={DISCOUNTS}
        onInput={setKind}
      />
      {kind === 'percent' && (
        <Field name="discount.percent" label={t('percentageOff')} inputMode="decimal" suffix="%" />
      )}
      {kind === 'amount' && <Field name="discount.amount" label={t('amountOff')} inputMode="decimal" />}
      {(kind === 'percent' || kind === 'amount') && <Field name="discount.name" label={t('discountName')} isOptional />}
      {kind === 'coupon' && <Field name="couponCode" label={t('couponCode')} />}
      <Field name="tip" label={t('tip')} isOptional inputMode="decimal" />
    </>
  );
}

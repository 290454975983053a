/** Fields of a payment link: when it ends and what it says, and the form of an order link, which
 *  makes a checkout for each payer. */
import { useState } from 'preact/hooks';
import type { Input, Item } from '../api.js';
import { localTime, momentOf } from '../format.js';
import { Choice, Field, type Values } from '../parts/form.js';
import { t } from '../texts/texts.js';

type PaymentLink = Item<'paymentLinks.list'>;
type OrderForm = NonNullable<PaymentLink['order']>;
type FormField = OrderForm['fields'][number];

const MOST_FIELDS = 10;

const numberOr = (text: string): number | null => (text === '' ? null : Number(text));
const wordsIn = (text: string): string[] => text.split(/[\s;]+/).filter(Boolean);
const linesIn = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** What programs call an answer: its label in plain letters where no name was given. */
const keyOf = (typed: string, label: string, n: number): string =>
  typed ||
  label
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40) ||
  `field-${n + 1}`;

function fieldOf(values: Values, n: number) {
  const text = (name: string) => values.text(`order.fields.${n}.${name}`);
  const type = text('type') as FormField['type'];
  return {
    ...{ key: keyOf(text('key'), text('label'), n), label: text('label'), type },
    required: values.all(`order.fields.${n}.required`).length > 0,
    options: type === 'select' ? linesIn(text('options')) : null,
  };
}

function orderOf(values: Values) {
  const [min, max] = ['min', 'max'].map((each) => numberOr(values.text(`order.quantity.${each}`)));
  return {
    fields: values.all('field').map((_, n) => fieldOf(values, n)),
    quantity: min === null && max === null ? null : { min: min ?? 1, max: max ?? min ?? 1 },
    suggestedAmounts: wordsIn(values.text('order.suggestedAmounts')),
    tipPercents: wordsIn(values.text('order.tipPercents')),
    coupons: values.all('order.coupons').length > 0,
    minutes: numberOr(values.text('order.minutes')),
  };
}

/** All fields but the product. @param before null for a new one */
export function linkOf(values: Values, before: PaymentLink | null): Omit<Input<'paymentLinks.create'>, 'productId'> {
  const [message, url] = ['message', 'url'].map((each) => values.orNull(`afterPayment.${each}`));
  return {
    name: values.orNull('name'),
    order: values.text('kind') === 'order' ? orderOf(values) : null,
    endsAt: momentOf(values.text('endsAt'), before?.endsAt),
    inactiveText: values.orNull('inactiveText'),
    afterPayment: message === null && url === null ? null : { message: message!, url: url! },
    maxPayments: numberOr(values.text('maxPayments')),
  };
}

const KINDS = [
  { value: '', label: t('plainLink'), hint: t('plainLinkHint') },
  { value: 'order', label: t('orderLink'), hint: t('orderLinkHint') },
];

/** @param link null for a new one */
export function LinkFields({ link }: { link: PaymentLink | null }) {
  const [kind, setKind] = useState(link?.order ? 'order' : '');
  return (
    <>
      <Field name="name" label={t('nameLink')} isOptional value={link?.name ?? ''} hint={t('payersNotSee')} />
      <Choice name="kind" legend={t('kindOfLink')} type="radio" value={[kind]} options={KINDS} onInput={setKind} />
      {kind === 'order' && <OrderFields order={link?.order ?? null} />}
      <Field name="endsAt" label={t('ends')} isOptional type="datetime-local" value={localTime(link?.endsAt)} />
      <Field
        name="maxPayments"
        label={t('mostPayments')}
        isOptional
        type="number"
        inputMode="numeric"
        value={link?.maxPayments?.toString() ?? ''}
      />
      <Field
        name="inactiveText"
        label={t('textWhileOff')}
        isOptional
        isLong
        value={link?.inactiveText ?? ''}
        hint={t('textWhileOffHint')}
      />
      <Field
        name="afterPayment.message"
        label={t('textAfterPayment')}
        isOptional
        isLong
        value={link?.afterPayment?.message ?? ''}
      />
      <Field
        name="afterPayment.url"
        label={t('pageAfterPayment')}
        isOptional
        inputMode="url"
        value={link?.afterPayment?.url ?? ''}
        placeholder="https://…"
      />
    </>
  );
}

function OrderFields({ order }: { order: OrderForm | null }) {
  const [rows, setRows] = useState(() =>
    (order?.fields ?? []).map((field, key) => ({ key, field: field as FormField | null })),
  );
  const add = () => setRows([...rows, { key: Math.max(-1, ...rows.map(({ key }) => key)) + 1, field: null }]);
  return (
    <>
      {rows.map(({ key, field }, n) => (
        <FormRow key={key} n={n} field={field} remove={() => setRows(rows.filter((row) => row.key !== key))} />
      ))}
      <div class="actions" data-faults="order order.fields">
        <button
          type="button"
          class="plain"
          aria-disabled={rows.length >= MOST_FIELDS}
          onClick={() => rows.length < MOST_FIELDS && add()}
        >
          {t('addField')}
        </button>
      </div>
      <Field
        name="order.quantity.min"
        label={t('leastQuantity')}
        isOptional
        type="number"
        inputMode="numeric"
        value={order?.quantity?.min.toString() ?? ''}
        alsoOf={['order.quantity']}
      />
      <Field
        name="order.quantity.max"
        label={t('mostQuantity')}
        isOptional
        type="number"
        inputMode="numeric"
        value={order?.quantity?.max.toString() ?? ''}
        hint={t('quantityHint')}
      />
      <Field
        name="order.suggestedAmounts"
        label={t('suggestedAmounts')}
        isOptional
        value={order?.suggestedAmounts.join(' ') ?? ''}
        hint={t('suggestedHint')}
        alsoOf={manyOf('order.suggestedAmounts')}
      />
      <Field
        name="order.tipPercents"
        label={t('tipsOffered')}
        isOptional
        value={order?.tipPercents.join(' ') ?? ''}
        hint={t('tipsTillHint')}
        alsoOf={manyOf('order.tipPercents')}
      />
      <Choice
        name="order.coupons"
        legend={t('coupons')}
        type="checkbox"
        value={order?.coupons ? ['on'] : []}
        options={[{ value: 'on', label: t('askForCoupon') }]}
      />
      <Field
        name="order.minutes"
        label={t('minutesToPay')}
        isOptional
        type="number"
        inputMode="numeric"
        value={order?.minutes.toString() ?? ''}
        hint={t('minutesHint')}
      />
    </>
  );
}

const manyOf = (path: string): string[] => Array.from({ length: 10 }, (_, n) => `${path}.${n}`);

const TYPES = (['text', 'email', 'phone', 'address', 'select', 'checkbox'] as const).map(
  (type) => [type, t(`fieldType.${type}`)] as const,
);

function FormRow({ n, field, remove }: { n: number; field: FormField | null; remove: () => void }) {
  const [type, setType] = useState<string>(field?.type ?? 'text');
  const name = (each: string) => `order.fields.${n}.${each}`;
  const number = n + 1;
  return (
    <fieldset class="lines">
      <legend>{t('fieldN', { number })}</legend>
      <input type="hidden" name="field" value={n} />
      <Field name={name('label')} label={t('whatAsked')} value={field?.label ?? ''} />
      <Field name={name('type')} label={t('kindOfAnswer')} options={TYPES} value={type} onInput={setType} />
      {type === 'select' && (
        <Field
          name={name('options')}
          label={t('choicesOnePerLine')}
          isLong
          value={field?.options?.join('\n') ?? ''}
          alsoOf={Array.from({ length: 50 }, (_, each) => name(`options.${each}`))}
        />
      )}
      <Field name={name('key')} label={t('answerKey')} isOptional value={field?.key ?? ''} hint={t('answerKeyHint')} />
      <Choice
        name={name('required')}
        legend={t('required')}
        type="checkbox"
        value={field?.required ? ['on'] : []}
        options={[{ value: 'on', label: t('mustAnswer') }]}
      />
      <button type="button" class="plain" onClick={remove}>
        {t('removeFieldN', { number })}
      </button>
    </fieldset>
  );
}

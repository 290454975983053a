/** The form of an order link, for whatever a stranger sends: it is read without an exception, and
 *  is taken only if it keeps to the form. */
import fc from 'fast-check';
import t from 'tap';
import { FIELD_TYPES } from '../../contracts/payment-links.js';
import { orderForm, readOrder } from '../../src/page/order-form.js';
import { wordsOf } from '../../src/page/words.js';
import { pageLink } from '../helpers/browser.js';
import { draws } from '../helpers/long.js';

const OPTIONS = ['S', 'M', '"><script>'];
const key = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,8}$/),
  fc.constantFrom('constructor', 'name', '__proto_', 'toString'),
);
const field = fc.record({
  key,
  label: fc.string({ minLength: 1 }),
  type: fc.constantFrom(...FIELD_TYPES),
  required: fc.boolean(),
});
const form = fc.record({
  fields: fc.uniqueArray(field, { maxLength: 10, selector: (each) => each.key }),
  quantity: fc.constantFrom<{ min: number; max: number } | null>(null, { min: 1, max: 3 }, { min: 2, max: 10_000 }),
  suggestedAmounts: fc.constantFrom<string[]>([], ['10', '25.5']),
  tipPercents: fc.constantFrom<string[]>([], ['5', '12.5']),
  coupons: fc.boolean(),
  minutes: fc.constant(60),
});
const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    '',
    ' ',
    'on',
    'S',
    'ana@shop.example',
    '+49 123',
    '2',
    '٢',
    '25,5',
    '5',
    '12.5',
    'SPRING-10',
    '\0',
    '\ud800',
  ),
  fc.integer({ min: 190, max: 520 }).map((length) => 'x'.repeat(length)),
);
const value = fc.oneof(
  { weight: 6, arbitrary: text },
  {
    weight: 1,
    arbitrary: fc.oneof(fc.array(text, { maxLength: 3 }), fc.jsonValue() as fc.Arbitrary<unknown>, fc.double()),
  },
);
const given = form.chain((asked) =>
  fc.record({
    asked: fc.constant({
      ...asked,
      fields: asked.fields.map((each) => ({ ...each, options: each.type === 'select' ? OPTIONS : null })),
    }),
    body: fc.record(
      Object.fromEntries(
        [...asked.fields.map((each) => `f_${each.key}`), 'quantity', 'amount', 'tipPercent', 'couponCode', 'other'].map(
          (name) => [name, value],
        ),
      ),
      { requiredKeys: [] },
    ) as fc.Arbitrary<Record<string, unknown>>,
    isFixed: fc.boolean(),
    isProgram: fc.boolean(),
    language: fc.constantFrom('en' as const, 'de' as const, 'ar' as const),
  }),
);

t.test('whatever is sent is read, and taken only if it keeps to the form', async () => {
  fc.assert(
    fc.property(given, ({ asked, body, isFixed, isProgram, language }) => {
      const words = wordsOf(language);
      const link = pageLink('x', isFixed ? {} : { product: { priceType: 'CUSTOM', price: null } });
      const ordered = { ...link, order: { form: asked, isStocked: false } };
      const { sent, typed, faults } = readOrder(words, ordered, body, isProgram);
      const names = new Set([
        ...asked.fields.map((each) => `f_${each.key}`),
        'quantity',
        'amount',
        'tipPercent',
        'couponCode',
      ]);
      if (!faults.every(({ path, message }) => message !== '' && (names.has(path) || (isProgram && path === 'other'))))
        return false;
      if (new Set(faults.map(({ path }) => path)).size < faults.length) return false;
      // Shown again, nothing that was typed is markup.
      const { text: shown } = orderForm(words, ordered, { typed, faults }, '/p/x');
      if (shown.includes('<script>')) return false;
      if (faults.length > 0) return true;
      return (
        asked.fields.every(({ key, type, required }) => {
          const answer = Object.hasOwn(sent.answers, key) ? sent.answers[key]! : null;
          if (answer === null) return !required;
          if (type === 'select') return OPTIONS.includes(answer);
          if (type === 'checkbox') return answer === 'on';
          return answer !== '' && answer.isWellFormed() && [...answer].length <= (type === 'address' ? 500 : 200);
        }) &&
        (sent.amount === null) === isFixed &&
        (asked.quantity
          ? sent.quantity! >= asked.quantity.min && sent.quantity! <= asked.quantity.max
          : sent.quantity === null) &&
        (sent.tipPercent === null || asked.tipPercents.includes(sent.tipPercent)) &&
        (sent.couponCode === null || asked.coupons)
      );
    }),
    draws(3000),
  );
});

/** What an order consists of: lines, discount, tax and tip, as checkouts take and show them. */
import { z } from 'zod';
import type { FieldError } from './errors.js';
import type { RawBody } from './operation.js';
import {
  amount,
  amountInput,
  amountOrNone,
  idOf,
  nameInput,
  percent,
  percentInput,
  referenceInput,
} from './primitives.js';
import { minorDigitErrors } from './rates.js';

export const MAX_QUANTITY = 10_000;
export const MAX_LINES = 50;

export const quantityInput = z
  .int({ error: 'Must be a whole number from 1 to 10,000.' })
  .min(1, 'Must be a whole number from 1 to 10,000.')
  .max(MAX_QUANTITY, 'Must be a whole number from 1 to 10,000.');

const lineSchema = z
  .object({
    productId: idOf('prod', 'product').nullable().meta({ description: 'Null for a line without a product.' }),
    name: z.string(),
    quantity: z.int(),
    price: amount.meta({ description: 'The price for one.' }),
    taxPercent: percent.nullable().meta({ description: 'Null where no tax was given.' }),
    total: amount.meta({ description: 'Price times quantity, before any discount.' }),
  })
  .meta({ id: 'CheckoutLine' });

/** What every checkout shows of its order; amounts are in the currency, or in the asset
 *  without one. */
export const orderFields = {
  lines: z.array(lineSchema).meta({ description: 'What is bought: at least one line.' }),
  taxIncluded: z.boolean().meta({ description: 'The prices contain the tax.' }),
  subtotal: amount.meta({ description: 'Sum of the lines, before any discount.' }),
  discountAmount: amount.meta({ description: '`0` for none.' }),
  discountName: z.string().nullable().meta({ description: 'Null for a discount without a name, and for none.' }),
  taxAmount: amount.meta({ description: 'Contained in the prices, or added to them. `0` for none.' }),
  tipAmount: amount.meta({ description: '`0` for none.' }),
  total: amount.meta({
    description:
      'What is asked: the lines less the discount, with the tax where prices do not contain it, and the tip. Equal to `amount`, or to `price` in a currency.',
  }),
};

const MAX_TIPS = 10;

/** Tips that a payer or a cashier chooses from. */
export const tipPercentsInput = z
  .array(percentInput({ most: 100, decimals: 2, positive: true }))
  .max(MAX_TIPS)
  .meta({
    description: 'Tips to choose from, at most 10, of the subtotal less the discount.',
    examples: [['5', '10']],
  });

const lineInput = z.strictObject({
  productId: referenceInput('prod', 'product', 'FIXED product, whose name and price are taken').nullish(),
  name: nameInput.nullish().meta({ description: 'Required without a product.' }),
  price: amountInput.nullish().meta({ description: 'The price for one. Required without a product.' }),
  quantity: quantityInput.nullish().meta({ description: '1 to 10,000; 1 when left out.' }),
  taxPercent: percentInput({ most: 100, decimals: 3 })
    .nullish()
    .meta({ description: 'Tax of this line, `0` to `100` with at most 3 decimals.', examples: ['19'] }),
});

/** What a new checkout takes for its order. */
export const orderInput = {
  lines: z.array(lineInput).min(1).max(MAX_LINES).nullish().meta({
    description:
      'With `walletId` and `assetCode`, in place of `name` with `amount` or `price`: 1 to 50 lines, each of a FIXED product (of that wallet, asset and currency) or with a name and a price.',
  }),
  taxIncluded: z
    .boolean()
    .nullish()
    .meta({ description: 'Whether the prices contain the tax; true when left out. Otherwise it is added to them.' }),
  discount: z
    .strictObject({
      name: nameInput.nullish(),
      percent: percentInput({ most: 100, decimals: 2, positive: true }).nullish(),
      amount: amountInput.nullish(),
    })
    .nullish()
    .meta({
      description:
        'By `percent` of the sum of lines or an `amount`, at most that sum. It is spread over the lines by their totals, before tax.',
    }),
  tip: amountOrNone.nullish().meta({ description: 'Added to the total, without tax.' }),
};

/** How much less than what is asked for is enough. */
export const toleranceInput = percentInput({ most: 5, decimals: 2 });

const given = (value: unknown) => value !== undefined && value !== null;
const isObject = (value: unknown): value is RawBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const fault = (path: string, message: string, code: string): FieldError => ({ path, message, code });

/** Rules between the fields of lines, discount and tip. */
export function orderFieldErrors({ lines, discount, tip, currency }: RawBody): FieldError[] {
  const ofLines = Array.isArray(lines) ? lines.slice(0, MAX_LINES).flatMap(lineErrors(currency)) : [];
  const ofDiscount = isObject(discount) ? discountErrors(discount, currency) : [];
  return [...ofLines, ...ofDiscount, ...minorDigitErrors(currency, { tip })];
}

const lineErrors =
  (currency: unknown) =>
  (line: unknown, index: number): FieldError[] => {
    if (!isObject(line)) return [];
    const own = ['name', 'price'] as const;
    const faults = given(line.productId)
      ? own
          .filter((name) => given(line[name]))
          .map((name) => fault(`lines.${index}.${name}`, 'The product says this.', 'not_allowed'))
      : own
          .filter((name) => !given(line[name]))
          .map((name) => fault(`lines.${index}.${name}`, 'Required without a product.', 'required'));
    return [...faults, ...minorDigitErrors(currency, { [`lines.${index}.price`]: line.price })];
  };

/** @param currency of the prices */
export function discountErrors(discount: RawBody, currency: unknown): FieldError[] {
  const isPercent = given(discount.percent);
  if (isPercent === given(discount.amount))
    return [
      fault(
        isPercent ? 'discount.amount' : 'discount.percent',
        'Give exactly one of percent and amount.',
        isPercent ? 'not_allowed' : 'required',
      ),
    ];
  return minorDigitErrors(currency, { 'discount.amount': discount.amount });
}

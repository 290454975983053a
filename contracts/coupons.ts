/** Coupons: discounts that a code gives, as often as they are meant to. */
import { z } from 'zod';
import { deletedSchema, listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { couponExample } from './examples.js';
import { operation, type RawBody } from './operation.js';
import {
  accountAddress,
  amount,
  amountInput,
  assetCodeInput,
  idInput,
  idOf,
  momentInput,
  pageQuery,
  percent,
  percentInput,
  referenceInput,
  timestamp,
} from './primitives.js';
import { currencyInput, minorDigitErrors } from './rates.js';
import { ROLES } from './roles.js';

const MAX_PRODUCTS = 100;
const MAX_REDEMPTIONS = 1_000_000;

export const couponSchema = z
  .object({
    id: idOf('coup', 'coupon'),
    code: z.string().meta({ description: 'In capitals; compared without case.', examples: ['SPRING-10'] }),
    percentOff: percent.nullable(),
    amountOff: amount.nullable().meta({ description: 'In the currency or asset that the coupon names.' }),
    currency: z.string().nullable().meta({ description: 'Null where it is in an asset, or of any price.' }),
    assetCode: z.string().nullable(),
    assetIssuer: z.string().nullable(),
    productIds: z
      .array(z.string())
      .nullable()
      .meta({ description: 'It takes from lines of these products only. Null for all lines.' }),
    minSubtotal: amount.nullable().meta({ description: 'Least sum of the lines, before any discount.' }),
    startsAt: timestamp.nullable(),
    endsAt: timestamp.nullable().meta({ description: 'It is taken before this moment.' }),
    maxRedemptions: z.int().nullable().meta({ description: 'Null for any number.' }),
    redemptions: z.int().meta({
      description:
        'Checkouts that have it: counted when they are made, and given back when they are EXPIRED, or CANCELLED and proven unpaid.',
    }),
    active: z.boolean(),
    createdAt: timestamp,
  })
  .meta({ id: 'Coupon', examples: [couponExample] });

/** A code as a payer may type it. */
export const couponCodeInput = z.string().refine((code) => /^[A-Za-z0-9-]{3,40}$/.test(code), {
  message: 'A code has 3 to 40 letters, digits and -.',
  params: { code: 'invalid_format' },
});

const fields = {
  code: couponCodeInput.meta({ description: 'Once in an account, compared without case.', examples: ['SPRING-10'] }),
  percentOff: percentInput({ most: 100, decimals: 2, positive: true })
    .nullish()
    .meta({ description: 'Share of the lines that it takes from. Either this or `amountOff`.' }),
  amountOff: amountInput.nullish().meta({ description: 'At most the sum of the lines that it takes from.' }),
  currency: currencyInput.nullish().meta({ description: 'What `amountOff` is in: this, or an asset.' }),
  assetCode: assetCodeInput.nullish(),
  assetIssuer: accountAddress.nullish().meta({ description: 'Required for every asset but XLM, refused for XLM.' }),
  productIds: z
    .array(referenceInput('prod', 'product', 'product'))
    .min(1)
    .max(MAX_PRODUCTS)
    .nullish()
    .meta({ description: 'Products that it takes from, at most 100; all lines when left out.' }),
  minSubtotal: amountInput.nullish(),
  startsAt: momentInput.nullish(),
  endsAt: momentInput.nullish(),
  maxRedemptions: z
    .int({ error: 'Must be a whole number from 1 to 1,000,000.' })
    .min(1)
    .max(MAX_REDEMPTIONS)
    .nullish()
    .meta({ description: 'Never exceeded, whatever comes at once.' }),
  active: z.boolean(),
};

const given = (value: unknown) => value !== undefined && value !== null;

/** Rules between a coupon's fields, for the body of a creation or a coupon with a PATCH
 *  merged in. */
export function couponFieldErrors(coupon: RawBody): FieldError[] {
  const { percentOff, amountOff, currency, assetCode, assetIssuer, minSubtotal, startsAt, endsAt } = coupon;
  const faults: FieldError[] = [];
  const fault = (path: string, message: string, code: string) => void faults.push({ path, message, code });
  if (given(percentOff) === given(amountOff)) {
    const both = given(percentOff);
    const code = both ? 'not_allowed' : 'required';
    fault(both ? 'amountOff' : 'percentOff', 'Give exactly one of percentOff and amountOff.', code);
  }
  if (given(amountOff) && !given(currency) && !given(assetCode))
    fault('currency', 'An amount needs its currency or asset.', 'required');
  if (given(currency) && given(assetCode)) fault('assetCode', 'Give either a currency or an asset.', 'not_allowed');
  if (given(assetIssuer) && (assetCode === 'XLM' || !given(assetCode)))
    fault('assetIssuer', 'Only an asset other than XLM has an issuer.', 'not_allowed');
  if (typeof assetCode === 'string' && assetCode !== 'XLM' && !given(assetIssuer))
    fault('assetIssuer', 'Every asset but XLM needs its issuer.', 'required');
  if (typeof startsAt === 'string' && typeof endsAt === 'string' && !(Date.parse(startsAt) < Date.parse(endsAt)))
    fault('endsAt', 'Must be after startsAt.', 'too_small');
  return [...faults, ...minorDigitErrors(currency, { amountOff, minSubtotal })];
}

const tag = 'Coupons';
const params = { id: idInput('coup', 'coupon') };

export const coupons = {
  create: operation({
    method: 'POST',
    path: '/coupons',
    effect: 'adds',
    summary: 'Create a coupon',
    description:
      'A code that a new checkout takes as `couponCode`: a percentage or an amount off its lines, perhaps of some products only. Refused (409) when the account has a coupon with this code.',
    tag,
    status: 201,
    body: { ...fields, active: fields.active.default(true) },
    rules: couponFieldErrors,
    output: couponSchema,
    errors: ['conflict'],
    examples: { body: { code: 'SPRING-10', percentOff: '10', maxRedemptions: 100 } },
  }),
  list: operation({
    method: 'GET',
    path: '/coupons',
    effect: 'reads',
    roles: ROLES,
    summary: 'List coupons',
    description: 'Lists coupons, newest first.',
    tag,
    query: {
      ...pageQuery,
      active: z.boolean().optional(),
      code: z.string().optional().meta({ description: 'Exactly this code, compared without case.' }),
    },
    output: listOf(couponSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/coupons/{id}',
    effect: 'reads',
    roles: ROLES,
    summary: 'One coupon',
    description: 'Returns a coupon by its id.',
    tag,
    params,
    output: couponSchema,
  }),
  update: operation({
    method: 'PATCH',
    path: '/coupons/{id}',
    effect: 'changes',
    summary: 'Change a coupon',
    description:
      'The coupon with the changes merged in must be valid; null clears a field. Checkouts that were made with it keep their discount. Refused (409) for a code that another coupon has, and for fewer redemptions than there are.',
    tag,
    params,
    body: z.object(fields).partial().shape,
    output: couponSchema,
    errors: ['conflict'],
    examples: { body: { active: false } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/coupons/{id}',
    effect: 'changes',
    summary: 'Delete a coupon',
    description: 'Refused (409) when it has redemptions: make it inactive instead.',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
};

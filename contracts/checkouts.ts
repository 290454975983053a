/** Checkouts: one order for one payer, with its own memo, page and expiry. */
import { z } from 'zod';
import { couponCodeInput } from './coupons.js';
import { listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { checkoutExample } from './examples.js';
import { instructionsSchema } from './instructions.js';
import { languageSchema } from './languages.js';
import { operation, type RawBody, type ValidationContext } from './operation.js';
import { orderFieldErrors, orderFields, orderInput, quantityInput, toleranceInput } from './orders.js';
import {
  accountAddress,
  amount,
  amountInput,
  assetCodeInput,
  emailInput,
  idInput,
  idOf,
  momentInput,
  nameInput,
  pageQuery,
  pageUrlInput,
  percent,
  referenceInput,
  text,
  timestamp,
  wordsQuery,
} from './primitives.js';
import { productSummarySchema } from './products.js';
import { currencyInput, minorDigitErrors, quoteSchema } from './rates.js';
import { ROLES, SELLERS } from './roles.js';
import { walletSummarySchema } from './wallets.js';

export const CHECKOUT_STATUSES = ['OPEN', 'PAID', 'EXPIRED', 'CANCELLED'] as const;
export const checkoutStatusSchema = z.enum(CHECKOUT_STATUSES).meta({
  id: 'CheckoutStatus',
  description:
    'OPEN: waits for money. PAID: paid in full, or accepted. EXPIRED: the ledger has been read beyond `expiresAt`, and the money did not come in time. CANCELLED: ended by the merchant.',
});
/** The state of a checkout. */
export type CheckoutStatus = z.infer<typeof checkoutStatusSchema>;

const MAX_METADATA_ENTRIES = 20;
const MIN_LIFETIME_MS = 60_000;
const MAX_LIFETIME_MS = 90 * 24 * 3_600_000;
/** Applies without `expiresAt`. */
export const DEFAULT_LIFETIME_MS = 24 * 3_600_000;

const metadataSchema = z.record(z.string(), z.string());

export const checkoutSchema = z
  .object({
    id: idOf('chk', 'checkout'),
    status: checkoutStatusSchema,
    reference: z.string().nullable().meta({ description: 'Your name for the order.' }),
    metadata: metadataSchema.meta({ description: 'Your own data for the checkout; its values can be searched.' }),
    paymentLinkId: idOf('link', 'payment link')
      .nullable()
      .meta({ description: 'The order link that a payer made it by; null for others.' }),
    customer: z
      .object({
        name: z.string().nullable(),
        email: z.string().nullable(),
        phone: z.string().nullable(),
        address: z.string().nullable(),
      })
      .meta({
        id: 'Customer',
        description:
          'What the payer told an order link: the answer to the field `name`, and to the first of each type. Null where it was not asked or answered.',
      }),
    answers: z
      .record(z.string(), z.string())
      .meta({ description: 'All that the payer told an order link, by the keys of its fields. A ticked box is `on`.' }),
    customerEmail: z.string().nullable().default(null).meta({
      description:
        'Gets a receipt by e-mail once the checkout is PAID, if this service sends e-mail (`GET /account/notifications` says so).',
    }),
    language: languageSchema
      .nullable()
      .default(null)
      .meta({ description: 'Language of the receipt; null for English.' }),
    name: z.string(),
    description: z.string().nullable(),
    assetCode: z.string().meta({ description: '`XLM` for the native asset.' }),
    assetIssuer: z.string().nullable().meta({ description: 'Null for the native asset.' }),
    amount: amount
      .nullable()
      .meta({ description: 'What the order costs: `total`. It never changes. Null where it is priced in a currency.' }),
    currency: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The currency of `price`; null where it is priced in its asset.' }),
    price: amount.nullable().default(null).meta({ description: 'What the order costs, in the currency: `total`.' }),
    quote: quoteSchema.nullable().default(null).meta({
      description:
        'The amount asked now for the rest. Null without a currency, without a fresh rate, once closed, and in events.',
    }),
    quantity: z.int().nullable().meta({
      description: 'How many of the FIXED product of a checkout made for it. Null for other checkouts.',
    }),
    ...orderFields,
    tolerancePercent: percent.meta({
      description: 'How much less than `total` is enough. Once it is PAID within it, nothing remains.',
    }),
    receivedAmount: amount.meta({ description: 'Payments in time and in the right asset. They add up.' }),
    receivedValue: amount.nullable().default(null).meta({ description: 'The same in the currency.' }),
    remainingAmount: amount.nullable().meta({
      description: 'Still due; `0` once the checkout is PAID. In a currency by `quote`, and null without one.',
    }),
    remainingValue: amount.nullable().default(null).meta({ description: 'Still due, in the currency.' }),
    excessAmount: amount.nullable().meta({ description: 'Paid beyond what was asked for.' }),
    product: productSummarySchema.nullable(),
    wallet: walletSummarySchema,
    slug: z.string().meta({ description: 'Last part of the page’s URL.' }),
    memo: z.string().meta({
      description: 'Text memo that a payment must carry. No other checkout or payment link has it.',
      examples: ['QX2RTF4T73K4'],
    }),
    memoId: z.string().meta({ description: 'The same memo as a number, for wallets that only send an id memo.' }),
    muxedAddress: z.string().meta({ description: 'M… address that needs no memo.' }),
    url: z.string().meta({ description: 'The hosted payment page.', examples: ['https://pay.example/c/k4m9z1c7r2ha'] }),
    successUrl: z.string().nullable().meta({ description: 'Where the page leads once the checkout is PAID.' }),
    cancelUrl: z.string().nullable().meta({ description: 'Where the page leads a payer who does not want to pay.' }),
    expiresAt: timestamp.meta({ description: 'A payment counts when its ledger closed before this.' }),
    paidAt: timestamp
      .nullable()
      .meta({ description: 'Close of the ledger that completed it, or the moment it was accepted.' }),
    closedAt: timestamp.nullable().meta({ description: 'When it stopped being OPEN.' }),
    createdAt: timestamp,
  })
  .meta({ id: 'Checkout', examples: [checkoutExample] });

const given = (value: unknown) => value !== undefined && value !== null;

/** Fields that a checkout for a product takes from the product. */
const PRODUCT_SAYS = ['name', 'assetCode', 'assetIssuer', 'description', 'currency'] as const;

/** Rules between the fields of a new checkout. Rules that depend on the product are checked once it
 *  is loaded. */
export function checkoutFieldErrors(body: RawBody): FieldError[] {
  const isTwice = given(body.couponCode) && given(body.discount);
  const coupon = isTwice ? [notAllowed('couponCode', 'Give either a coupon or a discount.')] : [];
  return [...wayErrors(body), ...orderFieldErrors(body), ...coupon, ...metadataErrors(body)];
}

/** For a product, for lines, or for a name with a price. */
function wayErrors(body: RawBody): FieldError[] {
  const ofProduct = given(body.productId);
  if (given(body.lines)) return linesFieldErrors(body);
  if (ofProduct === given(body.walletId)) {
    const message = 'Give exactly one of productId and walletId.';
    return [{ path: 'productId', message, code: ofProduct ? 'not_allowed' : 'required' }];
  }
  const fields = ofProduct
    ? PRODUCT_SAYS.filter((name) => given(body[name])).map((name) => notAllowed(name, 'The product says this.'))
    : walletFieldErrors(body);
  return [...fields, ...minorDigitErrors(body.currency, { price: body.price })];
}

/** Fields that the lines say. */
const LINES_FIELDS = ['productId', 'amount', 'price', 'quantity'] as const;

function linesFieldErrors(body: RawBody): FieldError[] {
  const faults = LINES_FIELDS.filter((name) => given(body[name])).map((name) =>
    notAllowed(name, 'The lines say this.'),
  );
  for (const path of ['walletId', 'assetCode'] as const)
    if (!given(body[path])) faults.push({ path, message: 'Required with lines.', code: 'required' });
  return [...faults, ...issuerErrors(body)];
}

const notAllowed = (path: string, message: string): FieldError => ({ path, message, code: 'not_allowed' });

function walletFieldErrors(body: RawBody): FieldError[] {
  const inCurrency = given(body.currency) || given(body.price);
  const required = inCurrency
    ? (['name', 'assetCode', 'currency', 'price'] as const)
    : (['name', 'assetCode', 'amount'] as const);
  const faults = required
    .filter((name) => !given(body[name]))
    .map((path): FieldError => ({ path, message: 'Required without a product.', code: 'required' }));
  if (inCurrency && given(body.amount)) faults.push(notAllowed('amount', 'Give either amount, or currency and price.'));
  if (given(body.quantity)) faults.push(notAllowed('quantity', 'Only a FIXED product has a quantity.'));
  return [...faults, ...issuerErrors(body)];
}

function issuerErrors({ assetCode, assetIssuer }: RawBody): FieldError[] {
  if (assetCode === 'XLM' && given(assetIssuer))
    return [notAllowed('assetIssuer', 'XLM has no issuer; with one it would be a different asset.')];
  if (typeof assetCode === 'string' && assetCode !== 'XLM' && !given(assetIssuer))
    return [{ path: 'assetIssuer', message: 'Every asset but XLM needs its issuer.', code: 'required' }];
  return [];
}

/** Covers two gaps of the record's schema: it drops `__proto__` silently, and counts only when
 *  every entry is valid. */
function metadataErrors({ metadata }: RawBody): FieldError[] {
  if (typeof metadata !== 'object' || metadata === null || Array.isArray(metadata)) return [];
  const faults: FieldError[] = [];
  if (Object.hasOwn(metadata, '__proto__')) {
    faults.push({ path: 'metadata.__proto__', message: 'This key cannot be kept.', code: 'invalid_key' });
  }
  if (Object.keys(metadata).length > MAX_METADATA_ENTRIES) {
    faults.push({ path: 'metadata', message: `Must have at most ${MAX_METADATA_ENTRIES} entries.`, code: 'too_big' });
  }
  return faults;
}

/** `expiresAt` must lie 1 minute to 90 days ahead. */
export function checkoutEndErrors({ expiresAt }: RawBody, { now }: Pick<ValidationContext, 'now'>): FieldError[] {
  const endMs = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN;
  const aheadMs = endMs - now.getTime();
  if (Number.isNaN(aheadMs) || (aheadMs >= MIN_LIFETIME_MS && aheadMs <= MAX_LIFETIME_MS)) return [];
  const code = aheadMs < MIN_LIFETIME_MS ? 'too_small' : 'too_big';
  return [{ path: 'expiresAt', message: 'Must be 1 minute to 90 days ahead.', code }];
}

const metadataInput = z
  .record(
    z.string().regex(/^[A-Za-z0-9_.-]{1,40}$/, 'A key has 1 to 40 letters, digits, _, . and -.'),
    text({ max: 500 }),
  )
  .meta({ description: 'At most 20 entries; keys `[A-Za-z0-9_.-]{1,40}`, values strings of at most 500 characters.' });

const tag = 'Checkouts';
const params = { id: idInput('chk', 'checkout') };

export const checkouts = {
  create: operation({
    method: 'POST',
    path: '/checkouts',
    effect: 'adds',
    roles: SELLERS,
    summary: 'Create a checkout',
    description:
      'For one order: from a product (`productId`, with `quantity` for a FIXED or `amount` for a CUSTOM one), without (`walletId`, `name`, `assetCode`, `assetIssuer`, and `amount` or `currency` and `price`), or of several `lines` (with `walletId`, `assetCode`, `assetIssuer`, `currency`). Discount and tip fit each of them. Its terms are frozen. Send the payer to `url`. Refused (409) while the product or wallet is inactive, and in a currency without a fresh rate.',
    tag,
    status: 201,
    body: {
      productId: referenceInput('prod', 'product', 'product that is bought').nullish(),
      quantity: quantityInput
        .nullish()
        .meta({ description: 'How many of a FIXED product, 1 to 10,000; 1 when left out.' }),
      amount: amountInput
        .optional()
        .meta({ description: 'Required for a CUSTOM product and without a product; refused for a FIXED product.' }),
      currency: currencyInput.nullish().meta({ description: 'With `walletId` and `price`: what the price is in.' }),
      price: amountInput.nullish().meta({
        description:
          'In a currency, in place of `amount`: with `walletId` in the one that `currency` names, or of a CUSTOM product that is priced in one.',
      }),
      walletId: referenceInput('wallet', 'wallet', 'wallet that receives the money, in place of `productId`').nullish(),
      name: nameInput.optional().meta({
        description: 'What the payer buys. Required with `walletId`; with `lines` their names when left out.',
      }),
      description: text({ max: 2000 }).nullish(),
      assetCode: assetCodeInput.optional(),
      assetIssuer: accountAddress.nullish().meta({ description: 'Required for every asset but XLM, refused for XLM.' }),
      ...orderInput,
      couponCode: couponCodeInput.nullish().meta({
        description:
          'Code of a coupon, in place of `discount`. One that gives nothing to this order is refused (422) here, with the reason.',
        examples: ['SPRING-10'],
      }),
      tolerancePercent: toleranceInput.nullish().meta({
        description:
          '`0` to `5`, at most 2 decimals: the checkout is PAID once what counts reaches `total` less this percentage, rounded up. Its product’s when left out, else the account’s.',
      }),
      reference: text({ max: 120 }).nullish().meta({ description: 'Your name for the order. Need not be unique.' }),
      metadata: metadataInput.optional(),
      customerEmail: emailInput.nullish().meta({
        description:
          'The payer’s address. Once the checkout is PAID it gets a receipt, unless this service sends no e-mail (`sending` of `GET /account/notifications`).',
        examples: ['ana@customer.example'],
      }),
      language: languageSchema.nullish().meta({ description: 'Language of the receipt; English when left out.' }),
      successUrl: pageUrlInput.nullish().meta({
        description:
          'Where the page leads after payment: https, or http on localhost. `checkout=<id>` is added to its query. That is no proof of payment: ask the API, or wait for the webhook.',
      }),
      cancelUrl: pageUrlInput.nullish().meta({ description: 'Where the page leads a payer who does not want to pay.' }),
      expiresAt: momentInput.optional().meta({
        description: '1 minute to 90 days ahead; 24 hours when left out.',
        examples: ['2026-11-22T09:30:00Z'],
      }),
    },
    rules: checkoutFieldErrors,
    contextRules: checkoutEndErrors,
    output: checkoutSchema,
    errors: ['conflict'],
    examples: {
      body: {
        productId: 'prod_01jd3k5v9ye6rbh2x7q0w4tznc',
        quantity: 2,
        reference: 'order-1042',
        successUrl: 'https://shop.example/thanks?order=1042',
      },
    },
  }),
  list: operation({
    method: 'GET',
    path: '/checkouts',
    effect: 'reads',
    roles: ROLES,
    summary: 'List checkouts',
    description: 'Lists checkouts, newest first.',
    tag,
    query: {
      ...pageQuery,
      status: checkoutStatusSchema.optional(),
      reference: z.string().optional().meta({ description: 'Exactly this reference.' }),
      search: wordsQuery.meta({
        description:
          'Words, compared without case and marks: each begins a word of the reference, the memo, the name, the customer’s e-mail address, an answer to an order link or a metadata value, or begins the id.',
      }),
      productId: z.string().optional(),
      walletId: z.string().optional(),
      createdFrom: momentInput
        .optional()
        .meta({ description: 'Made at or after: ISO 8601 with an offset, or a date (midnight UTC).' }),
      createdTo: momentInput.optional().meta({ description: 'Made before.' }),
    },
    output: listOf(checkoutSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/checkouts/{id}',
    effect: 'reads',
    roles: ROLES,
    summary: 'One checkout',
    description: 'Returns a checkout with its status and the received amount.',
    tag,
    params,
    output: checkoutSchema,
  }),
  instructions: operation({
    method: 'GET',
    path: '/checkouts/{id}/instructions',
    effect: 'reads',
    roles: ROLES,
    summary: 'How to pay a checkout',
    description:
      'Address, memo, payment request and QR code for a page or receipt of your own; `amount` is what remains. Refused (409) unless the checkout is OPEN and before its end.',
    tag,
    params,
    output: instructionsSchema,
    errors: ['conflict'],
  }),
  cancel: operation({
    method: 'POST',
    path: '/checkouts/{id}/cancel',
    effect: 'changes',
    roles: SELLERS,
    summary: 'Cancel a checkout',
    description:
      'An OPEN checkout becomes CANCELLED; cancelling it again changes nothing. A payment that closed before the cancellation counts even when it is read after it, and may make the checkout PAID.',
    tag,
    params,
    output: checkoutSchema,
    errors: ['conflict'],
  }),
  accept: operation({
    method: 'POST',
    path: '/checkouts/{id}/accept',
    effect: 'changes',
    summary: 'Accept a checkout as paid',
    description:
      'When money in the right asset has come, too little or after the end: the checkout becomes PAID with it, and those payments COMPLETED. Refused (409) when it is already PAID, or when no such money has come.',
    tag,
    params,
    output: checkoutSchema,
    errors: ['conflict'],
  }),
};

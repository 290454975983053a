/** Products, sold at a fixed price or at one that the customer chooses, in one asset, to
 *  one wallet. */
import { z } from 'zod';
import { deletedSchema, listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { productExample } from './examples.js';
import { operation } from './operation.js';
import { toleranceInput } from './orders.js';
import {
  accountAddress,
  amount,
  amountInput,
  assetCodeInput,
  httpsUrlInput,
  idInput,
  idOf,
  nameInput,
  pageQuery,
  percent,
  referenceInput,
  searchQuery,
  text,
  timestamp,
} from './primitives.js';
import { currencyInput, minorDigitErrors, quoteSchema } from './rates.js';
import { ROLES } from './roles.js';
import { walletSummarySchema } from './wallets.js';

export const priceTypeSchema = z.enum(['FIXED', 'CUSTOM']).meta({
  id: 'PriceType',
  description: 'FIXED: `price`. CUSTOM: the customer chooses, at least `minAmount` if there is one.',
});

export const productSummarySchema = z
  .object({
    id: idOf('prod', 'product'),
    name: z.string(),
    assetCode: z.string(),
    priceType: priceTypeSchema,
    price: amount.nullable(),
    currency: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'The currency of the price; null where it is in the asset.' }),
    quote: quoteSchema.nullable().default(null).meta({
      description:
        'What a payment link asks now in the asset. Null in payments, checkouts and events, and without a fresh rate.',
    }),
  })
  .meta({ id: 'ProductSummary' });

export const productSchema = z
  .object({
    id: idOf('prod', 'product'),
    name: z.string(),
    description: z.string().nullable(),
    imageUrl: z.string().nullable(),
    assetCode: z.string().meta({ description: '`XLM` for the native asset.' }),
    assetIssuer: z.string().nullable().meta({ description: 'Null for the native asset.' }),
    priceType: priceTypeSchema,
    price: amount.nullable().meta({ description: 'Price of a FIXED product; null for CUSTOM.' }),
    minAmount: amount
      .nullable()
      .meta({ description: 'Least amount of a CUSTOM product; null for none, and for FIXED.' }),
    currency: z
      .string()
      .nullable()
      .default(null)
      .meta({ description: 'ISO 4217 code: price and minimum are in it. Null where they are in the asset.' }),
    quote: quoteSchema
      .nullable()
      .default(null)
      .meta({ description: 'What is asked now. Null without a currency, without a fresh rate, and in events.' }),
    tolerancePercent: percent.meta({ description: 'How much less than price or minimum is enough.' }),
    stock: z.int().nullable().meta({
      description: 'Pieces that are left: checkouts take theirs when they are made. Null for no limit.',
    }),
    active: z.boolean().meta({ description: 'An inactive product rejects payments.' }),
    wallet: walletSummarySchema,
    paymentLinkCount: z.int(),
    createdAt: timestamp,
  })
  .meta({ id: 'Product', examples: [productExample] });

export const MAX_STOCK = 1_000_000;

const productFields = {
  name: nameInput.meta({ description: 'Display name.' }),
  walletId: referenceInput('wallet', 'wallet', 'wallet that receives the payments'),
  assetCode: assetCodeInput,
  priceType: priceTypeSchema,
  price: amountInput.nullish().meta({ description: 'Required for FIXED, refused for CUSTOM.' }),
  minAmount: amountInput.nullish().meta({ description: 'Optional for CUSTOM, refused for FIXED.' }),
  currency: currencyInput
    .nullish()
    .meta({ description: 'Price and minimum are in it, with at most its decimals; they are paid in the asset.' }),
  assetIssuer: accountAddress.nullish().meta({ description: 'Required for every asset but XLM, refused for XLM.' }),
  tolerancePercent: toleranceInput.optional().meta({
    description:
      'What comes within it is enough (`within_tolerance`): `0` to `5`, at most 2 decimals. The account’s when left out of a creation.',
  }),
  description: text({ max: 2000 }).nullish(),
  imageUrl: httpsUrlInput.nullish().meta({ description: 'https URL.' }),
  stock: z.int({ error: 'Must be a whole number from 0 to 1,000,000.' }).min(0).max(MAX_STOCK).nullish().meta({
    description:
      'Pieces that are left, 0 to 1,000,000; null for no limit. A checkout for more is refused (409), and one that is not paid gives its pieces back. Not for a product with payment links (409).',
  }),
  active: z.boolean(),
};

/** A change of the stock, as text: `-3`. */
const stockChangeInput = z
  .string()
  .refine((text) => /^[+-]?(0|[1-9]\d{0,6})$/.test(text), {
    message: 'Must be a whole number as text, such as "-3" or "10".',
    params: { code: 'invalid_format' },
  })
  .meta({
    description: 'Adds to the stock, or takes from it. Refused (409) beyond 0 or 1,000,000, and without a stock.',
    examples: ['-3'],
  });

/** Rules between a product's fields, for the body of a creation or a product with a PATCH
 *  merged in. */
export function productFieldErrors(product: Readonly<Record<string, unknown>>): FieldError[] {
  const faults: FieldError[] = [];
  const { priceType, price, minAmount, assetCode, assetIssuer, currency } = product;
  const given = (value: unknown) => value !== undefined && value !== null;
  if (priceType === 'FIXED') {
    if (!given(price))
      faults.push({ path: 'price', message: 'A FIXED product needs a price greater than 0.', code: 'required' });
    if (given(minAmount))
      faults.push({ path: 'minAmount', message: 'Only a CUSTOM product has a minimum.', code: 'not_allowed' });
  }
  if (priceType === 'CUSTOM' && given(price)) {
    faults.push({ path: 'price', message: 'Only a FIXED product has a price.', code: 'not_allowed' });
  }
  if (assetCode === 'XLM' && given(assetIssuer)) {
    faults.push({
      path: 'assetIssuer',
      message: 'XLM has no issuer; with one it would be a different asset.',
      code: 'not_allowed',
    });
  }
  if (typeof assetCode === 'string' && assetCode !== 'XLM' && !given(assetIssuer)) {
    faults.push({ path: 'assetIssuer', message: 'Every asset but XLM needs its issuer.', code: 'required' });
  }
  return [...faults, ...minorDigitErrors(currency, { price, minAmount })];
}

const tag = 'Products';
const params = { id: idInput('prod', 'product') };

export const products = {
  create: operation({
    method: 'POST',
    path: '/products',
    effect: 'adds',
    summary: 'Create a product',
    description:
      'Creates a product that is paid to one wallet, in one asset. A FIXED product has a price; a CUSTOM one lets the customer choose, from an optional minimum.',
    tag,
    status: 201,
    body: { ...productFields, active: productFields.active.default(true) },
    rules: productFieldErrors,
    output: productSchema,
    examples: {
      body: {
        name: 'T-shirt',
        walletId: 'wallet_01jd3k5v9ye6rbh2x7q0w4tznc',
        assetCode: 'XLM',
        priceType: 'FIXED',
        price: '25',
      },
    },
  }),
  list: operation({
    method: 'GET',
    path: '/products',
    effect: 'reads',
    roles: ROLES,
    summary: 'List products',
    description: 'Lists products, newest first unless sorted otherwise.',
    tag,
    query: {
      ...pageQuery,
      active: z.boolean().optional(),
      search: searchQuery.meta({ description: 'Substring, compared without case and marks, of the name.' }),
      sortBy: z.enum(['createdAt', 'name']).default('createdAt'),
      sortOrder: z.enum(['asc', 'desc']).default('desc'),
    },
    output: listOf(productSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/products/{id}',
    effect: 'reads',
    roles: ROLES,
    summary: 'One product',
    description: 'Returns a product by its id.',
    tag,
    params,
    output: productSchema,
  }),
  update: operation({
    method: 'PATCH',
    path: '/products/{id}',
    effect: 'changes',
    summary: 'Change a product',
    description:
      'The product with the changes merged in must be valid. Null clears a field. New terms count from the first ledger that closes after the change; payments before it are judged by the old ones.',
    tag,
    params,
    body: { ...z.object(productFields).partial().shape, stockChange: stockChangeInput.optional() },
    rules: ({ stock, stockChange }) =>
      stockChange != null && stock !== undefined
        ? [{ path: 'stockChange', message: 'Give either stock or stockChange.', code: 'not_allowed' }]
        : [],
    output: productSchema,
    errors: ['conflict'],
    examples: { body: { price: '30' } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/products/{id}',
    effect: 'changes',
    summary: 'Delete a product, its payment links and its checkouts',
    description:
      'Refused (409) when it has payments: make it inactive instead. Its checkouts are deleted with it, OPEN ones too, without an event.',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
};

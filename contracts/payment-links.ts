/** Payment links, each with a hosted page and a memo that identifies its payments. */
import { z } from 'zod';
import { deletedSchema, listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { paymentLinkExample } from './examples.js';
import { amountQuery, instructionsSchema } from './instructions.js';
import { operation, type RawBody } from './operation.js';
import { quantityInput, tipPercentsInput } from './orders.js';
import {
  amount,
  amountInput,
  idInput,
  idOf,
  momentInput,
  nameInput,
  pageQuery,
  pageUrlInput,
  percent,
  referenceInput,
  searchQuery,
  text,
  timestamp,
} from './primitives.js';
import { productSummarySchema } from './products.js';

// The form of an order link: what each payer is asked before a checkout is made.

export const FIELD_TYPES = ['text', 'email', 'phone', 'address', 'select', 'checkbox'] as const;
const MAX_FIELDS = 10;
const MAX_OPTIONS = 50;
const MAX_SUGGESTIONS = 10;
/** Characters of an answer. */
export const MAX_ANSWER = 200;
export const MAX_ADDRESS = 500;
const DEFAULT_MINUTES = 60;

const wholeFrom = (least: number, most: number) => {
  const error = `Must be a whole number from ${least} to ${most.toLocaleString('en')}.`;
  return z.int({ error }).min(least, error).max(most, error);
};

const fieldSchema = z
  .object({
    key: z.string(),
    label: z.string(),
    type: z.enum(FIELD_TYPES),
    required: z.boolean(),
    options: z.array(z.string()).nullable().meta({ description: 'The choices of a `select`; null for other types.' }),
  })
  .meta({ id: 'OrderField' });

const fieldInput = z.strictObject({
  key: z
    .string()
    .refine((key) => /^[A-Za-z0-9_.-]{1,40}$/.test(key) && key !== '__proto__', {
      message: 'A key has 1 to 40 letters, digits, _, . and -.',
      params: { code: 'invalid_format' },
    })
    .meta({
      description: 'Names the answer. The one of `name` is the customer’s name.',
      examples: ['name'],
    }),
  label: text({ min: 1, max: MAX_ANSWER }).meta({ description: 'What payers are asked.', examples: ['Your name'] }),
  type: z.enum(FIELD_TYPES),
  required: z.boolean().nullish().meta({ description: 'False when left out. A required checkbox must be ticked.' }),
  options: z
    .array(text({ min: 1, max: MAX_ANSWER }))
    .min(1)
    .max(MAX_OPTIONS)
    .nullish()
    .meta({ description: 'Choices of a `select`, 1 to 50, each once; refused for other types.' }),
});

const orderFormSchema = z
  .object({
    fields: z.array(fieldSchema),
    quantity: z.object({ min: z.int(), max: z.int() }).nullable().meta({ description: 'Null: one piece, not asked.' }),
    suggestedAmounts: z.array(amount),
    tipPercents: z.array(percent),
    coupons: z.boolean().meta({ description: 'Whether the form asks for a coupon.' }),
    minutes: z.int().meta({ description: 'From an order until its checkout ends.' }),
  })
  .meta({ id: 'OrderForm' });

/** What the form asks of each payer.
 *  @interface */
export type OrderForm = z.infer<typeof orderFormSchema>;
export type OrderFormField = OrderForm['fields'][number];

const orderFormInput = z
  .strictObject({
    fields: z.array(fieldInput).max(MAX_FIELDS).meta({ description: 'At most 10; may be empty.' }),
    quantity: z
      .strictObject({ min: quantityInput, max: quantityInput })
      .nullish()
      .meta({ description: 'How many pieces of a FIXED product a payer may choose. One, not asked, when left out.' }),
    suggestedAmounts: z
      .array(amountInput)
      .max(MAX_SUGGESTIONS)
      .nullish()
      .meta({ description: 'To choose from for a CUSTOM product, at most 10; others may be typed.' }),
    tipPercents: tipPercentsInput.nullish(),
    coupons: z.boolean().nullish().meta({ description: 'Whether the form asks for a coupon; false when left out.' }),
    minutes: wholeFrom(5, 1440)
      .nullish()
      .meta({
        description: `Until a payer's checkout ends, 5 to 1,440; ${DEFAULT_MINUTES} when left out. What it holds of a stock is free again then.`,
      }),
  })
  .meta({ id: 'OrderFormInput' });

/** With its defaults, and numbers in canonical form as they were checked. */
export const toOrderForm = (input: z.infer<typeof orderFormInput>): OrderForm => ({
  fields: input.fields.map(({ required, options, ...field }) => ({
    ...field,
    required: required ?? false,
    options: options ?? null,
  })),
  quantity: input.quantity ?? null,
  suggestedAmounts: input.suggestedAmounts ?? [],
  tipPercents: input.tipPercents ?? [],
  coupons: input.coupons ?? false,
  minutes: input.minutes ?? DEFAULT_MINUTES,
});

const isObject = (value: unknown): value is RawBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Rules between the fields of a form. */
function orderFormErrors({ order }: RawBody): FieldError[] {
  if (!isObject(order)) return [];
  const faults: FieldError[] = [];
  const fault = (path: string, message: string, code: string) => void faults.push({ path, message, code });
  const fields = Array.isArray(order.fields)
    ? order.fields.slice(0, MAX_FIELDS).map((each) => (isObject(each) ? each : {}))
    : [];
  const keys = new Set<unknown>();
  for (const [index, { key, type, options }] of fields.entries()) {
    if (typeof key === 'string' && keys.has(key))
      fault(`order.fields.${index}.key`, 'Another field has this key.', 'duplicate');
    keys.add(key);
    const path = `order.fields.${index}.options`;
    const isGiven = options !== undefined && options !== null;
    if (type === 'select' && !isGiven) fault(path, 'Required for a select.', 'required');
    if (isGiven && FIELD_TYPES.includes(type as never) && type !== 'select')
      fault(path, 'Only a select has options.', 'not_allowed');
    if (Array.isArray(options) && new Set(options).size < options.length)
      fault(path, 'An option is there twice.', 'duplicate');
  }
  const { min, max } = isObject(order.quantity) ? order.quantity : {};
  if (typeof min === 'number' && typeof max === 'number' && min > max)
    fault('order.quantity.max', 'Must be at least min.', 'too_small');
  return faults;
}

/** What every link may have, besides its product. */
const afterPaymentSchema = z
  .object({
    message: z.string().nullable(),
    url: z.string().nullable(),
  })
  .meta({ id: 'AfterPayment' });

const afterPaymentInput = z.strictObject({
  message: text({ max: 500 }).nullish().meta({ description: 'Shown once it is paid.' }),
  url: pageUrlInput.nullish().meta({
    description:
      'Where the page leads then: https, or http on localhost. `payment=<id>` is added to its query, and `checkout=<id>` for an order. That is no proof of payment.',
  }),
});

const MAX_PAYMENTS = 1_000_000;

const linkInput = {
  name: nameInput.nullish().meta({ description: 'Your name for the link; payers do not see it.' }),
  order: orderFormInput.nullish().meta({
    description:
      'Makes it an order link: each payer fills in this form and gets a checkout of his own. What is paid to the link’s own memo is REJECTED, `order_needed`. Null: a plain link.',
  }),
  endsAt: momentInput.nullish().meta({
    description: 'What closes at or after it is REJECTED, `link_ended`, and no order is made any more.',
    examples: ['2027-01-01T00:00:00Z'],
  }),
  inactiveText: text({ max: 300 }).nullish().meta({ description: 'Shown while the link takes no payments.' }),
  afterPayment: afterPaymentInput.nullish(),
  maxPayments: wholeFrom(1, MAX_PAYMENTS).nullish().meta({
    description:
      'The page stops asking once so many payments are COMPLETED. Of an order link, so many checkouts at most are OPEN or PAID. A plain link cannot reserve: what still comes is judged as ever.',
  }),
};

export const paymentLinkSchema = z
  .object({
    id: idOf('link', 'payment link'),
    name: z.string().nullable().default(null).meta({ description: 'Your name for the link; payers do not see it.' }),
    slug: z.string().meta({ description: 'Last part of the hosted page’s URL.' }),
    memo: z.string().meta({
      description: 'Text memo that a payment must carry; no two links share one.',
      examples: ['73K9QX2RTF4T'],
    }),
    url: z.string().meta({ description: 'The hosted payment page.', examples: ['https://pay.example/p/h2x7q0w4tz'] }),
    active: z.boolean().meta({ description: 'An inactive link rejects payments.' }),
    paymentCount: z.int().meta({ description: 'Payments that were not rejected.' }),
    order: orderFormSchema.nullable().meta({ description: 'The form of an order link; null for a plain one.' }),
    endsAt: timestamp.nullable(),
    inactiveText: z.string().nullable(),
    afterPayment: afterPaymentSchema.nullable(),
    maxPayments: z.int().nullable().meta({ description: 'Null for any number.' }),
    product: productSummarySchema,
    createdAt: timestamp,
  })
  .meta({ id: 'PaymentLink', examples: [paymentLinkExample] });

const tag = 'Payment links';
const params = { id: idInput('link', 'payment link') };

export const paymentLinks = {
  create: operation({
    method: 'POST',
    path: '/payment-links',
    effect: 'adds',
    summary: 'Create a payment link',
    description:
      'Creates an active link with a memo, a slug and a hosted page of its own. With `order` it is an order link, whose page asks each payer and makes a checkout for him; a product with a stock needs one.',
    tag,
    status: 201,
    body: { productId: referenceInput('prod', 'product', 'product to pay for'), ...linkInput },
    rules: orderFormErrors,
    output: paymentLinkSchema,
    examples: { body: { productId: 'prod_01jd3k5v9ye6rbh2x7q0w4tznc' } },
  }),
  list: operation({
    method: 'GET',
    path: '/payment-links',
    effect: 'reads',
    summary: 'List payment links',
    description: 'Lists links, newest first.',
    tag,
    query: {
      ...pageQuery,
      productId: z.string().optional(),
      active: z.boolean().optional(),
      search: searchQuery.meta({
        description:
          'Substring, compared without case and marks, of the link’s name, the product’s name, the memo or the slug; or several words, each of them in the link’s name, memo or slug; or the beginning of the id. 400 when more than 50,000 products have it in their name.',
      }),
    },
    output: listOf(paymentLinkSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/payment-links/{id}',
    effect: 'reads',
    summary: 'One payment link',
    description: 'Returns a link by its id.',
    tag,
    params,
    output: paymentLinkSchema,
  }),
  instructions: operation({
    method: 'GET',
    path: '/payment-links/{id}/instructions',
    effect: 'reads',
    summary: 'How to pay a payment link',
    description:
      'Address, memo, amount, payment request and QR code, for a page or receipt of your own. `amount` is the price of a FIXED product, or the one asked for with `?amount=`. Refused (409) while the link, its product or its wallet is inactive, once the link has ended, and for an order link.',
    tag,
    params,
    query: { amount: amountQuery },
    output: instructionsSchema,
    errors: ['conflict'],
  }),
  update: operation({
    method: 'PATCH',
    path: '/payment-links/{id}',
    effect: 'changes',
    summary: 'Change a payment link',
    description:
      'Changes the given fields; null removes one. An inactive link rejects payments from the next ledger on; its page says that payments are not accepted. `order` replaces the whole form. Checkouts that were made stay as they are. Setting the current state changes nothing. Refused (409) after 1,000 changes of `active`, `endsAt` and of whether it is an order link.',
    tag,
    params,
    body: { active: z.boolean().optional(), ...linkInput },
    rules: orderFormErrors,
    output: paymentLinkSchema,
    errors: ['conflict'],
    examples: { body: { active: false } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/payment-links/{id}',
    effect: 'changes',
    summary: 'Delete a payment link',
    description: 'Refused (409) when it has payments or orders: make it inactive instead.',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
};

/** Payment links, each with a hosted page and a memo that identifies its payments. */
import { z } from 'zod';
import { deletedSchema, listOf } from './envelope.js';
import { paymentLinkExample } from './examples.js';
import { amountQuery, instructionsSchema } from './instructions.js';
import { operation } from './operation.js';
import { idInput, idOf, nameInput, pageQuery, referenceInput, searchQuery, timestamp } from './primitives.js';
import { productSummarySchema } from './products.js';

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
    description: 'Creates an active link with a memo, a slug and a hosted page of its own.',
    tag,
    status: 201,
    body: {
      productId: referenceInput('prod', 'product', 'product to pay for'),
      name: nameInput.nullish().meta({ description: 'Your name for the link; payers do not see it.' }),
    },
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
      'Address, memo, amount, payment request and QR code, for a page or receipt of your own. `amount` is the price of a FIXED product, or the one asked for with `?amount=`. Refused (409) while the link, its product or its wallet is inactive.',
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
      'Changes the name, or switches the link on or off. An inactive link rejects payments from the next ledger on; its page says that payments are not accepted. Setting the current state changes nothing. Refused (409) after 1,000 switches.',
    tag,
    params,
    body: {
      active: z.boolean().optional(),
      name: nameInput.nullish().meta({ description: 'Null removes the name.' }),
    },
    output: paymentLinkSchema,
    errors: ['conflict'],
    examples: { body: { active: false } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/payment-links/{id}',
    effect: 'changes',
    summary: 'Delete a payment link',
    description: 'Refused (409) when it has payments: make it inactive instead.',
    tag,
    params,
    output: deletedSchema,
    errors: ['conflict'],
  }),
};

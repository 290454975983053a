/** Payments: money that a wallet received, and how it was judged. */
import { z } from 'zod';
import { listOf } from './envelope.js';
import type { FieldError } from './errors.js';
import { paymentExample } from './examples.js';
import { networkSchema } from './networks.js';
import { operation, type RawBody } from './operation.js';
import {
  amount,
  amountInput,
  idInput,
  idOf,
  momentInput,
  pageQuery,
  referenceInput,
  text,
  timestamp,
  wordsQuery,
} from './primitives.js';
import { productSummarySchema } from './products.js';
import { paymentProofSchema, proofLevelSchema } from './proofs.js';
import { valueSchema } from './rates.js';
import { ROLES } from './roles.js';

export const PAYMENT_STATUSES = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;
export const PAYMENT_REASONS = [
  'overpaid',
  'within_tolerance',
  'below_price',
  'below_minimum',
  'link_inactive',
  'link_ended',
  'order_needed',
  'product_inactive',
  'wrong_asset',
  'checkout_cancelled',
  'checkout_expired',
  'checkout_paid',
  'partial',
  'no_rate',
  'no_memo',
  'unknown_memo',
  'unsupported_memo',
] as const;

const MEMO_TYPES = ['none', 'text', 'id', 'hash', 'return'] as const;

export const paymentStatusSchema = z.enum(PAYMENT_STATUSES).meta({
  id: 'PaymentStatus',
  description:
    'COMPLETED: enough, or within the tolerance, in the right asset. UNDERPAID: less than the price, the minimum or what a checkout still needs. REJECTED: the link, checkout, product or asset was wrong. UNMATCHED: belongs to no link or checkout.',
});
export const paymentReasonSchema = z.enum(PAYMENT_REASONS).meta({
  id: 'PaymentReason',
  description: 'The first that applies, in the order link or checkout, product, asset, amount.',
});
/** How a payment was judged. */
export type PaymentStatus = z.infer<typeof paymentStatusSchema>;
/** Why a payment is not COMPLETED, or what its amount differs by from what was asked for. */
export type PaymentReason = z.infer<typeof paymentReasonSchema>;

const paymentRefundSchema = z
  .object({
    transactionHash: z.string(),
    amount: amount.meta({ description: 'What arrived.' }),
    ledger: z.int(),
    at: timestamp.meta({ description: 'When the ledger closed.' }),
  })
  .meta({ id: 'PaymentRefund' });

export const paymentSchema = z
  .object({
    id: idOf('pay', 'payment'),
    status: paymentStatusSchema,
    reason: paymentReasonSchema
      .nullable()
      .meta({ description: 'Why the payment has its status; null for a plain COMPLETED.' }),
    amount,
    assetCode: z.string(),
    assetIssuer: z.string().nullable(),
    expectedAmount: amount.nullable().meta({
      description: 'The price, the minimum of a CUSTOM product, or what was due for a checkout before this payment.',
    }),
    excessAmount: amount.nullable().meta({ description: 'Paid beyond the price, or beyond what was due.' }),
    shortfallAmount: amount
      .nullable()
      .meta({ description: 'Shortfall to the price or minimum, or the amount still due for the checkout after it.' }),
    memo: z.string().nullable().meta({
      description: 'The memo on the ledger: the text, a decimal number for an id, base64 for a hash. Null without one.',
    }),
    memoType: z.enum(MEMO_TYPES).meta({ description: 'Kind of the memo on the ledger.' }),
    destinationMuxedId: z.string().nullable().meta({
      description: 'Id of the muxed address (`M…`) that was paid, a decimal string. Null when a plain `G…` was paid.',
    }),
    senderAddress: z.string().meta({ description: 'G… account, or C… contract; of a mint the issuer.' }),
    senderMuxedAddress: z.string().nullable().meta({ description: 'M… address of the sender, where it has one.' }),
    receiverAddress: z.string().meta({ description: "The wallet's address." }),
    network: networkSchema,
    transactionHash: z.string(),
    operationId: z.string().meta({ description: "Horizon's id of the operation." }),
    ledger: z.int(),
    ledgerClosedAt: timestamp,
    paymentLinkId: z.string().nullable(),
    checkoutId: z.string().nullable(),
    product: productSummarySchema.nullable(),
    walletId: idOf('wallet', 'wallet'),
    needsDecision: z.boolean().default(false).meta({
      description:
        'True for an UNDERPAID, REJECTED or UNMATCHED payment until it is accepted, assigned, refunded in full, dismissed, or part of a checkout that became PAID.',
    }),
    decisionNote: z.string().nullable().default(null).meta({ description: 'The note of its dismissal.' }),
    value: valueSchema
      .nullable()
      .default(null)
      .meta({ description: 'What it counted for. Null without a currency, without a known rate, and of REJECTED.' }),
    refundedAmount: amount.default('0').meta({ description: 'Refunded amount, as the ledger shows it.' }),
    refunds: z
      .array(paymentRefundSchema)
      .default([])
      .meta({ description: 'Each operation that sent money back, oldest first; of more than 100 the newest.' }),
    explorerUrl: z.string().nullable().meta({ description: 'The transaction in a block explorer; null on LOCAL.' }),
    createdAt: timestamp,
  })
  .meta({ id: 'Payment', examples: [paymentExample] });

const refundSchema = z
  .object({
    uri: z.string().nullable().meta({
      description:
        'SEP-7 `web+stellar:pay` request that any wallet can open. Null when a contract paid: no such request can pay one.',
    }),
    destination: z.string().meta({ description: 'The sender: M… where it is muxed, else G…, or C… for a contract.' }),
    amount,
    assetCode: z.string(),
    assetIssuer: z.string().nullable(),
    memo: z.string().nullable(),
    memoType: z.enum(['MEMO_TEXT']).nullable(),
    excessAmount: amount.nullable().meta({
      description:
        'What is left of the excess of an overpaid payment. Null for any other, and when an amount is given.',
    }),
    excessUri: z.string().nullable().meta({ description: 'Request that sends `excessAmount` back.' }),
  })
  .meta({ id: 'Refund' });

function assignFieldErrors({ paymentLinkId, checkoutId }: RawBody): FieldError[] {
  const isGiven = (id: unknown) => id !== undefined && id !== null;
  if (isGiven(paymentLinkId) !== isGiven(checkoutId)) return [];
  const message = 'Give exactly one of paymentLinkId and checkoutId.';
  return [{ path: 'paymentLinkId', message, code: isGiven(paymentLinkId) ? 'not_allowed' : 'required' }];
}

const tag = 'Payments';
const params = { id: idInput('pay', 'payment') };

export const payments = {
  list: operation({
    method: 'GET',
    path: '/payments',
    effect: 'reads',
    roles: ROLES,
    summary: 'List payments',
    description:
      'Newest first. Unmatched payments are listed only when asked for with `status=UNMATCHED` or `needsDecision=true`.',
    tag,
    query: {
      ...pageQuery,
      status: z.array(paymentStatusSchema).optional().meta({ description: 'Repeatable.' }),
      needsDecision: z.boolean().optional().meta({
        description: 'With `true` only payments that need a decision, in any status.',
      }),
      search: wordsQuery.meta({
        description:
          'Words, compared without case and marks: each begins a word of the memo, of the name of its link, product or checkout, of the reference, the customer’s e-mail address or a metadata value, or begins the transaction hash or the id.',
      }),
      productId: z.string().optional(),
      paymentLinkId: z.string().optional(),
      checkoutId: z.string().optional(),
      walletId: z.string().optional(),
      assetCode: z.string().optional(),
      senderAddress: z.string().optional(),
      transactionHash: z.string().optional(),
      createdFrom: momentInput
        .optional()
        .meta({ description: 'Made at or after: ISO 8601 with an offset, or a date (midnight UTC).' }),
      createdTo: momentInput.optional().meta({ description: 'Made before.' }),
    },
    output: listOf(paymentSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/payments/{id}',
    effect: 'reads',
    roles: ROLES,
    summary: 'One payment',
    description: 'Returns a payment by its id, matched or not.',
    tag,
    params,
    output: paymentSchema,
  }),
  accept: operation({
    method: 'POST',
    path: '/payments/{id}/accept',
    effect: 'changes',
    summary: 'Accept an UNDERPAID or REJECTED payment',
    description:
      'It becomes COMPLETED and `payment.completed` fires. Refused (409) for a payment of a checkout: accept the checkout. One that closed after the end of a PAID checkout is accepted by itself.',
    tag,
    params,
    output: paymentSchema,
    errors: ['conflict'],
  }),
  assign: operation({
    method: 'POST',
    path: '/payments/{id}/assign',
    effect: 'changes',
    summary: 'Assign an UNMATCHED payment to a link or checkout',
    description:
      'It is judged by the terms of when its ledger closed, for a checkout with what is due now, and its events fire. Give exactly one of `paymentLinkId` and `checkoutId`.',
    tag,
    params,
    body: {
      paymentLinkId: referenceInput('link', 'payment link', 'payment link').nullish(),
      checkoutId: referenceInput('chk', 'checkout', 'checkout').nullish(),
    },
    rules: assignFieldErrors,
    output: paymentSchema,
    errors: ['conflict'],
    examples: { body: { paymentLinkId: 'link_01jd3k5v9ye6rbh2x7q0w4tznc' } },
  }),
  dismiss: operation({
    method: 'POST',
    path: '/payments/{id}/dismiss',
    effect: 'changes',
    summary: 'Dismiss a payment',
    description:
      'It keeps its status and needs no decision any more, until it is assigned. Dismissing it again changes nothing. Refused (409) when no decision is needed.',
    tag,
    params,
    body: { note: text({ min: 1, max: 500 }).nullish().meta({ description: 'Shown as `decisionNote`.' }) },
    bodyOptional: true,
    output: paymentSchema,
    errors: ['conflict'],
    examples: { body: { note: 'A tip.' } },
  }),
  refund: operation({
    method: 'GET',
    path: '/payments/{id}/refund',
    effect: 'reads',
    summary: 'A wallet request that refunds the payment',
    description:
      'The service holds no keys: open `uri` in the wallet that received the payment. The amount is what was not sent back yet, or `amount` of it; 409 once all was sent back. An overpaid payment also offers its excess. With `value` the amount is that much of the currency at the current rate, for a payment that has a `value`; 409 without a fresh rate. More than what is left is 400.',
    tag,
    params,
    query: {
      amount: amountInput.optional().meta({ description: 'A part of what is left.', examples: ['10.5'] }),
      value: amountInput
        .optional()
        .meta({ description: 'The same in the currency of the payment’s `value`; one of the two at most.' }),
    },
    rules: ({ amount: part, value }) =>
      part === undefined || value === undefined
        ? []
        : [{ path: 'value', message: 'Give either amount or value.', code: 'not_allowed' }],
    output: refundSchema,
    errors: ['conflict'],
  }),
  proof: operation({
    method: 'GET',
    path: '/payments/{id}/proof',
    effect: 'reads',
    summary: 'A proof of the payment that anybody checks offline',
    description:
      'Proves to anybody, without asking anyone, that the payment is in the network’s ledger: `stellar-payment-proof verify`, or the page `/proof`, checks it. It is made when it is first asked for, which takes seconds; with the validators’ signatures (`level=signed`) once the ledgers up to the end of the payment’s checkpoint are archived, on a public network within some 6 minutes. Once READY it stays.',
    tag,
    params,
    query: {
      level: proofLevelSchema.optional().meta({
        description: 'Default `signed` where the network has a history archive, else `ledger`.',
      }),
      format: z.literal('file').optional().meta({
        description: 'Sends the bundle alone, as a file; 409 unless it is READY.',
      }),
    },
    output: paymentProofSchema,
    errors: ['conflict'],
    file: { format: 'file', name: 'payment-proof.json', type: 'application/json' },
  }),
  addRefund: operation({
    method: 'POST',
    path: '/payments/{id}/refunds',
    effect: 'adds',
    summary: 'Book a refund by its transaction',
    description:
      'For a refund that was sent without the memo `refund <memo>`; one with it is booked automatically. The transaction must hold a payment from a wallet of the account to the sender, in the same asset and after the payment (409 otherwise, and when it is booked for another payment). Repeating the call changes nothing.',
    tag,
    params,
    body: {
      transactionHash: z
        .string()
        .regex(/^[0-9a-fA-F]{64}$/, 'A transaction hash has 64 hexadecimal digits.')
        .toLowerCase(),
    },
    output: paymentSchema,
    errors: ['conflict'],
    examples: { body: { transactionHash: '3389e9f0f1a65f19736cacf544c2e825313e8447f569233bb8db39aa607c8889' } },
  }),
};

/** The document of a payment, and its indexes. Fields from the ledger never change; `PAYMENT_KEY`
 *  makes each payment unique per wallet. */
import type { Network } from '../../contracts/networks.js';
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import { type DocOf, define, flag, nullable, optional, text } from '../kit/collection.js';

/** The identity of a payment. It includes the transaction's hash because operation ids start over
 *  when a test network is reset. */
export const PAYMENT_KEY = { accountId: 1, walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 } as const;

export const PAYMENTS = define(
  'payments',
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: text<Network>(),
    /** Horizon's operation id, a 64-bit number in text. */
    operationId: String,
    /** Which balance change of the operation: 0 but for Soroban operations with several. */
    changeIndex: Number,
    transactionHash: String,
    ledger: Number,
    ledgerClosedAt: Date,
    receiverAddress: String,
    senderAddress: String,
    assetCode: String,
    assetIssuer: nullable(String),
    /** Canonical decimal text, as are the amounts below. */
    amount: String,
    memo: nullable(String),
    memoType: text<'none' | 'text' | 'id' | 'hash' | 'return'>(),
    /** Decimal text; null when the destination was not muxed. */
    destinationMuxedId: nullable(String),
    /** M…; null when the sender was not muxed. */
    senderMuxedAddress: nullable(String),
    status: text<PaymentStatus>(),
    reason: nullable(text<PaymentReason>()),
    expectedAmount: nullable(String),
    excessAmount: nullable(String),
    shortfallAmount: nullable(String),
    paymentLinkId: nullable(String),
    checkoutId: nullable(String),
    productId: nullable(String),
    /** In the currency of its price, else in that of the account's books. Not shown while the
     *  payment is REJECTED. Missing without a currency or a known rate. */
    value: optional({ currency: String, amount: String, rate: String, rateAt: Date, source: String }),
    /** Total refunded: canonical decimal text, possibly more than `amount`. Missing for nothing. */
    refundedAmount: optional(String),
    /** Oldest first; only the newest of very many. Missing for none. */
    refunds: optional([{ transactionHash: String, amount: String, ledger: Number, at: Date }]),
    /** Arrived for an accepted checkout while earlier payments were being completed; it is not
     *  among them. Missing otherwise. */
    afterAcceptance: flag(),
    /** The merchant has to decide about it: see `needsDecision` in `payments/checkout.ts`. */
    needsDecision: Boolean,
    /** Search words besides its id and hash: its memo, and texts of its link, product or checkout
     *  when it was judged. */
    words: optional([String]),
    /** The user who made its checkout. Missing for any other. */
    soldBy: optional(String),
    /** The merchant dismissed it. Missing otherwise; a new judgement removes it. */
    dismissal: optional({ at: Date, note: nullable(String) }),
    /** The moment in `_id`. */
    createdAt: Date,
  },
  [
    { key: PAYMENT_KEY, unique: true },
    // Lists always name the statuses: MongoDB merges one ordered scan for each, and counts from the
    // index alone.
    { key: { accountId: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, productId: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, paymentLinkId: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, walletId: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, senderAddress: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, assetCode: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, transactionHash: 1 } },
    { key: { accountId: 1, words: 1, status: 1, _id: -1 } },
    {
      key: { accountId: 1, soldBy: 1, status: 1, _id: -1 },
      partialFilterExpression: { soldBy: { $gt: '' } },
      name: 'sellers',
    },
    // Partial index: few are true, and only these are listed.
    {
      key: { accountId: 1, needsDecision: 1, status: 1, _id: -1 },
      partialFilterExpression: { needsDecision: true },
      name: 'decisions',
    },
    // Covers reports.
    {
      key: {
        ...{ accountId: 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
        ...{ amount: 1, refundedAmount: 1, productId: 1, paymentLinkId: 1 },
      },
      name: 'sums',
    },
    // Covers reports of values; only payments with a value are in it.
    {
      key: {
        ...{ accountId: 1, 'value.currency': 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
        ...{ 'value.amount': 1, productId: 1, paymentLinkId: 1 },
      },
      name: 'values',
      partialFilterExpression: { 'value.currency': { $gt: '' } },
    },
    // The same of parts of orders, which are few: a report takes those of orders that are PAID.
    {
      key: {
        ...{ accountId: 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1, checkoutId: 1 },
        ...{ amount: 1, refundedAmount: 1, productId: 1, paymentLinkId: 1, 'value.currency': 1, 'value.amount': 1 },
      },
      name: 'parts',
      partialFilterExpression: { status: 'UNDERPAID', checkoutId: { $gt: '' } },
    },
    { key: { paymentLinkId: 1, createdAt: -1 } },
    // Finds the payment of a payer that a refund returns, in ledger order.
    {
      key: {
        ...{ accountId: 1, senderAddress: 1, senderMuxedAddress: 1 },
        ...{ ledgerClosedAt: 1, ledger: 1, operationId: 1, paymentLinkId: 1 },
      },
      name: 'ofPayer',
    },
    // Partial index: most payments may be of links.
    { key: { checkoutId: 1, createdAt: -1, _id: -1 }, partialFilterExpression: { checkoutId: { $gt: '' } } },
  ],
);

export interface PaymentDoc extends DocOf<typeof PAYMENTS> {}

/** What a payment counts for in a currency. */
export type StoredValue = NonNullable<PaymentDoc['value']>;

/** The document of a payment, and its indexes. Fields from the ledger never change; `paymentKeyOf`
 *  makes each payment unique per wallet. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import { PART_OPTIONS, SCHEMA_OPTIONS } from '../kit/database.js';

/** Money sent back, as its payment shows it. */
interface PaymentRefund {
  transactionHash: string;
  amount: string;
  ledger: number;
  at: Date;
}

/** What a payment counts for in a currency. */
export interface StoredValue {
  currency: string;
  amount: string;
  rate: string;
  rateAt: Date;
  source: string;
}

export interface PaymentDoc {
  _id: string;
  accountId: string;
  walletId: string;
  network: Network;
  /** Horizon's operation id, a 64-bit number in text. */
  operationId: string;
  /** Which balance change of the operation: 0 but for Soroban operations with several. */
  changeIndex: number;
  transactionHash: string;
  ledger: number;
  ledgerClosedAt: Date;
  receiverAddress: string;
  senderAddress: string;
  assetCode: string;
  assetIssuer: string | null;
  /** Canonical decimal text, as are the amounts below. */
  amount: string;
  memo: string | null;
  memoType: 'none' | 'text' | 'id' | 'hash' | 'return';
  /** Decimal text; null when the destination was not muxed. */
  destinationMuxedId: string | null;
  /** M…; null when the sender was not muxed. */
  senderMuxedAddress: string | null;
  status: PaymentStatus;
  reason: PaymentReason | null;
  expectedAmount: string | null;
  excessAmount: string | null;
  shortfallAmount: string | null;
  paymentLinkId: string | null;
  checkoutId: string | null;
  productId: string | null;
  /** In the currency of its price. It is shown once the payment is taken. Missing where there
   *  is none. */
  value?: StoredValue;
  /** Total refunded: canonical decimal text, possibly more than `amount`. Missing for nothing. */
  refundedAmount?: string;
  /** Oldest first; only the newest of very many. Missing for none. */
  refunds?: PaymentRefund[];
  /** Arrived for an accepted checkout while earlier payments were being completed; it is not among
   *  them. Missing otherwise. */
  afterAcceptance?: true;
  /** The merchant has to decide about it: see `needsDecision` in `payments/checkout.ts`. */
  needsDecision: boolean;
  /** Search words besides its id and hash: its memo, and texts of its link, product or checkout
   *  when it was judged. */
  words?: string[];
  /** The user who made its checkout. Missing for any other. */
  soldBy?: string;
  /** The merchant dismissed it. Missing otherwise; a new judgement removes it. */
  dismissal?: { at: Date; note: string | null };
  /** The moment in `_id`. */
  createdAt: Date;
}

const nullable = { type: String, default: null };
const paymentSchema = new mongoose.Schema<PaymentDoc>(
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: String,
    operationId: String,
    changeIndex: Number,
    transactionHash: String,
    ledger: Number,
    ledgerClosedAt: Date,
    receiverAddress: String,
    senderAddress: String,
    assetCode: String,
    assetIssuer: nullable,
    amount: String,
    memo: nullable,
    memoType: String,
    destinationMuxedId: nullable,
    senderMuxedAddress: nullable,
    status: String,
    reason: nullable,
    expectedAmount: nullable,
    excessAmount: nullable,
    shortfallAmount: nullable,
    paymentLinkId: nullable,
    checkoutId: nullable,
    productId: nullable,
    value: {
      type: new mongoose.Schema<StoredValue>(
        { currency: String, amount: String, rate: String, rateAt: Date, source: String },
        PART_OPTIONS,
      ),
      default: undefined,
    },
    refundedAmount: String,
    refunds: {
      type: [
        new mongoose.Schema<PaymentRefund>(
          { transactionHash: String, amount: String, ledger: Number, at: Date },
          PART_OPTIONS,
        ),
      ],
      default: undefined,
    },
    afterAcceptance: Boolean,
    needsDecision: Boolean,
    words: { type: [String], default: undefined },
    soldBy: String,
    dismissal: {
      type: new mongoose.Schema({ at: Date, note: nullable }, PART_OPTIONS),
      default: undefined,
    },
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'payments' },
);
/** The identity of a payment. It includes the transaction's hash because operation ids start over
 *  when a test network is reset. */
export const PAYMENT_KEY = { accountId: 1, walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 } as const;
paymentSchema.index(PAYMENT_KEY, { unique: true });
// Lists always name the statuses: MongoDB merges one ordered scan for each, and counts from the
// index alone.
paymentSchema.index({ accountId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, productId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, paymentLinkId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, walletId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, senderAddress: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, assetCode: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, transactionHash: 1 });
paymentSchema.index({ accountId: 1, words: 1, status: 1, _id: -1 });
paymentSchema.index(
  { accountId: 1, soldBy: 1, status: 1, _id: -1 },
  { partialFilterExpression: { soldBy: { $gt: '' } }, name: 'sellers' },
);
// Partial index: few are true, and only these are listed.
paymentSchema.index(
  { accountId: 1, needsDecision: 1, status: 1, _id: -1 },
  { partialFilterExpression: { needsDecision: true }, name: 'decisions' },
);
// Covers reports.
paymentSchema.index(
  {
    ...{ accountId: 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
    ...{ amount: 1, refundedAmount: 1, productId: 1, paymentLinkId: 1 },
  },
  { name: 'sums' },
);
// Covers reports of values; only payments with a value are in it.
paymentSchema.index(
  {
    ...{ accountId: 1, 'value.currency': 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
    ...{ 'value.amount': 1, productId: 1, paymentLinkId: 1 },
  },
  { name: 'values', partialFilterExpression: { 'value.currency': { $gt: '' } } },
);
// The same of parts of orders, which are few: a report takes those of orders that are PAID.
paymentSchema.index(
  {
    ...{ accountId: 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1, checkoutId: 1 },
    ...{ amount: 1, refundedAmount: 1, productId: 1, paymentLinkId: 1, 'value.currency': 1, 'value.amount': 1 },
  },
  { name: 'parts', partialFilterExpression: { status: 'UNDERPAID', checkoutId: { $gt: '' } } },
);
paymentSchema.index({ paymentLinkId: 1, createdAt: -1 });
// Finds the payment of a payer that a refund returns, in ledger order.
paymentSchema.index(
  {
    ...{ accountId: 1, senderAddress: 1, senderMuxedAddress: 1 },
    ...{ ledgerClosedAt: 1, ledger: 1, operationId: 1, paymentLinkId: 1 },
  },
  { name: 'ofPayer' },
);
// Partial index: most payments may be of links.
paymentSchema.index(
  { checkoutId: 1, createdAt: -1, _id: -1 },
  { partialFilterExpression: { checkoutId: { $gt: '' } } },
);

export const paymentModel = (connection: mongoose.Connection): mongoose.Model<PaymentDoc> =>
  connection.model<PaymentDoc>('Payment', paymentSchema);

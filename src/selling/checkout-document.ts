/** The document of a checkout, and its indexes. */
import mongoose from 'mongoose';
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { Language } from '../../contracts/languages.js';
import type { StoredOrder } from '../domain/order.js';
import type { LedgerStamp } from '../domain/terms.js';
import { PART_OPTIONS, SCHEMA_OPTIONS, stampSchema } from '../kit/database.js';
import type { Holds, Takes } from './holdings.js';

/** `amount` or `price` is what the order comes to. */
export interface CheckoutDoc extends StoredOrder {
  /** Missing where it takes nothing that runs out. */
  takes?: Takes;
  holds?: Holds;
  /** When to look whether a CANCELLED one that holds something is proven unpaid; null for never.
   *  Missing means null. */
  giveBackAt?: Date | null;
  _id: string;
  accountId: string;
  productId: string | null;
  walletId: string;
  slug: string;
  /** In canonical form: what `normalizeMemo` makes of what a payer types. */
  memo: string;
  reference: string | null;
  /** JSON text of an object: its keys may have dots. */
  metadata: string;
  /** The order link that it was made by, and what the payer told it: JSON text of an object, as
   *  `metadata`. Missing for other checkouts. */
  paymentLinkId?: string;
  answers?: string;
  customer?: { name: string | null; email: string | null; phone: string | null; address: string | null };
  /** What its link says once it is paid. Missing for nothing. */
  paidMessage?: string;
  /** The payer's address, which gets a receipt. Missing where there is none. */
  customerEmail?: string;
  /** The receipt's language. Missing means English. */
  language?: Language;
  name: string;
  description: string | null;
  assetCode: string;
  assetIssuer: string | null;
  /** Canonical decimal text; null where it is priced in a currency. */
  amount: string | null;
  /** The price's; missing where it is priced in its asset. */
  currency?: string;
  /** Canonical decimal text, in the currency. Missing as `currency`. */
  price?: string;
  quantity: number | null;
  /** How much less is enough; canonical. */
  tolerancePercent: string;
  successUrl: string | null;
  cancelUrl: string | null;
  status: CheckoutStatus;
  /** The counted sum, in stroops or in 10^-7 units of the currency: decimal text, because it may
   *  exceed the largest payment. */
  received: string;
  /** With a currency: the stroops that counted, and what of them was not needed, as in `Checkout`.
   *  Missing for none, or without a currency. */
  paidIn?: string;
  excess?: string;
  /** Refunded stroops as in `Returned`, in decimal text. Missing means none. */
  returned?: {
    ledger: number;
    closedAt: Date;
    operationId: string;
    stroops: string;
    counted?: string;
    countsOn?: boolean;
    isUnrated?: true;
  }[];
  /** All payments, whatever their status. */
  paymentCount: number;
  expiresAt: Date;
  /** When to check next whether an OPEN checkout has expired. */
  expiryCheckAt: Date;
  cancelledFrom: LedgerStamp | null;
  /** Missing means null. */
  acceptedFrom?: LedgerStamp | null;
  /** The last COMPLETED payment while an acceptance is still completing later ones. Missing when
   *  all are completed. */
  completedUpTo?: string;
  /** True while parts of a PAID checkout with very many payments are still marked as needing a
   *  decision. Missing otherwise. */
  partsLeft?: true;
  paidAt: Date | null;
  closedAt: Date | null;
  createdAt: Date;
  /** When the newest gap of its wallet, as of its creation, was found; null for none. Missing in
   *  older documents. */
  gapBefore?: Date | null;
  /** Search words, besides its id. */
  words?: string[];
  /** The user who made it at the dashboard. Missing if an API key made it. */
  soldBy?: string;
  /** Number of refunds read before their payment. Missing means 0. */
  earlyRefunds?: number;
}

const nullable = { type: String, default: null };
const piecesSchema = new mongoose.Schema({ productId: String, quantity: Number }, PART_OPTIONS);
const checkoutSchema = new mongoose.Schema<CheckoutDoc>(
  {
    _id: String,
    accountId: String,
    productId: nullable,
    walletId: String,
    slug: String,
    memo: String,
    reference: nullable,
    metadata: String,
    paymentLinkId: String,
    answers: String,
    customer: {
      type: new mongoose.Schema({ name: nullable, email: nullable, phone: nullable, address: nullable }, PART_OPTIONS),
      required: false,
    },
    paidMessage: String,
    customerEmail: String,
    language: String,
    name: String,
    description: nullable,
    assetCode: String,
    assetIssuer: nullable,
    amount: nullable,
    currency: String,
    price: String,
    quantity: { type: Number, default: null },
    lines: [
      new mongoose.Schema(
        {
          ...{ productId: nullable, name: String, quantity: Number, price: String },
          taxPercent: { type: String, required: false },
          ...{ total: String, net: String, tax: String },
        },
        PART_OPTIONS,
      ),
    ],
    taxIncluded: Boolean,
    tolerancePercent: String,
    takes: {
      type: new mongoose.Schema<Takes>({ couponId: nullable, pieces: [piecesSchema], linkId: nullable }, PART_OPTIONS),
      required: false,
    },
    holds: {
      type: new mongoose.Schema<Holds>({ coupon: Boolean, pieces: Boolean, place: Boolean }, PART_OPTIONS),
      required: false,
    },
    giveBackAt: { type: Date, default: null },
    discount: { type: new mongoose.Schema({ name: nullable, amount: String }, PART_OPTIONS), required: false },
    tip: String,
    successUrl: nullable,
    cancelUrl: nullable,
    status: String,
    received: String,
    paidIn: String,
    excess: String,
    returned: {
      type: [
        new mongoose.Schema(
          {
            ...{ ledger: Number, closedAt: Date, operationId: String, stroops: String, counted: String },
            countsOn: { type: Boolean, required: false },
            isUnrated: { type: Boolean, required: false },
          },
          PART_OPTIONS,
        ),
      ],
      default: undefined,
    },
    paymentCount: Number,
    expiresAt: Date,
    expiryCheckAt: Date,
    cancelledFrom: { type: stampSchema, default: null },
    acceptedFrom: { type: stampSchema, default: null },
    completedUpTo: String,
    partsLeft: Boolean,
    paidAt: { type: Date, default: null },
    closedAt: { type: Date, default: null },
    createdAt: Date,
    gapBefore: Date,
    words: { type: [String], default: undefined },
    soldBy: String,
    earlyRefunds: Number,
  },
  { ...SCHEMA_OPTIONS, collection: 'checkouts' },
);
checkoutSchema.index({ accountId: 1, _id: -1 });
checkoutSchema.index({ accountId: 1, status: 1, _id: -1 });
checkoutSchema.index({ accountId: 1, productId: 1, _id: -1 });
checkoutSchema.index({ accountId: 1, walletId: 1, status: 1, _id: -1 });
checkoutSchema.index(
  { accountId: 1, reference: 1, _id: -1 },
  { partialFilterExpression: { reference: { $gt: '' } }, name: 'reference' },
);
checkoutSchema.index({ accountId: 1, words: 1, status: 1, _id: -1 });
checkoutSchema.index(
  { accountId: 1, soldBy: 1, status: 1, _id: -1 },
  { partialFilterExpression: { soldBy: { $gt: '' } }, name: 'sellers' },
);
// Partial index: few orders have taxes.
checkoutSchema.index(
  { accountId: 1, status: 1, paidAt: 1 },
  { partialFilterExpression: { 'lines.taxPercent': { $gt: '' } }, name: 'taxes' },
);
// Partial index: few are cancelled with something that they hold.
checkoutSchema.index(
  { giveBackAt: 1 },
  { partialFilterExpression: { giveBackAt: { $gt: new Date(0) } }, name: 'giveBack' },
);
// Partial index: only OPEN checkouts can expire.
checkoutSchema.index({ expiryCheckAt: 1 }, { partialFilterExpression: { status: 'OPEN' }, name: 'expiry' });

// Partial index: rarely populated.
checkoutSchema.index(
  { completedUpTo: 1 },
  { partialFilterExpression: { completedUpTo: { $exists: true } }, name: 'completion' },
);
checkoutSchema.index({ partsLeft: 1 }, { partialFilterExpression: { partsLeft: true }, name: 'partsLeft' });

export const checkoutModel = (connection: mongoose.Connection): mongoose.Model<CheckoutDoc> =>
  connection.model<CheckoutDoc>('Checkout', checkoutSchema);

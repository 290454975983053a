/** The document of a checkout, and its indexes. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { Language } from '../../contracts/languages.js';
import type { StoredOrder } from '../domain/order.js';
import type { LedgerStamp } from '../domain/terms.js';
import { type DocOf, define, EPOCH, flag, nullable, optional, shape, text } from '../kit/collection.js';
import type { Holds, Takes } from './holdings.js';

/** `amount` or `price` is what the order comes to. */
export const CHECKOUTS = define(
  'checkouts',
  {
    // What it is an order of.
    lines: shape<StoredOrder['lines']>(),
    taxIncluded: Boolean,
    discount: optional({ name: nullable(String), amount: String }),
    tip: optional(String),
    /** Missing where it takes nothing that runs out. */
    takes: optional(shape<Takes>()),
    holds: optional(shape<Holds>()),
    /** When to look whether a CANCELLED one that holds something is proven unpaid; null for never.
     *  Missing means null. */
    giveBackAt: optional(nullable(Date)),
    _id: String,
    accountId: String,
    productId: nullable(String),
    walletId: String,
    slug: String,
    /** In canonical form: what `normalizeMemo` makes of what a payer types. */
    memo: String,
    reference: nullable(String),
    /** JSON text of an object: its keys may have dots. */
    metadata: String,
    /** The order link that it was made by, and what the payer told it: JSON text of an object, as
     *  `metadata`. Missing for other checkouts. */
    paymentLinkId: optional(String),
    answers: optional(String),
    customer: optional({
      name: nullable(String),
      email: nullable(String),
      phone: nullable(String),
      address: nullable(String),
    }),
    /** What its link says once it is paid. Missing for nothing. */
    paidMessage: optional(String),
    /** The payer's address, which gets a receipt. Missing where there is none. */
    customerEmail: optional(String),
    /** The receipt's language. Missing means English. */
    language: optional(text<Language>()),
    name: String,
    description: nullable(String),
    assetCode: String,
    assetIssuer: nullable(String),
    /** Canonical decimal text; null where it is priced in a currency. */
    amount: nullable(String),
    /** The price's; missing where it is priced in its asset. */
    currency: optional(String),
    /** Canonical decimal text, in the currency. Missing as `currency`. */
    price: optional(String),
    quantity: nullable(Number),
    /** How much less is enough; canonical. */
    tolerancePercent: String,
    successUrl: nullable(String),
    cancelUrl: nullable(String),
    status: text<CheckoutStatus>(),
    /** The counted sum, in stroops or in 10^-7 units of the currency: decimal text, because it may
     *  exceed the largest payment. */
    received: String,
    /** With a currency: the stroops that counted, and what of them was not needed, as in
     *  `Checkout` of `domain/checkout.ts`. Missing for none, or without a currency. */
    paidIn: optional(String),
    excess: optional(String),
    /** Refunded stroops as in `Returned`, in decimal text. Missing means none. */
    returned: optional([
      {
        ledger: Number,
        closedAt: Date,
        operationId: String,
        stroops: String,
        counted: optional(String),
        countsOn: optional(Boolean),
        isUnrated: flag(),
      },
    ]),
    /** All payments, whatever their status. */
    paymentCount: Number,
    expiresAt: Date,
    /** When to check next whether an OPEN checkout has expired. */
    expiryCheckAt: Date,
    cancelledFrom: nullable(shape<LedgerStamp>()),
    acceptedFrom: nullable(shape<LedgerStamp>()),
    /** Id of the last payment that a running acceptance has completed; empty at first. Missing when
     *  all are completed. */
    completedUpTo: optional(String),
    /** True while parts of a PAID checkout with very many payments are still marked as needing a
     *  decision. Missing otherwise. */
    partsLeft: flag(),
    paidAt: nullable(Date),
    closedAt: nullable(Date),
    createdAt: Date,
    /** When the newest gap of its wallet, as of its creation, was found; null for none. */
    gapBefore: nullable(Date),
    /** Search words, besides its id. */
    words: optional([String]),
    /** The user who made it at the dashboard. Missing if an API key made it. */
    soldBy: optional(String),
    /** Number of refunds read before their payment. Missing means 0. */
    earlyRefunds: optional(Number),
  },
  [
    { key: { accountId: 1, _id: -1 } },
    { key: { accountId: 1, status: 1, _id: -1 } },
    { key: { accountId: 1, productId: 1, _id: -1 } },
    { key: { accountId: 1, walletId: 1, status: 1, _id: -1 } },
    {
      key: { accountId: 1, reference: 1, _id: -1 },
      partialFilterExpression: { reference: { $gt: '' } },
      name: 'reference',
    },
    { key: { accountId: 1, words: 1, status: 1, _id: -1 } },
    {
      key: { accountId: 1, soldBy: 1, status: 1, _id: -1 },
      partialFilterExpression: { soldBy: { $gt: '' } },
      name: 'sellers',
    },
    // Partial index: few orders have taxes.
    {
      key: { accountId: 1, status: 1, paidAt: 1 },
      partialFilterExpression: { 'lines.taxPercent': { $gt: '' } },
      name: 'taxes',
    },
    // Partial index: few are cancelled with something that they hold.
    { key: { giveBackAt: 1 }, partialFilterExpression: { giveBackAt: { $gt: EPOCH } }, name: 'giveBack' },
    // Partial index: only OPEN checkouts can expire.
    { key: { expiryCheckAt: 1 }, partialFilterExpression: { status: 'OPEN' }, name: 'expiry' },
    // Partial index: rarely populated.
    { key: { completedUpTo: 1 }, partialFilterExpression: { completedUpTo: { $exists: true } }, name: 'completion' },
    { key: { partsLeft: 1 }, partialFilterExpression: { partsLeft: true }, name: 'partsLeft' },
  ],
);

export interface CheckoutDoc extends DocOf<typeof CHECKOUTS> {}

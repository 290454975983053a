/** Checkouts. Memo and slug are unique over all accounts, by their names. Whatever changes a checkout's state does so in a transaction that read it, or by a
 *  condition on its status: of two changes at once one wins, and the other sees it.
 *
 *  A checkout whose product or wallet is gone does not exist for anybody: creation and deletion do not meet in one document, so that a process
 *  that dies between the two writes of a creation can leave one behind. It is removed at its end at the latest. */
import mongoose from 'mongoose';
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { Language } from '../../contracts/languages.js';
import { firstIdOf } from '../domain/ids.js';
import { accountsOf } from '../domain/owners.js';
import type { LedgerStamp } from '../domain/terms.js';
import { queryWords, wordsOf } from '../domain/words.js';
import { createById } from './by-id.js';
import { createCountSegments } from './count-segments.js';
import {
  isDuplicateKey,
  makeIndexes,
  orAlreadyMade,
  PART_OPTIONS,
  removeSome,
  SCHEMA_OPTIONS,
  type Session,
} from './database.js';
import { createPages, type PageRequest, withinIds } from './paging.js';
import { createPayableNames } from './payable-names.js';
import { type Priced, pricedOf } from './priced.js';
import { batchesOf, LINES_AT_ONCE } from './snapshot.js';
import { beginning } from './text-search.js';
import { stampSchema } from './wallets.js';

export interface CheckoutDoc {
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
  /** Of the payer, who gets a receipt. Missing where there is none. */
  customerEmail?: string;
  /** Of the receipt. Missing means English. */
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
  successUrl: string | null;
  cancelUrl: string | null;
  status: CheckoutStatus;
  /** What counts of the payments, in stroops, or in 10^7 units of the currency each: decimal text, for the sum may exceed what one payment can hold. */
  received: string;
  /** In a currency: stroops that counted, and those beyond what was asked for. Missing for none, or without a currency. */
  paidIn?: string;
  excess?: string;
  /** What was sent back, as `Returned` tells; stroops in decimal text. Missing means none. */
  returned?: {
    ledger: number;
    closedAt: Date;
    operationId: string;
    stroops: string;
    counted?: string;
    countsOn?: boolean;
  }[];
  /** All payments, whatever their status. */
  paymentCount: number;
  expiresAt: Date;
  /** When to look next whether an OPEN checkout has expired. */
  expiryCheckAt: Date;
  cancelledFrom: LedgerStamp | null;
  /** Missing means null. */
  acceptedFrom?: LedgerStamp | null;
  /** Of one that was accepted with very many payments: those up to this id are COMPLETED, the others are yet to be. Missing when all are. */
  completedUpTo?: string;
  /** True for one that became PAID with very many payments: some parts still say that a decision is due. Missing otherwise. */
  partsLeft?: true;
  paidAt: Date | null;
  closedAt: Date | null;
  createdAt: Date;
  /** When the newest gap that its wallet had then was found; null for none. Missing in documents of before there was this. */
  gapBefore?: Date | null;
  /** What a search finds it by, besides its id. */
  words?: string[];
  /** The user who made it at the dashboard. Missing for one that an API key made. */
  soldBy?: string;
  /** Refunds that were read before a payment that they give back. Missing means 0. */
  earlyRefunds?: number;
}

const nullable = { type: String, default: null };
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
// Only what is OPEN can expire: the index holds nothing else.
checkoutSchema.index({ expiryCheckAt: 1 }, { partialFilterExpression: { status: 'OPEN' }, name: 'expiry' });

// Hardly ever has an accepted checkout payments left to complete.
checkoutSchema.index(
  { completedUpTo: 1 },
  { partialFilterExpression: { completedUpTo: { $exists: true } }, name: 'completion' },
);
checkoutSchema.index({ partsLeft: 1 }, { partialFilterExpression: { partsLeft: true }, name: 'partsLeft' });

export interface CheckoutFilter {
  status?: CheckoutStatus;
  reference?: string;
  productId?: string;
  walletId?: string;
  search?: string | undefined;
  /** A user. */
  soldBy?: string | undefined;
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdTo?: Date;
}

/** Each word begins one of the checkout's words, or its id. */
const searched = (search: string) => ({
  $and: queryWords(search).map((word) =>
    word.startsWith('chk_')
      ? { $or: [{ words: beginning(word) }, { _id: beginning(word) }] }
      : { words: beginning(word) },
  ),
});

/** What a checkout is found by. */
export const wordsOfCheckout = ({
  name,
  reference,
  memo,
  metadata,
  customerEmail,
}: Pick<CheckoutDoc, 'name' | 'reference' | 'memo' | 'metadata' | 'customerEmail'>): string[] =>
  wordsOf([reference, memo, name, customerEmail, ...Object.values(JSON.parse(metadata) as Record<string, string>)]);

/** In MongoDB's terms: what is equal, and between which ids. */
function criteriaOf({ createdFrom, createdTo, search, ...filter }: CheckoutFilter) {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const equal = { ...given, ...(search === undefined ? {} : searched(search)) };
  const ids = { from: createdFrom && firstIdOf('chk', createdFrom), to: createdTo && firstIdOf('chk', createdTo) };
  return { equal, ids };
}

/** The same as one filter. */
function queryOf(accountId: string, filter: CheckoutFilter) {
  const { equal, ids } = criteriaOf(filter);
  return { accountId, ...equal, ...withinIds(ids) };
}

/** The fields that payments, cancel, accept and expiry change. */
export type CheckoutState = Pick<
  CheckoutDoc,
  | 'status'
  | 'received'
  | 'paidIn'
  | 'excess'
  | 'returned'
  | 'paymentCount'
  | 'cancelledFrom'
  | 'acceptedFrom'
  | 'paidAt'
  | 'closedAt'
>;

const stateOf = ({
  status,
  received,
  paidIn,
  excess,
  returned = [],
  paymentCount,
  cancelledFrom,
  acceptedFrom = null,
  paidAt,
  closedAt,
}: CheckoutDoc): CheckoutState => ({
  status,
  received,
  ...(paidIn === undefined ? {} : { paidIn }),
  ...(excess === undefined ? {} : { excess }),
  returned,
  paymentCount,
  cancelledFrom,
  acceptedFrom,
  paidAt,
  closedAt,
});

/** What works across accounts: for the hosted page, the watcher and the expiry. */
export type CheckoutStore = ReturnType<typeof createCheckoutStore>['system'];

export function createCheckoutStore(
  connection: mongoose.Connection,
  countSegments = createCountSegments(connection),
  names = createPayableNames(connection),
) {
  const checkouts = connection.model<CheckoutDoc>('Checkout', checkoutSchema);
  const page = createPages(checkouts);
  const byId = createById(checkouts);
  const collection = checkouts.collection as unknown as mongoose.mongo.Collection<CheckoutDoc>;
  const listOf = (accountId: string) => `checkouts:${accountId}`;
  /** A list of its own for those that are not OPEN: what is made never meets what is closed in one document. */
  const closedListOf = (accountId: string) => `closedCheckouts:${accountId}`;

  /** Called in the transaction that closes checkouts or changes closed ones. One that changes again counts again, which only makes some more segments. */
  async function touchClosed(batch: readonly CheckoutDoc[], session: Session): Promise<void> {
    const closed = batch.filter(({ status }) => status !== 'OPEN');
    await countSegments.touchAll(closed, ({ accountId }) => closedListOf(accountId), session);
  }

  async function update(batch: readonly CheckoutDoc[], session: Session): Promise<void> {
    if (batch.length === 0) return;
    await collection.bulkWrite(
      batch.map((checkout) => {
        const { _id, accountId } = checkout;
        return { updateOne: { filter: { _id, accountId }, update: { $set: stateOf(checkout) } } };
      }),
      { session, ordered: false },
    );
    await touchClosed(batch, session);
  }

  async function removeUnpaid(accountId: string, ids: readonly string[], session: Session): Promise<void> {
    const unpaid = { _id: { $in: [...ids] }, accountId, paymentCount: 0 };
    const found = await collection.find(unpaid, { session, projection: { memo: 1, slug: 1 } }).toArray();
    if (found.length === 0) return;
    await collection.deleteMany(unpaid, { session });
    await names.release(accountId, found, session);
    await countSegments.touch(listOf(accountId), ids, 0, session);
    await countSegments.touch(closedListOf(accountId), ids, 0, session);
  }

  return {
    ensureIndexes: () => makeIndexes(checkouts),

    forAccount: (accountId: string) => ({
      /** Stores them as this account's. False when a memo or slug is taken: abort the transaction and draw new ones. */
      async insert(batch: readonly CheckoutDoc[], session: Session): Promise<boolean> {
        try {
          const docs = batch.map((checkout) => ({ ...checkout, words: wordsOfCheckout(checkout), accountId }));
          await orAlreadyMade(collection.insertMany(docs, { session }));
          await names.take(docs, session);
          const ids = batch.map(({ _id }) => _id);
          await countSegments.touch(listOf(accountId), ids, ids.length, session);
          return true;
        } catch (error) {
          if (isDuplicateKey(error)) return false;
          throw error;
        }
      },
      removeUnpaid: (ids: readonly string[], session: Session) => removeUnpaid(accountId, ids, session),
      /** What the OPEN ones are priced in, and where they are paid. */
      priced: (): Promise<Priced[]> => pricedOf(collection, { accountId, status: 'OPEN', currency: { $gt: '' } }),
      byId: (id: string, session?: Session) => byId.one(accountId, id, session),
      list(filter: CheckoutFilter, request: PageRequest) {
        // Few are OPEN, and which ones changes all the time.
        if (filter.status === 'OPEN') {
          return page(queryOf(accountId, filter), { ...request, sort: { _id: -1 } });
        }
        const { equal, ids } = criteriaOf(filter);
        const list = filter.status ? closedListOf(accountId) : listOf(accountId);
        return countSegments.page<CheckoutDoc>(
          list,
          checkouts,
          { accountId, ...equal },
          { ...request, direction: -1, ids },
        );
      },
      /** All that the filter lets through, oldest first. */
      batches: (filter: CheckoutFilter, session: Session) =>
        batchesOf(collection.find(queryOf(accountId, filter), { session, sort: { _id: 1 } }), LINES_AT_ONCE),
      /** Stores what became of a checkout, in the transaction that read it. */
      update: (checkout: CheckoutDoc, session: Session) => update([{ ...checkout, accountId }], session),
      /** Has the payments completed that the acceptance of a checkout leaves, in the transaction that accepts it. */
      async leaveToComplete(id: string, session: Session): Promise<void> {
        await collection.updateOne({ _id: id, accountId }, { $set: { completedUpTo: '' } }, { session });
      },
      existsOfWallet: async (walletId: string, status?: CheckoutStatus): Promise<boolean> =>
        (await collection.findOne(
          { accountId, walletId, ...(status ? { status } : {}) },
          { projection: { _id: 1 } },
        )) !== null,
      /** Some of the unpaid ones of a deleted product. @returns whether none is left */
      removeOfProduct: (productId: string, session: Session): Promise<boolean> =>
        removeSome(collection, { accountId, productId, paymentCount: 0 }, session, (ids) =>
          removeUnpaid(accountId, ids, session),
        ),
    }),

    system: {
      async bySlug(slug: string): Promise<CheckoutDoc | null> {
        const named = await names.bySlug(slug);
        return named && byId.one(named.accountId, named.payableId);
      },
      ofAccounts: byId.ofAccounts,
      byId: (accountId: string, id: string, session: Session) =>
        collection.findOne({ _id: id, accountId }, { session }),
      /** Stores what became of checkouts, in the transaction that read them. */
      update,
      /** In the transaction that found no payment for the refund: it conflicts with every one that gives the checkout a payment. */
      async countEarlyRefund(
        { _id, accountId }: Pick<CheckoutDoc, '_id' | 'accountId'>,
        session: Session,
      ): Promise<void> {
        await collection.updateOne({ _id, accountId }, { $inc: { earlyRefunds: 1 } }, { session });
      },
      /** OPEN checkouts to look at now, those that have waited longest first. */
      dueForExpiry: (now: Date, limit: number) =>
        collection
          .find({ status: 'OPEN', expiryCheckAt: { $lte: now } }, { sort: { expiryCheckAt: 1 }, limit })
          .toArray(),
      async checkExpiryAgain(batch: readonly { checkout: CheckoutDoc; at: Date }[]): Promise<void> {
        if (batch.length === 0) return;
        await collection.bulkWrite(
          batch.map(({ checkout: { _id, accountId }, at }) => ({
            updateOne: { filter: { _id, accountId, status: 'OPEN' }, update: { $set: { expiryCheckAt: at } } },
          })),
          { ordered: false },
        );
      },
      /** Those that are still OPEN. */
      openOf(batch: readonly Pick<CheckoutDoc, '_id' | 'accountId'>[], session: Session) {
        const ids = batch.map(({ _id }) => _id);
        const filter = { _id: { $in: ids }, accountId: { $in: accountsOf(batch) }, status: 'OPEN' } as const;
        return collection.find(filter, { session }).toArray();
      },
      /** Accepted checkouts with payments left to complete. */
      leftToComplete: (limit: number) =>
        collection
          .find({ completedUpTo: { $exists: true } }, { projection: { accountId: 1 }, limit })
          .toArray() as Promise<Pick<CheckoutDoc, '_id' | 'accountId'>[]>,
      /** The same one, in a transaction. Null when nothing is left of it. */
      sameToComplete: ({ _id, accountId }: Pick<CheckoutDoc, '_id' | 'accountId'>, session: Session) =>
        collection.findOne({ _id, accountId, completedUpTo: { $exists: true } }, { session }),
      /** Has the parts decided that a change leaves, in the transaction that makes it PAID. */
      async leaveParts({ _id, accountId }: CheckoutDoc, session: Session): Promise<void> {
        await collection.updateOne({ _id, accountId }, { $set: { partsLeft: true } }, { session });
      },
      withPartsLeft: (limit: number) =>
        collection.find({ partsLeft: true }, { projection: { accountId: 1 }, limit }).toArray() as Promise<
          Pick<CheckoutDoc, '_id' | 'accountId'>[]
        >,
      async noPartsLeft({ _id, accountId }: Pick<CheckoutDoc, '_id' | 'accountId'>, session: Session): Promise<void> {
        await collection.updateOne({ _id, accountId }, { $unset: { partsLeft: '' } }, { session });
      },
      /** @param upTo null when no payment is left */
      async completedUpTo({ _id, accountId }: CheckoutDoc, upTo: string | null, session: Session): Promise<void> {
        const change = upTo === null ? { $unset: { completedUpTo: '' as const } } : { $set: { completedUpTo: upTo } };
        await collection.updateOne({ _id, accountId }, change, { session });
      },
    },
  };
}

/** Checkouts: how they are found, made and changed. Memo and slug are unique over all accounts, by
 *  their names. A change of state happens in a transaction that read the checkout, or on a
 *  condition on its status: of two concurrent changes one wins, and the other sees it.
 *
 *  A checkout whose product is gone counts as not existing, and is removed after the product. */
import type mongoose from 'mongoose';
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import { EPOCH, openCollection } from '../kit/collection.js';
import { type CountSegments, createCountSegments } from '../kit/count-segments.js';
import type { Session } from '../kit/database.js';
import { firstIdOf } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import { type PageRequest, withinIds } from '../kit/paging.js';
import { batchesOf, LINES_AT_ONCE } from '../kit/snapshot.js';
import { beginning, queryWords, wordLike, wordsOf } from '../kit/text-search.js';
import { CHECKOUTS, type CheckoutDoc } from './checkout-document.js';
import { createHoldings, type Holdings, type Takes } from './holdings.js';
import {
  createPayableDocuments,
  createPayableNames,
  type PayableNames,
  type Priced,
  pricedOf,
} from './payable-documents.js';
import { type TaxFilter, taxSums } from './reports.js';

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
      ? { $or: [{ words: wordLike(word) }, { _id: beginning(word) }] }
      : { words: wordLike(word) },
  ),
});

/** The search words of a checkout. */
const wordsOfCheckout = ({
  name,
  reference,
  memo,
  metadata,
  customerEmail,
  answers = '{}',
}: Pick<CheckoutDoc, 'name' | 'reference' | 'memo' | 'metadata' | 'customerEmail' | 'answers'>): string[] =>
  wordsOf([
    ...[reference, memo, name, customerEmail],
    ...[metadata, answers].flatMap((json) => Object.values(JSON.parse(json) as Record<string, string>)),
  ]);

/** For MongoDB: equal fields, and bounds of the ids. */
function criteriaOf({ createdFrom, createdTo, search, ...filter }: CheckoutFilter) {
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined));
  const equal = { ...given, ...(search === undefined ? {} : searched(search)) };
  const ids = { from: createdFrom && firstIdOf('chk', createdFrom), to: createdTo && firstIdOf('chk', createdTo) };
  return { equal, ids };
}

/** Both as one filter. */
function queryOf(accountId: string, filter: CheckoutFilter) {
  const { equal, ids } = criteriaOf(filter);
  return { accountId, ...equal, ...withinIds(ids) };
}

/** The fields that payments, cancel, accept and expiry change. One that is missing here is never
 *  stored after the creation. */
const STATE = [
  'status',
  'received',
  'paidIn',
  'excess',
  'returned',
  'paymentCount',
  'cancelledFrom',
  'acceptedFrom',
  'paidAt',
  'closedAt',
  'holds',
  'giveBackAt',
] as const satisfies readonly (keyof CheckoutDoc)[];

const stateOf = (checkout: CheckoutDoc): Partial<CheckoutDoc> =>
  Object.fromEntries(STATE.flatMap((field) => (checkout[field] === undefined ? [] : [[field, checkout[field]]])));

/** What works across accounts: for the hosted page, the watcher and the expiry. */
export type CheckoutStore = ReturnType<typeof createCheckoutStore>['system'];

function openCheckouts(
  connection: mongoose.Connection,
  holdings: Holdings,
  options: { countSegments: CountSegments; names: PayableNames },
): Store {
  const collection = openCollection<CheckoutDoc>(connection, CHECKOUTS);
  return createPayableDocuments<CheckoutDoc>(collection, {
    listsOf: (accountId) => [listOf(accountId), closedListOf(accountId)],
    unpaid: { paymentCount: 0 },
    ...options,
    onRemoval: async (ids, accountId, session) => {
      const holding = { _id: { $in: [...ids] }, accountId, takes: { $ne: null } } as object;
      await holdings.giveBack(await collection.find(holding, { session }).toArray(), session);
    },
  });
}

type Store = ReturnType<typeof createPayableDocuments<CheckoutDoc>>;

export function createCheckoutStore(
  connection: mongoose.Connection,
  countSegments = createCountSegments(connection),
  names = createPayableNames(connection),
) {
  const holdings = createHoldings(connection);
  const store = openCheckouts(connection, holdings, { countSegments, names });
  return {
    forAccount: (accountId: string) => ({
      ...listsOf(store, accountId),
      ...makingOf(store, accountId),
      /** Takes what a new checkout holds. Call in the transaction that makes it. */
      take: (takes: Takes, now: Date, session: Session) => holdings.take(accountId, takes, now, session),
      takeAgain: (checkout: CheckoutDoc, session: Session) => holdings.takeAgain({ ...checkout, accountId }, session),
      ...changesOf(store, accountId),
    }),
    system: {
      bySlug: store.bySlug,
      ofAccounts: store.byId.ofAccounts,
      byId: (accountId: string, id: string, session: Session) =>
        store.collection.findOne({ _id: id, accountId }, { session }),
      /** Stores changed checkouts, in the transaction that read them. */
      update: (batch: readonly CheckoutDoc[], session: Session) => update(store, batch, session),
      countEarlyRefund: store.countEarlyRefund,
      ...{ takeAgain: holdings.takeAgain, giveBack: holdings.giveBack },
      ...givingBackOf(store),
      ...expiryOf(store),
      ...acceptanceOf(store),
      ...partsOf(store),
    },
  };
}

type OwnedCheckout = Pick<CheckoutDoc, '_id' | 'accountId'>;

const listOf = (accountId: string) => `checkouts:${accountId}`;
/** Checkouts that are not OPEN form a list of their own, so that creating and closing never write
 *  the same segment. */
const closedListOf = (accountId: string) => `closedCheckouts:${accountId}`;

const listsOf = ({ collection, countSegments, byId, page }: Store, accountId: string) => ({
  byId: (id: string, session?: Session) => byId.one(accountId, id, session),
  byIds: (ids: readonly string[], session?: Session) => byId.many(accountId, ids, session),
  list(filter: CheckoutFilter, request: PageRequest) {
    // Few are OPEN, and they change constantly.
    if (filter.status === 'OPEN') return page(queryOf(accountId, filter), { ...request, sort: { _id: -1 } });
    const { equal, ids } = criteriaOf(filter);
    const list = filter.status ? closedListOf(accountId) : listOf(accountId);
    const listed = { accountId, ...equal };
    return countSegments.page<CheckoutDoc>(list, collection, listed, { ...request, direction: -1, ids });
  },
  /** Taxes of the PAID ones, by when they were paid. */
  taxes: (filter: TaxFilter, signal?: AbortSignal) => taxSums(collection, accountId, filter, signal),
  /** All that match the filter, oldest first. */
  batches: (filter: CheckoutFilter, session: Session) =>
    batchesOf(collection.find(queryOf(accountId, filter), { session, sort: { _id: 1 } }), LINES_AT_ONCE),
  /** Currencies and wallets of the OPEN ones. */
  priced: (): Promise<Priced[]> => pricedOf(collection, { accountId, status: 'OPEN', currency: { $gt: '' } }),
  async existsOfWallet(walletId: string, session: Session, status?: CheckoutStatus): Promise<boolean> {
    const filter = { accountId, walletId, ...(status ? { status } : {}) };
    return (await collection.findOne(filter, { projection: { _id: 1 }, session })) !== null;
  },
});

const makingOf = (store: Store, accountId: string) => ({
  /** New ones of this account, with their names and their count. Storing them throws `Taken` when a
   *  memo or slug is: draw new ones. */
  insertsOf: (batch: readonly CheckoutDoc[]) =>
    store.insertsOf(
      accountId,
      batch.map((checkout) => ({ ...checkout, words: wordsOfCheckout(checkout), accountId })),
    ),
  removeUnpaid: (ids: readonly string[], session: Session) => store.removeUnpaid(accountId, ids, session),
  removeOfProduct: (productId: string, session: Session) => store.removeOfProduct(accountId, productId, session),
});

const changesOf = (store: Store, accountId: string) => ({
  /** Stores a changed checkout, in the transaction that read it. */
  update: (checkout: CheckoutDoc, session: Session) => update(store, [{ ...checkout, accountId }], session),
  /** Schedules the completion of the payments that the acceptance leaves, in its transaction. */
  async scheduleCompletion(id: string, session: Session): Promise<void> {
    await store.collection.updateOne({ _id: id, accountId }, { $set: { completedUpTo: '' } }, { session });
  },
});

async function update(
  { collection, countSegments }: Store,
  batch: readonly CheckoutDoc[],
  session: Session,
): Promise<void> {
  if (batch.length === 0) return;
  await collection.bulkWrite(
    batch.map((checkout) => {
      const { _id, accountId } = checkout;
      return { updateOne: { filter: { _id, accountId }, update: { $set: stateOf(checkout) } } };
    }),
    { session, ordered: false },
  );
  // One that was closed before is counted again, which only adds segments.
  const closed = batch.filter(({ status }) => status !== 'OPEN');
  await countSegments.touchAll(closed, ({ accountId }) => closedListOf(accountId), session);
}

/** When a checkout is due for a check again. */
interface LaterCheck {
  checkout: OwnedCheckout;
  at: Date;
}

const expiryOf = ({ collection }: Store) => ({
  /** OPEN checkouts due for a check, longest waiting first. */
  dueForExpiry: (now: Date, limit: number) =>
    collection.find({ status: 'OPEN', expiryCheckAt: { $lte: now } }, { sort: { expiryCheckAt: 1 }, limit }).toArray(),
  async checkExpiryAgain(batch: readonly LaterCheck[]): Promise<void> {
    if (batch.length === 0) return;
    await collection.bulkWrite(
      batch.map(({ checkout: { _id, accountId }, at }) => ({
        updateOne: { filter: { _id, accountId, status: 'OPEN' }, update: { $set: { expiryCheckAt: at } } },
      })),
      { ordered: false },
    );
  },
  /** Those of these that are still OPEN. */
  openOf(batch: readonly OwnedCheckout[], session: Session) {
    const ids = batch.map(({ _id }) => _id);
    const filter = { _id: { $in: ids }, accountId: { $in: accountsOf(batch) }, status: 'OPEN' } as const;
    return collection.find(filter, { session }).toArray();
  },
});

/** CANCELLED checkouts that hold something. */
const givingBackOf = ({ collection }: Store) => ({
  dueForGivingBack: (now: Date, limit: number) =>
    collection.find({ giveBackAt: { $gt: EPOCH, $lte: now } }, { sort: { giveBackAt: 1 }, limit }).toArray(),
  async checkGivingBackAgain(batch: readonly LaterCheck[]): Promise<void> {
    if (batch.length === 0) return;
    await collection.bulkWrite(
      batch.map(({ checkout: { _id, accountId }, at }) => ({
        updateOne: { filter: { _id, accountId, giveBackAt: { $gt: EPOCH } }, update: { $set: { giveBackAt: at } } },
      })),
      { ordered: false },
    );
  },
  /** Those of these that still wait for it. */
  stillHolding(batch: readonly OwnedCheckout[], session: Session) {
    const ids = { _id: { $in: batch.map(({ _id }) => _id) }, accountId: { $in: accountsOf(batch) } };
    return collection.find({ ...ids, giveBackAt: { $gt: EPOCH } }, { session }).toArray();
  },
});

const apartFrom = (ids: readonly string[]) => (ids.length > 0 ? { _id: { $nin: [...ids] } } : {});

/** Checkouts whose acceptance has payments left to complete. */
const acceptanceOf = ({ collection }: Store) => ({
  /** @param without ids to leave out */
  toComplete: (limit: number, without: readonly string[]): Promise<OwnedCheckout[]> =>
    collection
      .find({ completedUpTo: { $exists: true }, ...apartFrom(without) }, { projection: { accountId: 1 }, limit })
      .toArray(),
  /** The same one, in a transaction. Null when nothing is left of it. */
  reloadToComplete: ({ _id, accountId }: OwnedCheckout, session: Session) =>
    collection.findOne({ _id, accountId, completedUpTo: { $exists: true } }, { session }),
  /** @param upTo null when no payment is left */
  async moveCompletion({ _id, accountId }: CheckoutDoc, upTo: string | null, session: Session): Promise<void> {
    const change = upTo === null ? { $unset: { completedUpTo: '' as const } } : { $set: { completedUpTo: upTo } };
    await collection.updateOne({ _id, accountId }, change, { session });
  },
});

/** PAID checkouts with parts still marked as needing a decision. */
const partsOf = ({ collection }: Store) => ({
  /** In the transaction that makes it PAID. */
  async schedulePartDecisions({ _id, accountId }: CheckoutDoc, session: Session): Promise<void> {
    await collection.updateOne({ _id, accountId }, { $set: { partsLeft: true } }, { session });
  },
  /** @param without ids to leave out */
  withUndecidedParts: (limit: number, without: readonly string[]): Promise<OwnedCheckout[]> =>
    collection.find({ partsLeft: true, ...apartFrom(without) }, { projection: { accountId: 1 }, limit }).toArray(),
  async endPartDecisions({ _id, accountId }: OwnedCheckout, session: Session): Promise<void> {
    await collection.updateOne({ _id, accountId }, { $unset: { partsLeft: '' } }, { session });
  },
});

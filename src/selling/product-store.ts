/** Products with the history of their terms. A change is stored only where its latest `revision`
 *  was read.
 *
 *  A deleted product leaves a note until its links and checkouts are removed, too. */
import type mongoose from 'mongoose';
import { MAX_STOCK } from '../../contracts/products.js';
import type { LedgerClose } from '../domain/terms.js';
import { type Collection, type DocOf, define, makeCollection, openCollection } from '../kit/collection.js';
import { AlreadyMade, type Insert, insertOf, type Session } from '../kit/database.js';
import { addCounts } from '../kit/group-commit.js';
import { accountsOf } from '../kit/owners.js';
import { createPages, type PageRequest } from '../kit/paging.js';
import { containing } from '../kit/text-search.js';
import { createById } from '../kit/tick-loader.js';
import { assetsOf, type Priced, pricedOf } from './payable-documents.js';
import {
  beforeHistory,
  createProductVersions,
  PRODUCTS,
  type ProductDoc,
  type ProductVersion,
  toArchive,
} from './product-document.js';

/** Bounds the size of the document; older versions are seldom needed. */
const VERSIONS_KEPT = 50;
const CHANGES_REMEMBERED = 20;

/** A deleted product whose links and checkouts may not all be removed yet. */
const DELETED_PRODUCTS = define('deletedProducts', {
  _id: String,
  accountId: String,
});

interface DeletedProductDoc extends DocOf<typeof DELETED_PRODUCTS> {}

/** What comes to the counts of a product when links are made, changed or deleted. */
export interface LinkCount {
  accountId: string;
  productId: string;
  all: number;
  plain: number;
}

export interface ProductFilter {
  active?: boolean;
  search?: string;
  sortBy: 'createdAt' | 'name';
  sortOrder: 'asc' | 'desc';
}

/** What works across accounts: for the watcher. */
export type ProductStore = ReturnType<typeof createProductStore>['system'];
/** One account's view. */
export type AccountProducts = ReturnType<ReturnType<typeof createProductStore>['forAccount']>;

/** @param versionsKept in a product's document; the earlier ones are archived */
export function createProductStore(connection: mongoose.Connection, versionsKept = VERSIONS_KEPT) {
  const collection = openCollection<ProductDoc>(connection, PRODUCTS);
  const store: Store = {
    collection,
    deleted: openCollection<DeletedProductDoc>(connection, DELETED_PRODUCTS),
    versions: createProductVersions(connection),
    byId: createById(collection),
    page: createPages(collection),
    versionsKept,
  };
  return {
    /** It has no index of its own, and a transaction should not create it. */
    ensureCollection: () => makeCollection(connection, DELETED_PRODUCTS),
    forAccount: (accountId: string) => ({
      ...listsOf(store, accountId),
      ...pricesOf(store, accountId),
      ...changesOf(store, accountId),
      ...removalOf(store, accountId),
    }),
    system: {
      ofAccounts: store.byId.ofAccounts,
      withVersionsAt: (product: ProductDoc, closes: readonly LedgerClose[], session: Session) =>
        withVersionsAt(store, product, closes, session),
      /** Deleted products whose links and checkouts may not all be removed yet. */
      deleted: (limit: number) => store.deleted.find({}, { limit }).toArray(),
      /** Called in the transaction that makes or deletes links, or changes what they are, so that
       *  their products cannot vanish before it ends.
       *  @returns the product of each as it is now; null where the account has none */
      countLinks: (counts: readonly LinkCount[], session: Session): Promise<(ProductDoc | null)[]> =>
        addCounts(
          store.collection,
          counts.map(({ productId, accountId, all, plain }) => ({
            ...{ _id: productId, accountId },
            counts: { paymentLinkCount: all, plainLinkCount: plain },
          })),
          session,
        ),
      ...pricesAcrossAccounts(store),
      ...ledgerSideOf(store),
    },
  };
}

interface Store {
  collection: Collection<ProductDoc>;
  deleted: Collection<DeletedProductDoc>;
  versions: ReturnType<typeof createProductVersions>;
  byId: ReturnType<typeof createById<ProductDoc>>;
  page: ReturnType<typeof createPages<ProductDoc>>;
  versionsKept: number;
}

async function withVersionsAt(
  { versions }: Store,
  product: ProductDoc,
  closes: readonly LedgerClose[],
  session: Session,
): Promise<ProductDoc> {
  const early = beforeHistory(product, closes);
  if (early.length === 0) return product;
  return { ...product, history: [...(await versions.inForceAt(product, early, session)), ...product.history] };
}

/** What an account reads of its products. */
const listsOf = (store: Store, accountId: string) => ({
  byId: (id: string, session?: Session) => store.byId.one(accountId, id, session),
  byIds: (ids: readonly string[], session?: Session) => store.byId.many(accountId, ids, session),
  list(filter: ProductFilter, request: PageRequest) {
    const direction = filter.sortOrder === 'asc' ? 1 : -1;
    const listed = {
      accountId,
      ...(filter.active === undefined ? {} : { active: filter.active }),
      ...(filter.search ? { nameKey: containing(filter.search) } : {}),
    };
    const sort: PageRequest['sort'] =
      filter.sortBy === 'name' ? { nameKey: direction, _id: direction } : { _id: direction };
    return store.page(listed, { ...request, sort }, ['history']);
  },
  /** At most `limit` products that have this in their name. */
  async idsByName(search: string, limit: number, signal?: AbortSignal): Promise<string[]> {
    const named = { accountId, nameKey: containing(search) };
    const found = await store.collection.find(named, { projection: { _id: 1 }, limit, signal }).toArray();
    return found.map(({ _id }) => _id);
  },
  /** The product with those of its archived versions that were in force when these
   *  ledgers closed. */
  withVersionsAt: (product: ProductDoc, closes: readonly LedgerClose[], session: Session) =>
    withVersionsAt(store, { ...product, accountId }, closes, session),
});

const pricesOf = ({ collection }: Store, accountId: string) => ({
  /** Assets that the newest products of a wallet are paid in. */
  assetsOfWallet: (walletId: string): Promise<Pick<ProductDoc, 'assetCode' | 'assetIssuer'>[]> =>
    collection
      .find(
        { accountId, walletId },
        { projection: { _id: 0, assetCode: 1, assetIssuer: 1 }, sort: { _id: -1 }, limit: 100 },
      )
      .toArray(),
  /** Assets and wallets of its products; only the first of very many. */
  assets: (limit: number): Promise<Pick<Priced, 'assetCode' | 'assetIssuer' | 'walletId'>[]> =>
    assetsOf(collection, { accountId }, limit),
  /** What they are priced in, and where they are paid. */
  priced: (): Promise<Priced[]> => pricedOf(collection, { accountId, currency: { $gt: '' } }),
});

const changesOf = ({ collection, versions, versionsKept }: Store, accountId: string) => ({
  /** New ones of this account. */
  insertsOf: (batch: readonly ProductDoc[]): Insert[] => {
    const docs = batch.map((product) => ({ ...product, accountId }));
    return [insertOf(collection, docs, AlreadyMade)];
  },
  /** Null when the product was changed since it was read; nothing is stored then. `version` opens
   *  new terms. */
  async change(
    before: Pick<ProductDoc, '_id' | 'revision' | 'history' | 'archived'>,
    fields: Partial<Omit<ProductDoc, '_id' | 'accountId'>>,
    version: ProductVersion | null,
    session: Session,
  ): Promise<ProductDoc | null> {
    const { _id, revision, history } = before;
    const oldest = version ? history.slice(0, Math.max(0, history.length + 1 - versionsKept)) : [];
    const { docs, archived } = toArchive({ ...before, accountId }, oldest);
    const after = await collection.findOneAndUpdate(
      { _id, accountId, revision },
      {
        $set: { ...fields, ...(docs.length > 0 ? { archived } : {}) },
        $inc: { revision: 1 },
        ...(version ? { $push: { history: { $each: [version], $slice: -versionsKept } } } : {}),
      },
      { returnDocument: 'after', session },
    );
    if (after) await versions.insert(docs, session);
    return after;
  },
  /** Null where it has no stock, or the change would go beyond 0 or the most. @param request that
   *  it is remembered by */
  changeStock: (id: string, by: number, request: string | null, session: Session): Promise<ProductDoc | null> =>
    collection.findOneAndUpdate(
      { _id: id, accountId, stock: { $gte: -by, $lte: MAX_STOCK - by } },
      {
        $inc: { stock: by },
        ...(request === null ? {} : { $push: { stockChanges: { $each: [request], $slice: -CHANGES_REMEMBERED } } }),
      },
      { returnDocument: 'after', session },
    ),
});

const removalOf = ({ collection, deleted, versions }: Store, accountId: string) => ({
  /** Call in a transaction. Its links and checkouts count as gone and are removed later. False when
   *  it has payments. */
  async removeUnpaid(id: string, session: Session): Promise<boolean> {
    const unpaid = { _id: id, accountId, hasPayments: { $ne: true } };
    const { deletedCount } = await collection.deleteOne(unpaid, { session });
    if (deletedCount === 1) await deleted.insertOne({ _id: id, accountId }, { session });
    return deletedCount === 1;
  },
  /** Removes some archived versions of a deleted product. @returns whether none is left */
  removeVersions: (id: string, session: Session) => versions.removeOf(accountId, id, session),
  /** Call when no link or checkout of a deleted product is left. */
  async forget(id: string, session: Session): Promise<void> {
    await deleted.deleteOne({ _id: id, accountId }, { session });
  },
});

const pricesAcrossAccounts = ({ collection }: Store) => ({
  /** Whether any product has this currency and asset. */
  isPriced: async (pair: Omit<Priced, 'walletId'>): Promise<boolean> =>
    (await collection.findOne({ ...pair }, { projection: { _id: 1 } })) !== null,
  /** Whether one of these accounts sells something for the asset. */
  async isPaidIn(accountIds: readonly string[], asset: Pick<Priced, 'assetCode' | 'assetIssuer'>): Promise<boolean> {
    const filter = { accountId: { $in: [...accountIds] }, ...asset };
    return (await collection.findOne(filter, { projection: { _id: 1 } })) !== null;
  },
});

const ledgerSideOf = ({ collection, versions }: Store) => ({
  /** Called in the transaction that stores the first payment of each: it conflicts with the
   *  deletion of the product. */
  async notePayments(paid: readonly Pick<ProductDoc, '_id' | 'accountId'>[], session: Session): Promise<void> {
    const ids = [...new Set(paid.map(({ _id }) => _id))];
    await collection.updateMany(
      { _id: { $in: ids }, accountId: { $in: accountsOf(paid) }, hasPayments: { $ne: true } },
      { $set: { hasPayments: true } },
      { session },
    );
  },
  /** The network was reset: only the times of stamps count for these wallets' products. @returns
   *  the ids of the products */
  async forgetLedgers(walletIds: readonly string[]): Promise<string[]> {
    const filter = { walletId: { $in: [...walletIds] } };
    await collection.updateMany(
      filter,
      { $set: { 'history.$[marked].from.ledger': null } },
      { arrayFilters: [{ 'marked.from': { $ne: null } }] },
    );
    const ids = (await collection.find(filter, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
    await versions.forgetLedgers(ids);
    return ids;
  },
});

/** Products with the history of their terms. A product is changed only by whoever read its latest `revision`.
 *
 *  Of one that is deleted a note stays until its links and checkouts are removed, too. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { LedgerClose, LedgerStamp } from '../domain/terms.js';
import { createById } from './by-id.js';
import { makeIndexes, orAlreadyMade, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from './database.js';
import { createPages, type PageRequest } from './paging.js';
import { assetsOf, type Priced, pricedOf } from './priced.js';
import { beforeHistory, createProductVersions, toArchive } from './product-versions.js';
import { containing } from './text-search.js';
import { stampSchema } from './wallets.js';

/** What a payment is judged by. Amounts in canonical decimal text. */
export interface StoredTerms {
  active: boolean;
  assetCode: string;
  assetIssuer: string | null;
  priceType: 'FIXED' | 'CUSTOM';
  price: string | null;
  minAmount: string | null;
  /** That price and minimum are in; missing where they are in the asset. */
  currency?: string | null;
}

export interface ProductVersion {
  from: LedgerStamp | null;
  terms: StoredTerms;
  /** Of the product's wallet; absent in versions stored before it was kept. */
  network?: Network;
}

export interface ProductDoc extends StoredTerms {
  _id: string;
  accountId: string;
  name: string;
  /** The name, folded for search and sorting. */
  nameKey: string;
  description: string | null;
  imageUrl: string | null;
  walletId: string;
  /** Oldest first; the last is what the fields above say. The first holds from ever, unless there are earlier ones in the archive. */
  history: ProductVersion[];
  /** Of the versions that were moved to the archive: how many there are, and `since` of the last. Missing for none. */
  archived?: { count: number; since: Date };
  paymentLinkCount: number;
  /** A link or checkout of it has a payment. Missing means false. */
  hasPayments?: boolean;
  revision: number;
  createdAt: Date;
}

const termsShape = {
  active: Boolean,
  assetCode: String,
  assetIssuer: { type: String, default: null },
  priceType: String,
  price: { type: String, default: null },
  minAmount: { type: String, default: null },
  currency: { type: String, default: null },
};

const productSchema = new mongoose.Schema<ProductDoc>(
  {
    _id: String,
    accountId: String,
    name: String,
    nameKey: String,
    description: { type: String, default: null },
    imageUrl: { type: String, default: null },
    walletId: String,
    ...termsShape,
    history: [
      new mongoose.Schema(
        {
          from: { type: stampSchema, default: null },
          terms: new mongoose.Schema(termsShape, PART_OPTIONS),
          network: String,
        },
        PART_OPTIONS,
      ),
    ],
    archived: { type: new mongoose.Schema({ count: Number, since: Date }, PART_OPTIONS), required: false },
    paymentLinkCount: Number,
    hasPayments: Boolean,
    revision: Number,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'products' },
);
productSchema.index({ accountId: 1, _id: -1 });
productSchema.index({ accountId: 1, active: 1, _id: -1 });
productSchema.index({ accountId: 1, nameKey: 1, _id: 1 });
// Few are priced in a currency: the index holds those only.
productSchema.index(
  { currency: 1, assetCode: 1, assetIssuer: 1 },
  { partialFilterExpression: { currency: { $gt: '' } }, name: 'priced' },
);

/** More make each read of a product slower, and are seldom needed. */
const VERSIONS_KEPT = 50;

/** A deleted product whose links and checkouts may not all be removed yet. */
export interface DeletedProductDoc {
  _id: string;
  accountId: string;
}
const deletedProductSchema = new mongoose.Schema<DeletedProductDoc>(
  { _id: String, accountId: String },
  { ...SCHEMA_OPTIONS, collection: 'deletedProducts' },
);

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
  const products = connection.model<ProductDoc>('Product', productSchema);
  const page = createPages(products);
  const versions = createProductVersions(connection);
  const byId = createById(products);
  const deletedProducts = connection.model<DeletedProductDoc>('DeletedProduct', deletedProductSchema);
  const deleted = deletedProducts.collection as unknown as mongoose.mongo.Collection<DeletedProductDoc>;

  async function withVersionsAt(
    product: ProductDoc,
    closes: readonly LedgerClose[],
    session: Session,
  ): Promise<ProductDoc> {
    const early = beforeHistory(product, closes);
    if (early.length === 0) return product;
    return { ...product, history: [...(await versions.inForceAt(product, early, session)), ...product.history] };
  }

  return {
    ensureIndexes: async () => {
      await makeIndexes(products);
      await versions.ensureIndexes();
      // It has no index of its own, and a transaction had better not make it.
      await deletedProducts.createCollection();
    },

    forAccount: (accountId: string) => ({
      /** Stores them as this account's, all or none. */
      async insert(batch: readonly ProductDoc[], session: Session): Promise<void> {
        const docs = batch.map((product) => ({ ...product, accountId }));
        await orAlreadyMade(products.collection.insertMany(docs as never[], { session }));
      },
      byId: (id: string, session?: Session) => byId.one(accountId, id, session),
      byIds: (ids: readonly string[], session?: Session) => byId.many(accountId, ids, session),
      list: (filter: ProductFilter, request: PageRequest) => {
        const direction = filter.sortOrder === 'asc' ? 1 : -1;
        const listed = {
          accountId,
          ...(filter.active === undefined ? {} : { active: filter.active }),
          ...(filter.search ? { nameKey: containing(filter.search) } : {}),
        };
        const sort: PageRequest['sort'] =
          filter.sortBy === 'name' ? { nameKey: direction, _id: direction } : { _id: direction };
        return page(listed, { ...request, sort }, ['history']);
      },
      /** Assets that the newest products of a wallet are paid in. */
      assetsOfWallet: (walletId: string): Promise<Pick<ProductDoc, 'assetCode' | 'assetIssuer'>[]> =>
        products
          .find({ accountId, walletId }, { _id: 0, assetCode: 1, assetIssuer: 1 })
          .sort({ _id: -1 })
          .limit(100)
          .lean<Pick<ProductDoc, 'assetCode' | 'assetIssuer'>[]>()
          .exec(),
      /** What they are paid in, and where; of very many the first. */
      assets: (limit: number): Promise<Pick<Priced, 'assetCode' | 'assetIssuer' | 'walletId'>[]> =>
        assetsOf(products.collection, { accountId }, limit),
      /** What they are priced in, and where they are paid. */
      priced: (): Promise<Priced[]> => pricedOf(products.collection, { accountId, currency: { $gt: '' } }),
      /** Of those products that have this in their name, at most `limit`. */
      async idsByName(search: string, limit: number): Promise<string[]> {
        const named = { accountId, nameKey: containing(search) };
        return (await products.find(named, { _id: 1 }).limit(limit).lean()).map(({ _id }) => _id);
      },
      /** Null when somebody else changed the product since it was read: nothing is stored then. `version` opens new terms. */
      async change(
        before: Pick<ProductDoc, '_id' | 'revision' | 'history' | 'archived'>,
        fields: Partial<Omit<ProductDoc, '_id' | 'accountId'>>,
        version: ProductVersion | null,
        session: Session,
      ): Promise<ProductDoc | null> {
        const { _id, revision, history } = before;
        const oldest = version ? history.slice(0, Math.max(0, history.length + 1 - versionsKept)) : [];
        const { docs, archived } = toArchive({ ...before, accountId }, oldest);
        const after = await products
          .findOneAndUpdate(
            { _id, accountId, revision },
            {
              $set: { ...fields, ...(docs.length > 0 ? { archived } : {}) },
              $inc: { revision: 1 },
              ...(version ? { $push: { history: { $each: [version], $slice: -versionsKept } } } : {}),
            },
            { returnDocument: 'after', session },
          )
          .lean<ProductDoc>()
          .exec();
        if (after) await versions.insert(docs, session);
        return after;
      },
      /** The product with those of its archived versions that were in force when these ledgers closed. */
      withVersionsAt: (product: ProductDoc, closes: readonly LedgerClose[], session: Session) =>
        withVersionsAt({ ...product, accountId }, closes, session),
      /** Some of the archived versions of a deleted product. @returns whether none is left */
      removeVersions: (id: string, session: Session) => versions.removeOf(accountId, id, session),
      /** In a transaction. Its links and checkouts are gone with it, and are to be removed. False when it has payments. */
      async removeUnpaid(id: string, session: Session): Promise<boolean> {
        const { deletedCount } = await products.deleteOne(
          { _id: id, accountId, hasPayments: { $ne: true } },
          { session },
        );
        if (deletedCount === 1) await deleted.insertOne({ _id: id, accountId }, { session });
        return deletedCount === 1;
      },
      /** No link or checkout is left of a product that was deleted. */
      async forget(id: string, session: Session): Promise<void> {
        await deleted.deleteOne({ _id: id, accountId }, { session });
      },
      /** Called in the transaction that makes or deletes links, so that their products cannot vanish meanwhile. One write for all of them.
       *  @param changes by product id
       *  @returns those products that there are, as they are now */
      async countLinks(changes: ReadonlyMap<string, number>, session: Session): Promise<Map<string, ProductDoc>> {
        const updates = [...changes].map(([id, change]) => ({
          updateOne: { filter: { _id: id as never, accountId }, update: { $inc: { paymentLinkCount: change } } },
        }));
        await products.collection.bulkWrite(updates, { session, ordered: false });
        const counted = await byId.many(accountId, [...changes.keys()], session);
        return new Map(counted.map((product) => [product._id, product]));
      },
    }),

    system: {
      /** Whether one is priced so. */
      isPriced: async (pair: Omit<Priced, 'walletId'>): Promise<boolean> =>
        (await products.collection.findOne({ ...pair }, { projection: { _id: 1 } })) !== null,
      /** Whether one of these accounts sells something for the asset. */
      isPaidIn: async (
        accountIds: readonly string[],
        asset: Pick<Priced, 'assetCode' | 'assetIssuer'>,
      ): Promise<boolean> => {
        const filter = { accountId: { $in: [...accountIds] }, ...asset };
        return (await products.collection.findOne(filter as never, { projection: { _id: 1 } })) !== null;
      },
      /** Called in the transaction that stores the first payment of each: it conflicts with the deletion of the product. */
      async notePayments(paid: readonly Pick<ProductDoc, '_id' | 'accountId'>[], session: Session): Promise<void> {
        const ids = paid.map(({ _id }) => _id);
        const accountIds = paid.map(({ accountId }) => accountId);
        await products.collection.updateMany(
          {
            _id: { $in: [...new Set(ids)] as never[] },
            accountId: { $in: [...new Set(accountIds)] },
            hasPayments: { $ne: true },
          },
          { $set: { hasPayments: true } },
          { session },
        );
      },
      /** Those whose links and checkouts may not all be removed yet. */
      deleted: (limit: number) => deleted.find({}, { limit }).toArray(),
      /** The network began anew: only the times of stamps count for these wallets' products. @returns the ids of the products */
      async forgetLedgers(walletIds: readonly string[]): Promise<string[]> {
        const filter = { walletId: { $in: [...walletIds] } };
        await products.collection.updateMany(
          filter,
          { $set: { 'history.$[marked].from.ledger': null } },
          { arrayFilters: [{ 'marked.from': { $ne: null } }] },
        );
        const ids = (await products.find(filter, { _id: 1 }).lean<{ _id: string }[]>()).map(({ _id }) => _id);
        await versions.forgetLedgers(ids);
        return ids;
      },
      withVersionsAt,
      ofAccounts: byId.ofAccounts,
    },
  };
}

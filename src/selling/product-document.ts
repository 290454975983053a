/** The document of a product, its indexes, and its versions of before. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { type LedgerClose, type LedgerStamp, sideOfBegin } from '../domain/terms.js';
import { type DocOf, define, nullable, openCollection, optional, shape, text } from '../kit/collection.js';
import { removeSome, type Session } from '../kit/database.js';
import type { ForAccount } from '../stores.js';
import type { WalletDoc } from '../watching/index.js';

/** The terms of payments. Amounts in canonical decimal text. */
const TERMS = {
  active: Boolean,
  assetCode: String,
  assetIssuer: nullable(String),
  priceType: text<'FIXED' | 'CUSTOM'>(),
  price: nullable(String),
  minAmount: nullable(String),
  /** Currency of price and minimum; missing when they are in the asset. */
  currency: optional(nullable(String)),
  /** How much less is enough; canonical. */
  tolerancePercent: String,
};

const VERSION = {
  from: nullable(shape<LedgerStamp>()),
  terms: TERMS,
  /** The network of the product's wallet. */
  network: text<Network>(),
};

// The archive: versions of terms older than those in product documents. A product may be changed
// any number of times, and a payment may be read long afterwards.

/** A version that was moved here from its product's document. */
const PRODUCT_VERSIONS = define(
  'productVersions',
  {
    _id: String,
    accountId: String,
    productId: String,
    /** 0, 1, 2 … in the order of the changes. */
    nth: Number,
    /** When it began; clocks differ, but it is never before the previous one. */
    since: Date,
    ...VERSION,
  },
  [{ key: { productId: 1, since: 1, nth: 1 } }],
);

export interface ProductVersionDoc extends DocOf<typeof PRODUCT_VERSIONS> {}

/** More than the clocks of processes and ledgers differ. */
const DOUBT_MS = 60_000;

/** The oldest versions of a product in archived form, and the document's `archived` once they
 *  are stored. */
export function toArchive(
  { _id: productId, accountId, archived }: Pick<ProductDoc, '_id' | 'accountId' | 'archived'>,
  oldest: readonly ProductVersion[],
): { docs: ProductVersionDoc[]; archived: NonNullable<ProductDoc['archived']> } {
  let { count, since } = archived ?? { count: 0, since: new Date(0) };
  const docs = oldest.map(({ from, ...version }) => {
    if (from && from.at > since) since = from.at;
    return { _id: `${productId}:${count}`, accountId, productId, nth: count++, from, since, ...version };
  });
  return { docs, archived: { count, since } };
}

/** The closes at which an archived version may have been in force. */
export function beforeHistory(
  { archived, history }: Pick<ProductDoc, 'archived' | 'history'>,
  closes: readonly LedgerClose[],
): LedgerClose[] {
  const begin = history[0]?.from?.at;
  if (!archived || !begin) return [];
  return closes.filter(({ closedAt }) => closedAt.getTime() <= begin.getTime() + DOUBT_MS);
}

export function createProductVersions(connection: mongoose.Connection) {
  const collection = openCollection<ProductVersionDoc>(connection, PRODUCT_VERSIONS);

  /** Begins with the latest version that may have begun by then, allowing for clocks, and goes back
   *  to the first that certainly had: a few versions, however many there are. */
  async function mayBeInForce(
    { _id: productId, accountId }: Pick<ProductDoc, '_id' | 'accountId'>,
    close: LedgerClose,
    session: Session,
  ): Promise<ProductVersionDoc[]> {
    const since = { $lte: new Date(close.closedAt.getTime() + DOUBT_MS) };
    const found = collection.find({ productId, accountId, since }, { session, sort: { since: -1, nth: -1 } });
    const versions: ProductVersionDoc[] = [];
    for await (const version of found) {
      const side = sideOfBegin(version.from, close);
      if (side !== 'before') versions.push(version);
      if (side === 'after') break;
    }
    return versions;
  }

  return {
    /** Call in the transaction that removes them from their product's document. */
    async insert(docs: readonly ProductVersionDoc[], session: Session): Promise<void> {
      if (docs.length > 0) await collection.insertMany([...docs], { session });
    },

    /** A product's archived versions that may have been in force when these ledgers closed,
     *  oldest first. */
    async inForceAt(
      product: Pick<ProductDoc, '_id' | 'accountId'>,
      closes: readonly LedgerClose[],
      session: Session,
    ): Promise<ProductVersionDoc[]> {
      const found = new Map<number, ProductVersionDoc>();
      const distinct = new Map(closes.map((close) => [`${close.ledger} ${close.closedAt.getTime()}`, close]));
      for (const close of distinct.values()) {
        for (const version of await mayBeInForce(product, close, session)) found.set(version.nth, version);
      }
      return [...found.values()].sort((a, b) => a.nth - b.nth);
    },

    /** After a reset: only the times of stamps count for these products. */
    async forgetLedgers(productIds: readonly string[]): Promise<void> {
      await collection.updateMany(
        { productId: { $in: [...productIds] }, from: { $ne: null } },
        { $set: { 'from.ledger': null } },
      );
    },

    /** Removes some versions of a deleted product. @returns whether none is left */
    removeOf: (accountId: string, productId: string, session: Session): Promise<boolean> =>
      removeSome(collection, { productId, accountId }, session, (ids) =>
        collection.deleteMany({ _id: { $in: [...ids] }, accountId }, { session }),
      ),
  };
}

// Products with their wallets: two reads, between which others may write.

type Listed = Omit<ProductDoc, 'history'>;
type Stores = ReturnType<ForAccount<'products' | 'wallets'>>;

export interface WithWallet<P extends Listed = ProductDoc> {
  product: P;
  wallet: WalletDoc;
}

/** In the order of the products. A product moved from a wallet deleted in between is read again;
 *  one deleted in between is missing.
 *  @throws Error for a product whose wallet does not exist */
export async function withWallets<P extends Listed>(
  found: readonly P[],
  stores: Stores,
): Promise<Array<WithWallet<P | ProductDoc>>> {
  const used = await stores.wallets.byIds(found.map(({ walletId }) => walletId));
  const walletById = new Map(used.map((wallet) => [wallet._id, wallet]));
  const left = found.filter(({ walletId }) => !walletById.has(walletId));
  const again = left.length === 0 ? [] : await withWallets(await readMoved(left, stores), stores);
  const againById = new Map(again.map((each) => [each.product._id, each]));
  return found.flatMap((product) => {
    const wallet = walletById.get(product.walletId);
    return wallet ? { product, wallet } : (againById.get(product._id) ?? []);
  });
}

async function readMoved(products: readonly Listed[], stores: Stores): Promise<ProductDoc[]> {
  const walletIdOf = new Map(products.map(({ _id, walletId }) => [_id, walletId]));
  const now = await stores.products.byIds([...walletIdOf.keys()]);
  const lost = now.find(({ _id, walletId }) => walletId === walletIdOf.get(_id));
  if (lost) throw new Error(`product ${lost._id} has no wallet`);
  return now;
}

/** Null when the product was deleted since. */
export async function withWallet(product: ProductDoc, stores: Stores): Promise<WithWallet | null> {
  return (await withWallets([product], stores))[0] ?? null;
}

export const PRODUCTS = define(
  'products',
  {
    _id: String,
    accountId: String,
    name: String,
    /** The name, folded for search and sorting. */
    nameKey: String,
    description: nullable(String),
    imageUrl: nullable(String),
    walletId: String,
    ...TERMS,
    /** Pieces that are left; null for no limit. */
    stock: nullable(Number),
    /** The last requests that changed the stock by a number, so that one that is repeated does not
     *  do so twice. Missing for none. */
    stockChanges: optional([String]),
    /** Oldest first; the last equals the fields above. The first has always been in force, unless
     *  the archive has earlier ones. */
    history: [VERSION],
    /** Archived versions: their number, and `since` of the last. Missing for none. */
    archived: optional({ count: Number, since: Date }),
    paymentLinkCount: Number,
    /** Those that are no order links. */
    plainLinkCount: Number,
    /** A link or checkout of it has a payment. Missing means false. */
    hasPayments: optional(Boolean),
    revision: Number,
    createdAt: Date,
  },
  [
    { key: { accountId: 1, _id: -1 } },
    { key: { accountId: 1, active: 1, _id: -1 } },
    { key: { accountId: 1, nameKey: 1, _id: 1 } },
    // Partial index: few are priced in a currency.
    {
      key: { currency: 1, assetCode: 1, assetIssuer: 1 },
      partialFilterExpression: { currency: { $gt: '' } },
      name: 'priced',
    },
  ],
);

export interface ProductDoc extends DocOf<typeof PRODUCTS> {}
export type ProductVersion = ProductDoc['history'][number];
export type StoredTerms = ProductVersion['terms'];

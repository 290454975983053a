/** The archive: versions of terms older than those in product documents. A product may be changed any number of times, and a payment may be read long
 *  afterwards. */
import mongoose from 'mongoose';
import { type LedgerClose, type LedgerStamp, sideOfBegin } from '../domain/terms.js';
import { makeIndexes, removeSome, SCHEMA_OPTIONS, type Session, stampSchema } from '../kit/database.js';
import type { ProductDoc, ProductVersion } from './product-document.js';

/** A version that was moved here from its product's document. */
export interface ProductVersionDoc {
  _id: string;
  accountId: string;
  productId: string;
  /** 0, 1, 2 … in the order of the changes. */
  nth: number;
  from: LedgerStamp | null;
  /** When it began; clocks differ, but it is never before the previous one. */
  since: Date;
  terms: ProductVersion['terms'];
  network?: ProductVersion['network'];
}

const productVersionSchema = new mongoose.Schema<ProductVersionDoc>(
  {
    _id: String,
    accountId: String,
    productId: String,
    nth: Number,
    from: { type: stampSchema, default: null },
    since: Date,
    terms: mongoose.Schema.Types.Mixed,
    network: String,
  },
  { ...SCHEMA_OPTIONS, collection: 'productVersions' },
);
productVersionSchema.index({ productId: 1, since: 1, nth: 1 });

/** More than the clocks of processes and ledgers differ. */
const DOUBT_MS = 60_000;

/** The oldest versions of a product in archived form, and the document's `archived` once they are stored. */
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
  const versions = connection.model<ProductVersionDoc>('ProductVersion', productVersionSchema);
  const collection = versions.collection as unknown as mongoose.mongo.Collection<ProductVersionDoc>;

  /** Begins with the latest version that may have begun by then, allowing for clocks, and goes back to the first that certainly had: a few versions, however
   *  many there are. */
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
    ensureIndexes: () => makeIndexes(versions),

    /** Call in the transaction that removes them from their product's document. */
    async insert(docs: readonly ProductVersionDoc[], session: Session): Promise<void> {
      if (docs.length > 0) await collection.insertMany([...docs], { session });
    },

    /** A product's archived versions that may have been in force when these ledgers closed, oldest first. */
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

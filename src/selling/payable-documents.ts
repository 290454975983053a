/** What the stores of links and checkouts share: a document is made and removed together with its
 *  names and the counts of its lists, in the caller's transaction. */
import type mongoose from 'mongoose';
import type { Clock } from '../kit/clock.js';
import { type Collection, type DocOf, define, makeCollection, openCollection } from '../kit/collection.js';
import type { CountSegments } from '../kit/count-segments.js';
import { AlreadyMade, type Insert, insertOf, removeSome, type Session, Taken } from '../kit/database.js';
import { createPages } from '../kit/paging.js';
import { createById } from '../kit/tick-loader.js';

// Names of payables: the memo and the slug of each link and checkout, unique in the installation,
// with their account. They are written in the transaction that makes or removes the payable. A
// lookup by memo or slug alone finds the account here, then reads the account's own documents.

const PAYABLE_NAMES = define('payableNames', {
  /** `memo:` and the memo in canonical form, or `slug:` and the slug. */
  _id: String,
  accountId: String,
  /** Id of the link or checkout. */
  payableId: String,
});

interface PayableNameDoc extends DocOf<typeof PAYABLE_NAMES> {}

/** The fields of a link or checkout that its names need. */
interface Named {
  _id: string;
  accountId: string;
  memo: string;
  slug: string;
}

const memoName = (memo: string) => `memo:${memo}`;
const slugName = (slug: string) => `slug:${slug}`;
const namesOf = ({ memo, slug }: Pick<Named, 'memo' | 'slug'>) => [memoName(memo), slugName(slug)];
const docsOf = (named: Named): PayableNameDoc[] =>
  namesOf(named).map((_id) => ({ _id, accountId: named.accountId, payableId: named._id }));

export type PayableNames = ReturnType<typeof createPayableNames>;
/** For the watcher. */
export type PayableNameStore = Pick<PayableNames, 'byMemos'>;

export function createPayableNames(connection: mongoose.Connection) {
  const collection = openCollection<PayableNameDoc>(connection, PAYABLE_NAMES);
  return {
    /** It has no index of its own, and a transaction should not create it. */
    ensureCollection: () => makeCollection(connection, PAYABLE_NAMES),
    /** Their names. */
    insertOf: (batch: readonly Named[]): Insert => insertOf(collection, batch.flatMap(docsOf), Taken),
    /** Frees the names of removed payables. */
    async release(accountId: string, batch: readonly Pick<Named, 'memo' | 'slug'>[], session: Session): Promise<void> {
      await collection.deleteMany({ _id: { $in: batch.flatMap(namesOf) }, accountId }, { session });
    },
    /** The names of the taken ones of these memos. */
    byMemos: (memos: readonly string[], session: Session): Promise<PayableNameDoc[]> =>
      collection.find({ _id: { $in: memos.map(memoName) } }, { session }).toArray(),
    bySlug: (slug: string): Promise<PayableNameDoc | null> => collection.findOne({ _id: slugName(slug) }),
  };
}

// Slugs of hosted pages: 12 characters of 5 random bits each, so that pages cannot be found
// by guessing.

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 12;

export const createSlug = (clock: Pick<Clock, 'randomBytes'>): string =>
  [...clock.randomBytes(LENGTH)].map((byte) => ALPHABET[byte & 31]).join('');

// Distinct currencies and assets of products and checkouts.

export interface Priced {
  currency: string;
  assetCode: string;
  assetIssuer: string | null;
  walletId: string;
}

const PAID = { assetCode: '$assetCode', assetIssuer: '$assetIssuer', walletId: '$walletId' };

// biome-ignore lint/suspicious/noExplicitAny: of products or of checkouts.
export async function pricedOf(collection: Collection<any>, filter: object): Promise<Priced[]> {
  const _id = { currency: '$currency', ...PAID };
  const found = await collection.aggregate<{ _id: Priced }>([{ $match: filter }, { $group: { _id } }]).toArray();
  return found.map((each) => each._id);
}

/** The assets they are paid in, whatever their currency; ordered. */
export async function assetsOf(
  // biome-ignore lint/suspicious/noExplicitAny: of products or of checkouts.
  collection: Collection<any>,
  filter: object,
  limit: number,
): Promise<Omit<Priced, 'currency'>[]> {
  const stages = [{ $match: filter }, { $group: { _id: PAID } }, { $sort: { _id: 1 } }, { $limit: limit }];
  const found = await collection.aggregate<{ _id: Omit<Priced, 'currency'> }>(stages).toArray();
  return found.map((each) => each._id);
}

/** The fields that links and checkouts share here. */
interface PayableDoc extends Named {
  earlyRefunds?: number;
}

interface PayableDocumentsOptions {
  /** Lists of an account's count segments: first the one of all documents, then those of some. */
  listsOf: (accountId: string) => readonly [string, ...string[]];
  /** Condition for a document without payments. */
  unpaid: object;
  countSegments: CountSegments;
  names: PayableNames;
  /** What else follows from the removal of documents; in its transaction, before it. */
  onRemoval?: (ids: readonly string[], accountId: string, session: Session) => Promise<void>;
}

export function createPayableDocuments<Doc extends PayableDoc>(
  collection: Collection<Doc>,
  options: PayableDocumentsOptions,
) {
  const { listsOf, unpaid, countSegments, names, onRemoval } = options;
  const named = collection as unknown as Collection<PayableDoc>;
  const byId = createById<Doc>(collection);

  async function removeUnpaid(accountId: string, ids: readonly string[], session: Session): Promise<number> {
    const filter = { _id: { $in: [...ids] }, accountId, ...unpaid };
    const found = await named.find(filter, { session, projection: { memo: 1, slug: 1 } }).toArray();
    if (found.length === 0) return 0;
    await onRemoval?.(
      found.map(({ _id }) => _id),
      accountId,
      session,
    );
    await named.deleteMany(filter, { session });
    await names.release(accountId, found, session);
    for (const list of listsOf(accountId)) await countSegments.touch(list, ids, 0, session);
    return found.length;
  }

  return {
    ...{ collection, byId, countSegments },
    page: createPages<Doc>(collection),

    async bySlug(slug: string): Promise<Doc | null> {
      const found = await names.bySlug(slug);
      return found && byId.one(found.accountId, found.payableId);
    },

    /** New documents of one account, with their names and their count. Storing them throws `Taken`
     *  when a memo or slug is: draw new ones. */
    insertsOf(accountId: string, docs: readonly Doc[]): Insert[] {
      const ids = docs.map(({ _id }) => _id);
      const afterwards = (session: Session) => countSegments.touch(listsOf(accountId)[0], ids, ids.length, session);
      return [{ ...insertOf(named, docs, AlreadyMade), afterwards }, names.insertOf(docs)];
    },

    /** Removes those of these that have no payments. @returns their number */
    removeUnpaid,
    /** Removes some unpaid ones of a deleted product. @returns whether none is left */
    removeOfProduct: (accountId: string, productId: string, session: Session): Promise<boolean> =>
      removeSome(named, { accountId, productId, ...unpaid }, session, (ids) => removeUnpaid(accountId, ids, session)),

    /** Call in the transaction that found no payment for the refund: it conflicts with every one
     *  that gives the document a payment. */
    async countEarlyRefund({ _id, accountId }: Pick<Doc, '_id' | 'accountId'>, session: Session): Promise<void> {
      await named.updateOne({ _id, accountId }, { $inc: { earlyRefunds: 1 } }, { session });
    },
  };
}

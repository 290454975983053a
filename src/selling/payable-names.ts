/** Names of payables: the memo and the slug of each link and checkout, unique in the installation, with their account. They are written in the transaction that
 *  makes or removes the payable. A lookup by memo or slug alone finds the account here, then reads the account's own documents. */
import mongoose from 'mongoose';
import { SCHEMA_OPTIONS, type Session } from '../kit/database.js';

interface PayableNameDoc {
  /** `memo:` and the memo in canonical form, or `slug:` and the slug. */
  _id: string;
  accountId: string;
  /** Id of the link or checkout. */
  payableId: string;
}

const payableNameSchema = new mongoose.Schema<PayableNameDoc>(
  { _id: String, accountId: String, payableId: String },
  { ...SCHEMA_OPTIONS, collection: 'payableNames' },
);

/** The fields of a link or checkout that its names need. */
export interface Named {
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
  const names = connection.model<PayableNameDoc>('PayableName', payableNameSchema);
  const collection = names.collection as unknown as mongoose.mongo.Collection<PayableNameDoc>;
  return {
    /** Make the collection here: it has no index of its own, and a transaction should not create it. */
    ensureIndexes: () => names.createCollection(),

    /** @throws a duplicate key error when one is taken */
    async take(batch: readonly Named[], session: Session): Promise<void> {
      await collection.insertMany(batch.flatMap(docsOf), { session });
    },
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

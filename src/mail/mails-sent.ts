/** What each address was sent of each kind of notification and security notice, by which more is bounded. Read and written in the transaction that stores
 *  e-mails: of two at once one begins again. */
import mongoose from 'mongoose';
import { inOneBatch, makeIndexes, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';
import { type Sent, type Told, toldId } from './mail-bounds.js';

export interface SentMailsDoc extends Sent {
  _id: string;
  accountId: string;
  kind: string;
  /** When it was first sent one. */
  since: Date;
}

const span = { type: new mongoose.Schema({ from: Date, count: Number }, PART_OPTIONS) };

const sentSchema = new mongoose.Schema<SentMailsDoc>(
  { _id: String, accountId: String, kind: String, since: Date, hour: span, day: span, left: Number },
  { ...SCHEMA_OPTIONS, collection: 'mailsSent' },
);
sentSchema.index({ accountId: 1, kind: 1, since: 1 });
sentSchema.index({ 'hour.from': 1 });

const REMOVED_AT_ONCE = 1000;

/** What works across accounts: transactions store e-mails of several. */
export type SentMailStore = ReturnType<typeof createSentMailStore>['system'];

export function createSentMailStore(connection: mongoose.Connection) {
  const sent = connection.model<SentMailsDoc>('SentMails', sentSchema);
  const collection = sent.collection as unknown as mongoose.mongo.Collection<SentMailsDoc>;
  return {
    ensureIndexes: () => makeIndexes(sent),
    system: {
      /** By id. */
      async of(told: readonly Told[], session: Session): Promise<Map<string, SentMailsDoc>> {
        const ids = told.map(toldId);
        const filter = { _id: { $in: ids }, accountId: { $in: accountsOf(told) } };
        const found = await collection.find(filter, { session, ...inOneBatch(ids) }).toArray();
        return new Map(found.map((doc) => [doc._id, doc]));
      },
      async save(docs: readonly SentMailsDoc[], session: Session): Promise<void> {
        if (docs.length === 0) return;
        const replaced = docs.map((doc) => ({
          replaceOne: { filter: { _id: doc._id, accountId: doc.accountId }, replacement: doc, upsert: true },
        }));
        await collection.bulkWrite(replaced, { session, ordered: false });
      },
      /** Number of addresses that the account first sent this kind to since then, counted up to `limit`. */
      countNew: (accountId: string, kind: string, since: Date, limit: number, session: Session): Promise<number> =>
        collection.countDocuments({ accountId, kind, since: { $gte: since } }, { limit, session }),
      /** Removes a batch of those that were sent nothing since. @returns how many, and whether none is left */
      async removeIdle(before: Date): Promise<{ removed: number; isLast: boolean }> {
        const found = await collection
          .find({ 'hour.from': { $lt: before } }, { projection: { accountId: 1 }, limit: REMOVED_AT_ONCE })
          .toArray();
        const filter = { _id: { $in: found.map(({ _id }) => _id) }, accountId: { $in: accountsOf(found) } };
        const { deletedCount } = await collection.deleteMany({ ...filter, 'hour.from': { $lt: before } });
        return { removed: deletedCount, isLast: found.length < REMOVED_AT_ONCE };
      },
    },
  };
}

/** Replays that are not done yet: what an account asked to be sent again, and how far that is. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { isDuplicateKey, makeIndexes, SCHEMA_OPTIONS, type Session } from './database.js';

export interface ReplayDoc {
  _id: string;
  accountId: string;
  webhookId: string;
  status: 'FAILED' | 'ALL';
  types: EventType[];
  /** Ids of events: from this one on. */
  fromId: string;
  /** Before this one; null for no end. */
  toId: string | null;
  /** `sequence` of the last event that is not fresh. */
  upTo: number;
  /** When it was asked for: what had not ended by then is left alone. */
  createdAt: Date;
  /** Id of the last delivery (FAILED) or event (ALL) that it has dealt with. */
  cursor: string;
}

/** Its events, in MongoDB's terms. */
export const idRangeOf = ({ fromId, toId }: Pick<ReplayDoc, 'fromId' | 'toId'>) => ({
  $gte: fromId,
  ...(toId === null ? {} : { $lt: toId }),
});

const replaySchema = new mongoose.Schema<ReplayDoc>(
  {
    _id: String,
    accountId: String,
    webhookId: String,
    status: String,
    types: [String],
    fromId: String,
    toId: { type: String, default: null },
    upTo: Number,
    createdAt: Date,
    cursor: String,
  },
  { ...SCHEMA_OPTIONS, collection: 'replays' },
);
replaySchema.index({ webhookId: 1, _id: 1 });

export type ReplayStore = ReturnType<typeof createReplayStore>['system'];

export function createReplayStore(connection: mongoose.Connection) {
  const replays = connection.model<ReplayDoc>('Replay', replaySchema);
  const collection = replays.collection as unknown as mongoose.mongo.Collection<ReplayDoc>;

  return {
    ensureIndexes: () => makeIndexes(replays),

    forAccount: (accountId: string) => ({
      /** Stores it as this account's. One that is there already stays as it is. */
      async insert(replay: ReplayDoc): Promise<void> {
        await collection.insertOne({ ...replay, accountId }).catch((error: unknown) => {
          if (!isDuplicateKey(error)) throw error;
        });
      },
      /** How many of this webhook are not done, counted up to `limit`. */
      count: (webhookId: string, limit: number): Promise<number> =>
        collection.countDocuments({ webhookId, accountId }, { limit }),
    }),

    system: {
      /** Those after this one in the order of their ids. */
      after: (id: string, limit: number): Promise<ReplayDoc[]> =>
        collection
          .find({ _id: { $gt: id } })
          .sort({ _id: 1 })
          .limit(limit)
          .toArray(),
      /** Whether an older one of the same webhook is not done yet. */
      hasOlder: async ({ _id, webhookId }: ReplayDoc): Promise<boolean> =>
        (await collection.findOne({ webhookId, _id: { $lt: _id } }, { projection: { _id: 1 } })) !== null,
      /** @returns false when somebody else moved it meanwhile */
      async advance({ _id, cursor: from }: ReplayDoc, cursor: string, session: Session): Promise<boolean> {
        const { modifiedCount } = await collection.updateOne({ _id, cursor: from }, { $set: { cursor } }, { session });
        return modifiedCount === 1;
      },
      async remove(id: string): Promise<void> {
        await collection.deleteOne({ _id: id });
      },
    },
  };
}

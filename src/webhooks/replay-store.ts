/** Replays in preparation: the deliveries that an account asked to be sent again, and how far they are made due. A webhook has one at a time. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { makeIndexes, orAlreadyMade, SCHEMA_OPTIONS, type Session } from '../kit/database.js';

export interface ReplayDoc {
  _id: string;
  accountId: string;
  webhookId: string;
  status: 'FAILED' | 'ALL';
  types: EventType[];
  /** Ids of events: from this one on. */
  fromId: string;
  /** Up to this one, exclusive; null for no end. */
  toId: string | null;
  /** `sequence` of the last event that is not fresh. */
  upTo: number;
  /** When it was requested: deliveries that had not ended by then are skipped. */
  createdAt: Date;
  /** Id of the last delivery (FAILED) or event (ALL) dealt with. */
  cursor: string;
  /** Number of deliveries it will send. Absent in replays of earlier versions. */
  count?: number;
  /** Number of those made due so far. */
  made?: number;
}

/** The ids of its events, as a condition. */
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
    count: Number,
    made: Number,
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
      /** Stores it as this account's, in the transaction that counts it at its webhook. */
      async insert(replay: ReplayDoc, session: Session): Promise<void> {
        await orAlreadyMade(collection.insertOne({ ...replay, accountId }, { session }));
      },
      /** The webhook's oldest replay. */
      ofWebhook: (webhookId: string, session?: Session): Promise<ReplayDoc | null> =>
        collection.findOne({ webhookId, accountId }, { sort: { _id: 1 }, session }),
    }),

    system: {
      /** The next replay by id. */
      after: (id: string): Promise<ReplayDoc | null> => collection.findOne({ _id: { $gt: id } }, { sort: { _id: 1 } }),
      /** Call in the transaction that makes `made` more deliveries due. @returns false when another process moved it since it was read */
      async advance(
        { _id, cursor: from }: ReplayDoc,
        { cursor, made }: { cursor: string; made: number },
        session: Session,
      ): Promise<boolean> {
        const { modifiedCount } = await collection.updateOne(
          { _id, cursor: from },
          { $set: { cursor }, $inc: { made } },
          { session },
        );
        return modifiedCount === 1;
      },
      async remove(id: string): Promise<void> {
        await collection.deleteOne({ _id: id });
      },
    },
  };
}

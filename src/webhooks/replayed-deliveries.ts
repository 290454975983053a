/** Selects the deliveries that a replay takes. Part of the delivery store. */
import type mongoose from 'mongoose';
import type { Clock } from '../kit/clock.js';
import type { Session } from '../kit/database.js';
import type { DeliveryDoc } from './delivery-store.js';
import { idRangeOf, type ReplayDoc } from './replay-store.js';

/** Deliveries that FAILED before the replay was requested. */
const failedBefore = (replay: ReplayDoc) => ({
  accountId: replay.accountId,
  webhookId: replay.webhookId,
  status: 'FAILED' as const,
  eventType: { $in: replay.types },
  eventId: idRangeOf(replay),
  // Deliveries of earlier versions have no end, and count as ended.
  $or: [{ endedAt: { $lte: replay.createdAt } }, { endedAt: null }],
});

type Collection = mongoose.mongo.Collection<DeliveryDoc>;

export const createReplayedDeliveries = (collection: Collection, clock: Pick<Clock, 'now'>) => ({
  forAccount: (accountId: string) => ofAccount(collection, accountId),
  system: ofAllAccounts(collection, clock),
});

const ofAccount = (collection: Collection, accountId: string) => ({
  /** Number of FAILED deliveries that the replay would take. */
  countFailed: (replay: ReplayDoc): Promise<number> =>
    collection.countDocuments({ ...failedBefore(replay), accountId }),
  /** Number of events that the replay would skip, because their deliveries had not ended when it was requested.
   *  @param lastSequence number of the webhook's latest delivery then: later ones are fresh */
  async countUnfinished(replay: ReplayDoc, lastSequence: number): Promise<number> {
    const { webhookId, types, createdAt } = replay;
    const unfinished = [
      { status: 'PENDING' as const },
      { status: { $in: ['DELIVERED' as const, 'FAILED' as const] }, endedAt: { $gt: createdAt } },
    ];
    const ofEvents = { eventType: { $in: types }, eventId: idRangeOf(replay) };
    const known = { sequence: { $not: { $gt: lastSequence } } };
    const [found] = await collection
      .aggregate<{ n: number }>([
        { $match: { $or: unfinished.map((each) => ({ webhookId, accountId, ...each, ...ofEvents, ...known })) } },
        { $group: { _id: '$eventId' } },
        { $count: 'n' },
      ])
      .toArray();
    return found?.n ?? 0;
  },
});

const ofAllAccounts = (collection: Collection, clock: Pick<Clock, 'now'>) => ({
  /** The deliveries that the replay takes next, in the order of their ids. */
  failed: (replay: ReplayDoc, limit: number) =>
    collection
      .find({ ...failedBefore(replay), _id: { $gt: replay.cursor } }, { projection: { _id: 1 } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray(),
  /** Makes the FAILED ones of these due, after fresh deliveries. @returns how many */
  async replayFailed({ accountId }: ReplayDoc, ids: readonly string[], session: Session): Promise<number> {
    const { modifiedCount } = await collection.updateMany(
      { _id: { $in: [...ids] }, accountId, status: 'FAILED' },
      { $set: { status: 'PENDING', nextAttemptAt: clock.now(), endedAt: null, isReplayed: true } },
      { session },
    );
    return modifiedCount;
  },
  /** The events with a delivery to the webhook that had not ended when the replay was requested, or that the replay itself made: a repeated request may store
   *  the replay again. */
  async unfinished(
    { _id: replayId, accountId, webhookId, createdAt: askedAt }: ReplayDoc,
    some: readonly { _id: string; subjectId: string }[],
    session: Session,
  ): Promise<Set<string>> {
    const found = await collection
      .find(
        {
          ...{ accountId, webhookId },
          subjectId: { $in: some.map(({ subjectId }) => subjectId) },
          eventId: { $in: some.map(({ _id }) => _id) },
          status: { $in: ['PENDING', 'DELIVERED', 'FAILED'] },
        },
        { session, projection: { eventId: 1, endedAt: 1, createdAt: 1, status: 1, replayId: 1 } },
      )
      .toArray();
    return new Set(
      found
        .filter(
          (each) =>
            each.status === 'PENDING' || each.replayId === replayId || (each.endedAt ?? each.createdAt) > askedAt,
        )
        .map(({ eventId }) => eventId),
    );
  },
});

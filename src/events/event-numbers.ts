/** The numbers of events: finds unnumbered events, stores numbers, and reads events in numbered order for the sequencer and replays. Part of the event store. */

import type mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import type { CountSegments } from '../kit/count-segments.js';
import type { Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';
import { idRangeOf, type ReplayDoc } from '../webhooks/index.js';
import type { EventDoc } from './event-store.js';
import type { NumberedEvent, UnnumberedEvent } from './sequence.js';

/** The events of an account as one list of the count segments. */
export const listOfEvents = (accountId: string) => `events:${accountId}`;

const UNNUMBERED_FIELDS = { accountId: 1, type: 1, subjectId: 1 } as const;
const NUMBERED_FIELDS = { ...UNNUMBERED_FIELDS, sequence: 1 } as const;

type Collection = mongoose.mongo.Collection<EventDoc>;

export const createEventNumbers = (
  connection: mongoose.Connection,
  collection: Collection,
  countSegments: CountSegments,
) => ({
  ...unnumberedEvents(connection, collection),
  ...numberedEvents(collection),
  /** Stores the numbers. @returns how many events got theirs: fewer when another process numbered some since they were read */
  async number(numbered: readonly NumberedEvent[], session: Session): Promise<number> {
    const ids = numbered.map(({ _id }) => _id);
    // MongoDB hashes an array of constants, so this is no linear search.
    const nth = { $indexOfArray: [{ $literal: ids }, '$_id'] };
    const sequences = { $literal: numbered.map(({ sequence }) => sequence) };
    const { modifiedCount } = await collection.updateMany(
      { _id: { $in: ids }, accountId: { $in: accountsOf(numbered) }, sequence: 0 },
      [{ $set: { sequence: { $arrayElemAt: [sequences, nth] } } }],
      { session },
    );
    await countSegments.touchAll(numbered, ({ accountId }) => listOfEvents(accountId), session);
    return modifiedCount;
  },
});

const unnumberedEvents = (connection: mongoose.Connection, collection: Collection) => ({
  /** Ids of the accounts with unnumbered events: one index seek for each account. */
  accountsToNumber: (): Promise<string[]> => collection.distinct('accountId', { accountId: { $gt: '' }, sequence: 0 }),
  /** The first unnumbered events of each account, at most `limit` each. */
  toNumber: (accountIds: readonly string[], limit: number): Promise<UnnumberedEvent[]> =>
    connection
      .db!.aggregate<UnnumberedEvent>([
        { $documents: accountIds.map((_id) => ({ _id })) },
        {
          $lookup: {
            from: collection.collectionName,
            localField: '_id',
            foreignField: 'accountId',
            pipeline: [
              { $match: { sequence: 0 } },
              { $sort: { _id: 1 } },
              { $limit: limit },
              { $project: UNNUMBERED_FIELDS },
            ],
            as: 'events',
          },
        },
        { $unwind: '$events' },
        { $replaceRoot: { newRoot: '$events' } },
      ])
      .toArray(),
  /** Unnumbered events of these kinds about these subjects. */
  async unnumbered(
    wanted: readonly { accountId: string; subjectId: string; type: EventType }[],
  ): Promise<UnnumberedEvent[]> {
    if (wanted.length === 0) return [];
    const subjectIds = [...new Set(wanted.map(({ subjectId }) => subjectId))];
    const types = [...new Set(wanted.map(({ type }) => type))];
    return collection
      .find(
        { accountId: { $in: accountsOf(wanted) }, subjectId: { $in: subjectIds }, type: { $in: types }, sequence: 0 },
        { projection: UNNUMBERED_FIELDS },
      )
      .toArray();
  },
});

const numberedEvents = (collection: Collection) => ({
  /** The events of these accounts with numbers after `after` up to `upTo`, each account's in order; without their data. */
  async numbered(
    ranges: readonly { accountId: string; after: number; upTo: number }[],
    session: Session,
  ): Promise<NumberedEvent[]> {
    if (ranges.length === 0) return [];
    return collection
      .find(
        { $or: ranges.map(({ accountId, after, upTo }) => ({ accountId, sequence: { $gt: after, $lte: upTo } })) },
        { projection: NUMBERED_FIELDS, session },
      )
      .sort({ accountId: 1, sequence: 1 })
      .toArray() as Promise<NumberedEvent[]>;
  },
  /** The events that a replay takes next, in the order of their ids; without their data. */
  replayed: (replay: ReplayDoc, limit: number): Promise<NumberedEvent[]> =>
    collection
      .find(
        {
          accountId: replay.accountId,
          type: { $in: replay.types },
          _id: { ...idRangeOf(replay), ...(replay.cursor > replay.fromId ? { $gt: replay.cursor } : {}) },
          sequence: { $gt: 0, $lte: replay.upTo },
          // A webhook gets no events about itself.
          subjectId: { $ne: replay.webhookId },
        },
        { projection: NUMBERED_FIELDS },
      )
      .sort({ _id: 1 })
      .limit(limit)
      .toArray() as Promise<NumberedEvent[]>,
});

/** The numbers of events: finds unnumbered events, stores numbers, and reads events in numbered
 *  order for the sequencer and replays. Part of the event store. */
import type mongoose from 'mongoose';
import { type EventType, predecessorOf } from '../../contracts/event-kinds.js';
import type { CountSegments } from '../kit/count-segments.js';
import type { Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';
import { idRangeOf, type ReplayDoc } from '../webhooks/index.js';
import type { EventDoc } from './event-store.js';

// Numbers events and deliveries. Pure.

/** Another process has numbered these events or opened these deliveries. */
export class CounterConflict extends Error {
  override readonly name = 'CounterConflict';
}

interface UnnumberedEvent {
  _id: string;
  accountId: string;
  type: EventType;
  subjectId: string;
}

export interface NumberedEvent extends UnnumberedEvent {
  sequence: number;
}

/** Gives each account's events the numbers after `last`, in the order of their ids. An event always
 *  follows its predecessor, even if the clocks of two processes ordered the ids otherwise.
 *  @param last the latest number of each account; absent for 0 */
export function numberEvents(events: readonly UnnumberedEvent[], last: ReadonlyMap<string, number>): NumberedEvent[] {
  const sorted = events.toSorted((a, b) => (a._id < b._id ? -1 : 1));
  const byKey = new Map(sorted.map((event) => [keyOf(event.subjectId, event.type), event]));
  const next = new Map(last);
  const numbered = new Map<string, NumberedEvent>();
  const number = (event: UnnumberedEvent): void => {
    if (numbered.has(event._id)) return;
    const before = predecessorOf(event.type);
    const predecessor = before && byKey.get(keyOf(event.subjectId, before));
    if (predecessor) number(predecessor);
    const sequence = (next.get(event.accountId) ?? 0) + 1;
    next.set(event.accountId, sequence);
    numbered.set(event._id, { ...event, sequence });
  };
  for (const event of sorted) number(event);
  return [...numbered.values()];
}

const keyOf = (subjectId: string, type: EventType) => `${subjectId} ${type}`;

/** The part of a webhook that opening its deliveries needs. */
export interface Subscriber {
  _id: string;
  accountId: string;
  events: readonly EventType[];
  /** `sequence` of the last event that was considered for it. */
  openedTo: number;
  /** Number of its latest delivery. */
  deliverySequence: number;
}

export interface OpeningPlan {
  /** In the order of each webhook's numbers. */
  deliveries: { webhookId: string; event: NumberedEvent; sequence: number }[];
  moves: { webhookId: string; from: number; openedTo: number; deliverySequence: number }[];
}

/** Plans the deliveries to open: for each webhook those of the events after `openedTo`, numbered
 *  without holes.
 *  @param events all events of the webhooks' accounts after the lowest `openedTo`, up to some
 *  number, in order
 *  @param limits the most deliveries to open, for each account and in all */
export function planOpening(
  subscribers: readonly Subscriber[],
  events: readonly NumberedEvent[],
  limits: { perAccount: number; inAll: number },
): OpeningPlan {
  const plan: OpeningPlan = { deliveries: [], moves: [] };
  const openedBy = new Map<string, number>();
  for (const { _id: webhookId, accountId, events: types, openedTo: from, deliverySequence } of subscribers) {
    let [openedTo, sequence] = [from, deliverySequence];
    for (const event of events) {
      if (event.accountId !== accountId || event.sequence <= openedTo) continue;
      // A webhook receives no events about itself.
      if (types.includes(event.type) && event.subjectId !== webhookId) {
        const opened = openedBy.get(accountId) ?? 0;
        if (opened >= limits.perAccount || plan.deliveries.length >= limits.inAll) break;
        openedBy.set(accountId, opened + 1);
        sequence += 1;
        plan.deliveries.push({ webhookId, event, sequence });
      }
      openedTo = event.sequence;
    }
    if (openedTo !== from) plan.moves.push({ webhookId, from, openedTo, deliverySequence: sequence });
  }
  return plan;
}

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
  /** Stores the numbers. @returns how many events got theirs: fewer when another process numbered
   *  some since they were read */
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
  /** The events of these accounts with numbers after `after` up to `upTo`, each account's in order;
   *  without their data. */
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

/** Events, as webhooks receive them. A subject has one event of a kind (and occurrence), which
 *  never changes. */
import type mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { type Collection, type DocOf, define, openCollection, text } from '../kit/collection.js';
import { type CountSegments, createCountSegments } from '../kit/count-segments.js';
import { inOneBatch, type Session } from '../kit/database.js';
import { firstIdOf } from '../kit/ids.js';
import type { PageRequest } from '../kit/paging.js';
import { idRangeOf, type ReplayDoc } from '../webhooks/index.js';
import { createEventNumbers, listOfEvents } from './event-numbers.js';

const IS_NUMBERED = { sequence: { $gt: 0 } };

const EVENTS = define(
  'events',
  {
    _id: String,
    accountId: String,
    type: text<EventType>(),
    /** The id of the event's subject, such as a payment. */
    subjectId: String,
    /** Distinguishes events of a repeating kind; empty for the others. */
    occurrence: String,
    /** 1, 2, 3 … for each account, without holes; 0 until the sequencer has numbered it. */
    sequence: Number,
    /** `data` of the API and of the deliveries' body, as JSON text, so that every attempt sends the
     *  same bytes. */
    data: String,
    /** The moment in `_id`. */
    createdAt: Date,
  },
  [
    { key: { accountId: 1, subjectId: 1, type: 1, occurrence: 1 }, unique: true },
    // Lists show numbered events only; `sequence` lets the index alone count them.
    { key: { accountId: 1, _id: -1, sequence: 1 } },
    { key: { accountId: 1, type: 1, _id: -1, sequence: 1 } },
    // Not unique: numbering moves the account's counter in the same transaction, so no two events
    // get one number.
    { key: { accountId: 1, sequence: 1 }, partialFilterExpression: IS_NUMBERED, name: 'numbers' },
    { key: { accountId: 1, type: 1, sequence: 1 }, partialFilterExpression: IS_NUMBERED },
    // Unnumbered events.
    { key: { accountId: 1, sequence: 1, _id: 1 }, partialFilterExpression: { sequence: 0 } },
  ],
);

export interface EventDoc extends DocOf<typeof EVENTS> {}

interface EventFilter {
  type?: EventType;
  subjectId?: string;
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdTo?: Date;
  order: 'asc' | 'desc';
}

/** An event without its data, which are too large. */
type LargeEvent = Omit<EventDoc, 'data'> & { data: null };

interface AfterOptions {
  type?: EventType;
  subjectId?: string;
  maxBytes?: number;
}

/** What works across accounts: for the watcher, the sequencer and the dispatchers. */
export type EventStore = ReturnType<typeof createEventStore>['system'];
/** One account's view. */
export type AccountEvents = ReturnType<ReturnType<typeof createEventStore>['forAccount']>;

export function createEventStore(connection: mongoose.Connection, countSegments = createCountSegments(connection)) {
  const collection = openCollection<EventDoc>(connection, EVENTS);
  const opened = { collection, countSegments };
  return {
    forAccount: (accountId: string) => ({ ...listsOf(opened, accountId), ...readsOf(opened, accountId) }),
    system: { ...ofAllAccounts(collection), ...createEventNumbers(connection, collection, countSegments) },
  };
}

interface Opened {
  collection: Collection<EventDoc>;
  countSegments: CountSegments;
}

/** An account's numbered events, listed and counted. */
const listsOf = ({ collection, countSegments }: Opened, accountId: string) => ({
  list({ type, subjectId, createdFrom, createdTo, order }: EventFilter, request: PageRequest) {
    const filter = {
      accountId,
      ...IS_NUMBERED,
      ...(type === undefined ? {} : { type }),
      ...(subjectId === undefined ? {} : { subjectId }),
    };
    const ids = { from: createdFrom && firstIdOf('evt', createdFrom), to: createdTo && firstIdOf('evt', createdTo) };
    const direction = order === 'asc' ? 1 : -1;
    return countSegments.page<EventDoc>(listOfEvents(accountId), collection, filter, {
      ...request,
      direction,
      ids,
    });
  },
  /** Number of events that a replay to this webhook would take, unsent ones included. Most
   *  counts of a long list are remembered. */
  async countReplayed(replay: ReplayDoc): Promise<number> {
    const { webhookId, types, fromId, toId, upTo } = replay;
    const ids = idRangeOf(replay);
    const wanted = { accountId, type: { $in: [...types].sort() } };
    const own = { accountId, subjectId: webhookId, type: 'webhook.paused' as const };
    const [{ meta }, fresh, ofItself] = await Promise.all([
      countSegments.page<EventDoc>(
        listOfEvents(accountId),
        collection,
        { ...wanted, ...IS_NUMBERED },
        { page: 1, pageSize: 1, direction: 1, ids: { from: fromId, to: toId ?? undefined } },
      ),
      collection.countDocuments({ ...wanted, sequence: { $gt: upTo }, _id: ids }),
      types.includes('webhook.paused')
        ? collection.countDocuments({ ...own, sequence: { $gt: 0, $lte: upTo }, _id: ids })
        : 0,
    ]);
    return meta.total - fresh - ofItself;
  },
});

const readsOf = ({ collection }: Opened, accountId: string) => ({
  byId: (id: string) => collection.findOne({ _id: id, accountId, ...IS_NUMBERED }),
  /** Id of the newest unnumbered event up to the event `upTo`; null when all are numbered. */
  async newestUnnumbered(upTo?: string): Promise<string | null> {
    const newest = await collection.findOne(
      { accountId, sequence: 0, ...(upTo === undefined ? {} : { _id: { $lte: upTo } }) },
      { sort: { _id: -1 }, projection: { _id: 1 } },
    );
    return newest?._id ?? null;
  },
  /** Kinds and subjects of the events after a number, oldest first. */
  subjectsAfter: (sequence: number, limit: number): Promise<Pick<EventDoc, 'sequence' | 'subjectId'>[]> =>
    collection
      .find({ accountId, sequence: { $gt: sequence } }, { projection: { _id: 0, sequence: 1, subjectId: 1 } })
      .sort({ sequence: 1 })
      .limit(limit)
      .toArray(),
  /** The events after a number, oldest first: at most `limit`, stopping once their data
   *  reach `maxBytes`. */
  async after(
    sequence: number,
    limit: number,
    { type, subjectId, maxBytes = Number.POSITIVE_INFINITY }: AfterOptions = {},
  ): Promise<EventDoc[]> {
    const found = collection
      .find({
        accountId,
        ...(type === undefined ? {} : { type }),
        ...(subjectId === undefined ? {} : { subjectId }),
        sequence: { $gt: sequence },
      })
      .sort({ sequence: 1 })
      .limit(limit);
    if (maxBytes === Number.POSITIVE_INFINITY) return found.toArray();
    const events: EventDoc[] = [];
    let bytes = 0;
    for await (const event of found) {
      events.push(event);
      bytes += event.data.length;
      if (bytes >= maxBytes) break;
    }
    return events;
  },
});

const ofAllAccounts = (collection: Collection<EventDoc>) => ({
  /** @throws a duplicate key error when a subject already has an event of that kind
   *  and occurrence */
  async insert(batch: readonly EventDoc[], session: Session): Promise<void> {
    await collection.insertMany([...batch], { session });
  },
  byId: (accountId: string, id: string): Promise<EventDoc | null> => collection.findOne({ _id: id, accountId }),
  /** @param maxBytes events with more data are returned with null */
  async byIds(
    accountIds: readonly string[],
    ids: readonly string[],
    maxBytes: number,
  ): Promise<(EventDoc | LargeEvent)[]> {
    const accountId = { $in: [...accountIds] };
    const isSmall = { $expr: { $lte: [{ $strLenBytes: '$data' }, maxBytes] } };
    const small = await collection.find({ _id: { $in: [...ids] }, accountId, ...isSmall }, inOneBatch(ids)).toArray();
    if (small.length === ids.length) return small;
    const known = new Set(small.map(({ _id }) => _id));
    const others = ids.filter((id) => !known.has(id));
    const large = await collection
      .find({ _id: { $in: others }, accountId }, { projection: { data: 0 }, ...inOneBatch(others) })
      .toArray();
    return [...small, ...large.map((event) => ({ ...event, data: null }))];
  },
});

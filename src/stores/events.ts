/** Events: what happened, as webhooks are told of it. A subject has one event of a kind (and occurrence), which never changes. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { firstIdOf } from '../domain/ids.js';
import { accountsOf } from '../domain/owners.js';
import type { NumberedEvent, UnnumberedEvent } from '../domain/sequence.js';
import { createCountSegments } from './count-segments.js';
import { inOneBatch, makeIndexes, SCHEMA_OPTIONS, type Session } from './database.js';
import type { PageRequest } from './paging.js';
import { idRangeOf, type ReplayDoc } from './replays.js';

export interface EventDoc {
  _id: string;
  accountId: string;
  type: EventType;
  /** The id of what the event is about, such as a payment. */
  subjectId: string;
  /** Tells events of a kind that repeats apart; empty for the others. */
  occurrence: string;
  /** 1, 2, 3 … for each account, without holes; 0 until the sequencer has numbered it. */
  sequence: number;
  /** `data` of the API and of the deliveries' body, as JSON text: nobody here looks into it, and every attempt sends the same bytes. */
  data: string;
  /** The moment in `_id`. */
  createdAt: Date;
}

const eventSchema = new mongoose.Schema<EventDoc>(
  {
    _id: String,
    accountId: String,
    type: String,
    subjectId: String,
    occurrence: String,
    sequence: Number,
    data: String,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'events' },
);
eventSchema.index({ accountId: 1, subjectId: 1, type: 1, occurrence: 1 }, { unique: true });
// Lists hold numbered events only: `sequence` lets them be counted without a look at the documents.
eventSchema.index({ accountId: 1, _id: -1, sequence: 1 });
eventSchema.index({ accountId: 1, type: 1, _id: -1, sequence: 1 });
const IS_NUMBERED = { sequence: { $gt: 0 } };
// No two events get one number: numbering moves the account's counter in the same transaction.
eventSchema.index({ accountId: 1, sequence: 1 }, { partialFilterExpression: IS_NUMBERED, name: 'numbers' });
eventSchema.index({ accountId: 1, type: 1, sequence: 1 }, { partialFilterExpression: IS_NUMBERED });
// What the sequencer has to do.
eventSchema.index({ accountId: 1, sequence: 1, _id: 1 }, { partialFilterExpression: { sequence: 0 } });

export interface EventFilter {
  type?: EventType;
  subjectId?: string;
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdTo?: Date;
  order: 'asc' | 'desc';
}

/** Whose data were not read, because they are large. */
export type LargeEvent = Omit<EventDoc, 'data'> & { data: null };

export interface AfterOptions {
  type?: EventType;
  subjectId?: string;
  maxBytes?: number;
}

/** What works across accounts: for the watcher and the dispatchers. */
export type EventStore = ReturnType<typeof createEventStore>['system'];
/** One account's view. */
export type AccountEvents = ReturnType<ReturnType<typeof createEventStore>['forAccount']>;

export function createEventStore(connection: mongoose.Connection, countSegments = createCountSegments(connection)) {
  const events = connection.model<EventDoc>('Event', eventSchema);
  const collection = events.collection as unknown as mongoose.mongo.Collection<EventDoc>;
  const listOf = (accountId: string) => `events:${accountId}`;

  return {
    ensureIndexes: () => makeIndexes(events),

    forAccount: (accountId: string) => ({
      byId: (id: string) =>
        events
          .findOne({ _id: id, accountId, ...IS_NUMBERED })
          .lean<EventDoc>()
          .exec(),
      list: (filter: EventFilter, request: PageRequest) => {
        const { type, subjectId, createdFrom, createdTo } = filter;
        return countSegments.page<EventDoc>(
          listOf(accountId),
          events,
          {
            accountId,
            ...IS_NUMBERED,
            ...(type === undefined ? {} : { type }),
            ...(subjectId === undefined ? {} : { subjectId }),
          },
          {
            ...request,
            direction: filter.order === 'asc' ? 1 : -1,
            ids: { from: createdFrom && firstIdOf('evt', createdFrom), to: createdTo && firstIdOf('evt', createdTo) },
          },
        );
      },
      /** How many events a replay to this webhook would take, what is still to be sent included. Of a long list most counts are remembered. */
      async countReplayed(replay: ReplayDoc): Promise<number> {
        const { webhookId, types, fromId, toId, upTo } = replay;
        const ids = idRangeOf(replay);
        const wanted = { accountId, type: { $in: [...types].sort() } };
        const own = { accountId, subjectId: webhookId, type: 'webhook.paused' as const };
        const [{ meta }, fresh, ofItself] = await Promise.all([
          countSegments.page<EventDoc>(
            listOf(accountId),
            events,
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
      /** Id of the newest event that the sequencer has not numbered yet, up to the event `upTo`; null when all have their number. */
      async newestUnnumbered(upTo?: string): Promise<string | null> {
        const newest = await collection.findOne(
          { accountId, sequence: 0, ...(upTo === undefined ? {} : { _id: { $lte: upTo } }) },
          { sort: { _id: -1 }, projection: { _id: 1 } },
        );
        return newest?._id ?? null;
      },
      /** What the events after a number are about, oldest first. */
      subjectsAfter: (sequence: number, limit: number): Promise<Pick<EventDoc, 'sequence' | 'subjectId'>[]> =>
        collection
          .find({ accountId, sequence: { $gt: sequence } }, { projection: { _id: 0, sequence: 1, subjectId: 1 } })
          .sort({ sequence: 1 })
          .limit(limit)
          .toArray(),
      /** The events after a number, oldest first: at most `limit`, and no more once their data have `maxBytes`. */
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
    }),

    system: {
      /** @throws a duplicate key error when a subject has an event of that kind and occurrence already */
      async insert(batch: readonly EventDoc[], session: Session): Promise<void> {
        await collection.insertMany([...batch], { session });
      },
      byId: (accountId: string, id: string): Promise<EventDoc | null> => collection.findOne({ _id: id, accountId }),
      /** @param maxBytes of the data: an event that has more of them comes with null */
      async byIds(
        accountIds: readonly string[],
        ids: readonly string[],
        maxBytes: number,
      ): Promise<(EventDoc | LargeEvent)[]> {
        const accountId = { $in: [...accountIds] };
        const isSmall = { $expr: { $lte: [{ $strLenBytes: '$data' }, maxBytes] } };
        const small = await collection
          .find({ _id: { $in: [...ids] }, accountId, ...isSmall }, inOneBatch(ids))
          .toArray();
        if (small.length === ids.length) return small;
        const known = new Set(small.map(({ _id }) => _id));
        const others = ids.filter((id) => !known.has(id));
        const large = await collection
          .find({ _id: { $in: others }, accountId }, { projection: { data: 0 }, ...inOneBatch(others) })
          .toArray();
        return [...small, ...large.map((event) => ({ ...event, data: null }))];
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
              // A webhook is not told of itself.
              subjectId: { $ne: replay.webhookId },
            },
            { projection: { ...UNNUMBERED_FIELDS, sequence: 1 } },
          )
          .sort({ _id: 1 })
          .limit(limit)
          .toArray() as Promise<NumberedEvent[]>,

      /** Ids of the accounts with events that have no number yet: one look into the index for each account. */
      accountsToNumber: (): Promise<string[]> =>
        collection.distinct('accountId', { accountId: { $gt: '' }, sequence: 0 }),
      /** The first events of each account that have no number yet, at most `limit` each. */
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
      /** Of these kinds about these subjects, the events that have no number yet. */
      async unnumbered(
        wanted: readonly { accountId: string; subjectId: string; type: EventType }[],
      ): Promise<UnnumberedEvent[]> {
        if (wanted.length === 0) return [];
        const subjectIds = [...new Set(wanted.map(({ subjectId }) => subjectId))];
        const types = [...new Set(wanted.map(({ type }) => type))];
        return collection
          .find(
            {
              accountId: { $in: accountsOf(wanted) },
              subjectId: { $in: subjectIds },
              type: { $in: types },
              sequence: 0,
            },
            { projection: UNNUMBERED_FIELDS },
          )
          .toArray();
      },
      /** Stores the numbers. @returns how many events got theirs: fewer when others were numbered meanwhile */
      async number(numbered: readonly NumberedEvent[], session: Session): Promise<number> {
        const ids = numbered.map(({ _id }) => _id);
        // MongoDB hashes an array of constants: this is no search.
        const nth = { $indexOfArray: [{ $literal: ids }, '$_id'] };
        const sequences = { $literal: numbered.map(({ sequence }) => sequence) };
        const { modifiedCount } = await collection.updateMany(
          { _id: { $in: ids }, accountId: { $in: accountsOf(numbered) }, sequence: 0 },
          [{ $set: { sequence: { $arrayElemAt: [sequences, nth] } } }],
          { session },
        );
        await countSegments.touchAll(numbered, ({ accountId }) => listOf(accountId), session);
        return modifiedCount;
      },
      /** The events of these accounts with numbers after `after` up to `upTo`, each account's in order; without their data. */
      async numbered(
        ranges: readonly { accountId: string; after: number; upTo: number }[],
        session: Session,
      ): Promise<NumberedEvent[]> {
        if (ranges.length === 0) return [];
        return collection
          .find(
            { $or: ranges.map(({ accountId, after, upTo }) => ({ accountId, sequence: { $gt: after, $lte: upTo } })) },
            { projection: { ...UNNUMBERED_FIELDS, sequence: 1 }, session },
          )
          .sort({ accountId: 1, sequence: 1 })
          .toArray() as Promise<NumberedEvent[]>;
      },
    },
  };
}

const UNNUMBERED_FIELDS = { accountId: 1, type: 1, subjectId: 1 } as const;

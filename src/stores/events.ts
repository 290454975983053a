/** Events: what happened, as webhooks are told of it. A subject has one event of a kind (and occurrence), which never changes. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/event-kinds.js';
import { firstIdOf } from '../domain/ids.js';
import { createCountSegments } from './count-segments.js';
import { SCHEMA_OPTIONS, type Session } from './database.js';
import type { PageRequest } from './paging.js';

export interface EventDoc {
  _id: string;
  accountId: string;
  type: EventType;
  /** The id of what the event is about, such as a payment. */
  subjectId: string;
  /** Tells events of a kind that repeats apart; empty for the others. */
  occurrence: string;
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
    data: String,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'events' },
);
eventSchema.index({ subjectId: 1, type: 1, occurrence: 1 }, { unique: true });
eventSchema.index({ accountId: 1, _id: -1 });
eventSchema.index({ accountId: 1, type: 1, _id: -1 });

export interface EventFilter {
  type?: EventType;
  subjectId?: string;
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdTo?: Date;
  order: 'asc' | 'desc';
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
    ensureIndexes: () => events.createIndexes(),

    forAccount: (accountId: string) => ({
      byId: (id: string) => events.findOne({ _id: id, accountId }).lean<EventDoc>().exec(),
      list: (filter: EventFilter, request: PageRequest) => {
        const { type, subjectId, createdFrom, createdTo } = filter;
        return countSegments.page<EventDoc>(
          listOf(accountId),
          events,
          {
            accountId,
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
    }),

    system: {
      /** @throws a duplicate key error when a subject has an event of that kind and occurrence already */
      async insert(batch: readonly EventDoc[], session: Session): Promise<void> {
        await collection.insertMany([...batch], { session });
        await countSegments.touchAll(batch, ({ accountId }) => listOf(accountId), session);
      },
      byIds: (ids: readonly string[]): Promise<EventDoc[]> => collection.find({ _id: { $in: [...ids] } }).toArray(),
    },
  };
}

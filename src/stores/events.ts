/** Events: what happened to a payment, as it was told to webhooks. A kind exists once per payment, and never changes. */
import mongoose from 'mongoose';
import type { EventType } from '../../contracts/events.js';
import { firstIdOf } from '../domain/ids.js';
import { createCountSegments } from './count-segments.js';
import { SCHEMA_OPTIONS, type Session } from './database.js';
import type { PageRequest } from './paging.js';

export interface EventDoc {
  _id: string;
  accountId: string;
  type: EventType;
  paymentId: string;
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
    paymentId: String,
    data: String,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'events' },
);
eventSchema.index({ paymentId: 1, type: 1 }, { unique: true });
eventSchema.index({ accountId: 1, _id: -1 });
eventSchema.index({ accountId: 1, type: 1, _id: -1 });

export interface EventFilter {
  type?: EventType;
  paymentId?: string;
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdTo?: Date;
  order: 'asc' | 'desc';
}

export type EventStore = ReturnType<typeof createEventStore>;

export function createEventStore(connection: mongoose.Connection, countSegments = createCountSegments(connection)) {
  const events = connection.model<EventDoc>('Event', eventSchema);
  const collection = events.collection as unknown as mongoose.mongo.Collection<EventDoc>;
  const listOf = (accountId: string) => `events:${accountId}`;

  return {
    ensureIndexes: () => events.createIndexes(),

    byId: (accountId: string, id: string) => events.findOne({ _id: id, accountId }).lean<EventDoc>().exec(),
    list: (accountId: string, filter: EventFilter, request: PageRequest) => {
      const { type, paymentId, createdFrom, createdTo } = filter;
      return countSegments.page<EventDoc>(
        listOf(accountId),
        events,
        {
          accountId,
          ...(type === undefined ? {} : { type }),
          ...(paymentId === undefined ? {} : { paymentId }),
        },
        {
          ...request,
          direction: filter.order === 'asc' ? 1 : -1,
          ids: { from: createdFrom && firstIdOf('evt', createdFrom), to: createdTo && firstIdOf('evt', createdTo) },
        },
      );
    },

    // What follows serves the watcher and the dispatcher, which work for all accounts at once.

    /** @throws a duplicate key error when the payment has an event of that kind already */
    async insert(batch: readonly EventDoc[], session: Session): Promise<void> {
      await collection.insertMany([...batch], { session });
      await countSegments.touchAll(batch, ({ accountId }) => listOf(accountId), session);
    },
    byIds: (ids: readonly string[]): Promise<EventDoc[]> => collection.find({ _id: { $in: [...ids] } }).toArray(),
  };
}

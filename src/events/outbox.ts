/** The outbox: an event is stored in the transaction that stores what it tells of, so that neither
 *  exists without the other. The sequencer numbers events and opens their deliveries later, so that
 *  this transaction does not grow with the number of webhooks. */
import { EVENT_KINDS, type EventDataOf, type EventType } from '../../contracts/event-kinds.js';
import type { Session } from '../kit/database.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import type { EventDoc, EventStore } from './event-store.js';

/** An event that is not stored yet. */
export type OutboxEvent = {
  [Type in EventType]: {
    type: Type;
    accountId: string;
    data: EventDataOf<Type>;
    /** For a kind that repeats: which time it is. The same one is stored once. */
    occurrence?: string;
  };
}[EventType];

/** One with the id that it is stored by. */
export type StoredEvent = OutboxEvent & { id: string };

/** Stores what follows from events besides deliveries, in the same transaction. */
export type FollowEvents = (events: readonly StoredEvent[], session: Session) => Promise<void>;

export type Outbox = ReturnType<typeof createOutbox>;

/** @param follow absent where nothing follows: no e-mail is sent */
export function createOutbox({ events, newId, follow }: { events: EventStore; newId: NewId; follow?: FollowEvents }) {
  return {
    /** Stores events in the order given, in the transaction that stores what happened.
     *  @throws a duplicate key error when the subject has an event of that kind (and
     *  occurrence) already */
    async publish(outboxEvents: readonly OutboxEvent[], session: Session): Promise<void> {
      if (outboxEvents.length === 0) return;
      const docs = outboxEvents.map(({ type, accountId, data, occurrence = '' }): EventDoc => {
        const _id = newId('evt');
        const subjectOf = EVENT_KINDS[type].subject as (data: OutboxEvent['data']) => string;
        const subjectId = subjectOf(data);
        return {
          _id,
          accountId,
          type,
          createdAt: createdAtOf(_id),
          subjectId,
          occurrence,
          sequence: 0,
          data: JSON.stringify(data),
        };
      });
      await events.insert(docs, session);
      await follow?.(
        outboxEvents.map((event, index) => ({ ...event, id: docs[index]!._id })),
        session,
      );
    },
  };
}

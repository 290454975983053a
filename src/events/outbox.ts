/** The outbox: an event is stored in the transaction that stores what it tells of, so that neither exists without the other. The sequencer numbers
 *  events and opens their deliveries later, so that this transaction does not grow with the number of webhooks. */
import { EVENT_KINDS, type EventDataOf, type EventType } from '../../contracts/event-kinds.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import type { Session } from '../stores/database.js';
import type { EventDoc, EventStore } from '../stores/events.js';

/** An event that is not stored yet. */
export type OutboxEvent = {
  [Type in EventType]: {
    type: Type;
    accountId: string;
    data: EventDataOf<Type>;
    /** Of a kind that repeats: which time it is. The same one is stored once. */
    occurrence?: string;
  };
}[EventType];

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox({ events, newId }: { events: EventStore; newId: NewId }) {
  return {
    /** Stores events in the order given, in the transaction that stores what happened.
     *  @throws a duplicate key error when the subject has an event of that kind (and occurrence) already */
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
    },
  };
}

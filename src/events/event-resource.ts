/** Stored events → what the API answers, and the body that webhooks and streams carry. */
import type { Event, WebhookPayload } from '../../contracts/events.js';
import type { EventDoc } from './event-store.js';

export const toEvent = (event: EventDoc): Event =>
  ({
    id: event._id,
    type: event.type,
    sequence: event.sequence,
    createdAt: event.createdAt.toISOString(),
    data: JSON.parse(event.data),
  }) satisfies Record<keyof Event, unknown> as Event;

/** As much of an event as its body shows; the sample event of a test has no number. */
export type SentEvent = Pick<EventDoc, '_id' | 'type' | 'createdAt' | 'data'> & { sequence: number | null };

/** JSON on one line: the same text whenever it is called for the same event. */
export function toEventBody(event: SentEvent): string {
  const { _id: id, type, sequence, createdAt, data } = event;
  const head = JSON.stringify({ id, type, sequence, timestamp: createdAt.toISOString() } satisfies Omit<
    WebhookPayload,
    'data'
  >);
  return `${head.slice(0, -1)},"data":${data}}`;
}

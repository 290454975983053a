/** Events: what happened, as webhooks are told of it; kept for consumers that read instead. */
import { z } from 'zod';
import { listOf } from './envelope.js';
import { EVENT_KINDS, EVENT_TYPES, type EventDataOf, type EventType, eventTypeSchema } from './event-kinds.js';
import { eventExample } from './examples.js';
import { operation } from './operation.js';
import { idInput, idOf, momentInput, pageQuery, timestamp } from './primitives.js';

/** One member for each kind, told apart by `type`. */
const eachKind = <Member>(member: (type: EventType, data: z.ZodType) => Member) =>
  EVENT_TYPES.map((type) => member(type, EVENT_KINDS[type].data)) as [Member, ...Member[]];

const sequence = z.int().meta({
  description:
    "The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test.",
});

/** @interface */
export type Event = {
  [Type in EventType]: { id: string; type: Type; sequence: number; createdAt: string; data: EventDataOf<Type> };
}[EventType];

export const eventSchema = z
  .discriminatedUnion(
    'type',
    eachKind((type, data) =>
      z.object({ id: idOf('evt', 'event'), type: z.literal(type), sequence, createdAt: timestamp, data }),
    ),
  )
  .meta({ id: 'Event', examples: [eventExample] }) as unknown as z.ZodType<Event>;

/** The JSON body of a delivery, once its signature is verified: narrow it by `type`. */
export type WebhookPayload = {
  [Type in EventType]: {
    id: string;
    type: Type;
    /** Null in the sample event of a test. */
    sequence: number | null;
    timestamp: string;
    data: EventDataOf<Type>;
  };
}[EventType];

/** The JSON body of a delivery. */
export const webhookPayloadSchema = z
  .discriminatedUnion(
    'type',
    eachKind((type, data) =>
      z.object({
        id: idOf('evt', 'event'),
        type: z.literal(type),
        sequence: sequence.nullable(),
        timestamp,
        data,
      }),
    ),
  )
  .meta({
    id: 'WebhookPayload',
    description: 'Body of a delivery, signed after Standard Webhooks 1.0.',
  }) as unknown as z.ZodType<WebhookPayload>;

const tag = 'Events';

export const events = {
  list: operation({
    method: 'GET',
    path: '/events',
    summary: 'List events',
    description: 'Newest first; `order=asc` for a consumer that catches up.',
    tag,
    query: {
      ...pageQuery,
      type: eventTypeSchema.optional(),
      paymentId: z.string().optional(),
      createdFrom: momentInput
        .optional()
        .meta({ description: 'Made at or after: ISO 8601 with an offset, or a date (midnight UTC).' }),
      createdTo: momentInput.optional().meta({ description: 'Made before.' }),
      order: z.enum(['asc', 'desc']).default('desc'),
    },
    output: listOf(eventSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/events/{id}',
    summary: 'One event',
    description: 'Returns an event with the resources as they were when it happened.',
    tag,
    params: { id: idInput('evt', 'event') },
    output: eventSchema,
  }),
};

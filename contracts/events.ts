/** Events: what is told to webhooks, kept for consumers that catch up by reading. */
import { z } from 'zod';
import { listOf } from './envelope.js';
import { eventDataExample, eventExample } from './examples.js';
import { operation } from './operation.js';
import { paymentLinkSchema } from './payment-links.js';
import { paymentSchema } from './payments.js';
import { idInput, idOf, momentInput, pageQuery, timestamp } from './primitives.js';
import { productSchema } from './products.js';

export const EVENT_TYPES = ['payment.received', 'payment.completed'] as const;
/** What a webhook can be told of. */
export type EventType = (typeof EVENT_TYPES)[number];

export const eventTypeSchema = z.enum(EVENT_TYPES).meta({
  id: 'EventType',
  description:
    '`payment.received`: once for every payment that belongs to a link, whatever its status. `payment.completed`: once when a payment becomes COMPLETED.',
});

export const eventDataSchema = z
  .object({ payment: paymentSchema, paymentLink: paymentLinkSchema, product: productSchema })
  .meta({
    id: 'EventData',
    description: 'The resources as they were when the event happened.',
    examples: [eventDataExample],
  });

export const eventSchema = z
  .object({ id: idOf('evt', 'event'), type: eventTypeSchema, createdAt: timestamp, data: eventDataSchema })
  .meta({ id: 'Event', examples: [eventExample] });

/** The JSON body of a delivery. */
export const webhookPayloadSchema = z
  .object({ id: idOf('evt', 'event'), type: eventTypeSchema, timestamp, data: eventDataSchema })
  .meta({ id: 'WebhookPayload', description: 'Body of a delivery, signed after Standard Webhooks 1.0.' });
/** The JSON body of a delivery, once its signature is verified.
 *  @interface */
export type WebhookPayload = z.infer<typeof webhookPayloadSchema>;

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

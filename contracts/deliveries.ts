/** Deliveries: one event for one webhook, with all attempts. */
import { z } from 'zod';
import { eventTypeSchema } from './event-kinds.js';
import { deliveryExample } from './examples.js';
import { operation } from './operation.js';
import { idInput, idOf, timestamp } from './primitives.js';

export const deliveryStatusSchema = z.enum(['PENDING', 'DELIVERED', 'FAILED', 'CANCELLED']).meta({
  id: 'DeliveryStatus',
  description:
    'PENDING: not yet delivered, to be tried (again). FAILED: after the last attempt. CANCELLED: the webhook was deleted.',
});

const attemptSchema = z
  .object({
    at: timestamp,
    durationMs: z.int(),
    responseStatus: z.int().nullable().meta({ description: 'Null when no answer came.' }),
    error: z.string().nullable(),
  })
  .meta({ id: 'DeliveryAttempt' });

export const deliverySchema = z
  .object({
    id: idOf('dlv', 'delivery'),
    webhookId: idOf('hook', 'webhook'),
    eventId: idOf('evt', 'event'),
    eventType: eventTypeSchema,
    sequence: z.int().nullable().meta({
      description:
        "Header `webhook-sequence`: a webhook's deliveries are numbered 1, 2, 3 … without holes. Null for deliveries from before there were numbers.",
    }),
    status: deliveryStatusSchema,
    attemptCount: z.int(),
    nextAttemptAt: timestamp.nullable(),
    lastResponseStatus: z.int().nullable(),
    lastError: z.string().nullable(),
    attempts: z.array(attemptSchema),
    createdAt: timestamp,
  })
  .meta({ id: 'Delivery', examples: [deliveryExample] });

const tag = 'Deliveries';
const params = { id: idInput('dlv', 'delivery') };

export const deliveries = {
  get: operation({
    method: 'GET',
    path: '/deliveries/{id}',
    effect: 'reads',
    summary: 'One delivery',
    description: 'Returns a delivery with its latest 50 attempts.',
    tag,
    params,
    output: deliverySchema,
  }),
  redeliver: operation({
    method: 'POST',
    path: '/deliveries/{id}/redeliver',
    effect: 'adds',
    summary: 'Send a delivery again',
    description: 'The same delivery, with the same event id; its attempts go on counting.',
    tag,
    params,
    output: deliverySchema,
    errors: ['conflict'],
  }),
};

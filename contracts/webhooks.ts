/** Webhooks: a merchant's https endpoints, which get events as signed requests (Standard
 *  Webhooks 1.0). */
import { z } from 'zod';
import { deliverySchema, deliveryStatusSchema } from './deliveries.js';
import { deletedSchema, listOf } from './envelope.js';
import { eventTypeSchema } from './event-kinds.js';
import { webhookExample } from './examples.js';
import { operation } from './operation.js';
import { endpointUrlInput, idInput, momentInput, nameInput, pageQuery, timestamp } from './primitives.js';
import { OWNERS } from './roles.js';
import { webhookShape, webhookStatusSchema } from './webhook-shape.js';

const webhookFieldsShown = { ...webhookShape, events: z.array(eventTypeSchema) };

export const webhookSchema = z.object(webhookFieldsShown).meta({ id: 'Webhook', examples: [webhookExample] });
export const webhookWithSecretSchema = z
  .object({
    ...webhookFieldsShown,
    secret: z.string().meta({ description: 'The signing secret, `whsec_` + base64. Returned in this answer only.' }),
  })
  .meta({
    id: 'WebhookWithSecret',
    description:
      'The webhook with its signing `secret`, which is shown once: a replay (Idempotency-Key) leaves it out.',
  });

const testResultSchema = z
  .object({
    responseStatus: z.int().nullable().meta({ description: 'Null when no answer came.' }),
    durationMs: z.int(),
    error: z.string().nullable(),
  })
  .meta({ id: 'WebhookTestResult' });

const healthSchema = z
  .object({
    state: z.enum(['HEALTHY', 'FAILING', 'PAUSED', 'IDLE']).meta({
      description:
        'FAILING: since its last success an attempt has failed. IDLE: nothing was delivered in the last 24 h, and nothing failed since.',
    }),
    pending: z.int().meta({ description: 'Deliveries that are to be tried (again), those of replays included.' }),
    oldestPendingAt: timestamp.nullable().meta({ description: 'When the oldest of them was made or asked for.' }),
    delivered24h: z.int().meta({ description: 'Deliveries that ended as DELIVERED in the last 24 h.' }),
    failed24h: z.int().meta({ description: 'Deliveries that ended as FAILED in the last 24 h.' }),
    lastDeliveredAt: timestamp.nullable(),
    lastFailureAt: timestamp.nullable().meta({ description: 'Time of the last attempt that failed.' }),
    lastError: z.string().nullable().meta({ description: 'Why that attempt failed.' }),
    latencyMs: z.object({ p50: z.int().nullable(), p95: z.int().nullable() }).meta({
      description: 'Measured over the latest 200 attempts that delivered in the last 24 h; null without any.',
    }),
  })
  .meta({ id: 'WebhookHealth' });

const replayFields = {
  from: momentInput.optional().meta({ description: 'Events made at or after.' }),
  to: momentInput.optional().meta({ description: 'Events made before.' }),
  status: z
    .enum(['FAILED', 'ALL'])
    .default('FAILED')
    .meta({ description: 'FAILED: deliveries that were given up, again. ALL: a new delivery of every event.' }),
  types: z.array(eventTypeSchema).min(1).max(20).optional().meta({ description: 'Only events of these kinds.' }),
};

const webhookFields = {
  name: nameInput.meta({ description: 'Label.' }),
  url: endpointUrlInput.meta({ description: 'https endpoint to deliver to.' }),
  events: z.array(eventTypeSchema).min(1).max(20).meta({ description: 'Event kinds to deliver.' }),
};

const tag = 'Webhooks';
const params = { id: idInput('hook', 'webhook') };

export const webhooks = {
  create: operation({
    method: 'POST',
    path: '/webhooks',
    effect: 'adds',
    roles: OWNERS,
    summary: 'Create a webhook',
    description: 'The answer carries the signing `secret`, once.',
    tag,
    status: 201,
    body: webhookFields,
    output: webhookWithSecretSchema,
    secretField: 'secret',
    examples: { body: { name: 'shop', url: 'https://shop.example/hook', events: ['payment.completed'] } },
  }),
  list: operation({
    method: 'GET',
    path: '/webhooks',
    effect: 'reads',
    summary: 'List webhooks',
    description: 'Lists webhooks, newest first. Signing secrets are masked.',
    tag,
    query: pageQuery,
    output: listOf(webhookSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/webhooks/{id}',
    effect: 'reads',
    summary: 'One webhook',
    description: 'Returns a webhook. Its signing secret is masked.',
    tag,
    params,
    output: webhookSchema,
  }),
  update: operation({
    method: 'PATCH',
    path: '/webhooks/{id}',
    effect: 'changes',
    summary: 'Change a webhook',
    description:
      'A webhook made ACTIVE again gets all deliveries that waited for it. A PAUSED one gets none until then.',
    tag,
    params,
    body: { ...z.object(webhookFields).partial().shape, status: webhookStatusSchema.optional() },
    output: webhookSchema,
    examples: { body: { status: 'PAUSED' } },
  }),
  delete: operation({
    method: 'DELETE',
    path: '/webhooks/{id}',
    effect: 'changes',
    summary: 'Delete a webhook',
    description: 'Its pending deliveries are cancelled; all stay readable by id.',
    tag,
    params,
    output: deletedSchema,
  }),
  deliveries: operation({
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    effect: 'reads',
    summary: "List a webhook's deliveries",
    description: 'Lists deliveries to the webhook, newest first, each with its latest attempts.',
    tag,
    params,
    query: { ...pageQuery, status: deliveryStatusSchema.optional() },
    output: listOf(deliverySchema),
  }),
  health: operation({
    method: 'GET',
    path: '/webhooks/{id}/health',
    effect: 'reads',
    summary: "A webhook's health",
    description: 'Whether deliveries arrive, how many wait, and how fast the endpoint answers.',
    tag,
    params,
    output: healthSchema,
  }),
  replay: operation({
    method: 'POST',
    path: '/webhooks/{id}/replay',
    effect: 'adds',
    summary: 'Send events again',
    description:
      'Sends failed deliveries again, or all events of a period that the webhook subscribes to, also from before it existed. Fresh events go first. Pending deliveries are not touched and not counted. For a PAUSED webhook the replay waits. 409 while a large replay of the webhook that was asked for before is still being prepared.',
    tag,
    params,
    body: replayFields,
    bodyOptional: true,
    output: z
      .object({ replayed: z.int().meta({ description: 'How many deliveries will be sent (again).' }) })
      .meta({ id: 'WebhookReplay' }),
    errors: ['conflict'],
    examples: { body: { from: '2026-11-14T00:00:00Z', to: '2026-11-21T00:00:00Z', status: 'ALL' } },
  }),
  test: operation({
    method: 'POST',
    path: '/webhooks/{id}/test',
    effect: 'adds',
    summary: 'Send a signed sample event now',
    description: 'A sample `payment.completed`; works while PAUSED, makes no delivery.',
    tag,
    params,
    output: testResultSchema,
  }),
  rotateSecret: operation({
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
    effect: 'changes',
    roles: OWNERS,
    summary: 'Replace the signing secret',
    description:
      'The answer carries the new `secret`, once. For 24 h deliveries carry signatures of both; at most 20 secrets are valid at once.',
    tag,
    params,
    output: webhookWithSecretSchema,
    secretField: 'secret',
    errors: ['conflict'],
  }),
  deletePreviousSecret: operation({
    method: 'DELETE',
    path: '/webhooks/{id}/previous-secret',
    effect: 'changes',
    summary: 'End older signing secrets',
    description:
      'Ends the overlap of rotations at once: only the newest secret signs. For a secret that leaked. It succeeds also when there is no older secret.',
    tag,
    params,
    output: deletedSchema,
  }),
};

/** Webhooks: https endpoints of a merchant, told of events by signed requests (Standard Webhooks 1.0). */
import { z } from 'zod';
import { deliverySchema, deliveryStatusSchema } from './deliveries.js';
import { deletedSchema, listOf } from './envelope.js';
import { eventTypeSchema } from './event-kinds.js';
import { webhookExample } from './examples.js';
import { operation } from './operation.js';
import { httpsUrlInput, idInput, nameInput, pageQuery } from './primitives.js';
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

const webhookFields = {
  name: nameInput.meta({ description: 'Label.' }),
  url: httpsUrlInput.meta({ description: 'https endpoint to deliver to.' }),
  events: z.array(eventTypeSchema).min(1).max(20).meta({ description: 'Event kinds to deliver.' }),
};

const tag = 'Webhooks';
const params = { id: idInput('hook', 'webhook') };

export const webhooks = {
  create: operation({
    method: 'POST',
    path: '/webhooks',
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
    summary: 'List webhooks',
    description: 'Lists webhooks, newest first. Signing secrets are masked.',
    tag,
    query: pageQuery,
    output: listOf(webhookSchema),
  }),
  get: operation({
    method: 'GET',
    path: '/webhooks/{id}',
    summary: 'One webhook',
    description: 'Returns a webhook. Its signing secret is masked.',
    tag,
    params,
    output: webhookSchema,
  }),
  update: operation({
    method: 'PATCH',
    path: '/webhooks/{id}',
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
    summary: 'Delete a webhook',
    description: 'Its pending deliveries are cancelled; all stay readable by id.',
    tag,
    params,
    output: deletedSchema,
  }),
  deliveries: operation({
    method: 'GET',
    path: '/webhooks/{id}/deliveries',
    summary: "List a webhook's deliveries",
    description: 'Lists deliveries to the webhook, newest first, each with its latest attempts.',
    tag,
    params,
    query: { ...pageQuery, status: deliveryStatusSchema.optional() },
    output: listOf(deliverySchema),
  }),
  test: operation({
    method: 'POST',
    path: '/webhooks/{id}/test',
    summary: 'Send a signed sample event now',
    description: 'A sample `payment.completed`; works while PAUSED, makes no delivery.',
    tag,
    params,
    output: testResultSchema,
  }),
  rotateSecret: operation({
    method: 'POST',
    path: '/webhooks/{id}/rotate-secret',
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
    summary: 'End older signing secrets',
    description:
      'Ends the overlap of rotations at once: only the newest secret signs. For a secret that leaked. Also when there is no older secret.',
    tag,
    params,
    output: deletedSchema,
  }),
};

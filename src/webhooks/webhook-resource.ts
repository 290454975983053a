/** Webhooks as the API and the events show them. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { WebhookDoc } from './webhook-store.js';

type Webhook = OutputOf<Contract['webhooks']['get']>;

export const toWebhook = (webhook: WebhookDoc): Webhook => ({
  id: webhook._id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  status: webhook.status,
  secretMasked: webhook.secretMasked,
  createdAt: webhook.createdAt.toISOString(),
});

/** Pauses a webhook whose endpoint is gone or has failed for days, and tells the account's other webhooks in the same transaction. */
import { type ActivityStore, SYSTEM } from '../accounts/index.js';
import type { Outbox } from '../events/index.js';
import type { Database } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import type { WebhookHealth } from './health-store.js';
import { toWebhook } from './webhook-resource.js';
import type { WebhookStore } from './webhook-store.js';

/** Does nothing if the webhook is already PAUSED or leased by another dispatcher. */
export type Pause = (health: WebhookHealth, holder: string) => Promise<void>;

export function createPause(deps: {
  webhooks: Pick<WebhookStore, 'pause'>;
  outbox: Outbox;
  activities: ActivityStore;
  newId: NewId;
  transaction: Database['transaction'];
  eventsStored: () => void;
}): Pause {
  const { webhooks, outbox, activities, newId, transaction, eventsStored } = deps;
  return async (health, holder) => {
    await transaction(async (session) => {
      const webhook = await webhooks.pause(health, holder, session);
      if (!webhook) return;
      const { accountId } = webhook;
      const data = { webhook: toWebhook(webhook), reason: health.pausedBecause ?? 'failing' };
      // At most one pause for each start of the webhook.
      const occurrence = `start ${health.starts ?? 0}`;
      await outbox.publish([{ type: 'webhook.paused', accountId, data, occurrence }], session);
      const changes = [{ field: 'status', from: 'ACTIVE', to: 'PAUSED' }];
      const subject = { accountId, subjectId: webhook._id, operation: 'webhooks_pause', changes };
      await activities.insert([{ _id: newId('act'), ...subject, actor: SYSTEM, address: null }], session);
    });
    eventsStored();
  };
}

/** Deliveries in the API. */

import type { Contract } from '../../contracts/index.js';
import type { Commit } from '../accounts/index.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { ServiceOf } from '../kit/caller.js';
import type { ForAccount } from '../stores.js';
import type { DeliveryDoc } from './delivery-store.js';

export function createDeliveryService(deps: {
  forAccount: ForAccount<'deliveries' | 'webhooks'>;
  commit: Commit;
  /** Called when a delivery has become due. */
  deliveriesDue: () => void;
}): ServiceOf<Contract['deliveries']> {
  const { forAccount, commit, deliveriesDue } = deps;

  const get = async (accountId: string, id: string): Promise<DeliveryDoc> => {
    const delivery = await forAccount(accountId).deliveries.byId(id);
    if (!delivery) throw notFound('delivery');
    return delivery;
  };

  return {
    async get({ accountId }, { id }) {
      return toDelivery(await get(accountId, id));
    },

    async redeliver(caller, { id }) {
      const { accountId } = caller;
      const { deliveries, webhooks } = forAccount(accountId);
      const { webhookId } = await get(accountId, id);
      const webhook = await webhooks.byId(webhookId);
      const delivery = await commit({ caller, subjectId: id }, async (session) => {
        const due = webhook && (await deliveries.redeliver(id, session));
        if (!due) throw conflict('The webhook of this delivery was deleted.');
        return due;
      });
      deliveriesDue();
      return toDelivery(delivery);
    },
  };
}

export const toDelivery = (delivery: DeliveryDoc) => ({
  id: delivery._id,
  webhookId: delivery.webhookId,
  eventId: delivery.eventId,
  eventType: delivery.eventType,
  sequence: delivery.sequence,
  status: delivery.status,
  attemptCount: delivery.attemptCount,
  nextAttemptAt: delivery.nextAttemptAt?.toISOString() ?? null,
  lastResponseStatus: delivery.lastResponseStatus,
  lastError: delivery.lastError,
  attempts: delivery.attempts.map(({ at, durationMs, responseStatus, error }) => ({
    at: at.toISOString(),
    durationMs,
    responseStatus,
    error,
  })),
  createdAt: delivery.createdAt.toISOString(),
});

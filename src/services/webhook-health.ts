/** How a webhook is, from its failures and its deliveries. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Clock } from '../clock.js';
import type { DeliveryHealth } from '../stores/delivery-health.js';
import type { ForAccount } from '../stores/index.js';
import type { WebhookDoc } from '../stores/webhooks.js';

const DAY_MS = 24 * 3_600_000;

export type WebhookHealth = OutputOf<Contract['webhooks']['health']>;

/** What took long to count is remembered for a moment, so that nobody can have it counted all the time. */
const MUCH = 5000;
const REMEMBERED_MS = 5000;
const MAX_REMEMBERED = 1000;

/** Reads how deliveries to a webhook go. */
export function createReadDeliveryHealth({
  forAccount,
  clock,
}: {
  forAccount: ForAccount<'deliveries'>;
  clock: Clock;
}) {
  const remembered = new Map<string, { untilMs: number; health: DeliveryHealth }>();
  return async ({ _id, accountId }: WebhookDoc): Promise<DeliveryHealth> => {
    const nowMs = clock.nowMs();
    const known = remembered.get(_id);
    if (known && nowMs < known.untilMs && nowMs >= known.untilMs - REMEMBERED_MS) return known.health;
    remembered.delete(_id);
    const health = await forAccount(accountId).deliveries.health(_id, new Date(nowMs - DAY_MS));
    if (health.pending + health.delivered + health.failed >= MUCH) {
      remembered.set(_id, { untilMs: nowMs + REMEMBERED_MS, health });
      if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
    }
    return health;
  };
}

export function toHealth(webhook: WebhookDoc, deliveries: DeliveryHealth): WebhookHealth {
  const { pending, oldestPendingAt, delivered, failed, lastDeliveredAt, latenciesMs } = deliveries;
  const { lastFailure } = webhook;
  return {
    state: stateOf(webhook, delivered),
    pending,
    oldestPendingAt: oldestPendingAt?.toISOString() ?? null,
    delivered24h: delivered,
    failed24h: failed,
    lastDeliveredAt: lastDeliveredAt?.toISOString() ?? null,
    lastFailureAt: lastFailure?.at.toISOString() ?? null,
    lastError: lastFailure?.error ?? null,
    latencyMs: { p50: percentile(latenciesMs, 0.5), p95: percentile(latenciesMs, 0.95) },
  };
}

function stateOf({ status, failingSince }: WebhookDoc, delivered: number): WebhookHealth['state'] {
  if (status === 'PAUSED') return 'PAUSED';
  if (failingSince) return 'FAILING';
  return delivered > 0 ? 'HEALTHY' : 'IDLE';
}

/** The nearest rank; null of nothing. */
export function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

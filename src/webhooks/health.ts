/** A webhook's health, from its failures and its deliveries. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Clock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import type { ForAccount } from '../stores.js';
import type { DeliveryHealth } from './delivery-health.js';
import type { WebhookDoc } from './webhook-store.js';

const DAY_MS = 24 * 3_600_000;

type WebhookHealth = OutputOf<Contract['webhooks']['health']>;

/** Slow counts are cached briefly, so that requests do not repeat them at once. */
const MUCH = 5000;
const REMEMBERED_MS = 5000;
const MAX_REMEMBERED = 1000;

/** With the number of waiting deliveries, due or in replays in preparation. */
type Counted = DeliveryHealth & { pending: number };

export function createReadDeliveryHealth({
  forAccount,
  transaction,
  clock,
}: {
  forAccount: ForAccount<'deliveries' | 'replays'>;
  transaction: Database['transaction'];
  clock: Clock;
}) {
  const remembered = new Map<string, { untilMs: number; health: Counted }>();

  /** Read at one moment, so that a replay's deliveries are counted once while they become due. */
  const readWaiting = ({ _id, accountId }: WebhookDoc) =>
    transaction(async (session) => {
      const { deliveries, replays } = forAccount(accountId);
      const replay = await replays.ofWebhook(_id, session);
      const toMake = Math.max(0, (replay?.count ?? 0) - (replay?.made ?? 0));
      return {
        pending: toMake + (await deliveries.countPending(_id, session)),
        askedAt: toMake > 0 ? replay!.createdAt : null,
      };
    });

  async function read(webhook: WebhookDoc, nowMs: number): Promise<Counted> {
    const { _id, accountId } = webhook;
    const [{ pending, askedAt }, health] = await Promise.all([
      readWaiting(webhook),
      forAccount(accountId).deliveries.health(_id, new Date(nowMs - DAY_MS)),
    ]);
    return { ...health, pending, oldestPendingAt: health.oldestPendingAt ?? askedAt };
  }

  return async (webhook: WebhookDoc): Promise<Counted> => {
    const { _id } = webhook;
    const nowMs = clock.nowMs();
    const known = remembered.get(_id);
    if (known && nowMs < known.untilMs && nowMs >= known.untilMs - REMEMBERED_MS) return known.health;
    remembered.delete(_id);
    const health = await read(webhook, nowMs);
    if (health.pending + health.delivered + health.failed >= MUCH) {
      remembered.set(_id, { untilMs: nowMs + REMEMBERED_MS, health });
      if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
    }
    return health;
  };
}

export function toHealth(webhook: WebhookDoc, deliveries: Counted): WebhookHealth {
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

/** By nearest rank; null for no values. */
function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** A webhook's health, from its failures and its deliveries, and the pause of one that fails
 *  for days. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { type ActivityStore, SYSTEM } from '../accounts/index.js';
import type { Outbox } from '../events/index.js';
import type { Clock } from '../kit/clock.js';
import { type Collection, EPOCH } from '../kit/collection.js';
import { type Database, insertTogether, type Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import type { ForAccount } from '../stores.js';
import type { DeliveryDoc, DeliveryStatus } from './delivery-store.js';
import type { WebhookDoc, WebhookStore } from './webhook-store.js';
import { toWebhook } from './webhooks.js';

// Counts deliveries to a webhook by how they went.

const LATENCIES = 200;

interface DeliveryHealth {
  pending: number;
  oldestPendingAt: Date | null;
  delivered: number;
  failed: number;
  lastDeliveredAt: Date | null;
  /** Times of the latest attempts that delivered, in no order. */
  latenciesMs: number[];
}

/** @param since counts deliveries that ended from then on
 *  @param session sees one moment, in which each delivery has one status */
export async function readHealth(
  collection: Collection<DeliveryDoc>,
  owner: { webhookId: string; accountId: string },
  since: Date,
  session: Session,
): Promise<DeliveryHealth> {
  const ended = (status: DeliveryStatus, from: Date) => ({ ...owner, status, endedAt: { $gte: from } });
  const count = (filter: object) => collection.countDocuments(filter, { session });
  const pending = { ...owner, status: 'PENDING' as const };
  const oldest = await collection.findOne(pending, { session, sort: { _id: 1 }, projection: { createdAt: 1 } });
  const newest = await collection.findOne(ended('DELIVERED', EPOCH), {
    ...{ session, sort: { endedAt: -1 } },
    projection: { endedAt: 1 },
  });
  const latest = await collection
    .find<{ ms?: number }>(ended('DELIVERED', since), {
      ...{ session, sort: { endedAt: -1 }, limit: LATENCIES },
      projection: { _id: 0, ms: { $last: '$attempts.durationMs' } },
    })
    .toArray();
  return {
    pending: oldest ? await count(pending) : 0,
    oldestPendingAt: oldest?.createdAt ?? null,
    delivered: newest ? await count(ended('DELIVERED', since)) : 0,
    failed: await count(ended('FAILED', since)),
    lastDeliveredAt: newest?.endedAt ?? null,
    latenciesMs: latest.flatMap(({ ms }) => ms ?? []),
  };
}

// Results of attempts at a webhook's endpoint, written by the dispatcher that has its lease.
// Part of the webhook store.

type LastFailure = NonNullable<WebhookDoc['lastFailure']>;

/** Failed attempts in a row at a webhook. */
interface FailureState {
  id: string;
  /** `starts` of the webhook when the attempt began. */
  starts: number | null | undefined;
  failingSince: Date | null;
  failedAttempts: number;
  /** Absent when the attempt did not fail. */
  lastFailure?: LastFailure;
}

/** The result of an attempt for its webhook. */
export interface WebhookHealth extends FailureState {
  status?: 'PAUSED';
  /** Only with PAUSED: the endpoint answered 410, or failed for days. */
  pausedBecause?: 'gone' | 'failing';
}

export const createWebhookHealth = (collection: Collection<WebhookDoc>) => ({
  /** Changes only webhooks whose lease `holder` has and whose `starts` is unchanged. */
  async recordHealth(states: readonly FailureState[], holder: string): Promise<void> {
    if (states.length === 0) return;
    await collection.bulkWrite(
      states.map((state) => ({
        updateOne: { filter: asKnown(state, holder), update: { $set: failureFields(state) } },
      })),
      { ordered: false },
    );
  },
  /** @returns null when the webhook is already PAUSED, has been started again since, or another
   *  dispatcher has its lease */
  pause: (state: FailureState, holder: string, session: Session): Promise<WebhookDoc | null> =>
    collection.findOneAndUpdate(
      { ...asKnown(state, holder), status: 'ACTIVE' },
      { $set: { status: 'PAUSED', ...failureFields(state) } },
      { returnDocument: 'after', session },
    ),
});

const asKnown = ({ id, starts }: FailureState, holder: string) => ({
  _id: id,
  'lease.holder': holder,
  starts: starts ?? null,
});

const failureFields = ({ failingSince, failedAttempts, lastFailure }: FailureState) => ({
  failingSince,
  failedAttempts,
  ...(lastFailure ? { lastFailure } : {}),
});

// Pauses a webhook whose endpoint is gone or has failed for days, and tells the account's other
// webhooks in the same transaction.

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
      const activity = { _id: newId('act'), ...subject, actor: SYSTEM, address: null };
      await insertTogether([activities.insertOf([activity])], session);
    });
    eventsStored();
  };
}

const DAY_MS = 24 * 3_600_000;

type HealthReport = OutputOf<Contract['webhooks']['health']>;

/** Slow counts are cached briefly, so that requests do not repeat them at once. */
const MUCH = 5000;
const REMEMBERED_MS = 5000;
const MAX_REMEMBERED = 1000;

/** @returns null when there is no such webhook */
export type ReadHealth = (accountId: string, webhookId: string) => Promise<HealthReport | null>;

export function createReadHealth({
  forAccount,
  transaction,
  clock,
}: {
  forAccount: ForAccount<'webhooks' | 'deliveries' | 'replays'>;
  transaction: Database['transaction'];
  clock: Clock;
}): ReadHealth {
  const remembered = new Map<string, { untilMs: number; deliveries: DeliveryHealth }>();

  /** With what a replay in preparation will send. */
  async function countDeliveries({ _id, accountId }: WebhookDoc, nowMs: number, session: Session) {
    const { deliveries, replays } = forAccount(accountId);
    const replay = await replays.ofWebhook(_id, session);
    const toMake = Math.max(0, replay ? replay.count - replay.made : 0);
    const health = await deliveries.health(_id, new Date(nowMs - DAY_MS), session);
    return {
      ...health,
      pending: toMake + health.pending,
      oldestPendingAt: health.oldestPendingAt ?? (toMake > 0 ? replay!.createdAt : null),
    };
  }

  return async (accountId, webhookId) => {
    const { webhooks } = forAccount(accountId);
    const nowMs = clock.nowMs();
    const known = remembered.get(webhookId);
    if (known && nowMs < known.untilMs && nowMs >= known.untilMs - REMEMBERED_MS) {
      const webhook = await webhooks.byId(webhookId);
      return webhook && toHealth(webhook, known.deliveries);
    }
    remembered.delete(webhookId);
    // All at one moment: a failed delivery is counted with the failure that its webhook shows, and
    // deliveries of a replay once while they become due.
    return transaction(async (session) => {
      const webhook = await webhooks.byId(webhookId, session);
      if (!webhook) return null;
      const deliveries = await countDeliveries(webhook, nowMs, session);
      if (deliveries.pending + deliveries.delivered + deliveries.failed >= MUCH) {
        remembered.set(webhookId, { untilMs: nowMs + REMEMBERED_MS, deliveries });
        if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
      }
      return toHealth(webhook, deliveries);
    });
  };
}

function toHealth(webhook: WebhookDoc, deliveries: DeliveryHealth): HealthReport {
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

function stateOf({ status, failingSince }: WebhookDoc, delivered: number): HealthReport['state'] {
  if (status === 'PAUSED') return 'PAUSED';
  if (failingSince) return 'FAILING';
  return delivered > 0 ? 'HEALTHY' : 'IDLE';
}

/** By nearest rank; null for no values. */
function percentile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? null;
}

/** Loads due deliveries into the endpoint queues, each behind its predecessor. The number of
 *  queries is bounded, however many queues or deliveries there are. */
import type { Logger } from 'pino';
import type { EventType } from '../../contracts/event-kinds.js';
import type { EventStore } from '../events/index.js';
import type { Clock } from '../kit/clock.js';
import { accountsOf } from '../kit/owners.js';
import type { DeliveryStore } from './delivery-store.js';
import type { DueDelivery } from './due-deliveries.js';
import { type EndpointQueue, isPredecessor, type Lane, predecessorOfDelivery } from './endpoint-queue.js';
import type { EndpointQueues } from './endpoint-queues.js';
import { toBody } from './poster.js';

// Limits the concurrent requests to an overloaded endpoint: each answer that says so halves the
// limit, each success adds one. Kept in this process across runs of the dispatcher.

/** Statuses that mean overload. */
const TOO_MUCH: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** The oldest limits beyond this number are forgotten. */
const MAX_KNOWN = 10_000;

interface Answer {
  /** Null when no answer came. */
  responseStatus: number | null;
  /** Null for a success. */
  error: string | null;
}

export type Throttles = ReturnType<typeof createThrottles>;

export function createThrottles(maxKnown = MAX_KNOWN) {
  /** By webhook, only for slowed endpoints. */
  const limits = new Map<string, number>();
  const slots = (webhookId: string, share: number): number => Math.min(share, limits.get(webhookId) ?? share);
  return {
    /** @param share the maximum for one endpoint */
    slots,
    answered(webhookId: string, { responseStatus, error }: Answer, share: number): void {
      const limit = limits.get(webhookId);
      if (responseStatus !== null && TOO_MUCH.has(responseStatus)) {
        const halved = Math.max(1, Math.floor(slots(webhookId, share) / 2));
        limits.delete(webhookId);
        limits.set(webhookId, halved);
        if (limits.size > maxKnown) limits.delete(limits.keys().next().value!);
      } else if (limit !== undefined && error === null) {
        if (limit + 1 >= share) limits.delete(webhookId);
        else limits.set(webhookId, limit + 1);
      }
    },
  };
}

/** Fresh deliveries in memory, and as many replayed ones: divided among the queues, within the
 *  bounds for one queue. */
const BUFFER = 4096;
const MIN_BUFFER = 16;
const MAX_BUFFER = 1000;

const bufferOf = (queues: EndpointQueues) =>
  Math.max(MIN_BUFFER, Math.min(MAX_BUFFER, Math.floor(BUFFER / queues.count)));

/** The lanes that need loading soon. None while they are being loaded. */
export const lackingMore = (queue: EndpointQueue, queues: EndpointQueues): Lane[] =>
  [queue.fresh, queue.replays].filter((lane) => lane.hasMore && hasRoom(queue, lane, queues));

/** True when the lane would run dry before another load is over. A queue that is stuck, or whose
 *  results cannot be recorded, is not loaded again. */
const hasRoom = (queue: EndpointQueue, lane: Lane, queues: EndpointQueues) => {
  const buffer = bufferOf(queues);
  const started = queue.size - queue.fresh.queued - queue.replays.queued;
  return lane.queued <= Math.max(2 * queues.slots, buffer / 2) && started <= 2 * buffer;
};

interface LoadDeps {
  deliveries: Pick<DeliveryStore, 'dueOf' | 'unattempted' | 'record'>;
  events: Pick<EventStore, 'byIds'>;
  /** Larger bodies are not loaded. */
  maxBodyBytes: number;
  clock: Clock;
  log: Logger;
}

/** @param candidates queues with due deliveries */
export async function loadInto(
  candidates: readonly EndpointQueue[],
  queues: EndpointQueues,
  deps: LoadDeps,
): Promise<void> {
  const { deliveries, clock } = deps;
  const open = candidates.filter((queue) => !queue.stopped && hasRoom(queue, queue.fresh, queues));
  if (open.length === 0) return;
  const limit = bufferOf(queues);
  const now = clock.now();
  const withReplays = new Set(open.filter((queue) => hasRoom(queue, queue.replays, queues)));
  for (const queue of open) queue.look(withReplays.has(queue) ? [queue.fresh, queue.replays] : [queue.fresh]);
  const due = await deliveries.dueOf(
    open.map((queue) => ({ webhookId: queue.webhook._id, known: queue.held, replayed: withReplays.has(queue) })),
    now,
    limit,
  );
  const counts = new Map<string, { fresh: number; all: number }>();
  for (const { webhookId, isReplayed } of due) {
    const { fresh = 0, all = 0 } = counts.get(webhookId) ?? {};
    counts.set(webhookId, { fresh: fresh + (isReplayed ? 0 : 1), all: all + 1 });
  }
  const fresh = due.filter(({ _id, webhookId }) => !queues.of(webhookId)?.holds(_id));
  if (fresh.length > 0) await offer(fresh, open, queues, deps);
  // Set last: a wake-up during the load would find the queues full and clear it.
  for (const queue of open) {
    const { fresh: freshCount = 0, all = 0 } = counts.get(queue.webhook._id) ?? {};
    queue.fresh.hasMore = freshCount >= limit;
    // Load all fresh deliveries before replayed ones.
    if (withReplays.has(queue)) queue.replays.hasMore = all >= limit && !queue.fresh.hasMore;
  }
}

async function offer(
  fresh: readonly DueDelivery[],
  open: readonly EndpointQueue[],
  queues: EndpointQueues,
  { deliveries, events, maxBodyBytes, clock, log }: LoadDeps,
): Promise<void> {
  const ordered = await withPredecessors(fresh, queues, deliveries);
  // Read webhooks after the deliveries: one stored after a rotation, a pause or a new URL is
  // sent accordingly.
  const [found] = await Promise.all([
    events.byIds(accountsOf(ordered), [...new Set(ordered.map(({ eventId }) => eventId))], maxBodyBytes),
    queues.refresh(open),
  ]);
  const bodies = new Map(found.map((event) => [event._id, event.data === null ? null : toBody(event)]));

  const lost: DueDelivery[] = [];
  for (const delivery of ordered) {
    const body = bodies.get(delivery.eventId);
    if (body !== undefined) queues.of(delivery.webhookId)?.offer({ delivery, body });
    else {
      lost.push(delivery);
      queues.of(delivery.webhookId)?.unblock(delivery);
    }
  }
  if (lost.length === 0) return;
  log.error({ deliveryIds: lost.map(({ _id }) => _id) }, 'deliveries without an event given up');
  const attempt = { at: clock.now(), durationMs: 0, responseStatus: null, error: 'event missing' };
  await deliveries.record(
    lost.map(({ _id: id, accountId, attemptCount }) => ({
      ...{ id, accountId, attemptCount, attempt },
      ...{ status: 'FAILED', nextAttemptAt: null },
    })),
  );
}

/** Puts a predecessor that was never attempted before the first attempt that follows it, in
 *  whatever order they are due. */
async function withPredecessors(
  due: readonly DueDelivery[],
  queues: EndpointQueues,
  deliveries: LoadDeps['deliveries'],
): Promise<DueDelivery[]> {
  const keyOf = ({ webhookId, subjectId }: DueDelivery, type: EventType) => `${webhookId} ${subjectId} ${type}`;
  const predecessors = new Map<string, DueDelivery>();
  for (const each of due) if (isPredecessor(each)) predecessors.set(keyOf(each, each.eventType), each);
  const missing = new Map<EventType, DueDelivery[]>();
  for (const each of due) {
    const type = predecessorOfDelivery(each);
    if (!type || predecessors.has(keyOf(each, type)) || queues.of(each.webhookId)?.awaits(each.subjectId, type))
      continue;
    const alone = missing.get(type);
    if (alone) alone.push(each);
    else missing.set(type, [each]);
  }
  for (const [type, alone] of missing) {
    const webhookIds = [...new Set(alone.map(({ webhookId }) => webhookId))];
    const subjectIds = [...new Set(alone.map(({ subjectId }) => subjectId))];
    const found = await deliveries.unattempted(accountsOf(alone), webhookIds, subjectIds, type);
    for (const each of found) predecessors.set(keyOf(each, type), each);
  }
  return due.flatMap((each) => {
    const type = predecessorOfDelivery(each);
    const before = type && predecessors.get(keyOf(each, type));
    return before ? [before, each] : [each];
  });
}

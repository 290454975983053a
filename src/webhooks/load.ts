/** Brings due deliveries into the lanes, each behind what has to go before it. A constant number of queries, however many lanes and deliveries. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { DeliveryStore, DueDelivery } from '../stores/deliveries.js';
import type { EventStore } from '../stores/events.js';
import { type Lane, mayHavePredecessor } from './lane.js';
import type { Lanes } from './lanes.js';
import { toBody } from './request.js';

/** Deliveries in memory, shared out over the lanes. */
const BUFFER = 4096;
const MIN_BUFFER = 16;
const MAX_BUFFER = 1000;

const bufferOf = (lanes: Lanes) => Math.max(MIN_BUFFER, Math.min(MAX_BUFFER, Math.floor(BUFFER / lanes.count())));

/** True when more is due for the lane than was loaded, and is needed soon. */
export const wantsMore = (lane: Lane, lanes: Lanes): boolean => lane.hasMore && hasRoom(lane, lanes);

/** With this much in hand a lane is busy until more is loaded; one that stands still is not read again and again. */
const hasRoom = (lane: Lane, lanes: Lanes) => lane.queued <= Math.max(2 * lanes.slots(), bufferOf(lanes) / 4);

export interface LoadDeps {
  deliveries: Pick<DeliveryStore, 'dueOf' | 'unattempted' | 'record'>;
  events: Pick<EventStore, 'byIds'>;
  clock: Clock;
  log: Logger;
}

/** @param candidates lanes for which something is due */
export async function loadInto(candidates: readonly Lane[], lanes: Lanes, deps: LoadDeps): Promise<void> {
  const { deliveries, events, clock, log } = deps;
  const open = candidates.filter((lane) => !lane.stopped && hasRoom(lane, lanes));
  if (open.length === 0) return;
  const limit = bufferOf(lanes);
  const now = clock.now();
  for (const lane of open) lane.look();
  const due = await deliveries.dueOf(
    open.map(({ webhook }) => webhook._id),
    now,
    limit,
  );
  const counts = new Map<string, number>();
  for (const { webhookId } of due) counts.set(webhookId, (counts.get(webhookId) ?? 0) + 1);
  for (const lane of open) lane.hasMore = counts.get(lane.webhook._id) === limit;

  const fresh = due.filter(({ _id, webhookId }) => !lanes.of(webhookId)?.holds(_id));
  if (fresh.length === 0) return;
  const ordered = await withPredecessors(fresh, lanes, deliveries);
  // The webhooks are read after the deliveries: what was stored after a rotation, a pause or a new address obeys it.
  const [found] = await Promise.all([
    events.byIds([...new Set(ordered.map(({ eventId }) => eventId))]),
    lanes.refresh(open),
  ]);
  const bodies = new Map(found.map((event) => [event._id, toBody(event)]));

  const lost: DueDelivery[] = [];
  for (const delivery of ordered) {
    const body = bodies.get(delivery.eventId);
    if (body) lanes.of(delivery.webhookId)?.offer({ delivery, body });
    else lost.push(delivery);
  }
  if (lost.length === 0) return;
  log.error({ deliveryIds: lost.map(({ _id }) => _id) }, 'deliveries without an event given up');
  const attempt = { at: now, durationMs: 0, responseStatus: null, error: 'event missing' };
  await deliveries.record(
    lost.map(({ _id, attemptCount }) => ({ id: _id, attemptCount, attempt, status: 'FAILED', nextAttemptAt: null })),
  );
}

const keyOf = ({ webhookId, paymentId }: DueDelivery) => `${webhookId} ${paymentId}`;

/** Puts before each first `payment.completed` its `payment.received`, if that was never attempted, whatever the order in which they are due. */
async function withPredecessors(
  due: readonly DueDelivery[],
  lanes: Lanes,
  deliveries: LoadDeps['deliveries'],
): Promise<DueDelivery[]> {
  const received = new Map<string, DueDelivery>();
  for (const each of due) {
    if (each.eventType === 'payment.received' && each.attemptCount === 0) received.set(keyOf(each), each);
  }
  const alone = due.filter(
    (each) =>
      mayHavePredecessor(each) && !received.has(keyOf(each)) && !lanes.of(each.webhookId)?.isReceiving(each.paymentId),
  );
  if (alone.length > 0) {
    const webhookIds = [...new Set(alone.map(({ webhookId }) => webhookId))];
    const paymentIds = [...new Set(alone.map(({ paymentId }) => paymentId))];
    const found = await deliveries.unattempted(webhookIds, paymentIds, 'payment.received');
    for (const each of found) received.set(keyOf(each), each);
  }
  return due.flatMap((each) => {
    const before = mayHavePredecessor(each) ? received.get(keyOf(each)) : undefined;
    return before ? [before, each] : [each];
  });
}

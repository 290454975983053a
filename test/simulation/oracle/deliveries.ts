/** What must hold of deliveries: every event reaches every endpoint that asked for it, signed, in
 *  order, and not twice without need. */
import { verifySignature } from '../../../src/domain/signature.js';
import type { Doc, Knowledge, KnownWebhook } from '../knowledge.js';
import type { SimulatedProcess } from '../processes.js';
import type { Arrival } from '../receiver.js';

export interface StoredDeliveries {
  payments: readonly Doc[];
  events: readonly Doc[];
  deliveries: readonly Doc[];
  webhooks: readonly Doc[];
}

/** Deliveries that are still to be sent. */
export const undelivered = ({ deliveries, webhooks }: Pick<StoredDeliveries, 'deliveries' | 'webhooks'>): Doc[] => {
  const active = new Set(webhooks.filter(({ status }) => status === 'ACTIVE').map(({ _id }) => _id));
  return deliveries.filter(({ status, webhookId }) => status === 'PENDING' && active.has(webhookId));
};

/** Whether there are numbered events of which deliveries still have to be made. */
export const isUnopened = ({ events, webhooks }: Pick<StoredDeliveries, 'events' | 'webhooks'>): boolean =>
  webhooks.some((webhook) =>
    events.some(
      ({ accountId, type, sequence }) =>
        accountId === webhook.accountId && webhook.events.includes(type) && sequence > webhook.openedTo,
    ),
  );

/** A settled delivery is opened again by the merchant alone. @param settled the status of those
 *  that were settled so far, by id; updated. */
export function checkSettled(known: Knowledge, deliveries: readonly Doc[], settled: Map<string, string>): string[] {
  const faults: string[] = [];
  for (const { _id, status } of deliveries) {
    const before = settled.get(_id);
    const isReopened = known.redelivered.some(({ deliveryId }) => deliveryId === _id);
    if (before && before !== status && !isReopened)
      faults.push(`delivery ${_id.slice(-6)} was ${before} and is ${status} again`);
    if (status !== 'PENDING') settled.set(_id, status);
  }
  return faults;
}

export function checkDeliveries(
  known: Knowledge,
  arrivals: readonly Arrival[],
  stored: StoredDeliveries,
  maxAttempts: number,
): string[] {
  const byEndpoint = new Map<string, Arrival[]>();
  for (const arrival of arrivals) {
    const key = `${arrival.url} ${arrival.eventId}`;
    byEndpoint.set(key, [...(byEndpoint.get(key) ?? []), arrival]);
  }
  const byEvent = new Map(stored.deliveries.map((doc) => [`${doc.webhookId} ${doc.eventId}`, doc]));
  const received = new Map(
    stored.events.filter(({ type }) => type === 'payment.received').map((event) => [event.subjectId, event]),
  );
  const faults = neverOpened(known, stored, byEvent);
  for (const delivery of stored.deliveries) {
    const webhook = known.webhooks.get(delivery.webhookId);
    const name = `delivery ${delivery._id.slice(-6)} of ${delivery.eventType} to ${webhook?.url}`;
    const own = byEndpoint.get(`${webhook?.url} ${delivery.eventId}`) ?? [];
    if (!webhook) {
      faults.push(`${name} is of no webhook`);
      continue;
    }
    const doc = stored.webhooks.find(({ _id }) => _id === delivery.webhookId);
    const wrong = [...stateFaults(delivery, doc, own, maxAttempts), ...arrivalFaults(known, webhook, delivery, own)];
    faults.push(...wrong.map((each) => `${name} ${each}`));
    const event = delivery.eventType === 'payment.completed' && received.get(delivery.subjectId);
    if (!event || own.length === 0 || !byEvent.has(`${delivery.webhookId} ${event._id}`)) continue;
    const first = byEndpoint.get(`${webhook.url} ${event._id}`)?.[0];
    if (!first || first.startedMs > own[0]!.startedMs) faults.push(`${name} came before its payment.received`);
  }
  const events = new Set(stored.events.map(({ _id }) => _id));
  for (const { eventId, url } of arrivals)
    if (!events.has(eventId)) faults.push(`${url} got the unknown event ${eventId}`);
  return faults;
}

/** Events for which a webhook that wanted them has no delivery. */
function neverOpened(known: Knowledge, stored: StoredDeliveries, byEvent: ReadonlyMap<string, Doc>): string[] {
  const faults: string[] = [];
  const payments = new Map(stored.payments.map((doc) => [doc._id, doc]));
  for (const [id, webhook] of known.webhooks) {
    for (const event of stored.events) {
      if (event.accountId !== webhook.accountId || !webhook.events.includes(event.type)) continue;
      const closedAt = payments.get(event.subjectId)?.ledgerClosedAt;
      const happenedMs = Math.min(event.createdAt.getTime(), closedAt?.getTime() ?? 0);
      if (webhook.madeMs < happenedMs && webhook.deletedMs === null && !byEvent.has(`${id} ${event._id}`))
        faults.push(`event ${event._id} was never to be delivered to ${webhook.url}`);
    }
  }
  return faults;
}

/** @param webhook as stored; undefined once it is deleted. */
function stateFaults(delivery: Doc, webhook: Doc | undefined, own: readonly Arrival[], maxAttempts: number): string[] {
  const faults: string[] = [];
  const { status, nextAttemptAt, attemptCount } = delivery;
  if ((status === 'PENDING') !== (nextAttemptAt !== null)) faults.push(`is ${status} with the time ${nextAttemptAt}`);
  if (status === 'PENDING' && webhook?.status !== 'PAUSED') faults.push('is pending still');
  if (status === 'DELIVERED' && !own.some(({ answered }) => answered === 204)) faults.push('never arrived');
  if (status === 'FAILED' && attemptCount < maxAttempts) faults.push(`was given up after ${attemptCount}`);
  if (status === 'CANCELLED' && webhook) faults.push('is cancelled');
  return faults;
}

/** @param own what arrived of this delivery, in order. */
function arrivalFaults(known: Knowledge, webhook: KnownWebhook, delivery: Doc, own: readonly Arrival[]): string[] {
  const faults: string[] = [];
  const redelivered = known.redelivered.filter(({ deliveryId }) => deliveryId === delivery._id);
  for (const [index, next] of own.entries()) {
    const before = own[index - 1];
    if (!isSigned(next, webhook.secrets)) faults.push("is not signed with the webhook's secret");
    if (!before) continue;
    const died = (before.sender as SimulatedProcess).diedMs;
    const isExcused =
      (died !== null && died >= before.startedMs && died <= next.startedMs) ||
      redelivered.some(({ atMs }) => atMs >= before.startedMs);
    const overlaps = before.endedMs === null || before.endedMs > next.startedMs;
    // What arrived is sent again when its record came too late for the lease, but never at the
    // same time.
    const isOver = before.answered === 204 && !known.stalls;
    if ((isOver || overlaps) && !isExcused) faults.push('was sent twice, though no process died in between');
  }
  return faults;
}

/** A dispatcher rereads a webhook's secrets within this time. */
const SECRET_KNOWN_MS = 15_000;

/** Whether it is signed with a secret that was in force. During a rotation either may be. */
const isSigned = ({ headers, text, startedMs }: Arrival, secrets: KnownWebhook['secrets']): boolean =>
  [...secrets].some(
    ([secret, { goneMs }]) =>
      (goneMs === null || startedMs <= goneMs + SECRET_KNOWN_MS) &&
      verifySignature({ headers, body: text, secret, nowSeconds: Number(headers['webhook-timestamp']) }),
  );

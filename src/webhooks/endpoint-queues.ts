/** The endpoint queues of one dispatcher, one for each webhook whose lease it holds. Nothing starts that could outlast the lease. */
import type { Logger } from 'pino';
import { type Clock, type MonotonicClock, monotonicClock } from '../clock.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { WebhookStore } from '../stores/webhooks.js';
import { createBalance } from './balance.js';
import { EndpointQueue } from './endpoint-queue.js';

/** Leases held at once. */
const MAX_QUEUES = 1024;
const CLAIM_BATCH = 500;
/** With more webhooks than leases, each of them is sent to for so long before the next one has its turn: slow endpoints do not keep all leases. */
const TURN_MS = 5000;
/** Between two looks whether anybody has to wait for a turn. */
const TURN_LOOK_MS = 1000;
/** Deliveries of a paused webhook stay due: whether it is active again is asked so often. */
const PAUSED_LOOK_MS = 2000;
/** Requests in flight: shared out over the queues, within the bounds for one endpoint. Each endpoint has its own share, so none can use up another's. */
const SLOTS = 256;
const MIN_SLOTS = 2;
const MAX_SLOTS = 32;

export type EndpointQueues = ReturnType<typeof createEndpointQueues>;

/** @param deps.timeoutMs of one attempt; a lease lasts `marginMs` longer
 *  @param deps.maxQueues leases held at once; default 1024 */
export function createEndpointQueues(deps: {
  webhooks: Pick<
    WebhookStore,
    'claimLeases' | 'countClaimable' | 'renewLeases' | 'releaseLeases' | 'askForLeases' | 'askedFor' | 'heldBy'
  >;
  deliveries: Pick<DeliveryStore, 'cancelPending' | 'countDue'>;
  holder: string;
  timeoutMs: number;
  marginMs: number;
  maxQueues?: number | undefined;
  clock: Clock;
  log: Logger;
  /** Measures leases, whatever the host's clock is set to; simulations pass their own. */
  monotonic?: MonotonicClock;
}) {
  const { webhooks, deliveries, holder, timeoutMs, marginMs, clock, log } = deps;
  const { maxQueues = MAX_QUEUES, monotonic = monotonicClock } = deps;
  const leaseMs = timeoutMs + marginMs;
  /** Held the longest first. */
  const queues = new Map<string, EndpointQueue>();
  let lastClaimed = '';
  /** Webhooks with due deliveries that were not looked at, because there was no room for more leases: in turn. */
  let leftOut: readonly string[] = [];
  let turnLookMs = Number.NEGATIVE_INFINITY;
  /** Webhooks whose leases are being released: they are not claimed again before that is over. */
  const releasing = new Set<string>();
  /** How often webhooks were read anew. */
  let reads = 0;
  const balance = createBalance({ webhooks, deliveries, holder, clock, monotonic });
  /** Webhooks that were found paused, and until when nobody asks again. */
  const paused = new Map<string, number>();

  /** Reads the webhooks of these queues anew and stops the queues of those that are paused, deleted or lost. @returns those still held */
  async function refresh(some: readonly EndpointQueue[]): Promise<EndpointQueue[]> {
    reads += 1;
    const read = reads;
    const found = await webhooks.heldBy(holder, idsOf(some));
    const byId = new Map(found.map((webhook) => [webhook._id, webhook]));
    return some.filter((queue) => {
      const webhook = byId.get(queue.webhook._id);
      // One that began later has answered before.
      if (queue.lastRead > read) return webhook !== undefined;
      queue.lastRead = read;
      if (webhook?.status !== 'ACTIVE') queue.stop();
      if (webhook && webhook.starts !== queue.webhook.starts) queue.failures = null;
      if (webhook) queue.webhook = webhook;
      return webhook !== undefined;
    });
  }

  /** Those of these webhooks that may be claimed, beginning after the one that was taken last. */
  function unheldInTurn(webhookIds: readonly string[]): string[] {
    const nowMs = monotonic.nowMs();
    for (const [id, untilMs] of paused) if (untilMs <= nowMs) paused.delete(id);
    const ids = webhookIds.filter((id) => !queues.has(id) && !releasing.has(id) && !paused.has(id));
    const next = ids.findIndex((id) => id > lastClaimed);
    return next < 0 ? ids : [...ids.slice(next), ...ids.slice(0, next)];
  }

  return {
    all: (): EndpointQueue[] => [...queues.values()],
    of: (webhookId: string): EndpointQueue | undefined => queues.get(webhookId),
    count: (): number => queues.size,
    /** How many webhooks have due deliveries and were found paused. */
    pausedCount: (): number => paused.size,
    /** Whether there was no room for the leases of all webhooks with due deliveries. */
    isCrowded: (): boolean => leftOut.length > 0,
    /** Whether leases that others have are likely to come at any moment. */
    expectsLeases: balance.expectsLeases,
    /** How many requests may be in flight to one endpoint. */
    slots: (): number => Math.max(MIN_SLOTS, Math.min(MAX_SLOTS, Math.floor(SLOTS / queues.size))),

    /** True while an attempt that starts now ends before another dispatcher can take the lease. */
    mayStart: (queue: EndpointQueue): boolean => queue.leaseEndsMs - monotonic.nowMs() >= timeoutMs + marginMs / 4,

    /** Takes the leases of these webhooks, as far as there is room, beginning after those that it took last. @returns whether it took any */
    async claim(webhookIds: readonly string[]): Promise<boolean> {
      const held = queues.size;
      const inTurn = unheldInTurn(webhookIds);
      const others = new Map<string, string[]>();
      while (inTurn.length > 0 && queues.size < maxQueues) {
        const batch = inTurn.splice(0, Math.min(CLAIM_BATCH, maxQueues - queues.size));
        const askedMs = monotonic.nowMs();
        const { held: taken, gone, paused: found, leased } = await webhooks.claimLeases(batch, holder, leaseMs);
        for (const id of found) paused.set(id, askedMs + PAUSED_LOOK_MS);
        for (const webhook of taken) queues.set(webhook._id, new EndpointQueue(webhook, askedMs, askedMs + leaseMs));
        // Deleted after its deliveries were opened.
        if (gone.length > 0) await deliveries.cancelPending(gone);
        for (const [other, some] of leased) others.set(other, [...(others.get(other) ?? []), ...some]);
        lastClaimed = batch.at(-1)!;
      }
      leftOut = inTurn;
      await balance.look(queues.size > 0, others);
      return queues.size > held;
    },

    refresh,

    /** Stops as many queues as webhooks wait for a lease, of those that have had their turn: they are released once what is in flight is recorded. */
    async endTurns(): Promise<void> {
      const nowMs = monotonic.nowMs();
      if (leftOut.length === 0 || nowMs - turnLookMs < TURN_LOOK_MS) return;
      const all = [...queues.values()];
      const ending = all.filter(({ stopped }) => stopped).length;
      const over = all.filter(({ stopped, heldSinceMs }) => !stopped && nowMs - heldSinceMs >= TURN_MS);
      if (over.length === 0) return;
      turnLookMs = nowMs;
      // Many of them may be paused, or in the hands of other dispatchers.
      const waiting = await webhooks.countClaimable(leftOut, ending + over.length);
      for (const queue of over.slice(0, Math.max(0, waiting - ending))) queue.stop();
    },

    async release(done: readonly EndpointQueue[]): Promise<void> {
      if (done.length === 0) return;
      const ids = idsOf(done);
      for (const id of ids) {
        queues.delete(id);
        releasing.add(id);
      }
      try {
        await webhooks.releaseLeases(ids, holder);
      } finally {
        for (const id of ids) releasing.delete(id);
      }
    },

    /** Stops the queues whose leases other dispatchers ask for: they are to be released once what is in flight is recorded. */
    async stopAsked(): Promise<void> {
      if (queues.size < 2) return;
      for (const id of await webhooks.askedFor([...queues.keys()], holder)) queues.get(id)?.stop();
    },

    /** Renews the leases until the signal aborts. */
    async keep(signal: AbortSignal, onRenewed: (queue: EndpointQueue) => void): Promise<void> {
      while (!signal.aborted) {
        await monotonic.sleep(marginMs / 3, signal);
        if (signal.aborted || queues.size === 0) continue;
        try {
          const asked = [...queues.values()];
          const askedMs = monotonic.nowMs();
          await webhooks.renewLeases(idsOf(asked), holder, leaseMs);
          for (const queue of await refresh(asked)) {
            queue.leaseEndsMs = askedMs + leaseMs;
            onRenewed(queue);
          }
        } catch (err) {
          log.error({ err, queues: queues.size }, 'webhook leases not renewed');
        }
      }
    },
  };
}

const idsOf = (queues: readonly EndpointQueue[]) => queues.map(({ webhook }) => webhook._id);

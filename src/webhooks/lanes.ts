/** The lanes that one dispatcher holds. A lane is held by one dispatcher at a time; nothing is started in it that could outlast its lease. */
import type { Logger } from 'pino';
import { type MonotonicClock, monotonicClock } from '../clock.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { WebhookStore } from '../stores/webhooks.js';
import { Lane } from './lane.js';

/** Lanes held at once; the rest has its turn when one is free. */
const MAX_LANES = 1024;
const CLAIM_BATCH = 500;
/** Requests in flight at one endpoint: these, shared out over the lanes, within the bounds. Nothing is common to two endpoints that one could use up. */
const SLOTS = 256;
const MIN_SLOTS = 2;
const MAX_SLOTS = 32;

export type Lanes = ReturnType<typeof createLanes>;

/** @param deps.timeoutMs of one attempt; a lease lasts `marginMs` longer */
export function createLanes(deps: {
  webhooks: Pick<WebhookStore, 'claimLanes' | 'renewLanes' | 'releaseLanes' | 'heldBy'>;
  deliveries: Pick<DeliveryStore, 'cancelPending'>;
  by: string;
  timeoutMs: number;
  marginMs: number;
  log: Logger;
  /** Leases are time that passed, whatever anybody sets a clock to; only a simulation has another one. */
  monotonic?: MonotonicClock;
}) {
  const { webhooks, deliveries, by, timeoutMs, marginMs, log, monotonic = monotonicClock } = deps;
  const leaseMs = timeoutMs + marginMs;
  const lanes = new Map<string, Lane>();
  let lastClaimed = '';

  /** Learns what became of their webhooks meanwhile. @returns those that are held still */
  async function refresh(some: readonly Lane[]): Promise<Lane[]> {
    const found = await webhooks.heldBy(by, idsOf(some));
    const byId = new Map(found.map((webhook) => [webhook._id, webhook]));
    return some.filter((lane) => {
      const webhook = byId.get(lane.webhook._id);
      if (webhook?.status !== 'ACTIVE') lane.stop();
      if (webhook && webhook.url !== lane.webhook.url) lane.failingSince = null;
      if (webhook) lane.webhook = webhook;
      return webhook !== undefined;
    });
  }

  return {
    all: (): Lane[] => [...lanes.values()],
    of: (webhookId: string): Lane | undefined => lanes.get(webhookId),
    count: (): number => lanes.size,
    /** How many requests may be in flight in one lane. */
    slots: (): number => Math.max(MIN_SLOTS, Math.min(MAX_SLOTS, Math.floor(SLOTS / lanes.size))),

    /** True while an attempt that starts now is over before the lease can be anybody else's. */
    mayStart: (lane: Lane): boolean => lane.leaseEndsMs - monotonic.nowMs() >= timeoutMs + marginMs / 4,

    /** Takes what it can of the lanes of these webhooks, beginning after those that it took last. */
    async claim(webhookIds: readonly string[]): Promise<void> {
      const ids = webhookIds.filter((id) => !lanes.has(id));
      const next = ids.findIndex((id) => id > lastClaimed);
      const inTurn = next < 0 ? ids : [...ids.slice(next), ...ids.slice(0, next)];
      for (let from = 0; from < inTurn.length && lanes.size < MAX_LANES; from += CLAIM_BATCH) {
        const batch = inTurn.slice(from, from + Math.min(CLAIM_BATCH, MAX_LANES - lanes.size));
        const askedMs = monotonic.nowMs();
        const { held, gone } = await webhooks.claimLanes(batch, by, leaseMs);
        for (const webhook of held) lanes.set(webhook._id, new Lane(webhook, askedMs + leaseMs));
        // Deleted after its deliveries were opened.
        if (gone.length > 0) await deliveries.cancelPending(gone);
        lastClaimed = batch.at(-1)!;
      }
    },

    refresh,

    async release(done: readonly Lane[]): Promise<void> {
      if (done.length === 0) return;
      const ids = idsOf(done);
      for (const id of ids) lanes.delete(id);
      await webhooks.releaseLanes(ids, by);
    },

    /** Keeps the lanes until the signal aborts. */
    async keep(signal: AbortSignal, onRenewed: (lane: Lane) => void): Promise<void> {
      while (!signal.aborted) {
        await monotonic.sleep(marginMs / 3, signal);
        if (signal.aborted || lanes.size === 0) continue;
        try {
          const asked = [...lanes.values()];
          const askedMs = monotonic.nowMs();
          await webhooks.renewLanes(idsOf(asked), by, leaseMs);
          for (const lane of await refresh(asked)) {
            lane.leaseEndsMs = askedMs + leaseMs;
            onRenewed(lane);
          }
        } catch (err) {
          log.error({ err, lanes: lanes.size }, 'webhook lanes not renewed');
        }
      }
    },
  };
}

const idsOf = (lanes: readonly Lane[]) => lanes.map(({ webhook }) => webhook._id);

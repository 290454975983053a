/** The lanes that one dispatcher holds. A lane is held by one dispatcher at a time; nothing is started in it that could outlast its lease. */
import type { Logger } from 'pino';
import { systemClock } from '../clock.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { WebhookStore } from '../stores/webhooks.js';
import { Lane } from './lane.js';

/** Lanes held at once; the rest has its turn when one is free. */
const MAX_LANES = 1024;
const CLAIM_BATCH = 500;

export type Lanes = ReturnType<typeof createLanes>;

/** @param deps.timeoutMs of one attempt; a lease lasts `marginMs` longer */
export function createLanes(deps: {
  webhooks: Pick<WebhookStore, 'claimLanes' | 'renewLanes' | 'releaseLanes'>;
  deliveries: Pick<DeliveryStore, 'cancelPending'>;
  by: string;
  timeoutMs: number;
  marginMs: number;
  log: Logger;
}) {
  const { webhooks, deliveries, by, timeoutMs, marginMs, log } = deps;
  const leaseMs = timeoutMs + marginMs;
  const lanes = new Map<string, Lane>();
  let lastClaimed = '';

  return {
    all: (): Lane[] => [...lanes.values()],
    of: (webhookId: string): Lane | undefined => lanes.get(webhookId),
    count: (): number => lanes.size,

    /** True while an attempt that starts now is over before the lease can be anybody else's. Leases are real time, whatever the service's clock says. */
    mayStart: (lane: Lane): boolean => lane.leaseEndsMs - systemClock.nowMs() >= timeoutMs + marginMs / 4,

    /** Takes what it can of the lanes of these webhooks, beginning after those that it took last. */
    async claim(webhookIds: readonly string[]): Promise<void> {
      const ids = webhookIds.filter((id) => !lanes.has(id));
      const next = ids.findIndex((id) => id > lastClaimed);
      const inTurn = next < 0 ? ids : [...ids.slice(next), ...ids.slice(0, next)];
      for (let from = 0; from < inTurn.length && lanes.size < MAX_LANES; from += CLAIM_BATCH) {
        const batch = inTurn.slice(from, from + Math.min(CLAIM_BATCH, MAX_LANES - lanes.size));
        const askedMs = systemClock.nowMs();
        const { held, gone } = await webhooks.claimLanes(batch, by, leaseMs);
        for (const webhook of held) lanes.set(webhook._id, new Lane(webhook, askedMs + leaseMs));
        // Deleted after its deliveries were opened.
        if (gone.length > 0) await deliveries.cancelPending(gone);
        lastClaimed = batch.at(-1)!;
      }
    },

    async release(done: readonly Lane[]): Promise<void> {
      if (done.length === 0) return;
      const ids = done.map(({ webhook }) => webhook._id);
      for (const id of ids) lanes.delete(id);
      await webhooks.releaseLanes(ids, by);
    },

    /** Keeps the lanes until the signal aborts, and learns what becomes of their webhooks meanwhile. */
    async keep(signal: AbortSignal, onRenewed: (lane: Lane) => void): Promise<void> {
      while (!signal.aborted) {
        await systemClock.sleep(marginMs / 3, signal);
        if (signal.aborted || lanes.size === 0) continue;
        try {
          const askedMs = systemClock.nowMs();
          const renewed = await webhooks.renewLanes([...lanes.keys()], by, leaseMs);
          const held = new Map(renewed.map((webhook) => [webhook._id, webhook]));
          for (const lane of lanes.values()) {
            // A lane that was claimed meanwhile is not among those that were asked for.
            if (lane.leaseEndsMs >= askedMs + leaseMs) continue;
            const webhook = held.get(lane.webhook._id);
            if (webhook?.status !== 'ACTIVE' || webhook.url !== lane.webhook.url) lane.stop();
            if (!webhook) continue;
            lane.webhook = webhook;
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

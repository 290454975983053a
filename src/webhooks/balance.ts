/** Spreads webhooks over dispatchers: one that has nothing to send, while others have much, asks the busiest of them for half of its leases. */
import { type Clock, type MonotonicClock, monotonicClock } from '../clock.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { WebhookStore } from '../stores/webhooks.js';

/** So long nobody asks for webhooks with little due: what is sent quickly is not worth the move. */
const IDLE_MS = 200;
/** With so much due nobody waits: it is more than a dispatcher has in flight to a few endpoints. */
const ASKED_FOR_AT_ONCE = 512;
/** Bounds the look whether that much is due. */
const LOOKED_AT = 1000;
/** For the one that was asked, to record what it has in flight. */
const ANSWER_MS = 2000;
/** Mostly it answers within this time. */
const SOON_MS = 500;

/** Ids of webhooks with due deliveries, by who has their leases. */
export type Leased = ReadonlyMap<string, readonly string[]>;

/** Half of what the busiest holder has; null when nobody has two. */
export function toAskFor(leased: Leased): { from: string; ids: string[] } | null {
  const [busiest] = [...leased].sort(([, a], [, b]) => b.length - a.length);
  if (!busiest || busiest[1].length < 2) return null;
  const [from, ids] = busiest;
  return { from, ids: ids.filter((_, n) => n % 2 === 1) };
}

export function createBalance(deps: {
  webhooks: Pick<WebhookStore, 'askForLeases'>;
  deliveries: Pick<DeliveryStore, 'countDue'>;
  holder: string;
  clock: Clock;
  monotonic?: MonotonicClock;
}) {
  const { webhooks, deliveries, holder, clock, monotonic = monotonicClock } = deps;
  /** Since when nothing is sent. */
  let idleSinceMs: number | null = null;
  let askedMs = Number.NEGATIVE_INFINITY;
  const passedMs = (sinceMs: number) => monotonic.nowMs() - sinceMs;
  const isMuchDue = async (ids: readonly string[]) =>
    (await deliveries.countDue(ids.slice(0, LOOKED_AT), clock.now(), ASKED_FOR_AT_ONCE)) >= ASKED_FOR_AT_ONCE;

  return {
    /** Called after each look for what is due.
     *  @param hasLeases of its own
     *  @param leased to others */
    async look(hasLeases: boolean, leased: Leased): Promise<void> {
      const wanted = hasLeases ? null : toAskFor(leased);
      if (!wanted) {
        idleSinceMs = null;
        askedMs = Number.NEGATIVE_INFINITY;
        return;
      }
      idleSinceMs ??= monotonic.nowMs();
      if (passedMs(askedMs) < ANSWER_MS) return;
      if (passedMs(idleSinceMs) < IDLE_MS && !(await isMuchDue(wanted.ids))) return;
      await webhooks.askForLeases(wanted.ids, wanted.from, holder);
      askedMs = monotonic.nowMs();
    },
    /** Whether leases were asked for and are likely to come at any moment. */
    expectsLeases: (): boolean => passedMs(askedMs) < SOON_MS,
  };
}

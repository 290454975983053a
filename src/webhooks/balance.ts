/** Spreads webhooks over dispatchers: one that has nothing to send, while others have much, asks the busiest of them for half of its leases. */
import { type MonotonicClock, monotonicClock } from '../clock.js';
import type { WebhookStore } from '../stores/webhooks.js';

/** A webhook that is sent quickly is not worth the move. */
const IDLE_MS = 200;
/** For the one that was asked, to record what it has in flight. */
const ANSWER_MS = 2000;

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
  holder: string;
  monotonic?: MonotonicClock;
}) {
  const { webhooks, holder, monotonic = monotonicClock } = deps;
  /** Since when nothing is sent, or it is too early to ask again. */
  let idleSinceMs: number | null = null;
  return {
    /** Called after each look for what is due.
     *  @param hasLeases of its own
     *  @param leased to others */
    async look(hasLeases: boolean, leased: Leased): Promise<void> {
      const wanted = hasLeases ? null : toAskFor(leased);
      const nowMs = monotonic.nowMs();
      if (!wanted) idleSinceMs = null;
      else if (idleSinceMs === null) idleSinceMs = nowMs;
      else if (nowMs - idleSinceMs >= IDLE_MS) {
        await webhooks.askForLeases(wanted.ids, wanted.from, holder);
        idleSinceMs = nowMs + ANSWER_MS;
      }
    },
  };
}

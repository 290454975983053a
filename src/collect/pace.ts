/** When to look for the next ledger: often enough to see it soon after it appears, and no more often than the request budget bears.
 *
 *  Ledgers close at a steady beat. Without a budget the newest ledger is looked up at a quarter of the poll interval. With one, nothing is asked
 *  until shortly before the next ledger is due, then twice a second until it is there. */

export interface Pace {
  /** Tells of a look that found `ledger` as the newest at `nowMs`. */
  saw(ledger: number, nowMs: number): void;
  /** Milliseconds until the next look. */
  waitMs(nowMs: number): number;
}

const FRUGAL_LOOK_MS = 500;
/** How much before its beat a ledger is looked for. */
const EARLY_MS = 700;
const LARGEST_BEAT_MS = 10_000;

export function createPace({ pollIntervalMs, frugal }: { pollIntervalMs: number; frugal: boolean }): Pace {
  const lookMs = frugal ? Math.max(FRUGAL_LOOK_MS, pollIntervalMs / 2) : Math.max(10, pollIntervalMs / 4);
  let newest: { ledger: number; seenMs: number } | null = null;
  /** Smoothed time between two ledgers; 0 while unknown. */
  let beatMs = 0;
  let lookedMs = Number.NEGATIVE_INFINITY;

  return {
    saw(ledger, nowMs) {
      lookedMs = nowMs;
      if (newest && ledger > newest.ledger) {
        const measured = Math.min(LARGEST_BEAT_MS, (nowMs - newest.seenMs) / (ledger - newest.ledger));
        beatMs = beatMs === 0 ? measured : beatMs * 0.8 + measured * 0.2;
      }
      if (!newest || ledger !== newest.ledger) newest = { ledger, seenMs: nowMs };
    },
    waitMs(nowMs) {
      const due = frugal && newest ? newest.seenMs + beatMs - EARLY_MS : 0;
      return Math.max(0, Math.max(due, lookedMs + lookMs) - nowMs);
    },
  };
}

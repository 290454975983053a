/** When to look for the next ledger: soon enough to see it when it appears, and no more often than the request budget bears.
 *
 *  Ledgers close at a steady beat. Without a budget the newest ledger is looked up at a quarter of the poll interval. With one, requests are earned
 *  by time and spent by looking and reading: whoever has some in hand begins to look before the beat, and looks often; whoever is in debt looks
 *  after the beat, when the ledger is there already, and at last not at every ledger. So the budget is used, whatever reading a ledger costs. */

export interface PollScheduler {
  /** Tells of a look that found `ledger` as the newest at `nowMs`. */
  saw(ledger: number, nowMs: number): void;
  /** Tells of requests that reading took. */
  read(requests: number): void;
  /** Milliseconds until the next look. */
  waitMs(nowMs: number): number;
}

const HOUR_MS = 3_600_000;
/** The rest is for what others ask: stamps, searches for ledgers. */
const OWN_SHARE = 0.92;
const LARGEST_BEAT_MS = 10_000;
const SMALLEST_LOOK_MS = 150;
const LARGEST_LOOK_MS = 3000;
/** How far from the beat the looking begins, at most. */
const LARGEST_LEAD_MS = 1500;
/** What is in hand is counted in this many requests, or a hundredth of a smaller budget. */
const UNIT = 20;
const MOST_IN_HAND = 3;
const MOST_IN_DEBT = -1.5;
/** The weight of what was measured last, once much has been measured. */
const NEW = 0.15;

const unitOf = (perHour: number) => Math.min(UNIT, perHour / 100);

export function createPollScheduler(options: {
  pollIntervalMs: number;
  requestsPerHour: number | null;
}): PollScheduler {
  const { pollIntervalMs, requestsPerHour } = options;
  /** How long the first one had been there before it was seen nobody knows. */
  let newest: { ledger: number; seenMs: number; isFirst: boolean } | null = null;
  let measurements = 0;
  /** Smoothed time between two ledgers; 0 while unknown. */
  let beatMs = 0;
  /** How far ledgers are off the beat, smoothed. */
  let spreadMs = 500;
  /** Requests earned and not spent. Finding the beat is paid in advance, so that the first ledgers need not be late for it. */
  let inHand = requestsPerHour === null ? 0 : MOST_IN_HAND * unitOf(requestsPerHour);
  let earnedMs = 0;
  let lookedMs = Number.NEGATIVE_INFINITY;

  const smooth = (before: number, measured: number) => {
    const weight = Math.max(NEW, 1 / measurements);
    return before * (1 - weight) + measured * weight;
  };

  function earn(nowMs: number, perHour: number): void {
    if (lookedMs > 0) inHand += ((nowMs - earnedMs) / HOUR_MS) * perHour * OWN_SHARE;
    inHand = Math.min(inHand, MOST_IN_HAND * unitOf(perHour));
    earnedMs = nowMs;
  }

  function nextLookMs(nowMs: number, perHour: number): number {
    const credit = inHand / unitOf(perHour);
    const debt = Math.max(0, MOST_IN_DEBT - credit) * unitOf(perHour);
    const payOffMs = nowMs + (debt * HOUR_MS) / (perHour * OWN_SHARE);
    if (!newest || beatMs === 0) return Math.max(payOffMs, lookedMs + pollIntervalMs / 2);
    const dueMs = newest.seenMs + beatMs;
    const leadMs = Math.min(LARGEST_LEAD_MS, spreadMs * Math.max(MOST_IN_DEBT, credit));
    const lateMs = Math.max(0, nowMs - dueMs - spreadMs);
    const lookMs = Math.max(SMALLEST_LOOK_MS, spreadMs * Math.exp(-credit)) * (1 + lateMs / 2000);
    return Math.max(payOffMs, dueMs - leadMs, lookedMs + Math.min(LARGEST_LOOK_MS, lookMs));
  }

  return {
    saw(ledger, nowMs) {
      if (requestsPerHour !== null) earn(nowMs, requestsPerHour);
      lookedMs = nowMs;
      inHand -= 1;
      if (newest && !newest.isFirst && ledger > newest.ledger) {
        measurements += 1;
        const measured = Math.min(LARGEST_BEAT_MS, (nowMs - newest.seenMs) / (ledger - newest.ledger));
        if (measurements > 1) spreadMs = smooth(spreadMs, Math.abs(measured - beatMs));
        beatMs = smooth(beatMs, measured);
      }
      if (ledger !== newest?.ledger) newest = { ledger, seenMs: nowMs, isFirst: newest === null };
    },
    read(requests) {
      inHand -= requests;
    },
    waitMs(nowMs) {
      if (requestsPerHour === null) return Math.max(0, lookedMs + Math.max(10, pollIntervalMs / 4) - nowMs);
      earn(nowMs, requestsPerHour);
      return Math.max(0, nextLookMs(nowMs, requestsPerHour) - nowMs);
    },
  };
}

/** When to look for the next ledger: soon enough to see it when it appears, and no more often than the request budget bears.
 *
 *  Ledgers close at a steady interval. Without a budget the newest ledger is looked up at a quarter of the poll interval. With one the scheduler is a
 *  token bucket: time refills tokens, every request takes one. With tokens in hand it begins to look before the next ledger is due, and looks often; in
 *  debt it looks after that, when the ledger is there already, and at last not at every ledger. So the budget is used, whatever reading costs. */

import { rateOf } from '../domain/request-rate.js';

export interface PollScheduler {
  /** A look found `ledger` as the newest at `nowMs`. */
  saw(ledger: number, nowMs: number): void;
  /** Requests were sent, looks among them, whether or not they were answered. */
  spent(requests: number): void;
  /** Others were seen to have sent so many requests since this was last said. */
  othersSpent(requests: number, nowMs: number): void;
  /** Milliseconds until the next look. */
  waitMs(nowMs: number): number;
}

const HOUR_MS = 3_600_000;
/** The watcher's part of what the budget grants steadily. The rest lets others in, whose requests are then made room for. */
const OWN_SHARE = 0.95;
/** To see and to read every ledger takes this many an hour: others get no room below it. */
const NEEDED_PER_HOUR = 1440;
/** What others send is averaged over about this time. */
const OTHERS_MS = 600_000;
const LARGEST_INTERVAL_MS = 10_000;
const SHORTEST_LOOK_MS = 150;
const LONGEST_LOOK_MS = 3000;
/** The looking begins this long before the next ledger is due, at most. */
const LARGEST_LEAD_MS = 1500;
/** Tokens are counted in this many requests, or a hundredth of a smaller budget. */
const UNIT = 20;
const MOST_UNITS = 3;
const DEBT_UNITS = -1.5;
/** The weight of what was measured last, once much has been measured. */
const NEWEST_WEIGHT = 0.15;

/** What the watcher may send in an hour when others send nothing. */
function ownOf(perHour: number): number {
  return OWN_SHARE * (perHour - rateOf(perHour).burst);
}

const unitOf = (perHour: number) => Math.min(UNIT, perHour / 100);

export function createPollScheduler(options: {
  pollIntervalMs: number;
  requestsPerHour: number | null;
}): PollScheduler {
  const { pollIntervalMs, requestsPerHour } = options;
  /** The newest ledger; the age of the first one that was seen is unknown. */
  let newest: { ledger: number; seenMs: number; isFirst: boolean } | null = null;
  let measurements = 0;
  /** Smoothed time between two ledgers; 0 while unknown. */
  let intervalMs = 0;
  /** How far ledgers are off the interval, smoothed. */
  let spreadMs = 500;
  /** Full at first: finding the interval is paid in advance, so that the first ledgers need not be late for it. */
  let tokens = requestsPerHour === null ? 0 : MOST_UNITS * unitOf(requestsPerHour);
  let refilledMs: number | null = null;
  let lookedMs = Number.NEGATIVE_INFINITY;
  const others = new OthersRequests();

  const smooth = (before: number, measured: number) => {
    const weight = Math.max(NEWEST_WEIGHT, 1 / measurements);
    return before * (1 - weight) + measured * weight;
  };

  /** Requests an hour. */
  const refillOf = (perHour: number): number => {
    const own = ownOf(perHour);
    return Math.max(own - others.perHour, Math.min(own, NEEDED_PER_HOUR));
  };

  function refill(nowMs: number, perHour: number): void {
    if (refilledMs !== null) tokens += ((nowMs - refilledMs) / HOUR_MS) * refillOf(perHour);
    tokens = Math.min(tokens, MOST_UNITS * unitOf(perHour));
    refilledMs = nowMs;
  }

  function nextLookMs(nowMs: number, perHour: number): number {
    const units = tokens / unitOf(perHour);
    const debt = Math.max(0, DEBT_UNITS - units) * unitOf(perHour);
    const payOffMs = nowMs + (debt * HOUR_MS) / refillOf(perHour);
    if (!newest || intervalMs === 0) return Math.max(payOffMs, lookedMs + pollIntervalMs / 2);
    const dueMs = newest.seenMs + intervalMs;
    const leadMs = Math.min(LARGEST_LEAD_MS, spreadMs * Math.max(DEBT_UNITS, units));
    const lateMs = Math.max(0, nowMs - dueMs - spreadMs);
    const lookMs = Math.max(SHORTEST_LOOK_MS, spreadMs * Math.exp(-units)) * (1 + lateMs / 2000);
    return Math.max(payOffMs, dueMs - leadMs, lookedMs + Math.min(LONGEST_LOOK_MS, lookMs));
  }

  return {
    saw(ledger, nowMs) {
      if (requestsPerHour !== null) refill(nowMs, requestsPerHour);
      lookedMs = nowMs;
      if (newest && !newest.isFirst && ledger > newest.ledger) {
        measurements += 1;
        const measured = Math.min(LARGEST_INTERVAL_MS, (nowMs - newest.seenMs) / (ledger - newest.ledger));
        if (measurements > 1) spreadMs = smooth(spreadMs, Math.abs(measured - intervalMs));
        intervalMs = smooth(intervalMs, measured);
      }
      if (ledger !== newest?.ledger) newest = { ledger, seenMs: nowMs, isFirst: newest === null };
    },
    spent(requests) {
      tokens -= requests;
    },
    othersSpent: (requests, nowMs) => others.add(requests, nowMs),
    waitMs(nowMs) {
      if (requestsPerHour === null) return Math.max(0, lookedMs + Math.max(10, pollIntervalMs / 4) - nowMs);
      refill(nowMs, requestsPerHour);
      return Math.max(0, nextLookMs(nowMs, requestsPerHour) - nowMs);
    },
  };
}

/** What others send in an hour, smoothed. */
class OthersRequests {
  perHour = 0;
  #atMs: number | null = null;

  add(requests: number, nowMs: number): void {
    const passedMs = nowMs - (this.#atMs ?? nowMs);
    this.#atMs = nowMs;
    this.perHour = this.perHour * Math.exp(-passedMs / OTHERS_MS) + (requests * HOUR_MS) / OTHERS_MS;
  }
}

/** Decides when to poll for the next ledger: in time to see it appear, within the request budget,
 *  whose arithmetic and shares come first.
 *
 *  Ledgers close at a steady interval. Without a budget it polls at a quarter of the poll interval.
 *  With one it is a token bucket: time refills tokens, every request takes one. With tokens left it
 *  polls often, beginning before the next ledger is due; in debt it polls after the ledger is due,
 *  and finally skips ledgers. So the budget is used up, whatever reading costs. */

// Spending of a request budget, and its shares. A generic cell rate algorithm. The state of a
// budget is one moment: when it will be whole again. Each request moves the moment on by one
// interval, to at most `burst` intervals ahead. Any span W thereby admits at most burst + W /
// interval requests: with an interval of an hour / (perHour − burst), at most `perHour` in an hour.
// Processes whose clocks differ by d may add d / interval.

const HOUR_MICROS = 3_600_000_000;
const LARGEST_BURST = 100;

export interface RequestRate {
  intervalMicros: number;
  burst: number;
}

/** @param perHour at least 1. A small budget has a small burst, so that the rest of the hour is not
 *  spent waiting. */
export function rateOf(perHour: number, leastBurst = 1): RequestRate {
  const burst = Math.max(Math.min(leastBurst, perHour), Math.min(LARGEST_BURST, Math.floor(perHour / 10)));
  const steady = perHour - burst;
  // One request an hour: the next one must come after the hour, not at its end.
  return { burst, intervalMicros: steady === 0 ? HOUR_MICROS + 1 : Math.ceil(HOUR_MICROS / steady) };
}

/** @param leave requests that must be left to others
 *  @returns the budget after `count` requests, and the wait, which is 0 exactly when they
 *  are granted */
export function spend(
  wholeAtMicros: number,
  nowMicros: number,
  count: number,
  { burst, intervalMicros }: RequestRate,
  leave = 0,
) {
  const reachMicros = nowMicros + burst * intervalMicros;
  // A budget lies beyond its reach only after a clock was set back: treat it as spent, not as lost
  // until then.
  const fromMicros = Math.min(Math.max(wholeAtMicros, nowMicros), reachMicros);
  const spentMicros = fromMicros + count * intervalMicros;
  const limitMicros = reachMicros - leave * intervalMicros;
  return spentMicros <= limitMicros
    ? { wholeAtMicros: spentMicros, waitMs: 0 }
    : { wholeAtMicros: fromMicros, waitMs: Math.ceil((spentMicros - limitMicros) / 1000) };
}

/** The most that each purpose gets of a network's budget. Outsiders are pages and payers together:
 *  their share is theirs alone, so that no watching, however busy, keeps a payer from paying. The
 *  watcher and all others share the rest. */
const SHARES = {
  ...{ outsiders: 1 / 8, pages: 1 / 16, tenants: 1 / 8 },
  ...{ audits: 1 / 4, parked: 1 / 8, proofs: 1 / 8 },
} as const;
export type Share = keyof typeof SHARES;

const hourlyOf = (perHour: number, share: Share): number => Math.max(1, Math.floor(perHour * SHARES[share]));

/** A look for a ledger and its reading, and one request of another purpose before them. */
const LEAST_COMMON_BURST = 3;

/** The rate of what all but outsiders share. */
export const rateOfCommon = (perHour: number): RequestRate =>
  rateOf(Math.max(1, perHour - hourlyOf(perHour, 'outsiders')), LEAST_COMMON_BURST);

/** A payment from a wallet takes two requests: even the smallest share must serve two payers. */
const LEAST_SHARE_BURST = 4;

/** The rate of a share of a budget. */
export const rateOfShare = (perHour: number, share: Share): RequestRate =>
  rateOf(hourlyOf(perHour, share), LEAST_SHARE_BURST);

/** The rate of one account or client address within a share: half of it, so that none can use it
 *  up alone. */
export const rateOfOne = (perHour: number, share: Share): RequestRate =>
  rateOf(Math.max(1, Math.floor((perHour * SHARES[share]) / 2)), LEAST_SHARE_BURST / 2);

/** Requests that others leave to the watcher, which takes two to find and read a ledger. @param
 *  burst of what they share */
export function spareOf({ burst }: RequestRate): number {
  return Math.min(burst - 1, Math.max(2, Math.floor(burst / 3)));
}

export interface PollScheduler {
  /** Reports the newest ledger, as polled at `nowMs`. */
  saw(ledger: number, nowMs: number): void;
  /** Reports requests sent, polls included, answered or not. */
  spent(requests: number): void;
  /** Reports requests that those who share with the watcher have sent since the last call. */
  othersSpent(requests: number, nowMs: number): void;
  /** Milliseconds until the next poll. */
  waitMs(nowMs: number): number;
}

const HOUR_MS = 3_600_000;
/** The watcher's share of what it shares with others. The rest lets others begin; the watcher then
 *  makes room for what they send. */
const OWN_SHARE = 0.95;
/** Requests an hour that seeing and reading every ledger takes: the watcher makes no room for
 *  others below it. */
const NEEDED_PER_HOUR = 1440;
/** Averaging time for the requests of others. */
const OTHERS_MS = 600_000;
const LARGEST_INTERVAL_MS = 10_000;
const SHORTEST_LOOK_MS = 150;
const LONGEST_LOOK_MS = 3000;
/** Polling begins at most this long before the next ledger is due. */
const LARGEST_LEAD_MS = 1500;
/** Requests per token unit, or a hundredth of a smaller budget: from the most tokens to the deepest
 *  debt the watcher sends fewer requests than the common burst has beyond the spare ones, so that a
 *  tenant finds some even while ledgers close faster than the budget bears. */
const UNIT = 14;
const MOST_UNITS = 3;
const DEBT_UNITS = -1.5;
/** Weight of the latest measurement, once there are many. */
const NEWEST_WEIGHT = 0.15;

/** Requests an hour for the watcher while others send none. */
function ownOf(perHour: number): number {
  return (OWN_SHARE * HOUR_MS * 1000) / rateOfCommon(perHour).intervalMicros;
}

const unitOf = (perHour: number) => Math.min(UNIT, perHour / 100);

export function createPollScheduler(options: {
  pollIntervalMs: number;
  requestsPerHour: number | null;
}): PollScheduler {
  const { pollIntervalMs, requestsPerHour } = options;
  /** The newest ledger; the age of the first one is unknown. */
  let newest: { ledger: number; seenMs: number; isFirst: boolean } | null = null;
  let measurements = 0;
  /** Smoothed time between two ledgers; 0 while unknown. */
  let intervalMs = 0;
  /** Deviation from the interval, smoothed. */
  let spreadMs = 500;
  /** Full at first: finding the interval takes many polls and must not delay the first ledgers. */
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

/** Requests an hour of others, smoothed. */
class OthersRequests {
  perHour = 0;
  #atMs: number | null = null;

  add(requests: number, nowMs: number): void {
    const passedMs = nowMs - (this.#atMs ?? nowMs);
    this.#atMs = nowMs;
    this.perHour = this.perHour * Math.exp(-passedMs / OTHERS_MS) + (requests * HOUR_MS) / OTHERS_MS;
  }
}

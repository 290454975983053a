/** Spending of a request budget, and its shares.
 *
 *  A generic cell rate algorithm. The state of a budget is one moment: when it will be whole again. Each request moves the moment on by one
 *  interval, to at most `burst` intervals ahead. Any span W thereby admits at most burst + W / interval requests: with an interval of an hour /
 *  (perHour − burst), at most `perHour` in an hour. Processes whose clocks differ by d may add d / interval. */

const HOUR_MICROS = 3_600_000_000;
const LARGEST_BURST = 100;

export interface Rate {
  intervalMicros: number;
  burst: number;
}

/** @param perHour at least 1. A small budget has a small burst, so that the rest of the hour is not spent waiting. */
export function rateOf(perHour: number, leastBurst = 1): Rate {
  const burst = Math.max(Math.min(leastBurst, perHour), Math.min(LARGEST_BURST, Math.floor(perHour / 10)));
  const steady = perHour - burst;
  // One request an hour: the next one must come after the hour, not at its end.
  return { burst, intervalMicros: steady === 0 ? HOUR_MICROS + 1 : Math.ceil(HOUR_MICROS / steady) };
}

/** @param leave requests that must be left to others
 *  @returns the budget after `count` requests, and the wait, which is 0 exactly when they are granted */
export function spend(
  wholeAtMicros: number,
  nowMicros: number,
  count: number,
  { burst, intervalMicros }: Rate,
  leave = 0,
) {
  const reachMicros = nowMicros + burst * intervalMicros;
  // A budget lies beyond its reach only after a clock was set back: treat it as spent, not as lost until then.
  const fromMicros = Math.min(Math.max(wholeAtMicros, nowMicros), reachMicros);
  const spentMicros = fromMicros + count * intervalMicros;
  const limitMicros = reachMicros - leave * intervalMicros;
  return spentMicros <= limitMicros
    ? { wholeAtMicros: spentMicros, waitMs: 0 }
    : { wholeAtMicros: fromMicros, waitMs: Math.ceil((spentMicros - limitMicros) / 1000) };
}

/** The most that each purpose gets of a network's budget. Outsiders are pages and payers together: their share is theirs alone, so that no watching, however
 *  busy, keeps a payer from paying. The watcher and all others share the rest. */
const SHARES = {
  ...{ outsiders: 1 / 8, pages: 1 / 16, tenants: 1 / 8 },
  ...{ audits: 1 / 4, parked: 1 / 8, proofs: 1 / 8 },
} as const;
export type Share = keyof typeof SHARES;

const hourlyOf = (perHour: number, share: Share): number => Math.max(1, Math.floor(perHour * SHARES[share]));

/** A look for a ledger and its reading, and one request of another purpose before them. */
const LEAST_COMMON_BURST = 3;

/** The rate of what all but outsiders share. */
export const rateOfCommon = (perHour: number): Rate =>
  rateOf(Math.max(1, perHour - hourlyOf(perHour, 'outsiders')), LEAST_COMMON_BURST);

/** A payment from a wallet takes two requests: even the smallest share must serve two payers. */
const LEAST_SHARE_BURST = 4;

/** The rate of a share of a budget. */
export const rateOfShare = (perHour: number, share: Share): Rate => rateOf(hourlyOf(perHour, share), LEAST_SHARE_BURST);

/** The rate of one account or client address within a share: half of it, so that none can use it up alone. */
export const rateOfOne = (perHour: number, share: Share): Rate =>
  rateOf(Math.max(1, Math.floor((perHour * SHARES[share]) / 2)), LEAST_SHARE_BURST / 2);

/** Requests that others leave to the watcher, which takes two to find and read a ledger. @param burst of what they share */
export function spareOf({ burst }: Rate): number {
  return Math.min(burst - 1, Math.max(2, Math.floor(burst / 3)));
}

/** How a request budget is spent, and how it is shared out.
 *
 *  A generic cell rate algorithm. What is kept of a budget is one moment, when it would be whole again; each request moves it on by one
 *  interval, and it may lie at most `burst` intervals ahead. In any span W that lets through at most burst + W / interval requests: with
 *  the interval at an hour / (perHour − burst), at most `perHour` in an hour. Processes whose clocks differ by d may add d / interval to that. */

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
  // One request an hour: the next one comes after the hour, not at its end.
  return { burst, intervalMicros: steady === 0 ? HOUR_MICROS + 1 : Math.ceil(HOUR_MICROS / steady) };
}

/** @param leave requests that the budget has to keep for others.
 *  @returns where the budget stands after `count` requests and how long to wait, which is 0 exactly when they are granted. */
export function spend(
  wholeAtMicros: number,
  nowMicros: number,
  count: number,
  { burst, intervalMicros }: Rate,
  leave = 0,
) {
  const reachMicros = nowMicros + burst * intervalMicros;
  // Beyond its reach a budget lies only after a clock went back: it counts as spent, not as lost until then.
  const fromMicros = Math.min(Math.max(wholeAtMicros, nowMicros), reachMicros);
  const spentMicros = fromMicros + count * intervalMicros;
  const limitMicros = reachMicros - leave * intervalMicros;
  return spentMicros <= limitMicros
    ? { wholeAtMicros: spentMicros, waitMs: 0 }
    : { wholeAtMicros: fromMicros, waitMs: Math.ceil((spentMicros - limitMicros) / 1000) };
}

/** The part of a network's budget that each purpose gets at most. Outsiders are pages and payers together. The rest is the watcher's alone. */
const SHARES = { outsiders: 1 / 8, pages: 1 / 16, tenants: 1 / 8, audits: 1 / 4, parked: 1 / 8 } as const;
export type Share = keyof typeof SHARES;

/** A payment from a wallet takes two requests: even the smallest share has room for two payers. */
const LEAST_SHARE_BURST = 4;

/** The rate of a share of a budget. */
export const rateOfShare = (perHour: number, share: Share): Rate =>
  rateOf(Math.max(1, Math.floor(perHour * SHARES[share])), LEAST_SHARE_BURST);

/** The rate of one account or one client address within a share: half of it, so that none uses it up alone. */
export const rateOfOne = (perHour: number, share: Share): Rate =>
  rateOf(Math.max(1, Math.floor((perHour * SHARES[share]) / 2)), LEAST_SHARE_BURST / 2);

/** Requests that all others leave to the watcher: to look for a ledger and to read it takes two. */
export function spareOf(perHour: number): number {
  const { burst } = rateOf(perHour);
  return Math.min(burst - 1, Math.max(2, Math.floor(burst / 3)));
}

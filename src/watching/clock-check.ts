/** Measures this host's clock against the ledger's: the time a ledger is first seen less its close time. Until a few ledgers were seen, the newest ledger of an
 *  answer gives an upper bound. */
import type { LedgerTip } from '../ledger/source.js';

const SAMPLES = 10;
const ENOUGH = 3;
/** When the time of day and the monotonic clock diverge by more than this, the clock was set. */
const SET_MS = 1000;
/** When close times advance this much faster than the monotonic clock, the source is catching up. */
const CATCHING_UP_MS = 3000;

type Newest = Pick<LedgerTip, 'latestLedger' | 'latestClosedAt' | 'isBehind'>;

/** Tells whether the clock was set since the last look. @param steadyMs of the monotonic clock */
function createSetCheck(): (nowMs: number, steadyMs: number) => boolean {
  let lastMs: number | null = null;
  return (nowMs, steadyMs) => {
    const wasSet = lastMs !== null && Math.abs(nowMs - steadyMs - lastMs) > SET_MS;
    lastMs = nowMs - steadyMs;
    return wasSet;
  };
}

interface ClockCheck {
  /** @param steadyMs of the monotonic clock. Default: the clock is never set */
  saw(tip: Newest, nowMs: number, steadyMs?: number): void;
  /** Milliseconds, negative when the clock is behind; null until a few ledgers were seen. The smallest of the last samples, because it holds the least delay. */
  aheadMs(): number | null;
  /** Call after a reset. */
  forget(): void;
}

export function createClockCheck(): ClockCheck {
  let last: { ledger: number; closedMs: number; steadyMs: number } | null = null;
  let samples: number[] = [];
  const wasSet = createSetCheck();
  return {
    saw({ latestLedger, latestClosedAt, isBehind }, nowMs, steadyMs = nowMs) {
      if (wasSet(nowMs, steadyMs)) samples = [];
      if (last && latestLedger <= last.ledger) return;
      const closedMs = latestClosedAt.getTime();
      const isCatchingUp = last && closedMs - last.closedMs - (steadyMs - last.steadyMs) > CATCHING_UP_MS;
      // The first ledger's age is unknown, and a server that is behind says nothing about the clock.
      if (last && !isBehind && !isCatchingUp) samples = [...samples, nowMs - closedMs].slice(-SAMPLES);
      last = { ledger: latestLedger, closedMs, steadyMs };
    },
    aheadMs: () => (samples.length < ENOUGH ? null : Math.min(...samples)),
    forget() {
      last = null;
      samples = [];
    },
  };
}

/** Older answers no longer bound the clock. */
const BOUND_FOR_MS = 300_000;
/** A larger bound more likely comes from a source that is behind without saying so. */
const MOST_AHEAD_MS = 90_000;
/** Milliseconds; null when the bound is implausible. */
export const likelyBound = (aheadMs: number): number | null => (aheadMs <= MOST_AHEAD_MS ? aheadMs : null);

/** Upper bound of the host clock's lead, from single answers of sources: no newer ledger had closed then, nor one in the future. */
export interface ClockBound {
  /** @param steadyMs of the monotonic clock. Default: the clock is never set */
  saw(newest: Pick<Newest, 'latestClosedAt' | 'isBehind'>, nowMs: number, steadyMs?: number): void;
  /** Milliseconds; null without a recent answer. */
  aheadMs(nowMs: number, steadyMs?: number): number | null;
}

export function createClockBound(): ClockBound {
  /** Smallest first. */
  let samples: { aheadMs: number; atMs: number }[] = [];
  const wasSet = createSetCheck();
  const keepLate = (nowMs: number, steadyMs: number) => {
    const isSet = wasSet(nowMs, steadyMs);
    samples = isSet ? [] : samples.filter(({ atMs }) => steadyMs - atMs < BOUND_FOR_MS);
  };
  return {
    saw({ latestClosedAt, isBehind }, nowMs, steadyMs = nowMs) {
      keepLate(nowMs, steadyMs);
      if (isBehind) return;
      const aheadMs = nowMs - latestClosedAt.getTime();
      const smaller = samples.filter((each) => each.aheadMs < aheadMs);
      samples = [...smaller, { aheadMs, atMs: steadyMs }].slice(0, SAMPLES);
    },
    aheadMs(nowMs, steadyMs = nowMs) {
      keepLate(nowMs, steadyMs);
      const [smallest] = samples;
      return smallest ? likelyBound(smallest.aheadMs) : null;
    },
  };
}

/** How far this host's clock is from the ledger's: measured by when ledgers were first seen, against when they closed; before that, bounded by the newest
 *  ledger that was there when the server was asked. */
import type { LedgerTip } from '../ledger/source.js';

const SAMPLES = 10;
const ENOUGH = 3;
/** The clock was set when the time of day moved this much more than time passed. */
const SET_MS = 1000;
/** Ledgers close so much faster than time passes only while a source catches up. */
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
  /** Milliseconds, less than 0 when the clock is behind; null until a few ledgers were seen. Of the last ledgers the one seen soonest counts: it is late by
   *  as little as any. */
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

/** How old an answer may be that bounds the clock. */
const BOUND_FOR_MS = 300_000;
/** A bound beyond this more likely tells of a source that is behind and does not say so. */
const MOST_AHEAD_MS = 90_000;
/** The bound, in milliseconds; null when it is not to be believed. */
export const likelyBound = (aheadMs: number): number | null => (aheadMs <= MOST_AHEAD_MS ? aheadMs : null);

/** Upper bound of the host clock's lead, from single answers of sources: no newer ledger had closed then, nor one in the future. */
export interface ClockBound {
  /** @param steadyMs of the monotonic clock. Default: the clock is never set */
  saw(newest: Pick<Newest, 'latestClosedAt' | 'isBehind'>, nowMs: number, steadyMs?: number): void;
  /** Milliseconds; null when nothing is known of late. */
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

/** How far this host's clock is from the ledger's: measured by when ledgers were first seen, against when they closed; before that, bounded by the newest
 *  ledger that was there when somebody asked. */
import type { LedgerTip } from '../ledger/source.js';

const SAMPLES = 10;
const ENOUGH = 3;

export interface ClockCheck {
  saw(tip: Pick<LedgerTip, 'latestLedger' | 'latestClosedAt' | 'isBehind'>, nowMs: number): void;
  /** Milliseconds, less than 0 when the clock is behind; null until a few ledgers were seen. Of the last ledgers the one seen soonest counts: it is late by
   *  as little as any. */
  aheadMs(): number | null;
  /** The network began anew. */
  forget(): void;
}

export function createClockCheck(): ClockCheck {
  let newest = 0;
  let isFirst = true;
  let samples: number[] = [];
  return {
    saw({ latestLedger, latestClosedAt, isBehind }, nowMs) {
      if (latestLedger <= newest) return;
      newest = latestLedger;
      // How long the first one had been there nobody knows, and a server that is behind says nothing of the clock.
      if (!isFirst && !isBehind) samples = [...samples, nowMs - latestClosedAt.getTime()].slice(-SAMPLES);
      isFirst = false;
    },
    aheadMs: () => (samples.length < ENOUGH ? null : Math.min(...samples)),
    forget() {
      newest = 0;
      isFirst = true;
      samples = [];
    },
  };
}

/** How old an answer may be that bounds the clock: somebody may have set it since. */
const BOUND_FOR_MS = 300_000;

/** At most so far is the clock ahead, from single answers of sources that are up to date: no newer ledger had closed then, nor one in the future. */
export interface ClockBound {
  saw(newest: Pick<LedgerTip, 'latestClosedAt'>, nowMs: number): void;
  /** Milliseconds; null when nothing is known of late. */
  aheadMs(nowMs: number): number | null;
}

export function createClockBound(): ClockBound {
  let samples: { aheadMs: number; atMs: number }[] = [];
  return {
    saw({ latestClosedAt }, nowMs) {
      samples = [...samples, { aheadMs: nowMs - latestClosedAt.getTime(), atMs: nowMs }].slice(-SAMPLES);
    },
    aheadMs(nowMs) {
      const late = samples.filter(({ atMs }) => Math.abs(nowMs - atMs) < BOUND_FOR_MS);
      return late.length === 0 ? null : Math.min(...late.map(({ aheadMs }) => aheadMs));
    },
  };
}

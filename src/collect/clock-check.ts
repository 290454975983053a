/** How far this host's clock is from the ledger's: by when ledgers were first seen, against when they closed. */
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

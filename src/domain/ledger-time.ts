/** Compares this host's clock with the ledger's. */

/** Ledgers are seen some seconds after their close: a smaller difference says nothing about
 *  the clock. */
const USUAL_DELAY_MS = 8000;

/** Whether this host's clock certainly disagrees with the ledger's. @param aheadMs its lead over
 *  the close times, negative when behind */
export const isClockOff = (aheadMs: number | null | undefined): aheadMs is number =>
  typeof aheadMs === 'number' && (aheadMs < 0 || aheadMs > USUAL_DELAY_MS);

/** Converts a time of this host's clock to the ledger's time, which close times are compared with.
 *  A clock behind them is certainly wrong, because no ledger closes in the future. @param aheadMs
 *  see `isClockOff` */
export const toLedgerTime = (now: Date, aheadMs: number | null | undefined): Date =>
  isClockOff(aheadMs) ? new Date(now.getTime() - aheadMs) : now;

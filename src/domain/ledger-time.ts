/** How this host's clock compares with the ledger's. */

/** Ledgers are seen some seconds after they closed: less than this says nothing of the clock. */
const USUAL_DELAY_MS = 8000;

/** Whether this host's clock certainly disagrees with the ledger's. @param aheadMs how far it is ahead of the close times, negative when behind */
export const isClockOff = (aheadMs: number | null | undefined): aheadMs is number =>
  typeof aheadMs === 'number' && (aheadMs < 0 || aheadMs > USUAL_DELAY_MS);

/** A moment of this host's clock by the ledger's: close times are compared with it. A clock that is behind is certain to be, because no ledger closes
 *  in the future. @param aheadMs see `isClockOff` */
export const toLedgerTime = (now: Date, aheadMs: number | null | undefined): Date =>
  isClockOff(aheadMs) ? new Date(now.getTime() - aheadMs) : now;

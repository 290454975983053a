/** Ledger requests on behalf of a payer, within the payers' share of the request budget, in which client addresses take turns. */
import { BudgetUsedUp, LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { LedgerSession, NetworkLedger } from '../ledger/network-ledger.js';

/** `busy`: the payers' share is used up for now. `unavailable`: no source answers. */
export type NotNow = { state: 'busy'; waitSeconds: number } | { state: 'unavailable' };

/** @param visitor the client address that the request is charged to */
export async function askForPayer<T, L extends Pick<NetworkLedger, 'session'>>(
  ledger: L | undefined,
  visitor: string,
  call: (session: LedgerSession, ledger: L) => Promise<T>,
): Promise<T | NotNow> {
  if (!ledger) return { state: 'unavailable' };
  try {
    return await call(ledger.session({ purpose: 'payers', by: visitor }), ledger);
  } catch (error) {
    if (error instanceof BudgetUsedUp) return { state: 'busy', waitSeconds: error.retryAfterSeconds };
    if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return { state: 'unavailable' };
    throw error;
  }
}

/** Whether a list was read to its end. Several servers may stand behind one URL, and one that is behind shows a list that ends early: what counts is
 *  what the answer itself shows, never that some time has passed. Pure. */
import type { ListEnd } from '../ledger/history.js';
import { isAfter, placeOf } from '../ledger/records.js';
import type { ListRead } from './read.js';

/** The audit's knowledge of its account. */
interface Account {
  fromLedger: number;
  toLedger: number;
  /** The ledger in which its balances last changed; 0 for an account that is not on the ledger. */
  changedLedger: number;
  /** It is read from its creation on. */
  readsAll: boolean;
}

/** The ledger that a list has to be shown up to: in those after the last change nothing can have moved. 0 when nothing can be missing. */
export function mustShow({ fromLedger, toLedger, changedLedger, readsAll }: Account): number {
  if (changedLedger === 0) return toLedger;
  return readsAll || changedLedger > fromLedger ? changedLedger : 0;
}

type EndCheck =
  | 'whole'
  /** There is more than was read. */
  | 'more'
  /** The server that answered has not shown enough yet. */
  | 'behind'
  /** It says nothing of itself in this answer. */
  | 'untold';

/** @param ledger what has to be shown */
export function checkEnd({ cursor }: ListRead, { newest, shownLedger }: ListEnd, ledger: number): EndCheck {
  if (newest !== null && isAfter(placeOf(newest), placeOf(cursor))) return 'more';
  if (shownLedger === null) return 'untold';
  return shownLedger >= ledger ? 'whole' : 'behind';
}

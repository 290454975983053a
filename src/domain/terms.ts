/** When something applies, as the ledger sees it: stamps, versions of terms, watch windows. The
 *  order of ledgers is certain, but two clocks never quite agree, and close times are rounded down
 *  to whole seconds: if the side of a moment is uncertain, the payer benefits. */
import type { Asset } from './asset.js';

/** A moment. */
export interface LedgerStamp {
  at: Date;
  /** The newest ledger known to have closed before the moment: a lower bound. Null when none
   *  is known. */
  ledger: number | null;
  /** It was the newest ledger of all, so that the next one closed after the moment. Missing
   *  if uncertain. */
  isNewest?: boolean;
}

/** A ledger and its close time. */
export interface LedgerClose {
  ledger: number;
  closedAt: Date;
}

/** The side of a moment on which a ledger lies. */
type Side = 'before' | 'either' | 'after';

const SECOND_MS = 1000;
/** Ledger numbers decide what close times cannot, which are whole seconds of another clock. Further
 *  from the stamp the times suffice and numbers may mislead: a test network may have been reset to
 *  ledger 1 since. */
const NUMBERS_DECIDE_MS = 10_000;
/** No network closes this many ledgers in that time: a number further ahead predates a reset. */
const MOST_LEDGERS_AHEAD = 500;

/** The close time of ledgers that closed in the second of a moment. */
export const secondOf = (at: Date): Date => new Date(Math.floor(at.getTime() / SECOND_MS) * SECOND_MS);

/** The last moment whose ledgers all certainly closed before this one. */
export const secondBefore = (at: Date): Date => new Date(secondOf(at).getTime() - 1);

/** Ledgers of one second may have closed before or after a moment in it. */
export function sideOf(close: LedgerClose, { at, ledger, isNewest = false }: LedgerStamp): Side {
  const sinceMs = close.closedAt.getTime() - secondOf(at).getTime();
  if (ledger !== null && Math.abs(sinceMs) <= NUMBERS_DECIDE_MS && ledger - close.ledger <= MOST_LEDGERS_AHEAD) {
    if (close.ledger <= ledger) return 'before';
    if (isNewest) return 'after';
  }
  if (sinceMs < 0) return 'before';
  return sinceMs < SECOND_MS ? 'either' : 'after';
}

/** Whether the ledger certainly closed after the moment: only then is a payer too late. */
export const isAfter = (close: LedgerClose, stamp: LedgerStamp): boolean => sideOf(close, stamp) === 'after';

/** When the next entry of a history begins: after the last one. If the clocks disagree, it is as
 *  uncertain as the last one's moment. */
export function beginAfter(last: { from: LedgerStamp } | null, now: LedgerStamp): LedgerStamp {
  if (!last || now.at > last.from.at) return now;
  const at = new Date(last.from.at.getTime() + 1);
  return last.from.ledger === null ? { at, ledger: null } : { ...now, at };
}

/** Oldest first, never empty. The first has no beginning: its terms have always applied. */
export type Versioned<T> = ReadonlyArray<{ from: LedgerStamp | null; terms: T }>;

/** Whether something that began then applies when the ledger closes. @param from null for always */
export const sideOfBegin = (from: LedgerStamp | null, close: LedgerClose): Side =>
  from === null ? 'after' : sideOf(close, from);

/** The terms that may be in force at the close, oldest first: the last version that has certainly
 *  begun, and all that may have begun since. */
export function mayBeInForce<T>(history: Versioned<T>, close: LedgerClose): T[] {
  const found: T[] = [];
  // From the newest on: a history may be long, and few of it were in force together.
  for (let index = history.length - 1; index >= 0; index--) {
    const { from, terms } = history[index]!;
    const side = sideOfBegin(from, close);
    if (side !== 'before') found.unshift(terms);
    if (side === 'after') return found;
  }
  throw new RangeError('a history of terms must begin with terms that hold from ever');
}

export interface LinkTerms {
  active: boolean;
  /** What closes at or after it is too late; null for no end. */
  endsAt: Date | null;
  /** Payers get checkouts of their own. */
  takesOrders: boolean;
}

/** Amounts in stroops. */
export interface ProductTerms {
  active: boolean;
  asset: Asset;
  priceType: 'FIXED' | 'CUSTOM';
  /** The price of a FIXED product; null for CUSTOM. */
  price: bigint | null;
  /** The least amount of a CUSTOM product; null for any amount, and for FIXED. */
  minAmount: bigint | null;
  /** How much less is enough, in hundredths of a percent. */
  tolerance: bigint;
}

export interface WatchWindow {
  from: LedgerStamp;
  /** Null while the window is open. */
  until: LedgerStamp | null;
}

/** Whether a payment in this ledger counts: a window may have begun, and has not certainly ended.
 *  There may be a thousand, and nearly every payment counts in the newest. */
export const isWatched = (windows: readonly WatchWindow[], close: LedgerClose): boolean =>
  windows.findLast(
    ({ from, until }) => sideOf(close, from) !== 'before' && (until === null || !isAfter(close, until)),
  ) !== undefined;

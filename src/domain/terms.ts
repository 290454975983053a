/** When something holds, as the ledger sees it: stamps in time, versions of terms, windows of watching. Ledgers are compared first, because
 *  their order is certain while two clocks never quite agree. */
import type { Asset } from './asset.js';

/** A moment. */
export interface LedgerStamp {
  at: Date;
  /** The newest ledger known to have closed before the moment: a lower bound. Null when none is known. */
  ledger: number | null;
}

/** A ledger and when it closed. */
export interface LedgerClose {
  ledger: number;
  closedAt: Date;
}

/** The numbers decide where close times cannot, which have whole seconds and come from another clock. Further from the stamp they say nothing
 *  that the time does not, and would mislead: a test network may have begun anew since, at ledger 1. */
const NUMBERS_DECIDE_MS = 10_000;
/** No network closes so many ledgers in that time: a number further ahead is of the network before it began anew. */
const MOST_LEDGERS_AHEAD = 500;

/** Whether the ledger closed at or after the moment. */
export function isAtOrAfter(close: LedgerClose, stamp: LedgerStamp): boolean {
  const second = Math.floor(stamp.at.getTime() / 1000) * 1000;
  const sinceMs = close.closedAt.getTime() - second;
  if (sinceMs < 0) return false;
  if (stamp.ledger === null || sinceMs > NUMBERS_DECIDE_MS) return true;
  return close.ledger > stamp.ledger || stamp.ledger - close.ledger > MOST_LEDGERS_AHEAD;
}

/** Whether what began then holds when the ledger closes. @param from null for ever */
export const hasBegun = (from: LedgerStamp | null, close: LedgerClose): boolean =>
  from === null || isAtOrAfter(close, from);

/** Oldest first, never empty. The first has no beginning: its terms hold from ever. */
export type Versioned<T> = ReadonlyArray<{ from: LedgerStamp | null; terms: T }>;

/** The terms of the last version that the close has reached. */
export function inForce<T>(history: Versioned<T>, close: LedgerClose): T {
  const version = history.findLast(({ from }) => hasBegun(from, close));
  if (!version) throw new RangeError('a history of terms must begin with terms that hold from ever');
  return version.terms;
}

export interface LinkTerms {
  active: boolean;
}

/** Amounts in stroops. */
export interface ProductTerms {
  active: boolean;
  asset: Asset;
  priceType: 'FIXED' | 'CUSTOM';
  /** Of FIXED; null for CUSTOM. */
  price: bigint | null;
  /** Of CUSTOM, where null lets any amount through; null for FIXED. */
  minAmount: bigint | null;
}

export interface WatchWindow {
  from: LedgerStamp;
  /** Null while the window is open. */
  until: LedgerStamp | null;
}

/** Whether a payment in this ledger counts: a window has begun and not ended. */
export const isWatched = (windows: readonly WatchWindow[], close: LedgerClose): boolean =>
  windows.some(({ from, until }) => isAtOrAfter(close, from) && (until === null || !isAtOrAfter(close, until)));

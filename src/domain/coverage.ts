/** What has been read of the ledger for whom: which cursor covers an address, and whether a window of watching has been read to its end. Whatever
 *  leaves ledgers unread for good is decided here, by what servers have shown. */
import type { Network } from '../../contracts/networks.js';
import { isAfter, type LedgerStamp, type WatchWindow } from './terms.js';

/** A network whose source answers nothing newer for so long, or a wallet that is so far behind, lags. */
export const LAGGING_AFTER_MS = 60_000;

/** A stream is what a cursor reads: one address's payments, or the feed, which is all payments of the network. */
export const FEED = 'feed';

/** @param stream an address or `FEED`. */
export const cursorId = (network: Network, stream: string): string => `${network}:${stream}`;

/** The part of a cursor that tells how far it has come. */
interface Reach {
  ledger: number;
  shownLedger: number;
  shownClosedAt: Date;
  /** Only of the feed: the first ledger that it covers without a hole is the one after this. */
  fromLedger: number | null;
}

/** Whether the feed covers the address with this cursor: the address itself was shown to the ledger from which on the feed leaves nothing out. */
export const covers = (feed: Reach, own: Reach): boolean =>
  feed.fromLedger !== null && own.shownLedger >= feed.fromLedger;

/** The cursor that says how far an address has been read, for telling people. */
export function effectiveCursor<Cursor extends Reach>(
  own: Cursor | undefined,
  feed: Cursor | null | undefined,
): Cursor | undefined {
  return own && feed && covers(feed, own) && feed.ledger > own.ledger ? feed : own;
}

/** The cursor that says how far servers have shown an address, for deciding. */
export function shownCursor<Cursor extends Reach>(
  own: Cursor | undefined,
  feed: Cursor | null | undefined,
): Cursor | undefined {
  return own && feed && covers(feed, own) && feed.shownLedger > own.shownLedger ? feed : own;
}

/** Whether everything that may have closed before the moment was shown. The stamp's ledger is a lower bound, so the close time has to be past it too. */
export const isShownPast = ({ shownLedger, shownClosedAt }: Reach, stamp: LedgerStamp): boolean =>
  (stamp.ledger === null || shownLedger > stamp.ledger) &&
  isAfter({ ledger: shownLedger, closedAt: shownClosedAt }, stamp);

/** When a wallet's newest gap was last found, which tells it from any other; null for none. */
export const gapFoundAt = (gap: { at: Date; lastAt?: Date } | null): Date | null => gap?.lastAt ?? gap?.at ?? null;

/** How far a wallet was read when it stopped being watched. */
export interface ReadTo {
  ledger: number;
  /** When it was read, by a host's clock: for people. */
  at: Date;
  /** Everything that closed until then was read. Null in documents of before there was this: `at` is all that is known. */
  closedAt: Date | null;
}

/** Whether a window is known to have been read to its end: by the address's cursor, or from before the wallet stopped being watched. */
export function wasRead({ from, until }: WatchWindow, own: Reach | undefined, readTo: ReadTo | null): boolean {
  if (until === null) return false;
  if (own && isShownPast(own, until)) return true;
  if (readTo === null) return false;
  const closedAt = readTo.closedAt ?? readTo.at;
  if (from.at > closedAt) return false;
  if (until.at <= closedAt) return true;
  // Where the stamp's ledger was not the newest one, others may have closed before the end and were not read.
  const isExact = until.isNewest === true || readTo.closedAt === null;
  return isExact && until.ledger !== null && until.ledger <= readTo.ledger;
}

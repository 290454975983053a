/** What has been read of the ledger: which cursor covers an address, and whether a watch window was
 *  read to its end. Ledgers are left unread for good only by the rules here, on the ground of what
 *  servers have shown. */
import type { Network } from '../../contracts/networks.js';
import { isAfter, type LedgerStamp, type WatchWindow } from './terms.js';

/** A network lags when its source shows nothing newer for this long, a wallet when it is this
 *  far behind. */
export const LAGGING_AFTER_MS = 60_000;

/** The stream of all payments of a network; other streams are the payments of one address. */
export const FEED = 'feed';

/** @param stream an address or `FEED` */
export const cursorId = (network: Network, stream: string): string => `${network}:${stream}`;

/** The progress of a cursor. */
export interface Reach {
  ledger: number;
  shownLedger: number;
  shownClosedAt: Date;
  /** For the feed only: it covers ledgers without a hole from the one after this. */
  fromLedger: number | null;
}

/** Whether the feed covers the address: its own cursor was shown up to the ledger after which the
 *  feed has no hole. */
export const covers = (feed: Reach, own: Reach): boolean =>
  feed.fromLedger !== null && own.shownLedger >= feed.fromLedger;

/** The cursor that tells people how far an address has been read: the one that was read last, for
 *  a ledger that it names may have been a false claim. */
export function effectiveCursor<Cursor extends Reach & { readAt: Date }>(
  own: Cursor | undefined,
  feed: Cursor | null | undefined,
): Cursor | undefined {
  return own && feed && covers(feed, own) && feed.readAt > own.readAt ? feed : own;
}

/** The cursor for decisions: how far servers have shown an address. */
export function shownCursor<Cursor extends Reach>(
  own: Cursor | undefined,
  feed: Cursor | null | undefined,
): Cursor | undefined {
  return own && feed && covers(feed, own) && feed.shownLedger > own.shownLedger ? feed : own;
}

/** Whether everything that may have closed before the moment was shown. The stamp's ledger is a
 *  lower bound, so the close time must be past it, too. */
export const isShownPast = ({ shownLedger, shownClosedAt }: Reach, stamp: LedgerStamp): boolean =>
  (stamp.ledger === null || shownLedger > stamp.ledger) &&
  isAfter({ ledger: shownLedger, closedAt: shownClosedAt }, stamp);

/** When a wallet's newest gap was last found, which identifies the gap; null for none. */
export const gapFoundAt = (gap: { at: Date; lastAt?: Date } | null): Date | null => gap?.lastAt ?? gap?.at ?? null;

/** How far a wallet was read when it stopped being watched. */
export interface ReadTo {
  ledger: number;
  /** By the reading host's clock, for people. */
  at: Date;
  /** Everything that closed until then was read. Null in documents from before this field: only
   *  `at` is known. */
  closedAt: Date | null;
}

/** Whether a watch window was read to its end: by the address's own cursor, or by how far the
 *  wallet was read when it stopped being watched. */
export function wasRead({ from, until }: WatchWindow, own: Reach | undefined, readTo: ReadTo | null): boolean {
  if (until === null) return false;
  if (own && isShownPast(own, until)) return true;
  if (readTo === null) return false;
  const closedAt = readTo.closedAt ?? readTo.at;
  if (from.at > closedAt) return false;
  if (until.at <= closedAt) return true;
  // If the stamp's ledger was not the newest one, later ledgers may have closed before the end and
  // were not read.
  const isExact = until.isNewest === true || readTo.closedAt === null;
  return isExact && until.ledger !== null && until.ledger <= readTo.ledger;
}

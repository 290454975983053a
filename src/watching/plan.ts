/** Decides what a round of watching does. Pure: reads and stores nothing. */

import { type LedgerTip, type ServerTip, SHORTEST_LEDGER_MS } from '../ledger/index.js';
import type { CursorDoc } from './cursors.js';
import type { NetworkStateDoc } from './network-states.js';

/** Addresses whose cursor is further behind than this are read one by one until the feed
 *  covers them. */
const NEAR_LEDGERS = 100;
const HASH_CHECK_AFTER_MS = 60_000;
/** A stream without anything new for this long gets a quiet check. */
const LONGEST_QUIET_LEDGERS = 720;
const GAP_WAIT_MS = 3_600_000;
/** The lag to assume for a server whose answer does not show how far it is, and its least number of
 *  ledgers. Only accounts without history get such answers. */
export const FARTHEST_BEHIND_MS = 5_000_000;
export const FARTHEST_BEHIND_LEDGERS = 1000;

/** `compare_hash`: only the hash of a known ledger can tell. */
type ResetCheck = 'same_network' | 'reset' | 'compare_hash';

/** Whether the network was reset. A server that merely lags shows an old ledger that closed long
 *  ago, not a young one with a low number. */
export function checkReset(
  tip: Pick<LedgerTip, 'latestLedger' | 'latestClosedAt'>,
  state: Pick<NetworkStateDoc, 'latestLedger' | 'latestClosedAt' | 'seenAt' | 'anchor'> | null,
  nowMs: number,
): ResetCheck {
  if (!state) return 'same_network';
  if (tip.latestLedger < state.latestLedger) {
    if (tip.latestClosedAt <= state.latestClosedAt) return 'same_network';
    // Or the newest known ledger was a false claim that was never shown.
    return state.anchor ? 'compare_hash' : 'reset';
  }
  // During a long outage a new network may have grown past the old one, but no faster than
  // ledgers close.
  const silentMs = nowMs - state.seenAt.getTime();
  const mayHaveOutgrown = silentMs >= HASH_CHECK_AFTER_MS && silentMs >= tip.latestLedger * SHORTEST_LEDGER_MS;
  return state.anchor && mayHaveOutgrown ? 'compare_hash' : 'same_network';
}

/** Whether a source's histories of accounts hold every payment: `lossy` ones may leave some out. */
export type Histories = 'complete' | 'lossy';

interface ModeFacts {
  tip: Pick<LedgerTip, 'latestLedger' | 'oldestLedger'>;
  feed: CursorDoc | null;
  /** Number of watched addresses; counting stops where more make no difference. */
  addresses: number;
  /** More addresses than this are read by the feed. */
  readOneByOne: number;
  histories: Histories;
  /** The lowest shown ledger among the addresses' cursors that are not far behind; null when there
   *  is none. */
  lowestNearLedger: number | null;
}

/** `start_feed`: begin the network's feed after this ledger. `detach_feed`: return to each
 *  address's own cursor. */
type ModePlan = { kind: 'accounts' | 'feed' | 'detach_feed' } | { kind: 'start_feed'; fromLedger: number };

/** A few addresses are read one by one, more by the network's feed. Half as many are needed to go
 *  back, so that the mode does not flap. */
export function planMode({ tip, feed, addresses, readOneByOne, histories, lowestNearLedger }: ModeFacts): ModePlan {
  const isLossy = histories === 'lossy';
  const most = isLossy ? 0 : readOneByOne;
  // The feed begins at the shown ledger: up to a merely claimed one, ledgers may be unread.
  const reach = Math.min(tip.latestLedger, lowestNearLedger ?? tip.latestLedger);
  const fromLedger = Math.max(tip.oldestLedger - 1, reach, 0);
  if (!feed && addresses > most) return { kind: 'start_feed', fromLedger };
  // A lossy history cannot supply what an address lacks from before the feed: begin the feed again.
  const isLacking =
    lowestNearLedger !== null && Math.max(tip.oldestLedger - 1, lowestNearLedger, 0) < (feed?.fromLedger ?? 0);
  if (feed && isLossy && isLacking) return { kind: 'start_feed', fromLedger };
  if (feed && addresses <= most / 2 && !isLossy) return { kind: 'detach_feed' };
  return { kind: feed ? 'feed' : 'accounts' };
}

/** The next ledger that an address lacks, if only a feed is reliable and this server has dropped
 *  it: another server may still have it, in its feed as well. Null when there is none. */
export function droppedLedger({
  tip,
  feed,
  histories,
  lowestNearLedger,
}: Pick<ModeFacts, 'tip' | 'feed' | 'histories' | 'lowestNearLedger'>): number | null {
  if (histories === 'complete' || lowestNearLedger === null) return null;
  const isCovered = feed !== null && lowestNearLedger >= feed.fromLedger!;
  return !isCovered && lowestNearLedger + 1 < tip.oldestLedger ? lowestNearLedger + 1 : null;
}

/** The oldest ledger that an address's cursor may stand at to count as near. */
export const nearFrom = (tip: Pick<LedgerTip, 'latestLedger'>): number => tip.latestLedger - NEAR_LEDGERS;

/** Consecutive failures of streams, and until when each waits. */
export type StreamFailures = ReadonlyMap<string, { untilMs: number }>;

/** Orders the streams of a round: those that failed come last, and are skipped while they wait if
 *  there are others. */
export function planStreams(streams: readonly CursorDoc[], failures: StreamFailures, nowMs: number): CursorDoc[] {
  const healthy = streams.filter(({ _id }) => !failures.has(_id));
  const failed = streams.filter(({ _id }) => failures.has(_id));
  const due = failed.filter(({ _id }) => failures.get(_id)!.untilMs <= nowMs);
  return healthy.length > 0 || due.length > 0 ? [...healthy, ...due] : failed;
}

/** `quiet_check`: first ask whether anything came, in an answer that shows how far its
 *  server is. */
type ReadPlan = 'nothing_new' | 'read' | 'quiet_check';

/** @param mustShow the ledger that the stream has to be shown before the feed can cover its
 *  address; null when it need not. */
export function planRead(
  cursor: Pick<CursorDoc, 'ledger' | 'shownLedger'>,
  tip: Pick<LedgerTip, 'latestLedger' | 'oldestLedger'>,
  mustShow: number | null,
): ReadPlan {
  // A lower tip is no reason to rest: an earlier one may have been a false claim.
  if (cursor.ledger === tip.latestLedger) return 'nothing_new';
  if (mustShow !== null && cursor.shownLedger < mustShow) return 'quiet_check';
  // Early enough: the server still keeps the ledgers that may have been missed.
  const longest = Math.min(LONGEST_QUIET_LEDGERS, Math.ceil((tip.latestLedger - tip.oldestLedger) / 20));
  return cursor.ledger - cursor.shownLedger > Math.max(10, longest) ? 'quiet_check' : 'read';
}

type GapPlan =
  | { kind: 'none' }
  /** This server still has the ledgers. */
  | { kind: 'read_elsewhere'; server: string }
  /** These servers may have them and do not answer. */
  | { kind: 'wait'; servers: string[] }
  /** No source has them any more. */
  | { kind: 'gap'; toLedger: number };

/** Decides what to do about ledgers that the session's server has dropped. @param fromLedger the
 *  first unread one. @param waitedMs how long servers were away */
export function planGap(
  fromLedger: number,
  tip: Pick<LedgerTip, 'oldestLedger'>,
  tips: readonly Pick<ServerTip, 'server' | 'tip'>[],
  waitedMs: number,
): GapPlan {
  if (fromLedger >= tip.oldestLedger) return { kind: 'none' };
  const answered = tips.flatMap((each) => (each.tip ? [{ server: each.server, ...each.tip }] : []));
  const holder = answered.find((each) => each.oldestLedger <= fromLedger && each.latestLedger >= fromLedger);
  if (holder) return { kind: 'read_elsewhere', server: holder.server };
  // A server that keeps older ledgers but has not reached these yet will have them.
  const away = tips.filter((each) => each.tip === null || each.tip.oldestLedger <= fromLedger);
  if (away.length > 0 && waitedMs < GAP_WAIT_MS) return { kind: 'wait', servers: away.map(({ server }) => server) };
  const kept = answered.map(({ oldestLedger }) => oldestLedger).filter((ledger) => ledger > fromLedger);
  return { kind: 'gap', toLedger: Math.min(tip.oldestLedger, ...kept) - 1 };
}

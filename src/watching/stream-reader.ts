/** Reads one stream from its cursor to its end. Pages are read ahead; the cursor moves in the
 *  transaction that stores them. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../kit/clock.js';
import {
  type LedgerSession,
  type LedgerTip,
  LedgerUnavailable,
  ledgerOfCursor,
  MOST_AMONG,
  type Page,
} from '../ledger/index.js';
import type { Recorder } from '../payments/index.js';
import type { CursorDoc, CursorStore, Progress } from './cursors.js';
import type { KnownCloses } from './network-states.js';
import { FARTHEST_BEHIND_LEDGERS, FARTHEST_BEHIND_MS, planRead, type StreamFailures } from './plan.js';
import { type Reading, readRecords } from './reading.js';
import type { WalletStore } from './wallet-store.js';

// Reads the next pages while earlier ones are being stored.

interface AheadPage {
  to: Progress;
  /** Another page follows. */
  full: boolean;
}

interface ReadAhead<P extends AheadPage> {
  /** Takes the pages read since the last call, in order: at least one, at most `atMost`. As many
   *  more are then read ahead.
   *  @throws what reading throws, once the pages before it are taken. */
  take(atMost: number): Promise<P[]>;
  /** Ends the reading. */
  stop(): void;
}

/** @param read reads the page after a cursor. */
export function readAhead<P extends AheadPage>(read: (from: CursorDoc) => Promise<P>, start: CursorDoc): ReadAhead<P> {
  const ready: P[] = [];
  let cursor = start;
  let atMost = 0;
  let ended = false;
  let reading: Promise<void> | null = null;

  function goOn(): void {
    if (reading || ended || ready.length >= atMost) return;
    reading = read(cursor).then((page) => {
      ready.push(page);
      cursor = { ...cursor, ...page.to };
      ended ||= !page.full;
      reading = null;
      goOn();
    });
    // `take` reports failures; unhandled here, one would end the process.
    reading.catch(() => undefined);
  }

  return {
    async take(wanted) {
      atMost = wanted;
      goOn();
      if (ready.length === 0) await reading;
      const taken = ready.splice(0, atMost);
      goOn();
      return taken;
    },
    stop() {
      ended = true;
    },
  };
}

// Streams whose reading failed, each with a pause of its own, so that one that always fails does
// not delay the others. The pause grows until the stream's cursor moves. In memory only: a restart
// tries all again.

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const MAX_REMEMBERED = 1000;

export function createStreamFailures() {
  const failures = new Map<string, { count: number; cursor: string; untilMs: number }>();
  return {
    all: failures as StreamFailures,
    /** Ids of the streams that are paused. */
    waiting: (nowMs: number): string[] => [...failures].flatMap(([id, { untilMs }]) => (untilMs > nowMs ? [id] : [])),
    /** @param cursor where the reading began */
    failed({ _id: id, cursor }: { _id: string; cursor: string }, nowMs: number): void {
      const before = failures.get(id);
      const count = before?.cursor === cursor ? before.count + 1 : 1;
      if (failures.size >= MAX_REMEMBERED) failures.clear();
      failures.set(id, {
        count,
        cursor,
        untilMs: nowMs + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (count - 1)),
      });
    },
    /** Consecutive failures at this cursor. */
    at: ({ _id: id, cursor }: { _id: string; cursor: string }): number => {
      const known = failures.get(id);
      return known?.cursor === cursor ? known.count : 0;
    },
    succeeded(id: string): void {
      failures.delete(id);
    },
  };
}

/** Most pages in one transaction; fewer after a slow one, because MongoDB aborts transactions that
 *  take too long. */
const PAGES_AT_ONCE = 8;
const LONG_STORE_MS = 2000;
const LONG_HISTORY_LEDGERS = 100;
const GONE_RETRY_MS = 5000;

export interface WatcherMetrics {
  payments(count: number): void;
  parked(count: number): void;
}

interface StreamReaderDeps {
  network: Network;
  wallets: Pick<WalletStore, 'at' | 'ours' | 'watchedAddresses'>;
  cursors: Pick<CursorStore, 'advance'>;
  recorder: Pick<Recorder, 'record'>;
  knownCloses: KnownCloses;
  clock: Clock;
  log: Logger;
  metrics: WatcherMetrics;
  eventsStored: () => void;
  recordsParked: () => void;
  /** Whether reading keeps failing at this cursor. */
  isStuck: (from: Pick<CursorDoc, '_id' | 'cursor'>) => boolean;
  pageLimit: number;
}

type SessionAndTip = Pick<ReadOptions, 'session' | 'tip'>;

export interface ReadOptions {
  session: LedgerSession;
  tip: LedgerTip;
  /** Reading ends after the current page. */
  enough: AbortSignal;
  role: StreamRole;
}

/** Determines how far a stream is read. */
export type StreamRole =
  /** An address outside the feed, read to its end. */
  | { kind: 'address' }
  /** An address that the feed does not cover yet: read until it is shown the feed's
   *  first ledger. */
  | { kind: 'straggler'; feedFrom: number }
  /** The network's feed. `fastForward` is called after 1, 2, 4, … pages; true ends the reading. */
  | { kind: 'feed'; fastForward: ((reached: CursorDoc, pages: number) => Promise<boolean>) | null };

interface PageRead extends Reading {
  to: Progress;
  full: boolean;
}

export type StreamReader = ReturnType<typeof createStreamReader>;

export function createStreamReader(deps: StreamReaderDeps) {
  return {
    quietCheck: (options: SessionAndTip, cursor: CursorDoc) => quietCheck(deps, options, cursor),

    /** @returns how many pages were read; a quiet check counts as one */
    async read(options: ReadOptions, cursor: CursorDoc): Promise<number> {
      const { role } = options;
      const plan = planRead(cursor, options.tip, role.kind === 'straggler' ? role.feedFrom : null);
      if (plan === 'nothing_new') return 0;
      if (plan === 'read') return readPages(deps, options, cursor);
      return (await quietCheck(deps, options, cursor)) ? 1 : 1 + (await readPages(deps, options, cursor));
    },
  };
}

/** Null when there are too many for one request. */
async function fewAddresses({ wallets, network }: StreamReaderDeps): Promise<readonly string[] | null> {
  const addresses = await wallets.watchedAddresses(network, { limit: MOST_AMONG + 1 });
  return addresses.length > MOST_AMONG ? null : addresses;
}

/** Whether a page limited to some addresses leaves out one that is watched by now. */
async function leavesOut(deps: StreamReaderDeps, { among }: Page): Promise<boolean> {
  if (among === null) return false;
  const watched = await fewAddresses(deps);
  return watched === null || watched.some((address) => !among.includes(address));
}

async function fetchPage(
  deps: StreamReaderDeps,
  session: LedgerSession,
  from: CursorDoc,
  hasRecords: boolean,
): Promise<Page> {
  const { address, cursor, shownLedger } = from;
  if (address !== null) return session.accountPayments(address, cursor, deps.pageLimit, { shownLedger, hasRecords });
  for (;;) {
    const among = () => fewAddresses(deps);
    const page = await session.payments(cursor, deps.pageLimit, { shownLedger, among });
    if (!(await leavesOut(deps, page))) return page;
  }
}

/** @throws LedgerUnavailable when the server has dropped what comes next; until its tip shows that,
 *  the wallet lags */
async function readPage(deps: StreamReaderDeps, { session, tip }: ReadOptions, from: CursorDoc): Promise<PageRead> {
  const page = await fetchPage(deps, session, from, hasKeptRecords(tip, from));
  if (page.gone || (await wasCut(session, tip, from)))
    throw new LedgerUnavailable('it no longer has the next records', GONE_RETRY_MS);
  const { address: historyOf, shownClosedAt: closedFrom } = from;
  // One incomplete record must not block the others.
  const leavesBehind = deps.isStuck(from) ? 'everything' : 'one_by_one';
  const { network, clock } = deps;
  const reading = await readRecords(
    {
      ...{ network, session, clock, historyOf, closedFrom, leavesBehind },
      isOurs: (addresses) => deps.wallets.ours(network, addresses),
    },
    page.records,
  );
  if (page.full && (page.cursor === null || page.cursor === from.cursor))
    throw new LedgerUnavailable('its full page does not advance', GONE_RETRY_MS);
  return { ...reading, to: progressAfter(deps, page, tip, from), full: page.full };
}

/** The cursor after this page. */
function progressAfter(deps: StreamReaderDeps, page: Page, tip: LedgerTip, from: CursorDoc): Progress {
  for (const { outcome } of page.records)
    if (outcome.kind === 'credits')
      for (const { ledger, closedAt } of outcome.credits) deps.knownCloses.note({ ledger, closedAt });
  const cursor = page.cursor === null ? from.cursor : larger(from.cursor, page.cursor);
  // The last ledger of a full page may continue on the next one.
  const shown = page.full ? ledgerOfCursor(cursor) - 1 : page.shownLedger;
  return {
    ...(shown === null ? shownOf(from) : shownUpTo(deps, from, shown)),
    cursor,
    ledger: page.full ? Math.max(from.ledger, ledgerOfCursor(cursor) - 1) : tip.latestLedger,
    closedAt: page.full ? from.closedAt : tip.latestClosedAt,
    readAt: deps.clock.now(),
    recordLedger: from.address === null ? null : newestOf(page, from.recordLedger),
  };
}

/** A ledger without a known close time takes that of a known earlier one, or the cursor's: never
 *  too late. */
function shownUpTo(
  { knownCloses }: StreamReaderDeps,
  from: CursorDoc,
  ledger: number,
): Pick<Progress, 'shownLedger' | 'shownClosedAt'> {
  if (ledger <= from.shownLedger) return shownOf(from);
  const close = knownCloses.atOrBefore(ledger);
  // A later ledger that closed earlier: the time of before was a false claim.
  const isKnown = close !== null && (close.closedAt > from.shownClosedAt || close.ledger > from.shownLedger);
  return { shownLedger: ledger, shownClosedAt: isKnown ? close.closedAt : from.shownClosedAt };
}

/** Whether the server dropped ledgers between its tip and this page, which a page does not show.
 *  Near the end of a long history nothing can be missing; otherwise the tip is requested again. */
async function wasCut(session: LedgerSession, tip: LedgerTip, { shownLedger }: CursorDoc): Promise<boolean> {
  const kept = tip.latestLedger - tip.oldestLedger;
  if (kept >= LONG_HISTORY_LEDGERS && (tip.latestLedger - shownLedger) * 10 <= kept) return false;
  return (await session.tip()).oldestLedger > shownLedger + 1;
}

/** Stores consecutive pages and moves the cursor past them, in one transaction. @returns false when
 *  another reader had moved it. */
async function store(deps: StreamReaderDeps, from: CursorDoc, pages: readonly PageRead[]): Promise<boolean> {
  const { cursors, recorder, network, metrics, log } = deps;
  const { to } = pages.at(-1)!;
  const credits = pages.flatMap((page) => page.credits);
  const refunds = pages.flatMap((page) => page.refunds);
  const parked = pages.flatMap((page) => page.parked);
  if (credits.length + refunds.length + parked.length === 0) return cursors.advance(from, to);
  const stored = await recorder.record(network, { credits, refunds, parked }, { from, to });
  if (parked.length > 0) {
    metrics.parked(parked.length);
    for (const { _id, reason } of parked) log.warn({ network, record: _id, reason }, 'record parked');
    deps.recordsParked();
  }
  metrics.payments(stored.length);
  for (const { _id, status, reason, ledger } of stored)
    log.info({ network, payment: _id, status, reason, ledger }, 'payment');
  if (stored.length > 0 || refunds.length > 0) deps.eventsStored();
  return true;
}

/** The lowest ledger to assume of a server that does not say how far it is; null while the
 *  network's pace is unknown. */
function leastShown({ knownCloses }: StreamReaderDeps, { latestLedger }: LedgerTip): number | null {
  const pace = knownCloses.pace();
  return pace && latestLedger - Math.max(FARTHEST_BEHIND_LEDGERS, Math.ceil(FARTHEST_BEHIND_MS / pace));
}

/** Asks whether anything came after the cursor, in one answer that shows how far its server is. If
 *  nothing came, moves the cursor.
 *  @returns the moved cursor; null when something came or may have come */
async function quietCheck(
  deps: StreamReaderDeps,
  { session, tip }: SessionAndTip,
  from: CursorDoc,
): Promise<CursorDoc | null> {
  const { isQuiet, shownLedger } = await session.quietCheck(from.address, from.cursor, {
    shownLedger: from.shownLedger,
    hasRecords: hasKeptRecords(tip, from),
  });
  // A server that dropped ledgers cannot vouch for them.
  if (!isQuiet || (await wasCut(session, tip, from))) return null;
  const shown = shownLedger ?? leastShown(deps, tip) ?? from.shownLedger;
  const to: Progress = {
    ...shownUpTo(deps, from, shown),
    cursor: from.cursor,
    ledger: tip.latestLedger,
    closedAt: tip.latestClosedAt,
    readAt: deps.clock.now(),
    recordLedger: from.recordLedger,
  };
  await deps.cursors.advance(from, to);
  return { ...from, ...to };
}

async function readPages(deps: StreamReaderDeps, options: ReadOptions, start: CursorDoc): Promise<number> {
  const { session, enough, role } = options;
  const fastForward = role.kind === 'feed' ? role.fastForward : null;
  // Fetch and parse the next pages while MongoDB stores.
  const ahead = readAhead((from) => readPage(deps, options, from), start);
  let cursor = start;
  let pages = 0;
  let askAt = 1;
  // Begin with one page, so that a round advances even if storing several at once fails.
  let atOnce = 1;
  try {
    do {
      const read = await ahead.take(atOnce);
      const { to, full } = read.at(-1)!;
      const startedMs = deps.clock.nowMs();
      const moved = await store(deps, cursor, read);
      const isLong = deps.clock.nowMs() - startedMs > LONG_STORE_MS;
      atOnce = isLong ? Math.ceil(read.length / 2) : Math.min(2 * atOnce, PAGES_AT_ONCE);
      pages += read.length;
      if (!moved || !full || session.isStale()) return pages;
      cursor = { ...cursor, ...to };
      if (fastForward && pages >= askAt) {
        askAt = 2 * pages;
        if (await fastForward(cursor, pages)) return pages;
      }
    } while (!enough.aborted);
  } finally {
    ahead.stop();
  }
  return pages;
}

/** Whether a server that keeps as much as the tip says must know the address. */
const hasKeptRecords = ({ oldestLedger }: LedgerTip, { recordLedger }: CursorDoc): boolean =>
  recordLedger !== null && recordLedger >= oldestLedger;

/** The newest ledger among the page's records, or the known one. */
const newestOf = ({ records }: Page, known: number | null): number | null =>
  records.reduce<number | null>((newest, { outcome: { pagingToken } }) => {
    return pagingToken === null ? newest : Math.max(newest ?? 0, ledgerOfCursor(pagingToken));
  }, known);

const shownOf = ({ shownLedger, shownClosedAt }: Progress) => ({ shownLedger, shownClosedAt });

const larger = (a: string, b: string): string => (BigInt(a) >= BigInt(b) ? a : b);

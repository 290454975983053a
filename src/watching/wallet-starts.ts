/** Starts watching the address of each wallet created or activated since the last round, and stops
 *  where its last window is read to the end. */
import type { Network } from '../../contracts/networks.js';
import { cursorId, FEED, isShownPast, type ReadTo, shownCursor, wasRead } from '../domain/coverage.js';
import { type LedgerClose, type LedgerStamp, secondBefore, secondOf, type WatchWindow } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import { cursorAfter, type LedgerSession, type LedgerTip } from '../ledger/index.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { Modes } from './mode.js';
import type { KnownCloses, NetworkStateDoc } from './network-states.js';
import type { ReadOptions, StreamReader } from './stream-reader.js';
import type { WalletDoc, WalletStore } from './wallet-store.js';

// Stops watching inactive wallets once their last window is shown to be read to its end.

const STOPPED_BATCH = 1000;
/** Quiet checks in one round. */
const CHECKS_PER_ROUND = 20;

interface EndedWallet {
  wallet: WalletDoc;
  cursor: CursorDoc | null;
  isDone: boolean;
}

/** Determines which inactive wallets are done. Pure. */
export function planStops(
  ended: readonly WalletDoc[],
  own: ReadonlyMap<string, CursorDoc>,
  feed: CursorDoc | null,
): EndedWallet[] {
  return ended.map((wallet) => {
    const cursor = shownCursor(own.get(cursorId(wallet.network, wallet.address)), feed) ?? null;
    const until = wallet.windows.at(-1)?.until;
    // Without a cursor it was never restarted, because nothing of its new window was unread.
    const isDone = cursor
      ? until && isShownPast(cursor, until)
      : wallet.windows.every((each) => wasRead(each, undefined, wallet.readTo));
    return { wallet, cursor, isDone: Boolean(isDone) };
  });
}

function readToOf({ windows }: WalletDoc, { shownLedger, shownClosedAt, readAt }: CursorDoc): ReadTo {
  const { at, ledger } = windows.at(-1)!.until!;
  return {
    ledger: Math.min(shownLedger, ledger ?? shownLedger),
    at: readAt,
    closedAt: at > shownClosedAt ? at : shownClosedAt,
  };
}

/** The streams past their wallet's end by claimed ledgers but not by shown ones. Pure. */
export function streamsToCheck(planned: readonly EndedWallet[]): CursorDoc[] {
  const streams = planned.flatMap(({ wallet, cursor, isDone }) => {
    const until = wallet.windows.at(-1)?.until;
    const seemsPast =
      until && cursor && isShownPast({ ...cursor, shownLedger: cursor.ledger, shownClosedAt: cursor.closedAt }, until);
    return !isDone && seemsPast ? [cursor] : [];
  });
  return [...new Map(streams.map((each) => [each._id, each])).values()].slice(0, CHECKS_PER_ROUND);
}

export function createWalletStops(deps: {
  network: Network;
  wallets: Pick<WalletStore, 'inactiveButWatching' | 'stopWatching'>;
  cursors: Pick<CursorStore, 'byId' | 'byIds'>;
  reader: Pick<StreamReader, 'quietCheck'>;
  modes: Pick<Modes, 'forgetUnwatched'>;
}) {
  const { network, wallets, cursors, reader, modes } = deps;
  /** The newest ledger when each stream was last checked: once per ledger is enough. */
  let checked = new Map<string, number>();

  async function plan(): Promise<{ planned: EndedWallet[]; own: CursorDoc[] }> {
    const ended = await wallets.inactiveButWatching(network, STOPPED_BATCH);
    if (ended.length === 0) return { planned: [], own: [] };
    const own = await cursors.byIds([...new Set(ended.map(({ address }) => cursorId(network, address)))]);
    const feed = await cursors.byId(cursorId(network, FEED));
    return { planned: planStops(ended, new Map(own.map((each) => [each._id, each])), feed), own };
  }

  async function check(
    options: Pick<ReadOptions, 'session' | 'tip'>,
    planned: readonly EndedWallet[],
  ): Promise<boolean> {
    const due = streamsToCheck(planned).filter(({ _id }) => checked.get(_id) !== options.tip.latestLedger);
    checked = new Map(due.map(({ _id }) => [_id, options.tip.latestLedger]));
    for (const stream of due) await reader.quietCheck(options, stream);
    return due.length > 0;
  }

  return {
    /** Ids of wallets that are read to their end: ledgers dropped from now on are no gap
     *  for them. */
    async done(): Promise<string[]> {
      return (await plan()).planned.filter(({ isDone }) => isDone).map(({ wallet }) => wallet._id);
    },

    /** @throws LedgerUnavailable */
    async stopAll(options: Pick<ReadOptions, 'session' | 'tip'>): Promise<void> {
      let { planned, own } = await plan();
      if (await check(options, planned)) ({ planned, own } = await plan());
      const done = planned.filter(({ isDone }) => isDone);
      for (const { wallet, cursor } of done) {
        await wallets.stopWatching(wallet._id, cursor ? readToOf(wallet, cursor) : wallet.readTo!);
      }
      const addresses = new Set(done.map(({ wallet }) => wallet.address));
      await modes.forgetUnwatched(own.filter(({ address }) => addresses.has(address!)));
    },
  };
}

const BATCH = 1000;
const NEVER_MS = 8_640_000_000_000_000;
/** Reading may begin up to this long (about three ledgers) before a window: finding the exact
 *  ledger takes ten requests. */
const EARLIER_MS = 15_000;
/** The first ledger that can hold a payment. A server whose oldest ledger is newer has dropped the
 *  network's first ledgers. */
const FIRST_LEDGER = 3;

interface StartFacts {
  tip: LedgerTip;
  state: Pick<NetworkStateDoc, 'latestLedger' | 'resetAt'> | null;
}

/** Facts shared by a batch of starts. */
interface Search extends StartFacts {
  session: LedgerSession;
  /** A search has shown that no kept ledger closed at or before this time. */
  noneAtMs: number;
}

/** The windows of an address that still have to be read; those that ended before the last reset
 *  are lost. */
export function unreadWindows(
  walletsOfAddress: readonly Pick<WalletDoc, 'windows' | 'readTo'>[],
  own: CursorDoc | undefined,
  state: StartFacts['state'],
): WatchWindow[] {
  const resetAt = state?.resetAt ?? null;
  return walletsOfAddress
    .flatMap(({ windows, readTo }) => windows.filter((window) => !wasRead(window, own, readTo)))
    .filter(({ until }) => until === null || resetAt === null || until.at > resetAt);
}

/** A ledger number above the tip predates a reset. */
const isOfOtherNetwork = ({ ledger }: LedgerStamp, { tip, state }: StartFacts): boolean =>
  ledger !== null && ledger > Math.max(tip.latestLedger, state?.latestLedger ?? 0);

/** The ledger after which a window begins, by its stamp; null when it must be searched for by time,
 *  as when the stamp is older than the oldest kept ledger. */
export function startOf({ from }: WatchWindow, { tip, state }: StartFacts): LedgerClose | null {
  if (from.ledger === null || from.ledger + 1 < tip.oldestLedger || isOfOtherNetwork(from, { tip, state })) return null;
  // Ledgers of the same second are read too; none closed earlier.
  return { ledger: from.ledger, closedAt: secondOf(from.at) };
}

const beginOf = (windows: readonly WatchWindow[]): number =>
  Math.min(...windows.map(({ from }) => from.at.getTime()), NEVER_MS);

/** A known ledger that closed shortly before a time. After a reset, which another process may have
 *  handled, older ones belong to the old network. */
export function knownStart(knownCloses: KnownCloses, before: Date, { tip, state }: StartFacts): LedgerClose | null {
  const known = knownCloses.closedAtOrBefore(before);
  if (!known || before.getTime() - known.closedAt.getTime() > EARLIER_MS) return null;
  const resetAt = state?.resetAt ?? null;
  const isOfNetwork = known.ledger <= tip.latestLedger && (resetAt === null || known.closedAt > resetAt);
  // Ledgers dropped before the window began are no gap.
  return isOfNetwork && known.ledger + 1 >= tip.oldestLedger ? known : null;
}

interface WalletStartsDeps {
  network: Network;
  wallets: Pick<WalletStore, 'notStarted' | 'at' | 'startWatching'>;
  cursors: Pick<CursorStore, 'byIds' | 'save'>;
  knownCloses: KnownCloses;
  clock: Clock;
}

export function createWalletStarts(deps: WalletStartsDeps) {
  const { network, wallets } = deps;

  return {
    /** @throws LedgerUnavailable when a start must be searched for and no source answers; wallets
     *  started before stay started */
    async startAll(session: LedgerSession, facts: StartFacts): Promise<void> {
      for (;;) {
        const batch = await wallets.notStarted(network, BATCH);
        if (batch.length > 0) await start(deps, session, batch, facts);
        if (batch.length < BATCH) return;
      }
    },
  };
}

/** @throws LedgerUnavailable */
async function searchStart(
  { knownCloses }: WalletStartsDeps,
  { from }: WatchWindow,
  search: Search,
): Promise<LedgerClose> {
  // Include ledgers of the same second.
  const before = secondBefore(from.at);
  const known = knownStart(knownCloses, before, search);
  if (known) return known;
  const isSearched = before.getTime() > search.noneAtMs;
  const found = isSearched ? await search.session.ledgerAtOrBefore(before) : null;
  if (found) {
    const close = { ledger: found.sequence, closedAt: found.closedAt };
    knownCloses.note(close);
    return close;
  }
  const { resetAt } = search.state ?? {};
  search.noneAtMs = Math.max(search.noneAtMs, before.getTime());
  // Every kept ledger is younger: after a reset, begin with the network; otherwise ledgers may have
  // been dropped.
  const isOther = isOfOtherNetwork(from, search);
  const isWhole = resetAt && (from.at <= resetAt || isOther);
  const beginning = Math.min(search.tip.oldestLedger, FIRST_LEDGER) - 1;
  return { ledger: isWhole ? beginning : isOther ? 0 : (from.ledger ?? 0), closedAt: before };
}

/** The earliest ledger and the earliest time, perhaps of two windows: nothing before either is left
 *  to read. */
async function earliestStart(
  deps: WalletStartsDeps,
  windows: readonly WatchWindow[],
  search: Search,
): Promise<LedgerClose | null> {
  const starts: LedgerClose[] = [];
  for (const window of windows) starts.push(startOf(window, search) ?? (await searchStart(deps, window, search)));
  if (starts.length === 0) return null;
  const closes = starts.map(({ closedAt }) => closedAt.getTime());
  return { ledger: Math.min(...starts.map(({ ledger }) => ledger)), closedAt: new Date(Math.min(...closes)) };
}

async function start(
  deps: WalletStartsDeps,
  session: LedgerSession,
  batch: readonly WalletDoc[],
  facts: StartFacts,
): Promise<void> {
  const { cursors, network, wallets, clock } = deps;
  const addresses = [...new Set(batch.map(({ address }) => address))];
  const own = new Map(
    (await cursors.byIds(addresses.map((address) => cursorId(network, address)))).map((each) => [each._id, each]),
  );
  const all = await wallets.at(network, addresses);
  const plans = addresses.map((address) => {
    const known = own.get(cursorId(network, address));
    const ofAddress = all.filter((wallet) => wallet.address === address);
    return { address, known, unread: unreadWindows(ofAddress, known, facts.state) };
  });
  // Known ledgers first, so that they never wait for a search. Then the oldest: one search serves
  // the starts shortly after it.
  const isSearched = (unread: readonly WatchWindow[]) => Number(unread.some((window) => !startOf(window, facts)));
  plans.sort((a, b) => isSearched(a.unread) - isSearched(b.unread) || beginOf(a.unread) - beginOf(b.unread));
  const search = { ...facts, session, noneAtMs: Number.NEGATIVE_INFINITY };
  const starts: CursorDoc[] = [];
  const done = new Set<string>();
  try {
    for (const { address, known, unread } of plans) {
      const _id = cursorId(network, address);
      const found = await earliestStart(deps, unread, search);
      const readAt = clock.now();
      if (found && (!known || known.shownLedger < found.ledger))
        starts.push(cursorAt(deps, _id, address, found, readAt));
      // Saved with a new time, so that a stalled process about to remove the cursor finds it
      // in use.
      else if (known) starts.push({ ...known, readAt });
      done.add(address);
    }
  } finally {
    // If a source failed, the next round continues from here.
    await cursors.save(starts);
    await wallets.startWatching(batch.filter(({ address }) => done.has(address)));
  }
}

const cursorAt = (
  { network }: WalletStartsDeps,
  _id: string,
  address: string,
  { ledger, closedAt }: LedgerClose,
  readAt: Date,
): CursorDoc => ({
  _id,
  network,
  address,
  cursor: cursorAfter(ledger),
  ledger,
  closedAt,
  readAt,
  shownLedger: ledger,
  shownClosedAt: closedAt,
  fromLedger: null,
  recordLedger: null,
});

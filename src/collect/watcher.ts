/** Watches one network: finds out how far it has come, reads what is new for the wallets, stores it, and only then moves the position.
 *
 *  A few addresses are read one by one, each by its own position. Beyond that the network's feed of all payments is read instead, at a cost that
 *  does not grow with the wallets; an address joins the feed as soon as its own position has reached what the feed covers without a hole.
 *  Reading a stretch twice is harmless, so every change of the way of reading overlaps rather than leaves a gap. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { isAtOrAfter, type LedgerStamp, type WatchWindow } from '../domain/terms.js';
import type { HorizonSession, Root } from '../ledger/horizon/source.js';
import { cursorAfter, ledgerOf } from '../ledger/horizon/toid.js';
import { HorizonUnavailable } from '../ledger/horizon/unavailable.js';
import type { CursorDoc, CursorStore, Progress } from '../stores/cursors.js';
import type { NetworkStateDoc, NetworkStateStore } from '../stores/network-states.js';
import type { ParkedRecordStore } from '../stores/parked-records.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { ProductStore } from '../stores/products.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';
import { readAhead } from './read-ahead.js';
import { type Reading, readRecords } from './reading.js';
import type { Recorder } from './recorder.js';

const PAGE_LIMIT = 200;
/** Stored in one transaction, when that many have been read: fewer once that takes long, because MongoDB ends transactions that take too long. */
const PAGES_AT_ONCE = 8;
const LONG_STORE_MS = 2000;
const READ_ONE_BY_ONE = 2;
const TAKE_UP_LIMIT = 1000;
/** Stragglers read in one round besides the feed. */
const STRAGGLERS_PER_ROUND = 20;
const ANCHOR_EVERY_LEDGERS = 1000;
const LONG_HISTORY_LEDGERS = 100;
/** Addresses further behind are read one by one until they reach what the feed covers. */
const NEAR_LEDGERS = 100;
/** Behind one URL may stand several servers, and the one that told the newest ledger may be ahead of the one that answered with a page. Whatever
 *  would leave a stretch unread for good therefore keeps this many ledgers' distance. */
const SAFE_DISTANCE = 10;

export interface WatcherMetrics {
  payments(count: number): void;
  parked(count: number): void;
}

export interface WatcherDeps {
  network: Network;
  wallets: WalletStore;
  cursors: CursorStore;
  networkStates: NetworkStateStore;
  parkedRecords: ParkedRecordStore;
  recorder: Recorder;
  products: Pick<ProductStore, 'forgetLedgers'>;
  paymentLinks: Pick<PaymentLinkStore, 'forgetLedgers'>;
  clock: Clock;
  log: Logger;
  metrics: WatcherMetrics;
  /** Called when payments, and with them perhaps deliveries, were stored. */
  paymentsStored: () => void;
  /** Records of one page. Default 200, which is Horizon's largest. */
  pageLimit?: number;
  /** More addresses than this are read by the feed; half as many or fewer one by one again. Default 2: from there on the feed costs fewer requests. */
  readOneByOne?: number;
}

interface PageRead extends Reading {
  to: Progress;
  full: boolean;
}

export type Watcher = ReturnType<typeof createWatcher>;

export function createWatcher(deps: WatcherDeps) {
  const {
    network,
    wallets,
    products,
    paymentLinks,
    cursors,
    networkStates,
    parkedRecords,
    recorder,
    clock,
    log,
    metrics,
  } = deps;
  const { pageLimit = PAGE_LIMIT, readOneByOne = READ_ONE_BY_ONE } = deps;
  const idOf = (source: string) => `${network}:${source}`;
  const feedId = idOf('feed');

  /** The moment up to which everything has been read when a page is not full. */
  const newest = (root: Root, position: CursorDoc, cursor: string): Progress => ({
    cursor,
    ledger: Math.max(position.ledger, root.latestLedger),
    closedAt: root.latestLedger > position.ledger ? root.latestClosedAt : position.closedAt,
    readAt: clock.now(),
  });

  async function isOurs(addresses: readonly string[]): Promise<ReadonlySet<string>> {
    if (addresses.length === 0) return new Set();
    return new Set((await wallets.at(network, addresses)).map((wallet) => wallet.address));
  }

  /** Reads a source from its position to its end. @returns how many pages it read */
  async function readSource(
    session: HorizonSession,
    root: Root,
    start: CursorDoc,
    signal: AbortSignal,
  ): Promise<number> {
    // Horizon is asked, and its answers read, while MongoDB stores.
    const ahead = readAhead((from) => readPage(session, root, from), start);
    let position = start;
    let pages = 0;
    let lookAt = 1;
    // Always from one page on: where several at once were ended, the next round must come further.
    let atOnce = 1;
    try {
      while (!signal.aborted) {
        const read = await ahead.take(atOnce);
        const { to, full } = read.at(-1)!;
        const startedMs = clock.nowMs();
        const moved = await store(position, read);
        const isLong = clock.nowMs() - startedMs > LONG_STORE_MS;
        atOnce = isLong ? Math.ceil(read.length / 2) : Math.min(2 * atOnce, PAGES_AT_ONCE);
        pages += read.length;
        if (!moved || !full) return pages;
        position = { ...position, ...to };
        // Looked at when twice as many pages have been read as the last time: what was read says how much is to come.
        if (position.address === null && pages >= lookAt) {
          lookAt = 2 * pages;
          const reached = ledgerOf(BigInt(position.cursor));
          const pagesLeft = ((root.latestLedger - reached) / Math.max(1, reached - start.ledger)) * pages;
          if (await leaveBehind(session, root, position, pagesLeft)) return pages;
        }
      }
    } finally {
      ahead.stop();
    }
    return pages;
  }

  /** Stores pages that follow each other, and only with them moves the position. @returns false when another reader had moved it. */
  async function store(from: CursorDoc, pages: readonly PageRead[]): Promise<boolean> {
    const { to } = pages.at(-1)!;
    const credits = pages.flatMap((page) => page.credits);
    const parked = pages.flatMap((page) => page.parked);
    if (parked.length > 0) {
      await parkedRecords.park(parked);
      metrics.parked(parked.length);
      for (const { _id, reason } of parked) log.warn({ network, record: _id, reason }, 'record parked');
    }
    if (credits.length === 0) return cursors.advance(from, to);
    const stored = await recorder.record(network, credits, { from, to });
    metrics.payments(stored.length);
    for (const { _id, status, reason, ledger } of stored)
      log.info({ network, payment: _id, status, reason, ledger }, 'payment');
    if (stored.length > 0) deps.paymentsStored();
    return true;
  }

  /** After a long outage: when what the feed has to catch up is more pages than there are addresses, each address catches up by itself, and the
   *  feed goes on from the newest ledgers. @returns whether it does */
  async function leaveBehind(
    session: HorizonSession,
    root: Root,
    feed: CursorDoc,
    pagesLeft: number,
  ): Promise<boolean> {
    if (pagesLeft <= 1) return false;
    const addresses = await wallets.watchedAddresses(network, { limit: Math.ceil(pagesLeft) });
    const fromLedger = root.latestLedger - SAFE_DISTANCE;
    if (addresses.length >= pagesLeft || fromLedger <= feed.ledger) return false;
    const started = await feedFrom(session, root, fromLedger);
    // First: as long as the feed stands where it was, it speaks for them still.
    await standAlone(addresses, feed);
    await cursors.put([started]);
    log.info(
      { network, fromLedger, addresses: addresses.length },
      'the feed goes on from the newest ledgers, each address catches up',
    );
    return true;
  }

  /** Moves the own cursors of addresses for which the feed speaks to where it has come. */
  async function standAlone(addresses: readonly string[], feed: CursorDoc): Promise<void> {
    for (let from = 0; from < addresses.length; from += TAKE_UP_LIMIT) {
      const own = await cursors.byIds(addresses.slice(from, from + TAKE_UP_LIMIT).map(idOf));
      const spokenFor = own.filter((position) => covering(position, feed) === feed);
      await cursors.put(spokenFor.map((position) => ({ ...position, ...progressOf(feed) })));
    }
  }

  /** The close of its ledger is asked for: wallets are let go by it, so that a later moment would lose what comes between. */
  async function feedFrom(session: HorizonSession, root: Root, fromLedger: number): Promise<CursorDoc> {
    const ledger = await session.ledger(fromLedger);
    return {
      ...newPosition(null, root),
      cursor: cursorAfter(fromLedger),
      ledger: fromLedger,
      closedAt: ledger && ledger !== 'gone' ? ledger.closedAt : new Date(0),
      fromLedger,
    };
  }

  /** The page behind a position, and where the position is to move once that page is stored. */
  async function readPage(session: HorizonSession, root: Root, from: CursorDoc): Promise<PageRead> {
    const page =
      from.address === null
        ? await session.payments(from.cursor, pageLimit)
        : await session.accountPayments(from.address, from.cursor, pageLimit);
    // Its root may not say so yet; until it does, the wallet lags, and is not taken for read.
    if (page.gone || (await wasCut(session, root, from)))
      throw new HorizonUnavailable('it no longer has what comes next', 5000);
    const ofOneAddress = from.address !== null;
    const reading = await readRecords({ network, session, clock, isOurs, ofOneAddress }, page.records);
    const cursor = page.cursor === null ? from.cursor : larger(from.cursor, page.cursor);
    if (page.full && cursor === from.cursor)
      throw new HorizonUnavailable('it answers a full page that leads nowhere', 5000);
    const to: Progress = page.full
      ? // The last ledger of a full page may go on in the next one.
        {
          ...progressOf(from),
          cursor,
          ledger: Math.max(from.ledger, ledgerOf(BigInt(cursor)) - 1),
          readAt: clock.now(),
        }
      : newest(root, from, cursor);
    return { ...reading, to, full: page.full };
  }

  /** Whether Horizon dropped ledgers between its root and this page: it leaves them out without a word. Near the end of a long history none can
   *  be missing; elsewhere the root is asked once more. */
  async function wasCut(session: HorizonSession, root: Root, position: CursorDoc): Promise<boolean> {
    const kept = root.latestLedger - root.elderLedger;
    if (kept >= LONG_HISTORY_LEDGERS && (root.latestLedger - position.ledger) * 10 <= kept) return false;
    return (await session.root()).elderLedger > position.ledger + 1;
  }

  /** Ledgers that Horizon dropped before they were read: said aloud, then passed over. */
  async function passGap(root: Root, position: CursorDoc): Promise<CursorDoc> {
    if (position.ledger + 1 >= root.elderLedger) return position;
    const gap = { fromLedger: position.ledger + 1, toLedger: root.elderLedger - 1, at: clock.now() };
    log.error({ network, source: position._id, ...gap }, 'Horizon no longer has ledgers that were not read');
    const { address } = position;
    // They miss nothing, and are only not let go yet.
    const done = await readToTheirEnd(address === null ? position : null);
    await wallets.flagGap(network, { gap, address, without: done.map(({ wallet }) => wallet._id) });
    const cursor = larger(position.cursor, cursorAfter(gap.toLedger));
    const moved = { ...position, cursor, ledger: gap.toLedger, readAt: clock.now() };
    await cursors.put([moved]);
    return moved;
  }

  /** A test network that began anew: what came before it is lost, and watching goes on from its newest ledger. */
  async function startAnew(root: Root, state: NetworkStateDoc): Promise<void> {
    const gap = { fromLedger: 1, toLedger: root.latestLedger, at: clock.now() };
    log.error({ network, ledgerBefore: state.latestLedger, ledgerNow: root.latestLedger }, 'the network was reset');
    await wallets.flagGap(network, { gap, address: null, without: [] });
    // What payments are judged by was marked with ledgers of the old network too.
    const walletIds = await wallets.forgetLedgers(network);
    await paymentLinks.forgetLedgers(await products.forgetLedgers(walletIds));
    const feed = await cursors.byId(feedId);
    if (feed) await cursors.put([newPosition(null, root)]);
    for (let after: string | undefined; ; ) {
      const addresses = await wallets.watchedAddresses(network, { ...(after ? { after } : {}), limit: TAKE_UP_LIMIT });
      if (addresses.length === 0) break;
      await cursors.put(addresses.map((address) => newPosition(address, root)));
      after = addresses.at(-1);
    }
    await networkStates.put(network, { anchor: null });
  }

  const newPosition = (address: string | null, root: Root): CursorDoc => ({
    _id: idOf(address ?? 'feed'),
    network,
    address,
    cursor: cursorAfter(root.latestLedger),
    ledger: root.latestLedger,
    closedAt: root.latestClosedAt,
    readAt: clock.now(),
    fromLedger: address === null ? root.latestLedger : null,
  });

  /** Whether the network has begun anew. A base that merely lags shows an old ledger that closed long ago, not a young one with a low number. */
  async function wasReset(session: HorizonSession, root: Root, state: NetworkStateDoc): Promise<boolean> {
    if (root.latestLedger < state.latestLedger) return root.latestClosedAt > state.latestClosedAt;
    if (!state.anchor) return false;
    // After a silence the new network may have outgrown the old one: only a hash tells.
    if (clock.nowMs() - state.seenAt.getTime() < 60_000) return false;
    const ledger = await session.ledger(state.anchor.ledger);
    return ledger !== null && ledger !== 'gone' && ledger.hash !== state.anchor.hash;
  }

  async function keepAnchor(session: HorizonSession, root: Root, state: NetworkStateDoc | null): Promise<void> {
    if (state?.anchor && root.latestLedger - state.anchor.ledger < ANCHOR_EVERY_LEDGERS) return;
    const ledger = await session.ledger(root.latestLedger);
    if (ledger && ledger !== 'gone') {
      await networkStates.put(network, { anchor: { ledger: ledger.sequence, hash: ledger.hash } });
    }
  }

  /** Gives cursors to wallets that were made or made active since the last round. */
  async function takeUpWallets(session: HorizonSession, root: Root): Promise<void> {
    for (;;) {
      const batch = await wallets.notStarted(network, TAKE_UP_LIMIT);
      if (batch.length > 0) await takeUp(session, root, batch);
      if (batch.length < TAKE_UP_LIMIT) return;
    }
  }

  async function takeUp(session: HorizonSession, root: Root, batch: readonly WalletDoc[]): Promise<void> {
    const known = new Map(
      (await cursors.byIds(batch.map(({ address }) => idOf(address)))).map((position) => [position._id, position]),
    );
    const others = await wallets.at(network, [...new Set(batch.map((wallet) => wallet.address))]);
    const starts: CursorDoc[] = [];
    for (const address of new Set(batch.map((wallet) => wallet.address))) {
      const position = known.get(idOf(address));
      const unread = others
        .filter((wallet) => wallet.address === address)
        .flatMap(({ windows, readTo }) => windows.filter((window) => !wasRead(window, position, readTo)));
      const start = await startOf(session, root, unread);
      if (start !== null && (!position || position.ledger < start.ledger)) {
        starts.push({
          _id: idOf(address),
          network,
          address,
          cursor: cursorAfter(start.ledger),
          ledger: start.ledger,
          closedAt: start.closedAt,
          readAt: clock.now(),
          fromLedger: null,
        });
      }
    }
    await cursors.put(starts);
    await wallets.takeUp(batch);
  }

  /** The last ledger before the first of some windows. */
  async function startOf(session: HorizonSession, root: Root, windows: readonly WatchWindow[]) {
    let earliest: { ledger: number; closedAt: Date } | null = null;
    for (const { from } of windows) {
      let start = { ledger: from.ledger ?? 0, closedAt: from.at };
      // Horizon was away when the window was opened, then or before. Ledgers of the same second count.
      if (from.ledger === null || from.ledger + 1 < root.elderLedger) {
        const before = new Date(Math.floor(from.at.getTime() / 1000) * 1000 - 1);
        const found = await session.ledgerAtOrBefore(before);
        start = { ledger: found?.sequence ?? start.ledger, closedAt: found?.closedAt ?? before };
      }
      if (!earliest || start.ledger < earliest.ledger) earliest = start;
    }
    return earliest;
  }

  /** Inactive wallets that are read to the end of their last window, each with the position that says so. */
  async function readToTheirEnd(feed: CursorDoc | null): Promise<{ wallet: WalletDoc; position: CursorDoc }[]> {
    const batch = await wallets.inactiveButWatching(network, TAKE_UP_LIMIT);
    if (batch.length === 0) return [];
    const own = new Map(
      (await cursors.byIds(batch.map(({ address }) => idOf(address)))).map((each) => [each._id, each]),
    );
    return batch.flatMap((wallet) => {
      const position = covering(own.get(idOf(wallet.address)), feed);
      const until = wallet.windows.at(-1)?.until;
      return until && position && isPast(position, until) ? [{ wallet, position }] : [];
    });
  }

  /** Lets go of inactive wallets that are read to the end of their last window. */
  async function letGo(session: HorizonSession, root: Root, feed: CursorDoc | null): Promise<void> {
    const done = await readToTheirEnd(feed);
    // Of a network that began anew after its root was asked, the pages are empty and prove nothing: the next round says what was missed.
    if (done.length === 0 || beganAnew(root, await session.root())) return;
    for (const { wallet, position } of done) {
      await wallets.stopWatching(wallet._id, {
        ledger: Math.min(position.ledger, wallet.windows.at(-1)?.until?.ledger ?? position.ledger),
        at: position.readAt,
      });
    }
    await forget(done.map(({ wallet }) => wallet.address));
  }

  /** Removes the cursors of addresses that nobody watches any more. @returns the addresses that somebody does. */
  async function forget(addresses: readonly string[]): Promise<Set<string>> {
    const watched = new Set(
      (await wallets.at(network, addresses)).filter((wallet) => wallet.watching).map((wallet) => wallet.address),
    );
    await cursors.remove(addresses.filter((address) => !watched.has(address)).map(idOf));
    return watched;
  }

  /** Addresses whose own position has not yet reached what the feed covers. */
  async function stragglers(feed: CursorDoc): Promise<CursorDoc[]> {
    const behind = await cursors.behind(network, feed.fromLedger!, STRAGGLERS_PER_ROUND);
    if (behind.length === 0) return [];
    const watched = await forget(behind.map((position) => position.address!));
    return behind.filter((position) => watched.has(position.address!));
  }

  /** Decides the way of reading. @returns the feed's position, or null while addresses are read one by one. */
  async function chooseWay(
    session: HorizonSession,
    root: Root,
    addresses: readonly string[],
  ): Promise<CursorDoc | null> {
    const feed = await cursors.byId(feedId);
    if (!feed && addresses.length > readOneByOne) {
      // An address counts as covered from the ledger on that it was read to, however long ago: the feed begins before that.
      const own = await cursors.lowestFrom(network, root.latestLedger - NEAR_LEDGERS);
      const reach = Math.min(root.latestLedger, own?.ledger ?? root.latestLedger);
      const fromLedger = Math.max(root.elderLedger - 1, reach - SAFE_DISTANCE, 0);
      const started = await feedFrom(session, root, fromLedger);
      await cursors.put([started]);
      log.info({ network, fromLedger: started.ledger }, "reading the network's feed");
      return started;
    }
    if (feed && addresses.length <= readOneByOne / 2) {
      await standAlone(addresses, feed);
      await cursors.remove([feedId]);
      log.info({ network }, 'reading addresses one by one');
      return null;
    }
    return feed;
  }

  return {
    /** One round: reads everything that is new. Rejects when Horizon or MongoDB cannot be had; what was stored by then stays.
     *  @param root asked in this session, before
     *  @returns how many pages it read */
    async round(session: HorizonSession, root: Root, signal: AbortSignal): Promise<number> {
      let pages = 0;
      let state = await networkStates.byNetwork(network);
      if (state && (await wasReset(session, root, state))) {
        await startAnew(root, state);
        state = { ...state, anchor: null };
        await networkStates.put(network, { latestLedger: root.latestLedger, latestClosedAt: root.latestClosedAt });
      }
      await takeUpWallets(session, root);
      const addresses = await wallets.watchedAddresses(network, { limit: readOneByOne + 1 });
      const feed = await chooseWay(session, root, addresses);
      const sources = feed ? [feed, ...(await stragglers(feed))] : await cursors.byIds(addresses.map(idOf));
      for (const source of sources) {
        if (signal.aborted) break;
        const position = await passGap(root, source);
        // Nothing can be new while no ledger is.
        if (position.ledger < root.latestLedger) pages += await readSource(session, root, position, signal);
      }
      await letGo(session, root, feed && (await cursors.byId(feedId)));
      if (!state || root.latestLedger >= state.latestLedger || root.latestClosedAt > state.latestClosedAt) {
        await networkStates.put(network, {
          latestLedger: root.latestLedger,
          latestClosedAt: root.latestClosedAt,
          elderLedger: root.elderLedger,
          seenAt: clock.now(),
          trouble: null,
        });
      } else {
        // A base that lags: it answers, and what it does not show yet comes later.
        await networkStates.put(network, { seenAt: clock.now(), trouble: null });
      }
      await keepAnchor(session, root, state);
      return pages;
    },
  };
}

/** Whether the later of two roots has a lower ledger that is no older. */
const beganAnew = (root: Root, later: Root): boolean =>
  later.latestLedger < root.latestLedger && later.latestClosedAt >= root.latestClosedAt;

/** Whether a position is surely beyond a moment. The stamp's ledger is a lower bound, an old one when Horizon was away. */
function isPast(position: CursorDoc, stamp: LedgerStamp): boolean {
  const isFar =
    stamp.ledger === null
      ? position.closedAt.getTime() - stamp.at.getTime() > SAFE_DISTANCE * 1000
      : position.ledger >= stamp.ledger + SAFE_DISTANCE;
  return isFar && isAtOrAfter(position, stamp);
}

/** Whether a window is known to be read to its end: by the address's position, or from before the wallet was let go. */
function wasRead({ from, until }: WatchWindow, position: CursorDoc | undefined, readTo: WalletDoc['readTo']): boolean {
  if (until === null) return false;
  if (position && isPast(position, until)) return true;
  return readTo !== null && from.at <= readTo.at && until.ledger !== null && until.ledger <= readTo.ledger;
}

const progressOf = ({ cursor, ledger, closedAt, readAt }: CursorDoc): Progress => ({
  cursor,
  ledger,
  closedAt,
  readAt,
});

/** The feed speaks for an address whose own position has reached what the feed covers. */
const covering = (own: CursorDoc | undefined, feed: CursorDoc | null): CursorDoc | undefined =>
  own && feed && own.ledger >= feed.fromLedger! && feed.ledger > own.ledger ? feed : own;

const larger = (a: string, b: string): string => (BigInt(a) >= BigInt(b) ? a : b);

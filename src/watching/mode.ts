/** The two modes of reading, and the changes between them. A few addresses are read one by one,
 *  each by its own cursor; more are read through the network's feed, whose cost does not grow with
 *  the wallets. The feed covers an address once the address's own cursor was shown to have reached
 *  the part of the feed read without a hole. Reading ledgers twice is harmless, so changes overlap
 *  and leave no gap. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { covers, cursorId, FEED } from '../domain/coverage.js';
import type { Clock } from '../kit/clock.js';
import { cursorAfter, type LedgerTip, ledgerOfCursor } from '../ledger/index.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { KnownCloses } from './network-states.js';
import { droppedLedger, type Histories, nearFrom, planMode } from './plan.js';
import type { WalletStore } from './wallet-store.js';

const BATCH = 1000;
/** Addresses read one by one in a round, besides the feed. */
const STRAGGLERS_PER_ROUND = 20;

/** What a round reads. */
interface RoundStreams {
  feed: CursorDoc | null;
  /** The addresses' cursors to read in this round. */
  streams: CursorDoc[];
}

export type Modes = ReturnType<typeof createModes>;

interface ModeDeps {
  network: Network;
  wallets: Pick<WalletStore, 'at' | 'watchedAddresses'>;
  cursors: CursorStore;
  knownCloses: KnownCloses;
  clock: Clock;
  log: Logger;
  readOneByOne: number;
}

export function createModes(deps: ModeDeps) {
  const { network, wallets, cursors, log, readOneByOne } = deps;
  const feedId = cursorId(network, FEED);

  return {
    forgetUnwatched: (some: readonly CursorDoc[]) => forgetUnwatched(deps, some),

    /** Changes the mode when due.
     *  @param oldestKept the oldest ledger of any source that has this one
     *  @param failing ids of streams that wait
     *  @returns what to read in this round */
    async choose(
      tip: LedgerTip,
      { histories, oldestKept }: { histories: Histories; oldestKept: (ledger: number) => Promise<number> },
      failing: readonly string[],
    ): Promise<RoundStreams> {
      const addresses = await wallets.watchedAddresses(network, { limit: readOneByOne + 1 });
      const found = await cursors.byIds([feedId, ...addresses.map((address) => cursorId(network, address))]);
      let feed = found.find(({ _id }) => _id === feedId) ?? null;
      // Only a feed that may begin has to know.
      const mayBegin = histories === 'lossy' || (!feed && addresses.length > readOneByOne);
      const lowest = mayBegin ? await cursors.lowestFrom(network, nearFrom(tip)) : null;
      const lowestNearLedger = lowest?.shownLedger ?? null;
      const wasFeed = feed !== null;
      const facts = { tip, feed, addresses: addresses.length, readOneByOne, histories, lowestNearLedger };
      const dropped = droppedLedger(facts);
      const oldestLedger = dropped === null ? tip.oldestLedger : await oldestKept(dropped);
      const plan = planMode({ ...facts, tip: { ...tip, oldestLedger } });
      if (plan.kind === 'start_feed') {
        feed = feedFrom(deps, plan.fromLedger);
        await cursors.save([feed]);
        log.info({ network, fromLedger: feed.fromLedger }, "reading the network's feed");
      } else if (plan.kind === 'detach_feed') {
        await detach(deps, addresses, feed!);
        await cursors.remove([feedId]);
        log.info({ network }, 'reading addresses one by one');
        feed = null;
      }
      if (!feed) {
        const ids = addresses.map((address) => cursorId(network, address));
        return { feed: null, streams: wasFeed ? await cursors.byIds(ids) : found };
      }
      const behind = await cursors.behind(network, feed.fromLedger!, {
        limit: STRAGGLERS_PER_ROUND,
        without: failing,
      });
      return { feed, streams: await forgetUnwatched(deps, behind) };
    },
    fastForward: (tip: LedgerTip, begun: CursorDoc, reached: CursorDoc, pages: number) =>
      fastForward(deps, tip, begun, reached, pages),
  };
}

const feedFrom = ({ knownCloses, network, clock }: ModeDeps, fromLedger: number): CursorDoc => {
  const closedAt = knownCloses.atOrBefore(fromLedger)?.closedAt ?? new Date(0);
  return {
    _id: cursorId(network, FEED),
    network,
    address: null,
    cursor: cursorAfter(fromLedger),
    ledger: fromLedger,
    closedAt,
    readAt: clock.now(),
    shownLedger: fromLedger,
    shownClosedAt: closedAt,
    fromLedger,
    recordLedger: null,
  };
};

/** Moves the cursors of addresses that the feed covers to the feed's. */
async function detach({ cursors, network }: ModeDeps, addresses: readonly string[], feed: CursorDoc): Promise<void> {
  const { cursor, ledger, closedAt, readAt, shownLedger, shownClosedAt } = feed;
  for (let from = 0; from < addresses.length; from += BATCH) {
    const own = await cursors.byIds(addresses.slice(from, from + BATCH).map((address) => cursorId(network, address)));
    const covered = own.filter((each) => covers(feed, each) && BigInt(feed.cursor) > BigInt(each.cursor));
    await cursors.save(
      covered.map((each) => ({ ...each, cursor, ledger, closedAt, readAt, shownLedger, shownClosedAt })),
    );
  }
}

/** Removes the cursors of addresses that are no longer watched. @returns the others */
async function forgetUnwatched(
  { wallets, network, cursors }: ModeDeps,
  some: readonly CursorDoc[],
): Promise<CursorDoc[]> {
  if (some.length === 0) return [];
  const found = await wallets.at(
    network,
    some.map((each) => each.address!),
  );
  const watched = new Set(found.filter(({ watching }) => watching).map(({ address }) => address));
  await cursors.removeUnchanged(some.filter(({ address }) => !watched.has(address!)));
  return some.filter(({ address }) => watched.has(address!));
}

/** After a long outage, when the feed would need more pages to catch up than there are addresses:
 *  moves the feed to the newest ledgers and lets each address catch up by itself. @param begun the
 *  feed's cursor before this round. @param reached and now. @param pages read in between. @returns
 *  whether it moved */
async function fastForward(
  deps: ModeDeps,
  tip: LedgerTip,
  begun: CursorDoc,
  reached: CursorDoc,
  pages: number,
): Promise<boolean> {
  const { wallets, network, cursors, log } = deps;
  const [first, last] = [ledgerOfCursor(begun.cursor), ledgerOfCursor(reached.cursor)];
  const pagesLeft = ((tip.latestLedger - last) / Math.max(1, last - first)) * pages;
  if (pagesLeft <= 1 || tip.latestLedger <= reached.shownLedger) return false;
  const addresses = await wallets.watchedAddresses(network, { limit: Math.ceil(pagesLeft) });
  if (addresses.length >= pagesLeft) return false;
  const started = feedFrom(deps, tip.latestLedger);
  // Detach first: moving the feed's cursor ends its cover.
  await detach(deps, addresses, reached);
  await cursors.save([started]);
  log.info(
    { network, fromLedger: started.fromLedger, addresses: addresses.length },
    'the feed goes on from the newest ledgers, each address catches up',
  );
  return true;
}

/** Starts watching: gives a cursor to the address of each wallet that was made or made active since the last round. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { cursorId, wasRead } from '../domain/coverage.js';
import type { LedgerClose, WatchWindow } from '../domain/terms.js';
import type { LedgerSession } from '../ledger/network-ledger.js';
import type { LedgerTip } from '../ledger/source.js';
import { cursorAfter } from '../ledger/toid.js';
import type { CursorDoc, CursorStore } from '../stores/cursors.js';
import type { NetworkStateDoc } from '../stores/network-states.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';

const BATCH = 1000;

export interface StartFacts {
  tip: LedgerTip;
  state: Pick<NetworkStateDoc, 'latestLedger' | 'resetAt'> | null;
}

/** The windows of an address that still have to be read. What ended before the network began anew cannot be. */
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

/** The ledger after which a window begins, where its stamp says it: null when only its time can tell. A number beyond the newest ledger is from before
 *  the network began anew; one before the oldest comes from a time when the source was away. */
export function startOf({ from }: WatchWindow, { tip, state }: StartFacts): LedgerClose | null {
  const newest = Math.max(tip.latestLedger, state?.latestLedger ?? 0);
  if (from.ledger === null || from.ledger + 1 < tip.oldestLedger || from.ledger > newest) return null;
  return { ledger: from.ledger, closedAt: from.at };
}

export function createWalletStarts(deps: {
  network: Network;
  wallets: Pick<WalletStore, 'notStarted' | 'at' | 'takeUp'>;
  cursors: Pick<CursorStore, 'byIds' | 'put'>;
  clock: Clock;
}) {
  const { network, wallets, cursors, clock } = deps;

  /** @throws LedgerUnavailable */
  async function searchStart(session: LedgerSession, { from }: WatchWindow, facts: StartFacts): Promise<LedgerClose> {
    // Ledgers of the same second count.
    const before = new Date(Math.floor(from.at.getTime() / 1000) * 1000 - 1);
    const found = await session.ledgerAtOrBefore(before);
    if (found) return { ledger: found.sequence, closedAt: found.closedAt };
    const { resetAt } = facts.state ?? {};
    // All ledgers are younger: of a network that began anew that is its beginning, else ledgers may have been dropped.
    const isWhole = resetAt && from.at <= resetAt;
    return { ledger: isWhole ? facts.tip.oldestLedger - 1 : (from.ledger ?? 0), closedAt: before };
  }

  async function earliestStart(session: LedgerSession, windows: readonly WatchWindow[], facts: StartFacts) {
    let earliest: LedgerClose | null = null;
    for (const window of windows) {
      const start = startOf(window, facts) ?? (await searchStart(session, window, facts));
      if (!earliest || start.ledger < earliest.ledger) earliest = start;
    }
    return earliest;
  }

  async function start(session: LedgerSession, batch: readonly WalletDoc[], facts: StartFacts): Promise<void> {
    const addresses = [...new Set(batch.map(({ address }) => address))];
    const own = new Map(
      (await cursors.byIds(addresses.map((address) => cursorId(network, address)))).map((each) => [each._id, each]),
    );
    const all = await wallets.at(network, addresses);
    const starts: CursorDoc[] = [];
    for (const address of addresses) {
      const _id = cursorId(network, address);
      const known = own.get(_id);
      const unread = unreadWindows(
        all.filter((wallet) => wallet.address === address),
        known,
        facts.state,
      );
      const found = await earliestStart(session, unread, facts);
      const readAt = clock.now();
      if (found && (!known || known.shownLedger < found.ledger)) starts.push(cursorAt(_id, address, found, readAt));
      // Put again, with another time: a process that stalled before it could remove the cursor finds it in use.
      else if (known) starts.push({ ...known, readAt });
    }
    await cursors.put(starts);
    await wallets.takeUp(batch);
  }

  const cursorAt = (_id: string, address: string, { ledger, closedAt }: LedgerClose, readAt: Date): CursorDoc => ({
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
  });

  return {
    /** @throws LedgerUnavailable when a start has to be searched for and no source answers; what was started by then stays. */
    async startAll(session: LedgerSession, facts: StartFacts): Promise<void> {
      for (;;) {
        const batch = await wallets.notStarted(network, BATCH);
        if (batch.length > 0) await start(session, batch, facts);
        if (batch.length < BATCH) return;
      }
    },
  };
}

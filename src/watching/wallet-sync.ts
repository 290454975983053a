/** How far the ledger has been read for a wallet, by the watcher's cursors. */
import type { Network } from '../../contracts/networks.js';
import { cursorId, effectiveCursor, FEED, LAGGING_AFTER_MS } from '../domain/coverage.js';
import type { Clock } from '../kit/clock.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { NetworkStateDoc, NetworkStateStore } from './network-states.js';
import type { ParkedRecordStore } from './parked-store.js';
import type { Wallet } from './wallet-resource.js';
import type { WalletDoc } from './wallet-store.js';

export type ReadSync = (wallets: readonly WalletDoc[]) => Promise<Map<string, Wallet['sync']>>;

export function createReadSync(deps: {
  cursors: CursorStore;
  networkStates: NetworkStateStore;
  parkedRecords: Pick<ParkedRecordStore, 'networksWithOpen' | 'countFor'>;
  clock: Clock;
}): ReadSync {
  const { cursors, networkStates, parkedRecords, clock } = deps;

  /** By wallet. */
  async function countParked(
    wallets: readonly WalletDoc[],
    networks: readonly Network[],
  ): Promise<Map<string, number>> {
    const open = await parkedRecords.networksWithOpen(networks);
    const concerned = wallets.filter(({ network }) => open.has(network));
    const counts = await Promise.all(
      concerned.map(({ network, address, createdAt }) => parkedRecords.countFor(network, address, createdAt)),
    );
    return new Map(concerned.map(({ _id }, index) => [_id, counts[index]!]));
  }

  return async (wallets) => {
    const networks = [...new Set(wallets.map((wallet) => wallet.network))];
    const ids = [
      ...wallets.map(({ network, address }) => cursorId(network, address)),
      ...networks.map((network) => cursorId(network, FEED)),
    ];
    const [found, states, troubles, parked] = await Promise.all([
      cursors.byIds(ids),
      networkStates.all(),
      networkStates.troublesOfUnread(),
      countParked(wallets, networks),
    ]);
    const positionById = new Map(found.map((position) => [position._id, position]));
    const stateByNetwork = new Map(states.map((state) => [state._id, state]));
    return new Map(
      wallets.map((wallet) => {
        const own = positionById.get(cursorId(wallet.network, wallet.address));
        const feed = positionById.get(cursorId(wallet.network, FEED));
        const sync = syncOf(wallet, own, feed, stateByNetwork.get(wallet.network), clock.nowMs());
        const reason = sync.state === 'SYNCING' ? reasonOf(wallet.network, stateByNetwork, troubles) : null;
        return [wallet._id, { ...sync, reason, parked: parked.get(wallet._id) ?? 0 }];
      }),
    );
  };
}

/** What is missing while no source has shown a ledger of the network; null once one has. */
function reasonOf(
  network: Network,
  states: ReadonlyMap<Network, unknown>,
  troubles: ReadonlyMap<Network, string>,
): string | null {
  if (states.has(network)) return null;
  const trouble = troubles.get(network);
  return `no ledger source of ${network} has shown a ledger yet${trouble === undefined ? '' : `: ${trouble}`}`;
}

export function syncOf(
  wallet: WalletDoc,
  own: CursorDoc | undefined,
  feed: CursorDoc | undefined,
  state: NetworkStateDoc | undefined,
  nowMs: number,
): Omit<Wallet['sync'], 'reason' | 'parked'> {
  const position = wallet.watchStarted ? effectiveCursor(own, feed) : undefined;
  const read = { ledger: position?.ledger ?? null, at: position?.readAt.toISOString() ?? null };
  if (!wallet.watching) {
    // Read to the end of its last window: it cannot lag.
    const { readTo } = wallet;
    return { ledger: readTo?.ledger ?? null, at: readTo?.at.toISOString() ?? null, state: wallet.gap ? 'GAP' : 'OK' };
  }
  if (wallet.gap) return { ...read, state: 'GAP' };
  const horizonAway = state !== undefined && nowMs - state.seenAt.getTime() > LAGGING_AFTER_MS;
  const behind =
    state !== undefined &&
    position !== undefined &&
    state.latestClosedAt.getTime() - position.closedAt.getTime() > LAGGING_AFTER_MS;
  const stuck = position !== undefined && nowMs - position.readAt.getTime() > LAGGING_AFTER_MS;
  if (horizonAway || behind || stuck) return { ...read, state: 'LAGGING' };
  return { ...read, state: position ? 'OK' : 'SYNCING' };
}

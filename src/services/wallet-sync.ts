/** How far the ledger has been read for a wallet, from the cursors that the watcher keeps. */
import type { Clock } from '../clock.js';
import { cursorId, effectiveCursor, FEED } from '../domain/coverage.js';
import type { Wallet } from '../resources/index.js';
import type { CursorDoc, CursorStore } from '../stores/cursors.js';
import type { NetworkStateDoc, NetworkStateStore } from '../stores/network-states.js';
import type { WalletDoc } from '../stores/wallets.js';

export const LAGGING_AFTER_MS = 60_000;

export type ReadSync = (wallets: readonly WalletDoc[]) => Promise<Map<string, Wallet['sync']>>;

export function createReadSync(deps: {
  cursors: CursorStore;
  networkStates: NetworkStateStore;
  clock: Clock;
}): ReadSync {
  const { cursors, networkStates, clock } = deps;
  return async (wallets) => {
    const networks = [...new Set(wallets.map((wallet) => wallet.network))];
    const ids = [
      ...wallets.map(({ network, address }) => cursorId(network, address)),
      ...networks.map((network) => cursorId(network, FEED)),
    ];
    const [found, states] = await Promise.all([cursors.byIds(ids), networkStates.all()]);
    const positionById = new Map(found.map((position) => [position._id, position]));
    const stateByNetwork = new Map(states.map((state) => [state._id, state]));
    return new Map(
      wallets.map((wallet) => {
        const own = positionById.get(cursorId(wallet.network, wallet.address));
        const feed = positionById.get(cursorId(wallet.network, FEED));
        return [wallet._id, syncOf(wallet, own, feed, stateByNetwork.get(wallet.network), clock.nowMs())];
      }),
    );
  };
}

export function syncOf(
  wallet: WalletDoc,
  own: CursorDoc | undefined,
  feed: CursorDoc | undefined,
  state: NetworkStateDoc | undefined,
  nowMs: number,
): Wallet['sync'] {
  const position = wallet.watchStarted ? effectiveCursor(own, feed) : undefined;
  const read = { ledger: position?.ledger ?? null, at: position?.readAt.toISOString() ?? null };
  if (!wallet.watching) {
    // It is read to the end of its last window: it cannot lag.
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

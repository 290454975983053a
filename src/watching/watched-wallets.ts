/** Wallets as the watcher sees them: windows to read, how far they are read, and gaps; `sync` as
 *  the API shows it. Part of the wallet store. */

import type { Network } from '../../contracts/networks.js';
import { cursorId, effectiveCursor, FEED, LAGGING_AFTER_MS } from '../domain/coverage.js';
import type { Clock } from '../kit/clock.js';
import type { Collection } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import type { CursorDoc, CursorStore } from './cursors.js';
import type { NetworkStateDoc, NetworkStateStore } from './network-states.js';
import type { ParkedRecordStore } from './parked-store.js';
import type { Gap, WalletDoc } from './wallet-store.js';
import type { Wallet } from './wallets.js';

// How far the ledger has been read for a wallet, by the watcher's cursors.

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
  const sourceAway = state !== undefined && nowMs - state.seenAt.getTime() > LAGGING_AFTER_MS;
  const behind =
    state !== undefined &&
    position !== undefined &&
    state.latestClosedAt.getTime() - position.closedAt.getTime() > LAGGING_AFTER_MS;
  const stuck = position !== undefined && nowMs - position.readAt.getTime() > LAGGING_AFTER_MS;
  if (sourceAway || behind || stuck) return { ...read, state: 'LAGGING' };
  return { ...read, state: position ? 'OK' : 'SYNCING' };
}

/** A gap and the wallets that it concerns. */
export interface GapScope {
  gap: Gap;
  /** Null for all addresses of the network. */
  address: string | null;
  /** Ids of wallets that missed nothing. */
  without: readonly string[];
  /** Given for a reset, whose gaps no source can fill: when the network was last seen before it,
   *  which identifies the reset. */
  lostSince?: Date;
}

export function createWatchedWallets(wallets: Collection<WalletDoc>) {
  return {
    /** Addresses with an unread window, each once, in order. Reads only as many wallets
     *  as requested. */
    async watchedAddresses(network: Network, options: { after?: string; limit: number }): Promise<string[]> {
      const addresses = new Set<string>();
      for (let after = options.after; ; ) {
        const found = await wallets
          .find(
            { network, watching: true, ...(after ? { address: { $gt: after } } : {}) },
            { projection: { _id: 0, address: 1 }, sort: { address: 1 }, limit: options.limit },
          )
          .toArray();
        for (const { address } of found) addresses.add(address);
        after = found.at(-1)?.address;
        // Accounts may share an address.
        if (found.length < options.limit || addresses.size >= options.limit)
          return [...addresses].slice(0, options.limit);
      }
    },
    notStarted: (network: Network, limit: number) =>
      wallets.find({ network, watchStarted: false }).limit(limit).toArray(),
    /** Call when the watcher has found where these wallets begin. A wallet that got another window
     *  since it was read is left for the next time. */
    async startWatching(batch: readonly WalletDoc[]): Promise<void> {
      if (batch.length === 0) return;
      await wallets.bulkWrite(
        batch.map(({ _id, windows }) => ({
          updateOne: {
            filter: { _id, windows: { $size: windows.length } },
            update: { $set: { watchStarted: true } },
          },
        })),
        { ordered: false },
      );
    },
    inactiveButWatching: (network: Network, limit: number) =>
      wallets.find({ network, watching: true, active: false }).limit(limit).toArray(),
    /** `readTo`: the final position of its reading. */
    async stopWatching(id: string, readTo: NonNullable<WalletDoc['readTo']>): Promise<void> {
      await wallets.updateOne({ _id: id, active: false }, { $set: { watching: false, readTo } });
    },
    /** Call after a reset: clears the ledger numbers of old stamps, those of past windows too.
     *  @returns the ids of its wallets */
    async forgetLedgers(network: Network): Promise<string[]> {
      await wallets.updateMany(
        { network },
        { $set: { 'windows.$[].from.ledger': null, 'windows.$[ended].until.ledger': null } },
        { arrayFilters: [{ 'ended.until': { $ne: null } }] },
      );
      return (await wallets.find({ network }, { projection: { _id: 1 } }).toArray()).map(({ _id }) => _id);
    },
    ...createGapMarks(wallets),
  };
}

/** The newest gap of each wallet, kept in the wallet. */
const createGapMarks = (wallets: Collection<WalletDoc>) => ({
  /** Watched wallets of one address, or with null of the network, except those `without`, in the
   *  order of their ids. */
  watchedFrom: (
    network: Network,
    { address, without }: Pick<GapScope, 'address' | 'without'>,
    { after, limit }: { after: string; limit: number },
    session: Session,
  ) =>
    wallets
      .find(
        {
          ...{ network, watching: true, _id: { $gt: after, $nin: [...without] } },
          ...(address === null ? {} : { address }),
        },
        { sort: { _id: 1 }, limit, session },
      )
      .toArray(),
  /** The newest gap that is neither mended nor acknowledged; null for none. */
  async setGap(ids: readonly string[], gap: Gap | null, session: Session): Promise<void> {
    if (ids.length > 0) await wallets.updateMany({ _id: { $in: [...ids] } }, { $set: { gap } }, { session });
  },
  async growGap(
    ids: readonly string[],
    { toLedger, lastAt }: Required<Pick<Gap, 'toLedger' | 'lastAt'>>,
    session: Session,
  ): Promise<void> {
    if (ids.length === 0) return;
    await wallets.updateMany(
      { _id: { $in: [...ids] }, gap: { $ne: null } },
      { $max: { 'gap.toLedger': toLedger }, $set: { 'gap.lastAt': lastAt } },
      { session },
    );
  },
});

/** Wallets as the watcher sees them: windows to read, how far they are read, and gaps. Part of the wallet store. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { Session } from '../kit/database.js';
import type { Gap, WalletDoc } from './wallet-store.js';

/** A gap and the wallets that it concerns. */
export interface GapScope {
  gap: Gap;
  /** Null for all addresses of the network. */
  address: string | null;
  /** Ids of wallets that missed nothing. */
  without: readonly string[];
  /** Given for a reset, whose gaps no source can fill: when the network was last seen before it, which identifies the reset. */
  lostSince?: Date;
}

export function createWatchedWallets(wallets: mongoose.Model<WalletDoc>) {
  return {
    /** Addresses with an unread window, each once, in order. Reads only as many wallets as requested. */
    async watchedAddresses(network: Network, options: { after?: string; limit: number }): Promise<string[]> {
      const addresses = new Set<string>();
      for (let after = options.after; ; ) {
        const found = await wallets
          .find(
            { network, watching: true, ...(after ? { address: { $gt: after } } : {}) },
            { _id: 0, address: 1 },
            { sort: { address: 1 }, limit: options.limit },
          )
          .lean<{ address: string }[]>();
        for (const { address } of found) addresses.add(address);
        after = found.at(-1)?.address;
        // Accounts may share an address.
        if (found.length < options.limit || addresses.size >= options.limit)
          return [...addresses].slice(0, options.limit);
      }
    },
    notStarted: (network: Network, limit: number) =>
      wallets.find({ network, watchStarted: false }).limit(limit).lean<WalletDoc[]>().exec(),
    /** Call when the watcher has found where these wallets begin. A wallet that got another window since it was read is left for the next time. */
    async startWatching(batch: readonly WalletDoc[]): Promise<void> {
      if (batch.length === 0) return;
      await wallets.collection.bulkWrite(
        batch.map(({ _id, windows }) => ({
          updateOne: {
            filter: { _id: _id as never, windows: { $size: windows.length } },
            update: { $set: { watchStarted: true } },
          },
        })),
        { ordered: false },
      );
    },
    inactiveButWatching: (network: Network, limit: number) =>
      wallets.find({ network, watching: true, active: false }).limit(limit).lean<WalletDoc[]>().exec(),
    /** `readTo`: the final position of its reading. */
    async stopWatching(id: string, readTo: NonNullable<WalletDoc['readTo']>): Promise<void> {
      await wallets.updateOne({ _id: id, active: false }, { $set: { watching: false, readTo } });
    },
    /** Call after a reset: clears the ledger numbers of old stamps, those of past windows too. @returns the ids of its wallets */
    async forgetLedgers(network: Network): Promise<string[]> {
      await wallets.collection.updateMany(
        { network },
        { $set: { 'windows.$[].from.ledger': null, 'windows.$[ended].until.ledger': null } },
        { arrayFilters: [{ 'ended.until': { $ne: null } }] },
      );
      return (await wallets.find({ network }, { _id: 1 }).lean<{ _id: string }[]>()).map(({ _id }) => _id);
    },
    ...createGapMarks(wallets),
  };
}

/** The newest gap of each wallet, kept in the wallet. */
const createGapMarks = (wallets: mongoose.Model<WalletDoc>) => ({
  /** Watched wallets of one address, or with null of the network, except those `without`, in the order of their ids. */
  watchedFrom: (
    network: Network,
    { address, without }: Pick<GapScope, 'address' | 'without'>,
    { after, limit }: { after: string; limit: number },
    session: Session,
  ) =>
    wallets
      .find({
        ...{ network, watching: true, _id: { $gt: after, $nin: [...without] } },
        ...(address === null ? {} : { address }),
      })
      .sort({ _id: 1 })
      .limit(limit)
      .session(session)
      .lean<WalletDoc[]>()
      .exec(),
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
    await wallets.collection.updateMany(
      { _id: { $in: [...ids] as never[] }, gap: { $ne: null } },
      { $max: { 'gap.toLedger': toLedger }, $set: { 'gap.lastAt': lastAt } },
      { session },
    );
  },
});

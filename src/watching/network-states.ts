/** The state of each watched network: its newest ledger as last seen, its source, and the watcher's trouble. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { makeIndexes, SCHEMA_OPTIONS } from '../kit/database.js';

export interface NetworkStateDoc {
  _id: Network;
  latestLedger: number;
  latestClosedAt: Date;
  /** When it was first seen, and by which machine's clock; null when the source was behind, so that the time means nothing. */
  latestSeen?: { at: Date; by: string | null } | null;
  /** When a source last answered. */
  seenAt: Date;
  /** A ledger and its hash: another hash for it means a reset. */
  anchor: { ledger: number; hash: string } | null;
  /** Since when the watcher fails, and why; null while it works. */
  trouble: { since: Date; reason: string } | null;
  /** Last reset: the close time of the first ledger seen after it. Absent without one. */
  resetAt?: Date | null;
  /** Since when a gap waits for silent sources that may still have its ledgers. */
  gapWaitsSince?: Date | null;
  /** Milliseconds by which this host's clock leads the close times of ledgers, negative when it is behind. Some seconds are usual, because a ledger is seen
   *  after it closed. Null until a few ledgers were seen. */
  clockAheadMs?: number | null;
  /** The machine with that clock; null when unknown. */
  clockHost?: string | null;
  /** The source's software version; null when unknown. */
  sourceVersion?: string | null;
  /** The network's protocol, by the source; null when unknown. */
  protocol?: number | null;
  /** The source says that its newest ledger is not the network's. */
  isSourceBehind?: boolean;
  /** Why the source's account histories are unreliable; null when they are not. */
  sourceWarning?: string | null;
}

const networkStateSchema = new mongoose.Schema<NetworkStateDoc>(
  {
    _id: String,
    latestLedger: Number,
    latestClosedAt: Date,
    latestSeen: { type: new mongoose.Schema({ at: Date, by: String }, { _id: false }), default: null },
    seenAt: Date,
    anchor: { type: new mongoose.Schema({ ledger: Number, hash: String }, { _id: false }), default: null },
    trouble: { type: new mongoose.Schema({ since: Date, reason: String }, { _id: false }), default: null },
    resetAt: { type: Date, default: null },
    gapWaitsSince: { type: Date, default: null },
    clockAheadMs: { type: Number, default: null },
    clockHost: { type: String, default: null },
    sourceVersion: { type: String, default: null },
    protocol: { type: Number, default: null },
    isSourceBehind: { type: Boolean, default: false },
    sourceWarning: { type: String, default: null },
  },
  { ...SCHEMA_OPTIONS, collection: 'networkStates' },
);

/** A network that no source has shown yet has its trouble alone. */
const WAS_READ = { seenAt: { $ne: null } };

export type NetworkStateStore = ReturnType<typeof createNetworkStateStore>;

export function createNetworkStateStore(connection: mongoose.Connection) {
  const states = connection.model<NetworkStateDoc>('NetworkState', networkStateSchema);
  return {
    ensureIndexes: () => makeIndexes(states),
    byNetwork: (network: Network) =>
      states
        .findOne({ _id: network, ...WAS_READ })
        .lean<NetworkStateDoc>()
        .exec(),
    all: () => states.find(WAS_READ).lean<NetworkStateDoc[]>().exec(),
    /** Why networks that no source has shown yet cannot be read. */
    troublesOfUnread: async (): Promise<ReadonlyMap<Network, string>> => {
      const unread = await states.find({ seenAt: null }).lean<Pick<NetworkStateDoc, '_id' | 'trouble'>[]>().exec();
      return new Map(unread.map(({ _id, trouble }) => [_id, trouble!.reason]));
    },
    async save(network: Network, changes: Partial<Omit<NetworkStateDoc, '_id'>>): Promise<void> {
      await states.updateOne({ _id: network }, { $set: changes }, { upsert: true });
    },
    /** Records since when a gap waits; null ends the wait. Does not create a state for a network that was never read. */
    async noteGapWait(network: Network, gapWaitsSince: Date | null): Promise<void> {
      await states.updateOne({ _id: network, ...WAS_READ }, { $set: { gapWaitsSince } });
    },
    /** Records the watcher's trouble, also with a network that was never read, keeping the time it began. */
    async noteTrouble(network: Network, reason: string, since: Date): Promise<void> {
      await states.updateOne({ _id: network }, { $setOnInsert: { trouble: { since, reason } } }, { upsert: true });
      await states.updateOne({ _id: network, trouble: null }, { $set: { trouble: { since, reason } } });
      await states.updateOne({ _id: network, trouble: { $ne: null } }, { $set: { 'trouble.reason': reason } });
    },
  };
}

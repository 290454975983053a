/** What is known of each watched network: its newest ledger as last seen, its source, and what troubles its watcher. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { makeIndexes, SCHEMA_OPTIONS } from './database.js';

export interface NetworkStateDoc {
  _id: Network;
  latestLedger: number;
  latestClosedAt: Date;
  /** When it was first seen, and by which machine's clock; null where that says nothing, of a source that was behind. */
  latestSeen?: { at: Date; by: string | null } | null;
  /** When a source last answered. */
  seenAt: Date;
  /** A ledger and its hash: when the network shows another hash for it, it was reset. */
  anchor: { ledger: number; hash: string } | null;
  /** Since when the watcher cannot do its work, and why; null while it can. */
  trouble: { since: Date; reason: string } | null;
  /** Time of the last reset, by the close time of the first ledger that was seen after it. Absent without one. */
  resetAt?: Date | null;
  /** Since when a gap waits for sources that may still have its ledgers and do not answer. */
  gapWaitsSince?: Date | null;
  /** Milliseconds that this host's clock is ahead of the close times of the ledgers, less than 0 when it is behind. Some seconds are usual: a ledger is
   *  seen a little after it closed. Null until a few ledgers were seen. */
  clockAheadMs?: number | null;
  /** The machine whose clock that is; null when it is not known. */
  clockHost?: string | null;
  /** The version of the source's software; null when it does not say. */
  sourceVersion?: string | null;
  /** The network's protocol, as the source said; null when it does not say. */
  protocol?: number | null;
  /** It said itself that its newest ledger is not the network's. */
  isSourceBehind?: boolean;
  /** Why account histories of the source cannot be relied on; null when they can. */
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

export type NetworkStateStore = ReturnType<typeof createNetworkStateStore>;

export function createNetworkStateStore(connection: mongoose.Connection) {
  const states = connection.model<NetworkStateDoc>('NetworkState', networkStateSchema);
  return {
    ensureIndexes: () => makeIndexes(states),
    byNetwork: (network: Network) => states.findById(network).lean<NetworkStateDoc>().exec(),
    all: () => states.find().lean<NetworkStateDoc[]>().exec(),
    async save(network: Network, changes: Partial<Omit<NetworkStateDoc, '_id'>>): Promise<void> {
      await states.updateOne({ _id: network }, { $set: changes }, { upsert: true });
    },
    /** Records since when a gap waits; null ends the wait. A network that was never read has no state yet, and gets none by this. */
    async noteGapWait(network: Network, gapWaitsSince: Date | null): Promise<void> {
      await states.updateOne({ _id: network }, { $set: { gapWaitsSince } }, { upsert: false });
    },
    /** Records that the watcher cannot do its work. While that lasts, the moment it began is kept. */
    async noteTrouble(network: Network, reason: string, since: Date): Promise<void> {
      await states.updateOne(
        { _id: network, trouble: null },
        { $set: { trouble: { since, reason } } },
        { upsert: false },
      );
      await states.updateOne({ _id: network, trouble: { $ne: null } }, { $set: { 'trouble.reason': reason } });
    },
  };
}

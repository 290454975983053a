/** What is known of each watched network: its newest ledger as last seen, and what troubles its watcher. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { SCHEMA_OPTIONS } from './database.js';

export interface NetworkStateDoc {
  _id: Network;
  latestLedger: number;
  latestClosedAt: Date;
  elderLedger: number;
  /** When Horizon last answered. */
  seenAt: Date;
  /** A ledger and its hash: when the network shows another hash for it, it has begun anew. */
  anchor: { ledger: number; hash: string } | null;
  /** Since when the watcher cannot do its work, and why; null while it can. */
  trouble: { since: Date; reason: string } | null;
}

const networkStateSchema = new mongoose.Schema<NetworkStateDoc>(
  {
    _id: String,
    latestLedger: Number,
    latestClosedAt: Date,
    elderLedger: Number,
    seenAt: Date,
    anchor: { type: new mongoose.Schema({ ledger: Number, hash: String }, { _id: false }), default: null },
    trouble: { type: new mongoose.Schema({ since: Date, reason: String }, { _id: false }), default: null },
  },
  { ...SCHEMA_OPTIONS, collection: 'networkStates' },
);

export type NetworkStateStore = ReturnType<typeof createNetworkStateStore>;

export function createNetworkStateStore(connection: mongoose.Connection) {
  const states = connection.model<NetworkStateDoc>('NetworkState', networkStateSchema);
  return {
    ensureIndexes: () => states.createIndexes(),
    byNetwork: (network: Network) => states.findById(network).lean<NetworkStateDoc>().exec(),
    all: () => states.find().lean<NetworkStateDoc[]>().exec(),
    async put(network: Network, changes: Partial<Omit<NetworkStateDoc, '_id'>>): Promise<void> {
      await states.updateOne({ _id: network }, { $set: changes }, { upsert: true });
    },
    /** The moment that the trouble began is kept while it lasts. */
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

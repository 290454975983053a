/** Leases: who does a work that one process does at a time. They save work; that nothing is done twice is held by the data itself. */
import mongoose from 'mongoose';
import type { Clock } from '../clock.js';
import { isDuplicateKey, SCHEMA_OPTIONS } from './database.js';

interface LeaseDoc {
  _id: string;
  holder: string;
  until: Date;
}

const leaseSchema = new mongoose.Schema<LeaseDoc>(
  { _id: String, holder: String, until: Date },
  { ...SCHEMA_OPTIONS, collection: 'leases' },
);

export type LeaseStore = ReturnType<typeof createLeaseStore>;

export function createLeaseStore(connection: mongoose.Connection, clock: Clock) {
  const leases = connection.model<LeaseDoc>('Lease', leaseSchema);
  return {
    ensureIndexes: () => leases.createIndexes(),
    /** Takes or renews a lease; false while somebody else holds it. */
    async hold(name: string, holder: string, ms: number): Promise<boolean> {
      const now = clock.now();
      try {
        await leases.updateOne(
          { _id: name, $or: [{ holder }, { until: { $lte: now } }] },
          { $set: { holder, until: new Date(now.getTime() + ms) } },
          { upsert: true },
        );
        return true;
      } catch (error) {
        // The upsert of a lease that somebody else holds collides with it.
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async release(name: string, holder: string): Promise<void> {
      await leases.deleteOne({ _id: name, holder });
    },
  };
}

/** Records of the ledger that could not be understood: kept with their reason until an upgrade can read them. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { makeIndexes, SCHEMA_OPTIONS } from './database.js';
import { createPages, type PageRequest } from './paging.js';

export interface ParkedRecordDoc {
  /** `NETWORK:` and the record's paging token, or a hash of it where it has none. */
  _id: string;
  network: Network;
  reason: string;
  /** The record, as JSON text: it may be anything. */
  raw: string;
  createdAt: Date;
}

const parkedRecordSchema = new mongoose.Schema<ParkedRecordDoc>(
  { _id: String, network: String, reason: String, raw: String, createdAt: Date },
  { ...SCHEMA_OPTIONS, collection: 'parkedRecords' },
);
parkedRecordSchema.index({ createdAt: 1, _id: 1 });

export type ParkedRecordStore = ReturnType<typeof createParkedRecordStore>;

export function createParkedRecordStore(connection: mongoose.Connection) {
  const records = connection.model<ParkedRecordDoc>('ParkedRecord', parkedRecordSchema);
  const page = createPages(records);
  return {
    ensureIndexes: () => makeIndexes(records),
    /** A record that is parked already stays as it is. */
    async park(batch: readonly ParkedRecordDoc[]): Promise<void> {
      if (batch.length === 0) return;
      await records.collection.bulkWrite(
        batch.map(({ _id, ...rest }) => ({
          updateOne: { filter: { _id: _id as never }, update: { $setOnInsert: rest }, upsert: true },
        })),
        { ordered: false },
      );
    },
    list: (request: PageRequest) => page({}, { ...request, sort: { createdAt: 1, _id: 1 } }),
    count: () => records.estimatedDocumentCount().exec(),
    async remove(id: string): Promise<void> {
      await records.deleteOne({ _id: id });
    },
  };
}

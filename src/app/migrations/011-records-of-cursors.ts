/** Cursors store the ledger in which a record of their address was last shown: unknown for older ones. */
import type { mongo } from 'mongoose';
import type { Migration } from './migration.js';

export const recordsOfCursors: Migration = {
  title: 'cursors that know of records',
  steps: [addRecordLedger],
};

async function addRecordLedger(db: mongo.Db): Promise<void> {
  await db.collection('cursors').updateMany({ recordLedger: { $exists: false } }, { $set: { recordLedger: null } });
}

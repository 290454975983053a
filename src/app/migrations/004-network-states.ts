/** Removes the unused oldest ledger from the states of networks. */
import type { mongo } from 'mongoose';
import type { Migration } from './migration.js';

export const networkStates: Migration = {
  title: 'states of networks without what nobody reads',
  steps: [dropOldestLedger],
};

async function dropOldestLedger(db: mongo.Db): Promise<void> {
  await db.collection('networkStates').updateMany({}, { $unset: { elderLedger: true } });
}

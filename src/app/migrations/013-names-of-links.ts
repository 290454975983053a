/** Payment links can have a name for the merchant: older ones have none. */
import type { mongo } from 'mongoose';
import type { Migration } from './migration.js';

export const namesOfLinks: Migration = {
  title: 'names of payment links',
  steps: [addNames],
};

async function addNames(db: mongo.Db): Promise<void> {
  await db.collection('paymentLinks').updateMany({ name: { $exists: false } }, { $set: { name: null } });
}

/** States of networks store the protocol: unknown for older ones. */
import type { mongo } from 'mongoose';
import type { Migration } from './migration.js';

export const protocols: Migration = {
  title: 'networks that know their protocol',
  steps: [addProtocol],
};

async function addProtocol(db: mongo.Db): Promise<void> {
  await db.collection('networkStates').updateMany({ protocol: { $exists: false } }, { $set: { protocol: null } });
}

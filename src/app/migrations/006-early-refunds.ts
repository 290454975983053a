/** Marks links and checkouts that have refunds waiting for their payments, so that the others need no look-up. */
import type { mongo } from 'mongoose';
import { dropIndexes, type Migration } from './migration.js';

export const earlyRefunds: Migration = {
  title: 'links and checkouts whose refunds wait',
  steps: [countEarlyRefunds, (db) => dropIndexes(db, 'refunds', ['waiting'])],
};

async function countEarlyRefunds(db: mongo.Db): Promise<void> {
  const counts = new Map<string, number>();
  const waiting = db
    .collection<{ targetId: string }>('refunds')
    .find({ paymentId: null, targetId: { $type: 'string' } }, { projection: { _id: 0, targetId: 1 } });
  for await (const { targetId } of waiting) counts.set(targetId, (counts.get(targetId) ?? 0) + 1);
  for (const [_id, count] of counts) {
    for (const name of ['paymentLinks', 'checkouts']) {
      await db.collection<{ _id: string }>(name).updateOne({ _id }, { $set: { earlyRefunds: count } });
    }
  }
}

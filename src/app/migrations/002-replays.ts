/** Stores when deliveries ended, and lets an event have one delivery for each replay besides the first one. */
import type { mongo } from 'mongoose';
import { dropIndexes, type Migration } from './migration.js';

export const replays: Migration = {
  title: 'ends of deliveries, and replays',
  steps: [addEndsOfDeliveries],
};

async function addEndsOfDeliveries(db: mongo.Db): Promise<void> {
  const deliveries = db.collection('deliveries');
  await dropIndexes(db, 'deliveries', ['webhookId_1_subjectId_1_eventType_1_eventId_1']);
  const isOld = { endedAt: { $exists: false } };
  const first = { replayId: '', isReplayed: false };
  const end = { $ifNull: [{ $last: '$attempts.at' }, '$createdAt'] };
  await deliveries.updateMany({ ...isOld, status: { $in: ['DELIVERED', 'FAILED'] } }, [
    { $set: { endedAt: end, ...first } },
  ]);
  await deliveries.updateMany(isOld, { $set: { endedAt: null, ...first } });
}

/** Brings events, deliveries and webhooks from before the event sequences up to date. It may be run again after it was cut off. */
import type { mongo } from 'mongoose';

/** Dropped last: a database that has it was not brought up to date to the end. */
const OLD_LIST_INDEX = 'accountId_1__id_-1';
const BATCH = 1000;

type Doc = { _id: string } & Record<string, unknown>;

/** Numbers each account's events by their ids. Their deliveries were opened when they were stored. Does nothing on a database that is up to date. */
export async function migrateEvents(db: mongo.Db): Promise<void> {
  const [events, deliveries, webhooks, counters] = ['events', 'deliveries', 'webhooks', 'eventCounters'].map((name) =>
    db.collection<Doc>(name),
  ) as [mongo.Collection<Doc>, mongo.Collection<Doc>, mongo.Collection<Doc>, mongo.Collection<Doc>];
  if (!(await hasIndex(events, OLD_LIST_INDEX))) return;
  // These are unique and would refuse documents without the old field.
  await dropIndex(events, 'paymentId_1_type_1');
  await dropIndex(deliveries, 'webhookId_1_paymentId_1_eventType_1');
  const toSubject = [{ $set: { subjectId: '$paymentId' } }, { $unset: 'paymentId' }];
  await events.updateMany({ paymentId: { $exists: true } }, [{ $set: { occurrence: '' } }, ...toSubject]);
  await deliveries.updateMany({ paymentId: { $exists: true } }, [{ $set: { sequence: null } }, ...toSubject]);
  await webhooks.updateMany({ lane: { $exists: true } }, { $set: { lease: null }, $unset: { lane: '' } });
  for (const accountId of (await events.distinct('accountId')) as string[]) {
    const last = await numberInOrder(events, accountId);
    await counters.updateOne(
      { _id: accountId },
      { $set: { last, opened: last, isBehind: false, webhooksMade: 0 } },
      { upsert: true },
    );
    await webhooks.updateMany({ accountId }, { $set: { openedTo: last, deliverySequence: 0 } });
  }
  await webhooks.updateMany({ openedTo: { $exists: false } }, { $set: { openedTo: 0, deliverySequence: 0 } });
  await dropIndex(events, 'accountId_1_type_1__id_-1');
  await dropIndex(events, OLD_LIST_INDEX);
}

/** @returns the last number */
async function numberInOrder(events: mongo.Collection<Doc>, accountId: string): Promise<number> {
  let sequence = 0;
  let batch: mongo.AnyBulkWriteOperation<Doc>[] = [];
  const write = async () => {
    if (batch.length > 0) await events.bulkWrite(batch, { ordered: false });
    batch = [];
  };
  for await (const { _id } of events.find({ accountId }, { projection: { _id: 1 } }).sort({ _id: 1 })) {
    sequence += 1;
    batch.push({ updateOne: { filter: { _id }, update: { $set: { sequence } } } });
    if (batch.length === BATCH) await write();
  }
  await write();
  return sequence;
}

async function hasIndex(collection: mongo.Collection<Doc>, name: string): Promise<boolean> {
  const indexes = await collection.indexes().catch(() => []);
  return indexes.some((index) => index.name === name);
}

async function dropIndex(collection: mongo.Collection<Doc>, name: string): Promise<void> {
  if (await hasIndex(collection, name)) await collection.dropIndex(name);
}

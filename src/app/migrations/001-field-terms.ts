/** Upgrades databases without a schema version: renames collections and fields, fills new fields, and numbers the events. */
import type { mongo } from 'mongoose';
import { type Doc, dropIndexes, type Migration, moveCollection, updateInBatches } from './migration.js';

export const fieldTerms: Migration = {
  title: 'new names of collections and fields',
  steps: [
    (db) => moveCollection(db, 'positions', 'cursors'),
    (db) => moveCollection(db, 'stretches', 'countSegments'),
    addShownLedgers,
    renameInWallets,
    renameInWebhooks,
    renameInEvents,
    renameInDeliveries,
    numberEvents,
    addMuxedAddresses,
    addNetworksOfProducts,
    completeEventData,
  ],
};

/** All ledgers before that of a cursor's record were certainly shown. */
async function addShownLedgers(db: mongo.Db): Promise<void> {
  const isOld = { shownLedger: { $exists: false } };
  await updateInBatches(db.collection<Doc>('cursors'), isOld, async (cursors) =>
    cursors.map(({ _id, cursor }) => {
      const shownLedger = Math.max(0, Number(BigInt(cursor) >> 32n) - 1);
      const update = { $set: { shownLedger, shownClosedAt: new Date(0) } };
      return { updateOne: { filter: { _id, cursor, ...isOld }, update } };
    }),
  );
  await dropIndexes(db, 'cursors', ['network_1_ledger_1']);
}

async function renameInWallets(db: mongo.Db): Promise<void> {
  await dropIndexes(db, 'wallets', ['network_1_takenUp_1']);
  await db.collection('wallets').updateMany({ takenUp: { $exists: true } }, { $rename: { takenUp: 'watchStarted' } });
}

/** No dispatcher runs during a migration, so no lease is held. */
async function renameInWebhooks(db: mongo.Db): Promise<void> {
  await db
    .collection('webhooks')
    .updateMany({ lane: { $exists: true } }, { $set: { lease: null }, $unset: { lane: '' } });
  await db.collection('webhooks').updateMany({ failedAttempts: { $exists: false } }, { $set: { failedAttempts: 0 } });
}

/** Drops the old indexes first: they are unique, so documents without the old field would collide in them. */
async function renameInEvents(db: mongo.Db): Promise<void> {
  await dropIndexes(db, 'events', ['paymentId_1_type_1']);
  const toSubject = [{ $set: { subjectId: '$paymentId', occurrence: '' } }, { $unset: 'paymentId' }];
  await db.collection('events').updateMany({ paymentId: { $exists: true } }, toSubject);
}

async function renameInDeliveries(db: mongo.Db): Promise<void> {
  await dropIndexes(db, 'deliveries', ['webhookId_1_paymentId_1_eventType_1']);
  const toSubject = [{ $set: { subjectId: '$paymentId' } }, { $unset: 'paymentId' }];
  await db.collection('deliveries').updateMany({ paymentId: { $exists: true } }, toSubject);
  await db.collection('deliveries').updateMany({ sequence: { $exists: false } }, { $set: { sequence: null } });
}

/** Numbers each account's events in the order of their ids. Their deliveries exist already, so webhooks begin after them. */
async function numberEvents(db: mongo.Db): Promise<void> {
  const events = db.collection<Doc>('events');
  const webhooks = db.collection<Doc>('webhooks');
  for (const accountId of (await events.distinct('accountId')) as string[]) {
    const last = await numberEventsOf(events, accountId);
    const counter = { last, opened: last, isBehind: false, webhooksMade: 0 };
    await db
      .collection<Doc>('eventCounters')
      .updateOne({ _id: accountId }, { $setOnInsert: counter }, { upsert: true });
    const after = { openedTo: last, deliverySequence: 0 };
    await webhooks.updateMany({ accountId, openedTo: { $exists: false } }, { $set: after });
  }
  await webhooks.updateMany({ openedTo: { $exists: false } }, { $set: { openedTo: 0, deliverySequence: 0 } });
  await dropIndexes(db, 'events', ['accountId_1_type_1__id_-1', 'accountId_1__id_-1']);
}

/** An event's number is its place among the account's events, so a repeated run gives the same one. @returns the last number */
async function numberEventsOf(events: mongo.Collection<Doc>, accountId: string): Promise<number> {
  let last = 0;
  const number = async (batch: Doc[]) =>
    batch.map(({ _id }) => {
      last += 1;
      return { updateOne: { filter: { _id, sequence: { $exists: false } }, update: { $set: { sequence: last } } } };
    });
  await updateInBatches(events, { accountId }, number, { _id: 1 });
  return last;
}

async function addMuxedAddresses(db: mongo.Db): Promise<void> {
  const unknown = { destinationMuxedId: null, senderMuxedAddress: null };
  await db.collection('payments').updateMany({ checkoutId: { $exists: false } }, { $set: { checkoutId: null } });
  await db.collection('payments').updateMany({ destinationMuxedId: { $exists: false } }, { $set: unknown });
}

/** Each version of a product's terms gets the network of the product's current wallet; former wallets of moved products are unknown. */
async function addNetworksOfProducts(db: mongo.Db): Promise<void> {
  const wallets = db.collection<Doc>('wallets');
  const isOld = { network: { $exists: false } };
  await updateInBatches(db.collection<Doc>('products'), { history: { $elemMatch: isOld } }, async (products) => {
    const ids = products.map(({ walletId }) => walletId as string);
    const found = await wallets.find({ _id: { $in: ids } }, { projection: { network: 1 } }).toArray();
    const networks = new Map(found.map(({ _id, network }) => [_id, network as string]));
    return products
      .filter(({ walletId }) => networks.has(walletId))
      .map(({ _id, walletId }) => ({
        updateOne: {
          filter: { _id, walletId },
          update: { $set: { 'history.$[old].network': networks.get(walletId) } },
          arrayFilters: [{ 'old.network': { $exists: false } }],
        },
      }));
  });
}

/** Adds fields that the contract has gained since, so that old events have all fields of their kind. */
async function completeEventData(db: mongo.Db): Promise<void> {
  const payments = db.collection<Doc>('payments');
  await updateInBatches(db.collection<Doc>('events'), { data: { $not: /"memoType":/ } }, async (events) => {
    const ids = events.map(({ subjectId }) => subjectId as string);
    const found = await payments.find({ _id: { $in: ids } }, { projection: { memoType: 1 } }).toArray();
    const memoTypes = new Map(found.map(({ _id, memoType }) => [_id, memoType as string]));
    return events
      .filter(({ subjectId }) => memoTypes.has(subjectId))
      .map(({ _id, subjectId, data }) => {
        const { payment, ...rest } = JSON.parse(data) as { payment: object };
        const added = {
          memoType: memoTypes.get(subjectId),
          destinationMuxedId: null,
          senderMuxedAddress: null,
          checkoutId: null,
        };
        const completed = JSON.stringify({ payment: { ...payment, ...added }, ...rest, checkout: null });
        return { updateOne: { filter: { _id, data }, update: { $set: { data: completed } } } };
      });
  });
}

/** Makes unique keys begin with the account, and adds it to count segments, so that a database can be sharded by accounts. */
import type { mongo } from 'mongoose';
import { dropIndexes, type Migration } from './migration.js';

export const keysByAccount: Migration = {
  title: 'unique keys of each account',
  steps: [
    addAccounts,
    // Each new key is made before the old one is dropped.
    (db) => makeUnique(db, 'payments', ['accountId', 'walletId', 'operationId', 'changeIndex', 'transactionHash']),
    (db) => dropIndexes(db, 'payments', ['walletId_1_operationId_1_changeIndex_1_transactionHash_1']),
    (db) => makeUnique(db, 'events', ['accountId', 'subjectId', 'type', 'occurrence']),
    (db) => dropIndexes(db, 'events', ['subjectId_1_type_1_occurrence_1', 'accountId_1_sequence_1']),
    (db) => makeUnique(db, 'deliveries', ['accountId', 'webhookId', 'subjectId', 'eventType', 'eventId', 'replayId']),
    (db) => dropIndexes(db, 'deliveries', ['webhookId_1_subjectId_1_eventType_1_eventId_1_replayId_1']),
    (db) => dropIndexes(db, 'countSegments', ['list_1_after_1_version_1']),
  ],
};

/** The name of a list holds its collection and its account. */
async function addAccounts(db: mongo.Db): Promise<void> {
  const account = { $arrayElemAt: [{ $split: ['$list', ':'] }, 1] };
  await db
    .collection('countSegments')
    .updateMany({ accountId: { $exists: false } }, [{ $set: { accountId: account } }]);
}

async function makeUnique(db: mongo.Db, collection: string, fields: readonly string[]): Promise<void> {
  await db.collection(collection).createIndex(Object.fromEntries(fields.map((field) => [field, 1])), { unique: true });
}

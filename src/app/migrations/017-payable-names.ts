/** Moves memos and slugs to their own collection, where they are unique and looked up without the account. */
import type { mongo } from 'mongoose';
import { type Doc, dropIndexes, type Migration, updateInBatches } from './migration.js';

export const payableNames: Migration = {
  title: 'memos and slugs in a collection of their own',
  steps: [
    // On a conflict the first one keeps the name.
    (db) => addNames(db, 'checkouts'),
    (db) => addNames(db, 'paymentLinks'),
    (db) => dropIndexes(db, 'checkouts', ['memo_1', 'slug_1']),
    (db) => dropIndexes(db, 'paymentLinks', ['memo_1', 'slug_1']),
  ],
};

async function addNames(db: mongo.Db, collection: string): Promise<void> {
  const names = db.collection<Doc>('payableNames');
  const add = async (batch: Doc[]) => {
    const found = batch.flatMap(({ _id: payableId, accountId, memo, slug }) =>
      [`memo:${memo}`, `slug:${slug}`].map((_id) => ({ _id, accountId, payableId })),
    );
    await names.bulkWrite(
      found.map(({ _id, ...name }) => ({
        updateOne: { filter: { _id }, update: { $setOnInsert: name }, upsert: true },
      })),
      { ordered: false },
    );
    return [];
  };
  await updateInBatches(db.collection<Doc>(collection), {}, add, { accountId: 1, memo: 1, slug: 1 } as never);
}

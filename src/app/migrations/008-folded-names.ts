/** Stores the folded form of products' and wallets' names for the search. Before, products had lower case, and wallets had none. */
import type { mongo } from 'mongoose';
import { foldText } from '../../kit/fold.js';
import { type Doc, type Migration, updateInBatches } from './migration.js';

export const foldedNames: Migration = {
  title: 'folded names of products and wallets',
  steps: [(db) => foldNames(db, 'products'), (db) => foldNames(db, 'wallets')],
};

async function foldNames(db: mongo.Db, name: string): Promise<void> {
  const toUpdates = async (batch: Doc[]) =>
    batch
      .filter((doc) => doc.nameKey !== foldText(doc.name))
      // The filter skips documents that were renamed since.
      .map(({ _id, name }) => ({
        updateOne: { filter: { _id, name }, update: { $set: { nameKey: foldText(name) } } },
      }));
  await updateInBatches(db.collection<Doc>(name), {}, toUpdates, { name: 1, nameKey: 1 });
}

/** The interface of migrations, and steps that they share. */
import type { mongo } from 'mongoose';

/** One change of the whole database. It may be interrupted at any moment and then runs again from its beginning, even beside a slow earlier run: so a step
 *  changes only documents that still have the old form. It names collections, fields and indexes itself, because those of the stores keep changing. */
export interface Migration {
  /** What changes, for the operator: follows "Upgrading the database: ". */
  title: string;
  /** In order. */
  steps: readonly MigrationStep[];
}

type MigrationStep = (db: mongo.Db) => Promise<void>;

// biome-ignore lint/suspicious/noExplicitAny: documents have the shapes that older programs gave them.
export type Doc = { _id: string } & Record<string, any>;

const BATCH = 500;

/** Moves a collection's documents to another one and drops it. Documents that already exist there stay as they are. */
export async function moveCollection(db: mongo.Db, from: string, to: string): Promise<void> {
  if (!(await hasCollection(db, from))) return;
  await db
    .collection(from)
    .aggregate([{ $merge: { into: to, on: '_id', whenMatched: 'keepExisting', whenNotMatched: 'insert' } }])
    .toArray();
  await db.dropCollection(from);
}

/** Drops these indexes, as far as they exist. */
export async function dropIndexes(db: mongo.Db, collection: string, names: readonly string[]): Promise<void> {
  if (!(await hasCollection(db, collection))) return;
  for (const { name = '' } of await db.collection(collection).indexes()) {
    if (names.includes(name)) await db.collection(collection).dropIndex(name);
  }
}

/** Updates documents in batches, in the order of their ids. @param toUpdates makes the updates of a batch, with the fields of `projection` */
export async function updateInBatches(
  collection: mongo.Collection<Doc>,
  filter: mongo.Filter<Doc>,
  toUpdates: (batch: Doc[]) => Promise<mongo.AnyBulkWriteOperation<Doc>[]>,
  projection: Record<string, 1> = {},
): Promise<void> {
  let batch: Doc[] = [];
  const write = async () => {
    const updates = batch.length > 0 ? await toUpdates(batch) : [];
    if (updates.length > 0) await collection.bulkWrite(updates, { ordered: false });
    batch = [];
  };
  for await (const doc of collection.find(filter, { projection }).sort({ _id: 1 })) {
    batch.push(doc as unknown as Doc);
    if (batch.length === BATCH) await write();
  }
  await write();
}

const hasCollection = async (db: mongo.Db, name: string): Promise<boolean> =>
  (await db.listCollections({ name }, { nameOnly: true }).toArray()).length > 0;

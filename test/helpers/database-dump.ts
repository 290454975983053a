/** All collections of a database, with their indexes and documents, to compare it with another
 *  moment or another database. */
import type { mongo } from 'mongoose';

export interface CollectionDump {
  indexes: mongo.IndexDescriptionInfo[];
  documents: mongo.Document[];
}

/** Keeps the types of numbers: some of the local ledger have 64 bits. */
const EXACT = { promoteValues: false, promoteBuffers: false } as const;

export async function dumpDatabase(db: mongo.Db): Promise<Record<string, CollectionDump>> {
  const names = (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()).map(
    ({ name }) => name,
  );
  const dumps: Record<string, CollectionDump> = {};
  for (const name of names.sort()) {
    const documents = await db.collection(name).find({}, EXACT).sort({ _id: 1 }).toArray();
    dumps[name] = { indexes: await db.collection(name).indexes(), documents };
  }
  return dumps;
}

/** Files with databases of older releases: all collections with their indexes and documents, in canonical extended JSON. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import { mongo } from 'mongoose';

const { EJSON } = mongo.BSON;

export interface CollectionDump {
  indexes: mongo.IndexDescriptionInfo[];
  documents: mongo.Document[];
}

export interface DatabaseFixture {
  /** The commit whose service wrote it. */
  release: string;
  /** Answers to `GET` by path, each in one list page, before the service was killed. */
  accounts: { apiKey: string; answers: Record<string, any> }[];
  /** A READ key of the first account. */
  readerKey: string;
  /** Secrets by webhook; the first one signs first. */
  webhookSecrets: Record<string, string[]>;
  /** A POST of `/payment-links` with an Idempotency-Key, by the first account. */
  idempotent: { key: string; body: unknown; answer: any };
  /** Payment links as answered on creation. */
  links: Record<'coffee' | 'shirt' | 'closed' | 'tip', any>;
  collections: Record<string, CollectionDump>;
}

/** Keeps the types of numbers: some of the local ledger have 64 bits. */
const EXACT = { promoteValues: false, promoteBuffers: false } as const;
const EXACTLY = { relaxed: false } as const;

export async function dumpDatabase(db: mongo.Db): Promise<DatabaseFixture['collections']> {
  const names = (await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray()).map(
    ({ name }) => name,
  );
  const dumps: DatabaseFixture['collections'] = {};
  for (const name of names.sort()) {
    const documents = await db.collection(name).find({}, EXACT).sort({ _id: 1 }).toArray();
    dumps[name] = { indexes: await db.collection(name).indexes(), documents };
  }
  return dumps;
}

export function packFixture({ collections, ...rest }: DatabaseFixture): Buffer {
  return gzipSync(JSON.stringify({ ...rest, collections: EJSON.serialize(collections, EXACTLY) }), { level: 9 });
}

/** Reads `test/fixtures/<name>`. */
export function readFixture(name: string): DatabaseFixture {
  const packed = readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)));
  const { collections, ...rest } = JSON.parse(gunzipSync(packed).toString());
  return { ...rest, collections: EJSON.deserialize(collections, EXACTLY) };
}

/** Writes the collections into an empty database. */
export async function loadDatabase(db: mongo.Db, collections: DatabaseFixture['collections']): Promise<void> {
  for (const [name, { indexes, documents }] of Object.entries(collections)) {
    const collection = await db.createCollection(name);
    if (documents.length > 0) await collection.insertMany(documents);
    const made = indexes.filter(({ name: index }) => index !== '_id_').map(({ v: _, ...index }) => index);
    if (made.length > 0) await collection.createIndexes(made as mongo.IndexDescription[]);
  }
}

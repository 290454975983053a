/** A separate database for each test, on one real mongod that all test processes of this
 *  checkout share. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.js';
import { openMongo } from '../../src/mongod/index.js';

export { freePort } from '../../src/mongod/index.js';

export interface TestDatabase {
  /** A connection string with `name` as its default database. */
  uri: string;
  name: string;
  /** The test's own plain connection, closed at the teardown. */
  db: mongo.Db;
}

/** Folder of a downloaded mongod, shared with the service. */
export const CACHE_DIR = readConfig({ XDG_CACHE_HOME: process.env.XDG_CACHE_HOME }).cacheDir;

/** Data folder of the shared mongod when no test runner started one. */
export const TEST_DATA_DIR = fileURLToPath(new URL('../../node_modules/.cache/stellar-collect-test', import.meta.url));

/** Databases of ended tests, emptied for the next one: making and dropping 36 collections with
 *  their indexes costs a second. Holds their names. */
const SPARE = { database: 'test_spare', collection: 'databases' };

/** An empty database; what the test leaves in it is gone at the teardown of `t` (tap runs teardowns
 *  in reverse order: ask for it first).
 *  @param options `own` for a test that looks at collections and indexes, or changes them: its
 *  database is new, and dropped afterwards */
export async function testDatabase(
  t: { teardown(end: () => unknown): void },
  options: { own?: boolean } = {},
): Promise<TestDatabase> {
  const given = process.env.TEST_MONGODB_URI;
  // A mongod that outlives the run may have databases of other schemas.
  const isOwn = options.own ?? given === undefined;
  const shared = given
    ? { uri: given, close: async () => undefined }
    : await openMongo({ uri: null, dataDir: TEST_DATA_DIR, cacheDir: CACHE_DIR, log: pino({ level: 'warn' }) });
  const client = await mongo.MongoClient.connect(shared.uri);
  const spare = client.db(SPARE.database).collection<{ _id: string }>(SPARE.collection);
  const known = isOwn ? null : await spare.findOneAndDelete({});
  const name = known?._id ?? `test_${randomBytes(8).toString('hex')}`;
  const url = new URL(shared.uri);
  url.pathname = `/${name}`;
  const db = client.db(name);
  t.teardown(async () => {
    try {
      if (isOwn || !(await empty(db))) await db.dropDatabase();
      else await spare.insertOne({ _id: name });
    } finally {
      await client.close();
      await shared.close();
    }
  });
  return { uri: url.href, name, db };
}

/** Deletes all documents by one command, unless the database was profiled. */
async function empty(db: mongo.Db): Promise<boolean> {
  const collections = await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray();
  const names = collections.map(({ name }) => name);
  if (names.length === 0 || names.some((name) => name.startsWith('system.'))) return false;
  const deletion = (name: string) =>
    ({ name: 'deleteMany', namespace: `${db.databaseName}.${name}`, filter: {} }) as const;
  await db.client.bulkWrite(names.map(deletion));
  return true;
}

/** A separate database for each test, on one real mongod that all test processes of this checkout share. */
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import { readConfig } from '../../src/app/config.js';
import { openMongo } from '../../src/mongod/index.js';

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

/** A fresh, empty database; it is dropped at the teardown of `t` (tap runs teardowns in reverse order: ask for it first). */
export async function testDatabase(t: { teardown(end: () => unknown): void }): Promise<TestDatabase> {
  const given = process.env.TEST_MONGODB_URI;
  const shared = given
    ? { uri: given, close: async () => undefined }
    : await openMongo({ uri: null, dataDir: TEST_DATA_DIR, cacheDir: CACHE_DIR, log: pino({ level: 'warn' }) });
  const name = `test_${randomBytes(8).toString('hex')}`;
  const url = new URL(shared.uri);
  url.pathname = `/${name}`;
  const client = await mongo.MongoClient.connect(url.href);
  t.teardown(async () => {
    await client.db(name).dropDatabase();
    await client.close();
    await shared.close();
  });
  return { uri: url.href, name, db: client.db(name) };
}

/** A free loopback port below the range that systems assign, so that it stays free while its owner restarts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + randomInt(12_000);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(
      () => true,
      () => false,
    );
    if (!isFree) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
}

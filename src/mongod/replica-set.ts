/** Makes a mongod that listens a single-node replica set with a primary and the user of the service; safe to run by many at once. */
import { mongo } from 'mongoose';
import { systemClock as clock } from '../clock.js';
import { StartupError } from '../startup-error.js';

const USER = 'stellar-collect';
const PRIMARY_TIMEOUT_MS = 30_000;
const AUTHENTICATION_FAILED = 18;
const ALREADY_INITIALIZED = 23;
const NOT_YET_INITIALIZED = 94;
const USER_EXISTS = 51_003;

/** @returns the connection string, with `stellar-collect` as the default database. */
export async function makeReady(deps: { port: number; key: string; password: string }): Promise<string> {
  const { port, key, password } = deps;
  const host = `127.0.0.1:${port}`;
  const uri = `mongodb://${USER}:${password}@${host}/stellar-collect?authSource=admin&replicaSet=embedded`;
  const deadline = clock.nowMs() + PRIMARY_TIMEOUT_MS;
  for (;;) {
    try {
      if (await isPrimary(uri)) return uri;
      await setUp(host, key, password);
    } catch (error) {
      if (!(error instanceof mongo.MongoNetworkError) || clock.nowMs() > deadline) {
        throw new StartupError(`The embedded MongoDB does not become ready: ${(error as Error).message}`);
      }
    }
    if (clock.nowMs() > deadline) throw new StartupError('The embedded MongoDB does not become primary.');
    await clock.sleep(20);
  }
}

/** False as well when the user does not exist yet. */
async function isPrimary(uri: string): Promise<boolean> {
  const direct = `${uri}&directConnection=true`.replace('&replicaSet=embedded', '');
  return withClient(direct, async (admin) => {
    try {
      await admin.command({ connectionStatus: 1 });
    } catch (error) {
      if (codeOf(error) === AUTHENTICATION_FAILED) return false;
      throw error;
    }
    return (await admin.command({ hello: 1 })).isWritablePrimary === true;
  });
}

async function setUp(host: string, key: string, password: string): Promise<void> {
  // Members of a replica set know each other as this user, with the key file's content for a password.
  const uri = `mongodb://__system:${encodeURIComponent(key)}@${host}/?authSource=local&directConnection=true`;
  await withClient(uri, async (admin) => {
    const config = { _id: 'embedded', members: [{ _id: 0, host }] };
    const known = await admin.command({ replSetGetConfig: 1 }).catch(ignoring(NOT_YET_INITIALIZED));
    if (!known) await admin.command({ replSetInitiate: config }).catch(ignoring(ALREADY_INITIALIZED));
    else if (known.config.members[0].host !== host) {
      // Somebody else has last time's port, so the set must learn its own new address.
      await admin.command({
        replSetReconfig: { ...known.config, ...config, version: known.config.version + 1 },
        force: true,
      });
    }
    while (!(await admin.command({ hello: 1 })).isWritablePrimary) await clock.sleep(10);
    const user = { pwd: password, roles: ['root'] };
    const exists = await admin.command({ createUser: USER, ...user }).then(() => false, whether(USER_EXISTS));
    if (exists) await admin.command({ updateUser: USER, ...user });
  });
}

async function withClient<T>(uri: string, work: (admin: mongo.Db) => Promise<T>): Promise<T> {
  const client = new mongo.MongoClient(uri, {
    serverSelectionTimeoutMS: 10_000,
    maxPoolSize: 1,
    monitorCommands: false,
  });
  try {
    return await work(client.db('admin'));
  } finally {
    await client.close();
  }
}

const codeOf = (error: unknown) => (error as { code?: unknown }).code;

const ignoring = (code: number) => (error: unknown) => {
  if (codeOf(error) !== code) throw error;
  return null;
};

const whether = (code: number) => (error: unknown) => {
  if (codeOf(error) !== code) throw error;
  return true;
};

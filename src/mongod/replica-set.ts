/** Makes a listening mongod a single-node replica set with a primary and the service's user. Safe
 *  to run concurrently. */
import { type Db, MongoClient } from 'mongodb';
import { MongoUnavailableError } from './error.js';
import { sleep } from './time.js';

const USER = 'stellar-collect';
/** Longer than the 30 s for which mongod looks for itself when its port has changed and a silent
 *  program holds the old one. */
const PRIMARY_TIMEOUT_MS = 60_000;
const AUTHENTICATION_FAILED = 18;
const ALREADY_INITIALIZED = 23;
const NOT_YET_INITIALIZED = 94;
const USER_EXISTS = 51_003;

/** @returns the connection string, with `stellar-collect` as the default database */
export async function makeReady(deps: { port: number; key: string; password: string }): Promise<string> {
  const { port, key, password } = deps;
  const host = `127.0.0.1:${port}`;
  const credentials = `mongodb://${USER}:${password}@${host}`;
  const deadlineMs = Date.now() + PRIMARY_TIMEOUT_MS;
  for (;;) {
    let reason = 'it does not become primary';
    try {
      const ready = await withClient(`${credentials}/?authSource=admin&directConnection=true`, isUsable);
      if (ready) return `${credentials}/stellar-collect?authSource=admin&replicaSet=embedded`;
      await setUp(host, key, password);
    } catch (error) {
      // mongod drops connections when its role changes, and may be restarted at any moment.
      reason = (error as Error).message;
    }
    if (Date.now() > deadlineMs) throw new MongoUnavailableError(`The embedded MongoDB cannot be used: ${reason}`);
    await sleep(20);
  }
}

/** Also false if the user does not exist yet. */
async function isUsable(admin: Db): Promise<boolean> {
  return isPrimary(admin).catch((error) => {
    if (codeOf(error) !== AUTHENTICATION_FAILED) throw error;
    return false;
  });
}

async function isPrimary(admin: Db): Promise<boolean> {
  return (await admin.command({ hello: 1 })).isWritablePrimary === true;
}

async function setUp(host: string, key: string, password: string): Promise<void> {
  // Members of a replica set authenticate to each other as this user, with the key file's content
  // as password.
  const uri = `mongodb://__system:${encodeURIComponent(key)}@${host}/?authSource=local&directConnection=true`;
  await withClient(uri, async (admin) => {
    const own = { _id: 'embedded', members: [{ _id: 0, host }] };
    const known = await admin.command({ replSetGetConfig: 1 }).catch(ignoring(NOT_YET_INITIALIZED));
    if (known === null) {
      await admin.command({ replSetInitiate: own }).catch(ignoring(ALREADY_INITIALIZED));
    } else if (known.config.members[0].host !== host) {
      const config = { ...known.config, ...own, version: known.config.version + 1 };
      await admin.command({ replSetReconfig: config, force: true });
    }
    for (let tries = 0; !(await isPrimary(admin)); tries++) {
      if (tries === 100) return;
      await sleep(10);
    }
    const user = { pwd: password, roles: ['root'] };
    const created = await admin.command({ createUser: USER, ...user }).catch(ignoring(USER_EXISTS));
    // The password follows the key file.
    if (created === null) await admin.command({ updateUser: USER, ...user });
  });
}

async function withClient<T>(uri: string, work: (admin: Db) => Promise<T>): Promise<T> {
  const client = new MongoClient(uri, {
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

/** Checks the operator's own MongoDB before using it: reachable, new enough, a replica set or a
 *  sharded cluster. */
import { MongoClient, MongoServerSelectionError } from 'mongodb';
import type { Logger } from 'pino';
import { MongoUnavailableError } from './error.js';
import { isPatched, isSupported, OLDEST_MAJOR, PATCHED_VERSIONS } from './version.js';

const SELECTION_TIMEOUT_MS = 5_000;
const AUTHENTICATION_FAILED = 18;

/** Warns in one line when this MongoDB lacks the fix for CVE-2025-14847.
 *  @throws MongoUnavailableError with one line that never repeats the connection string, which may
 *  hold a password */
export async function checkMongo(uri: string, log: Logger): Promise<void> {
  let client: MongoClient;
  try {
    client = new MongoClient(uri, { serverSelectionTimeoutMS: SELECTION_TIMEOUT_MS });
  } catch {
    throw new MongoUnavailableError(
      'MONGODB_URI is not a valid connection string (mongodb://user:password@host:port/database).',
    );
  }
  const hosts = client.options.srvHost ?? client.options.hosts.map(String).join(',');
  const admin = client.db('admin');
  try {
    const hello = await admin.command({ hello: 1 });
    const sharded = hello.msg === 'isdbgrid';
    if (!sharded && !hello.setName) {
      throw new MongoUnavailableError(
        `MongoDB at ${hosts} is a standalone, but a replica set is needed: start mongod with --replSet rs0 and run rs.initiate() in mongosh once.`,
      );
    }
    if (!hello.isWritablePrimary)
      throw new MongoUnavailableError(`MongoDB at ${hosts} is not the primary of its replica set.`);
    const { version } = await admin.command({ buildInfo: 1 });
    if (!isSupported(version)) {
      throw new MongoUnavailableError(
        `MongoDB at ${hosts} is version ${version}, but version ${OLDEST_MAJOR} or newer is needed.`,
      );
    }
    if (!isPatched(version)) {
      log.warn(
        `MongoDB at ${hosts} is version ${version}: unless zlib compression is disabled there (--networkMessageCompressors snappy,zstd), any client that reaches its port can read its memory without a password (CVE-2025-14847). Upgrade to ${PATCHED_VERSIONS}.`,
      );
    }
  } catch (error) {
    if (error instanceof MongoUnavailableError) throw error;
    if ((error as { code?: unknown }).code === AUTHENTICATION_FAILED) {
      throw new MongoUnavailableError(`MongoDB at ${hosts} refuses the credentials in MONGODB_URI.`);
    }
    throw new MongoUnavailableError(`MongoDB at ${hosts} (MONGODB_URI) cannot be used: ${reasonOf(error)}`);
  } finally {
    await client.close();
  }
}

/** One line. A server selection error names the tried addresses, not the credentials. */
function reasonOf(error: unknown): string {
  const { message } = error as Error;
  return error instanceof MongoServerSelectionError
    ? `no primary was found in ${SELECTION_TIMEOUT_MS / 1000} s (${message})`
    : message.replace(/\s+/g, ' ');
}

/** What the service and the cli both begin with: MongoDB found or started, connected, brought to today's schema, its indexes made. */
import { resolve } from 'node:path';
import mongoose from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { Config } from '../config.js';
import type { NewId } from '../domain/ids.js';
import { StartupError } from '../domain/startup-error.js';
import { openMongo } from '../mongod/index.js';
import { connectDatabase, type Database } from '../stores/database.js';
import { createStores, type Stores } from '../stores/index.js';
import { MIGRATIONS, migrate } from '../stores/migrations/index.js';

export interface OpenDatabase {
  database: Database;
  stores: Stores;
  /** MongoDB runs in the data directory. */
  embedded: boolean;
  close(): Promise<void>;
}

/** @throws StartupError when there is no MongoDB to be had, or when a newer release has written the database. */
export async function openDatabase(
  deps: { clock: Clock; newId: NewId; log: Logger; onProgress: (line: string) => void },
  { mongodbUri, dataDir, cacheDir }: Pick<Config, 'mongodbUri' | 'dataDir' | 'cacheDir'>,
): Promise<OpenDatabase> {
  const mongo = await openMongo({
    uri: mongodbUri,
    dataDir: resolve(dataDir),
    cacheDir,
    log: deps.log,
    onProgress: deps.onProgress,
  });
  let database: Database | null = null;
  const close = async () => {
    await database?.close();
    await mongo.close();
  };
  try {
    database = await connectDatabase(mongo.uri);
    const { connection } = database;
    const stores = createStores(connection, deps);
    const { leases } = stores.system;
    const holder = `p${deps.clock.randomBytes(8).toString('hex')}`;
    await migrate({ db: connection.db!, leases, holder, migrations: MIGRATIONS, onProgress: deps.onProgress });
    await stores.ensureIndexes();
    return { database, stores, embedded: mongo.embedded, close };
  } catch (error) {
    await close();
    throw toStartupError(error);
  }
}

/** What MongoDB refuses at the start is for the operator to mend: too little room on the disk, a right that its user lacks. */
export const toStartupError = (error: unknown): unknown =>
  error instanceof mongoose.mongo.MongoError
    ? new StartupError(`MongoDB does not let the service start: ${error.message.split('\n')[0]}.`)
    : error;

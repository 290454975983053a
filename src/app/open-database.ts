/** Opens the database for the service and the cli: finds or starts MongoDB, connects, migrates the schema, makes indexes. */
import { resolve } from 'node:path';
import mongoose from 'mongoose';
import type { Logger } from 'pino';
import { type Clock, monotonicClock } from '../kit/clock.js';
import { connectDatabase, type Database } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { type Lifeline, startLifeline } from '../kit/lifeline.js';
import { StartupError } from '../kit/startup-error.js';
import { MongoUnavailableError, type OpenMongo, openMongo } from '../mongod/index.js';
import { createStores, type Stores } from '../stores.js';
import type { Config } from './config.js';
import { MIGRATIONS, migrate } from './migrations.js';
import { shardCollections } from './sharding.js';

interface OpenDatabase {
  database: Database;
  stores: Stores;
  /** The embedded MongoDB is used. */
  embedded: boolean;
  close(): Promise<void>;
}

/** @throws StartupError when no MongoDB is available, a newer release has written the database, or a collection is sharded in another way */
export async function openDatabase(
  deps: { clock: Clock; newId: NewId; log: Logger; onProgress: (line: string) => void },
  settings: MongoSettings,
): Promise<OpenDatabase> {
  const mongo = await openConfiguredMongo(settings, deps);
  let database: Database | null = null;
  let lifeline: Lifeline | null = null;
  const close = async () => {
    await lifeline?.close();
    await database?.close();
    await mongo.close();
  };
  try {
    database = await connectDatabase(mongo.uri, {
      onChange: (isThere) => {
        if (isThere) deps.log.info('MongoDB is back');
        else deps.log.error('MongoDB does not answer, or has no primary');
      },
      onSession: async (id) => lifeline?.note(id),
    });
    const { connection } = database;
    const stores = createStores(connection, deps);
    const { leases } = stores.system;
    const holder = `p${deps.clock.randomBytes(8).toString('hex')}`;
    await migrate({
      db: connection.db!,
      leases,
      holder,
      migrations: MIGRATIONS,
      log: deps.log,
      onProgress: deps.onProgress,
    });
    lifeline = startLifeline({
      ...{ leases, process: holder, clock: monotonicClock, log: deps.log },
      onRenewal: database.wrote,
    });
    await stores.ensureIndexes();
    await shardCollections(connection.db!, deps.onProgress);
    return { database, stores, embedded: mongo.embedded, close };
  } catch (error) {
    await close();
    throw toStartupError(error);
  }
}

export type MongoSettings = Pick<Config, 'mongodbUri' | 'dataDir' | 'cacheDir'>;

/** @throws StartupError when no MongoDB is available */
export const openConfiguredMongo = (
  { mongodbUri, dataDir, cacheDir }: MongoSettings,
  { log, onProgress }: { log: Logger; onProgress: (line: string) => void },
): Promise<OpenMongo> =>
  openMongo({ uri: mongodbUri, dataDir: resolve(dataDir), cacheDir, log, onProgress }).catch((error: unknown) => {
    throw toStartupError(error);
  });

/** What MongoDB refuses at the start, the operator has to mend: too little disk space, a missing privilege. */
export function toStartupError(error: unknown): unknown {
  if (error instanceof MongoUnavailableError) return new StartupError(error.message);
  if (!(error instanceof mongoose.mongo.MongoError)) return error;
  return new StartupError(`MongoDB does not let the service start: ${error.message.split('\n')[0]}.`);
}

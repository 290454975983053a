/** Opens the database for the service and the cli: finds or starts MongoDB, connects, migrates the
 *  schema, makes indexes. */

import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { mongo } from 'mongoose';
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

// Sharding on a cluster: collections that grow with use are divided by account, the others stay
// whole. Nothing to do on a replica set.

type ShardKey = Readonly<Record<string, 1 | 'hashed'>>;

const BY_ID = { accountId: 1, _id: 1 } as const;

/** Unique indexes begin with the shard key, because a shard knows only its own documents. The
 *  fields after the account let a large account spread over several shards. */
export const SHARD_KEYS: Readonly<Record<string, ShardKey>> = {
  payments: { accountId: 1, walletId: 1, operationId: 1 },
  paymentLinks: BY_ID,
  checkouts: BY_ID,
  products: BY_ID,
  productVersions: BY_ID,
  refunds: BY_ID,
  proofs: BY_ID,
  events: { accountId: 1, subjectId: 1 },
  deliveries: { accountId: 1, webhookId: 1, subjectId: 1 },
  activities: BY_ID,
  mails: { accountId: 1, key: 1 },
  idempotency: BY_ID,
  countSegments: { accountId: 1, list: 1 },
  // Looked up by name only.
  payableNames: { _id: 'hashed' },
};

/** The fields used of a cluster's record of a collection. */
interface KnownCollection {
  /** Database and collection. */
  _id: string;
  key: ShardKey;
  /** Unsharded, on a chosen shard. */
  unsplittable?: boolean;
}

/** Shards the collections that are not sharded yet; call once the indexes exist. Safe to repeat,
 *  and to run in several processes at once.
 *  @throws StartupError when a collection is sharded in another way; nothing is changed then */
async function shardCollections(db: mongo.Db, onProgress: (line: string) => void): Promise<void> {
  const { msg } = await db.command({ hello: 1 });
  if (msg !== 'isdbgrid') return;
  const { client, databaseName } = db;
  const prefix = `${databaseName}.`;
  const known = await client
    .db('config')
    .collection<KnownCollection>('collections')
    .find({ _id: { $gte: prefix, $lt: `${databaseName}/` }, unsplittable: { $ne: true } })
    .toArray();
  const sharded = new Map(known.map(({ _id, key }) => [_id.slice(prefix.length), key]));
  for (const [collection, key] of sharded) refuseOther(collection, key);
  const left = Object.entries(SHARD_KEYS).filter(([collection]) => !sharded.has(collection));
  if (left.length === 0) return;
  onProgress(`Sharding ${left.map(([collection]) => collection).join(', ')}.`);
  const shard = async ([collection, key]: [string, ShardKey]) => {
    if (!(await hasIndexOf(db.collection(collection), key))) await db.collection(collection).createIndex(key);
    await client.db('admin').command({ shardCollection: prefix + collection, key });
  };
  await Promise.all(left.map(shard));
}

/** MongoDB shards by an index that begins with the key. */
async function hasIndexOf(collection: mongo.Collection, shardKey: ShardKey): Promise<boolean> {
  const wanted = Object.entries(shardKey);
  const indexes = (await collection.indexes()).filter(({ partialFilterExpression }) => !partialFilterExpression);
  return indexes.some(({ key }) => isDeepStrictEqual(Object.entries(key).slice(0, wanted.length), wanted));
}

function refuseOther(collection: string, key: ShardKey): void {
  const wanted = SHARD_KEYS[collection];
  // The order of the fields counts.
  if (wanted && isDeepStrictEqual(Object.entries(key), Object.entries(wanted))) return;
  const is = `The collection ${collection} is sharded by ${JSON.stringify(key)}`;
  throw new StartupError(
    wanted
      ? `${is}, and has to be by ${JSON.stringify(wanted)}: reshard it (sh.reshardCollection).`
      : `${is}, and has to be whole: unshard it (sh.unshardCollection).`,
  );
}

interface OpenDatabase {
  database: Database;
  stores: Stores;
  /** The embedded MongoDB is used. */
  embedded: boolean;
  close(): Promise<void>;
}

/** @throws StartupError when no MongoDB is available, a newer release has written the database, or
 *  a collection is sharded in another way */
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

export type MongoSettings = Pick<Config, 'mongodbUri' | 'dataDir' | 'cacheDir'> &
  Partial<Pick<Config, 'mongodbDownloads'>>;

/** @throws StartupError when no MongoDB is available */
export const openConfiguredMongo = (
  { mongodbUri, mongodbDownloads, dataDir, cacheDir }: MongoSettings,
  { log, onProgress }: { log: Logger; onProgress: (line: string) => void },
): Promise<OpenMongo> =>
  openMongo({
    ...{ uri: mongodbUri, downloads: mongodbDownloads ?? undefined },
    ...{ dataDir: resolve(dataDir), cacheDir, log, onProgress },
  }).catch((error: unknown) => {
    throw toStartupError(error);
  });

/** What MongoDB refuses at the start, the operator has to mend: too little disk space, a
 *  missing privilege. */
export function toStartupError(error: unknown): unknown {
  if (error instanceof MongoUnavailableError) return new StartupError(error.message);
  if (!(error instanceof mongoose.mongo.MongoError)) return error;
  return new StartupError(`MongoDB does not let the service start: ${error.message.split('\n')[0]}.`);
}

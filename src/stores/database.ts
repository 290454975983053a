/** The connection to MongoDB, and transactions on it. Writes are acknowledged by a majority before they are answered. */
import mongoose from 'mongoose';
import { monotonicClock } from '../clock.js';
import { AlreadyMade } from '../domain/already-made.js';
import { createAvailability, followMonitors, type Guard, MONITORING } from './availability.js';
import { inSnapshot } from './snapshot.js';

export type Session = mongoose.mongo.ClientSession;

export interface Database {
  connection: mongoose.Connection;
  /** Runs `work` in one transaction: all of its writes or none. It is run again when another transaction was in the way, so it must be repeatable. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T>;
  /** MongoDB is a sharded cluster: change streams are late there, and each router has its own idea of the newest moment. */
  isSharded: boolean;
  /** Reads with a session that sees everything as it was when its first read began. It ends when the caller takes no more.
   *  @throws on the way, when that is more than five minutes ago: MongoDB no longer has that moment */
  snapshot<T>(read: (session: Session) => AsyncIterable<T>): AsyncGenerator<T>;
  /** For what a caller waits for. */
  guard: Guard;
  /** Resolves when MongoDB has answered. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

const DATABASE_NAME = 'stellar-collect';

/** What all schemas share: no hidden fields, no indexes made behind our back, nothing stored that the schema does not name. */
export const SCHEMA_OPTIONS = {
  versionKey: false,
  autoIndex: false,
  autoCreate: false,
  minimize: false,
  strict: 'throw',
  strictQuery: 'throw',
} as const;

/** Options of schemas within documents. */
export const PART_OPTIONS = { _id: false, strict: 'throw' } as const;

/** Makes the indexes of a collection that are missing, all by one command: mongoose would ask for one after the other. */
export async function makeIndexes<Doc>({ collection, schema }: mongoose.Model<Doc>): Promise<void> {
  const indexes = schema.indexes().map(([key, options]) => ({ ...options, key }));
  if (indexes.length > 0) await collection.createIndexes(indexes as mongoose.mongo.IndexDescription[]);
}

/** For what is read whole: MongoDB would answer with the first 101 documents and wait to be asked for the rest. */
export const inOneBatch = (wanted: readonly unknown[]) => ({ batchSize: wanted.length + 1 });

/** For reading by the driver itself: leaves out what the schema says is never read, which only mongoose knows. */
export function projectionOf<Doc>(model: mongoose.Model<Doc>, unused: readonly string[] = []): Record<string, 0> {
  const unselected = Object.values(model.schema.paths).filter(({ options }) => options.select === false);
  return Object.fromEntries([...unselected.map(({ path }) => path), ...unused].map((field) => [field, 0]));
}

/** @param uri of a replica set; the database it names, else `stellar-collect`.
 *  @param onChange is told when MongoDB goes away and when it is back */
export async function connectDatabase(uri: string, onChange?: (isThere: boolean) => void): Promise<Database> {
  const named = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(uri)?.[1];
  const connection = mongoose.createConnection(uri, {
    ...(named === undefined ? { dbName: DATABASE_NAME } : {}),
    appName: 'stellar-collect',
    autoIndex: false,
    autoCreate: false,
    // A request must fail rather than wait for a database that is away.
    bufferCommands: false,
    serverSelectionTimeoutMS: 5000,
    // The driver ignores `timeoutMS`, and a time-out of sockets would end what legitimately takes long.
    ...MONITORING,
    writeConcern: { w: 'majority' },
    retryWrites: true,
  });
  await connection.asPromise();
  const availability = createAvailability(monotonicClock, onChange);
  followMonitors(connection.getClient(), availability.observe);
  const isSharded = (await connection.db!.command({ hello: 1 })).msg === 'isdbgrid';
  return {
    connection,
    isSharded,
    guard: availability.guard,
    transaction: (work) =>
      connection.getClient().withSession(async (session) => {
        await twice(() => (isSharded ? meet(connection, session) : beginAfterReads(connection, session)));
        const result = await session.withTransaction(() => work(session), {
          readConcern: { level: 'snapshot' },
          writeConcern: { w: 'majority' },
        });
        // The commit stands, even where the meeting fails.
        if (isSharded) await twice(() => meet(connection)).catch(() => undefined);
        return result;
      }),
    async *snapshot(read) {
      if (isSharded) await twice(() => meet(connection));
      yield* inSnapshot(connection, read);
    },
    ping: async () => {
      await connection.db!.command({ ping: 1 });
    },
    close: () => connection.close(),
  };
}

/** MongoDB may begin a transaction some milliseconds in the past, before commits that a caller was already shown and acts on. It waits for them when told
 *  the time of its newest write, which every answer brings to its session. The cluster time, which the driver has at hand, will not do: a write that
 *  was given up moves it too, and for that one MongoDB waits until there is another write, which may itself be waiting here. */
const beginAfterReads = ({ db }: mongoose.Connection, session: Session) => db!.command({ ping: 1 }, { session });

/** Carries the newest moment that this process knows of to the database's primary shard, and brings back the newest one known there. On a cluster a
 *  transaction begins at what its router takes for now, which is as old as that router's last answer from a shard: up to 10 s, and before commits that
 *  another process has told its caller of. So all processes meet in one place, after each commit and before each transaction. Any collection that is
 *  not sharded would do. */
const meet = ({ db }: mongoose.Connection, session?: Session) =>
  db!.collection('installation').findOne({}, { projection: { _id: 1 }, session });

/** A connection may have ended unnoticed. Within a transaction the driver tries again by itself, but not before it. */
const twice = (ask: () => Promise<unknown>): Promise<unknown> =>
  ask().catch((error) => {
    // There was a wait for a server already.
    if (error instanceof mongoose.mongo.MongoServerSelectionError) throw error;
    return ask();
  });

const DUPLICATE_KEY = 11_000;

/** True when a unique index refused a write. */
export const isDuplicateKey = (error: unknown): boolean =>
  error instanceof mongoose.mongo.MongoServerError && error.code === DUPLICATE_KEY;

/** @throws AlreadyMade where the index of `_id` refuses the insert. Of several documents only the message says which index it was. */
export const orAlreadyMade = <T>(insert: Promise<T>): Promise<T> =>
  insert.catch((error: unknown) => {
    throw isDuplicateKey(error) && (error as Error).message.includes(' index: _id_ ') ? new AlreadyMade() : error;
  });

const REMOVED_AT_ONCE = 1000;

/** Removes no more of the documents than one transaction should. @returns whether none is left */
export async function removeSome<Doc extends { _id: string }>(
  collection: mongoose.mongo.Collection<Doc>,
  filter: mongoose.mongo.Filter<Doc>,
  session: Session,
  remove: (ids: readonly string[]) => Promise<unknown>,
): Promise<boolean> {
  const found = await collection
    .find<{ _id: string }>(filter, {
      projection: { _id: 1 },
      limit: REMOVED_AT_ONCE,
      batchSize: REMOVED_AT_ONCE + 1,
      session,
    })
    .toArray();
  // On a cluster, a filter that fits nothing asks a shard that has no part in it.
  if (found.length > 0) await remove(found.map(({ _id }) => _id));
  return found.length < REMOVED_AT_ONCE;
}

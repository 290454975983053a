/** The connection to MongoDB, and transactions on it. Writes are acknowledged by a majority before
 *  they are answered. */
import mongoose from 'mongoose';
import { createAvailability, followMonitors, type Guard, MONITORING } from './availability.js';
import { monotonicClock } from './clock.js';
import type { Collection } from './collection.js';
import type { SessionId } from './leases.js';
import { inSnapshot } from './snapshot.js';

/** Something with this id exists already: another run of the same creation made it. */
export class AlreadyMade extends Error {}

/** A drawn memo or slug is taken: draw new ones. */
export class Taken extends Error {}

type MongoClient = mongoose.mongo.MongoClient;
export type Session = mongoose.mongo.ClientSession;

export interface Database {
  connection: mongoose.Connection;
  /** Runs `work` in one transaction. It runs again after a conflict with another transaction, so it
   *  must be repeatable.
   *  @throws DocumentsHeld after so many `attempts`; by default they go on for two minutes */
  transaction<T>(work: (session: Session) => Promise<T>, options?: { attempts?: number }): Promise<T>;
  /** MongoDB is a sharded cluster: change streams lag, and each router has its own
   *  newest moment. */
  isSharded: boolean;
  /** Reads with a session that sees the moment of its first read, until the caller stops.
   *  @throws during the reading, once MongoDB no longer has that moment, after five minutes */
  snapshot<T>(read: (session: Session) => AsyncIterable<T>): AsyncGenerator<T>;
  /** For work that a caller waits for. */
  guard: Guard;
  /** Reports what became of the write that the process makes every second. @param error null when
   *  it succeeded */
  wrote(error: unknown): void;
  /** Whether MongoDB answers and refused the last of those writes. */
  refusesWrites(): boolean;
  /** Resolves when MongoDB has answered. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Another transaction has held documents that this one needs for all its attempts. */
class DocumentsHeld extends Error {
  override readonly name = 'DocumentsHeld';
}

const DATABASE_NAME = 'stellar-collect';

/** Connections to a sharded cluster. */
const sharded = new WeakSet<mongoose.Connection>();

/** Clients whose MongoDB has the command `bulkWrite`, since version 8. */
const bulkWriting = new WeakSet<MongoClient>();

/** Whether `connectDatabase` found a sharded cluster at its end. */
export const isSharded = (connection: mongoose.Connection): boolean => sharded.has(connection);

/** For lists that are read whole: by default the first batch ends after 101 documents. */
export const inOneBatch = (wanted: readonly unknown[]) => ({ batchSize: wanted.length + 1 });

interface Watchers {
  /** Called when MongoDB goes away and when it is back. */
  onChange?: (isThere: boolean) => void;
  /** Awaited before a session's transaction begins. */
  onSession?: (id: SessionId) => Promise<void>;
}

/** @param uri of a replica set; the database it names, else `stellar-collect` */
export async function connectDatabase(uri: string, { onChange, onSession }: Watchers = {}): Promise<Database> {
  const named = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(uri)?.[1];
  const connection = mongoose.createConnection(uri, {
    ...(named === undefined ? { dbName: DATABASE_NAME } : {}),
    appName: 'stellar-collect',
    autoIndex: false,
    autoCreate: false,
    // A request must fail rather than wait for a database that is away.
    bufferCommands: false,
    serverSelectionTimeoutMS: 5000,
    // The driver ignores `timeoutMS`, and a time-out of sockets would end what legitimately
    // takes long.
    ...MONITORING,
    writeConcern: { w: 'majority' },
    retryWrites: true,
  });
  await connection.asPromise();
  const availability = createAvailability(monotonicClock, onChange);
  followMonitors(connection.getClient(), availability.observe);
  if ((await connection.db!.command({ hello: 1 })).msg === 'isdbgrid') sharded.add(connection);
  if (await takesBulkWrites(connection)) bulkWriting.add(connection.getClient());
  return {
    connection,
    isSharded: isSharded(connection),
    guard: availability.guard,
    wrote: availability.wrote,
    refusesWrites: availability.refusesWrites,
    transaction: (work, { attempts = Number.POSITIVE_INFINITY } = {}) =>
      connection.getClient().withSession(async (session) => {
        await onSession?.(session.id!.id);
        await twice(() => (isSharded(connection) ? meet(connection, session) : beginAfterReads(connection, session)));
        let left = attempts;
        const attempt = async () => {
          if (left === 0) throw new DocumentsHeld(`another transaction held the documents for ${attempts} attempts`);
          left -= 1;
          return work(session);
        };
        const result = await session.withTransaction(attempt, {
          readConcern: { level: 'snapshot' },
          writeConcern: { w: 'majority' },
        });
        // The commit stands even if `meet` fails.
        if (isSharded(connection)) await twice(() => meet(connection)).catch(() => undefined);
        return result;
      }),
    async *snapshot(read) {
      if (isSharded(connection)) await twice(() => meet(connection));
      yield* inSnapshot(connection, read);
    },
    ping: async () => {
      await connection.db!.command({ ping: 1 });
    },
    close: () => connection.close(),
  };
}

/** Asked by a command that changes nothing: MongoDB 8 refuses it too while it keeps compatible
 *  with 7. It waits for no majority, which a program that only reads does not need. */
async function takesBulkWrites(connection: mongoose.Connection): Promise<boolean> {
  const nothing = { namespace: `${connection.name}.installation`, filter: { _id: { $in: [] } } };
  try {
    await connection.getClient().bulkWrite([{ name: 'deleteOne', ...nothing }], { writeConcern: { w: 1 } });
    return true;
  } catch (error) {
    // Only an answer is a refusal.
    if (error instanceof mongoose.mongo.MongoServerError) return false;
    throw error;
  }
}

/** MongoDB may begin a transaction some milliseconds in the past, before commits that a caller has
 *  already seen. It waits for them if given the time of its newest write, which every answer
 *  carries to its session. The driver's cluster time does not work: an aborted write advances it
 *  too, and MongoDB would wait for another write, which may itself be waiting here. */
const beginAfterReads = ({ db }: mongoose.Connection, session: Session) => db!.command({ ping: 1 }, { session });

/** Exchanges the newest known moment with the database's primary shard. On a cluster a transaction
 *  begins at its router's newest moment, which may be 10 s old and precede commits that another
 *  process has reported to its caller. So all processes meet at one place, after each commit and
 *  before each transaction. Any unsharded collection would do. */
const meet = ({ db }: mongoose.Connection, session?: Session) =>
  db!.collection('installation').findOne({}, { projection: { _id: 1 }, session });

/** A connection may have ended unnoticed. The driver retries within a transaction, but not
 *  before it. */
const twice = (ask: () => Promise<unknown>): Promise<unknown> =>
  ask().catch((error) => {
    // It has already waited for a server.
    if (error instanceof mongoose.mongo.MongoServerSelectionError) throw error;
    return ask();
  });

const DUPLICATE_KEY = 11_000;

/** True when a unique index refused a write. */
export const isDuplicateKey = (error: unknown): boolean =>
  error instanceof mongoose.mongo.MongoServerError && error.code === DUPLICATE_KEY;

/** @throws AlreadyMade when the index of `_id` refuses the insert; for several documents only the
 *  message names the index */
export const orAlreadyMade = <T>(insert: Promise<T>): Promise<T> =>
  insert.catch((error: unknown) => {
    throw isDuplicateKey(error) && (error as Error).message.includes(' index: _id_ ') ? new AlreadyMade() : error;
  });

/** New documents for a collection. */
export interface Insert {
  docs: readonly object[];
  namespace: string;
  client: MongoClient;
  store(session: Session): Promise<unknown>;
  /** What a duplicate key among them means. */
  Duplicate?: new () => Error;
  /** What else follows in the same transaction, once all are stored. */
  afterwards?: (session: Session) => Promise<void>;
}

export const insertOf = <Doc extends object>(
  collection: Collection<Doc>,
  docs: readonly Doc[],
  Duplicate?: new () => Error,
): Insert => ({
  docs,
  namespace: `${collection.conn.name}.${collection.collectionName}`,
  client: collection.conn.getClient(),
  store: (session) => collection.insertMany(docs as never, { session }),
  ...(Duplicate && { Duplicate }),
});

/** Stores documents in several collections: in one round trip, where MongoDB can. */
export async function insertTogether(inserts: readonly Insert[], session: Session): Promise<void> {
  const some = inserts.filter(({ docs }) => docs.length > 0);
  const client = some[0]?.client;
  if (client && some.length > 1 && bulkWriting.has(client)) await insertInBulk(client, some, session);
  else await insertEach(some, session);
  for (const { afterwards } of some) await afterwards?.(session);
}

async function insertEach(inserts: readonly Insert[], session: Session): Promise<void> {
  for (const { store, Duplicate } of inserts) {
    await store(session).catch((error: unknown) => {
      throw Duplicate && isDuplicateKey(error) ? new Duplicate() : error;
    });
  }
}

async function insertInBulk(client: MongoClient, inserts: readonly Insert[], session: Session): Promise<void> {
  const models = inserts.flatMap(({ namespace, docs, Duplicate }) =>
    docs.map((document) => ({ model: { name: 'insertOne', namespace, document } as const, Duplicate })),
  );
  try {
    await client.bulkWrite(
      models.map(({ model }) => model),
      { session },
    );
  } catch (error) {
    if (!(error instanceof mongoose.mongo.MongoClientBulkWriteError)) throw error;
    const [[index, refused] = []] = error.writeErrors;
    const Duplicate = refused?.code === DUPLICATE_KEY ? models[index!]!.Duplicate : undefined;
    // The cause has the label of what may be tried again.
    throw Duplicate ? new Duplicate() : (error.cause ?? error);
  }
}

const REMOVED_AT_ONCE = 1000;

/** Removes a batch small enough for one transaction. @returns whether none is left */
export async function removeSome<Doc extends { _id: string }>(
  collection: mongoose.mongo.Collection<Doc>,
  filter: mongoose.mongo.Filter<Doc>,
  session: Session | undefined,
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
  // On a cluster, a filter that matches nothing would add a shard to the transaction.
  if (found.length > 0) await remove(found.map(({ _id }) => _id));
  return found.length < REMOVED_AT_ONCE;
}

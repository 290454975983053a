/** Backups as files. The database is opened unchanged: neither its schema version nor its
 *  indexes change. Behind the files: the stream of bytes that is in them. */

import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import mongoose from 'mongoose';
import { pino } from 'pino';
import type { Clock } from '../kit/clock.js';
import { connectDatabase, type Database } from '../kit/database.js';
import { batchesOf, inSnapshot } from '../kit/snapshot.js';
import { StartupError } from '../kit/startup-error.js';
import { toDisk } from './directory.js';
import { type SchemaVersionDoc, VERSION_COLLECTION, versionWhileRestoring } from './migrations.js';
import { type MongoSettings, openConfiguredMongo, toStartupError } from './open-database.js';

type Progress = (line: string) => void;

async function withDatabase<T>(
  settings: MongoSettings,
  onProgress: Progress,
  work: (database: Database) => Promise<T>,
): Promise<T> {
  const mongo = await openConfiguredMongo(settings, { log: pino({ level: 'silent' }), onProgress });
  try {
    const database = await connectDatabase(mongo.uri);
    try {
      return await work(database);
    } finally {
      await database.close();
    }
  } catch (error) {
    throw toStartupError(error);
  } finally {
    await mongo.close();
  }
}

/** Writes the file, which appears only once it is complete and on the disk.
 *  @returns the number of documents */
export function writeBackup(
  settings: MongoSettings,
  file: string,
  clock: Clock,
  onProgress: Progress,
): Promise<number> {
  return withDatabase(settings, onProgress, async ({ connection }) => {
    // Another backup of this name may be under way.
    const unfinished = `${file}.${clock.randomBytes(6).toString('hex')}.part`;
    let count = 0;
    const bytes = async function* () {
      for await (const part of backupOf(connection, clock.now())) {
        count += part.documents;
        yield part.bytes;
      }
    };
    try {
      const zip = createGzip({ level: constants.Z_BEST_SPEED });
      const written = createWriteStream(unfinished, { flags: 'wx', mode: 0o600 });
      await pipeline(Readable.from(bytes(), { highWaterMark: 1 }), zip, written);
      await toDisk(unfinished);
      await rename(unfinished, file);
      await toDisk(dirname(resolve(file)));
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => undefined);
      throw writeError(error, file);
    }
    return count;
  });
}

/** In words, where the system refuses the file. */
function writeError(error: unknown, file: string): unknown {
  const { code = '', path } = error as NodeJS.ErrnoException;
  if (path === undefined) return error;
  const why = code === 'ENOENT' ? `there is no folder ${dirname(resolve(file))}` : code;
  return new StartupError(`${file} cannot be written: ${why}.`);
}

/** Fills the database of these settings, which must be empty.
 *  @returns the number of documents. @throws StartupError when the file is not a complete backup,
 *  or the database is not empty */
export function restoreBackup(settings: MongoSettings, file: string, onProgress: Progress): Promise<number> {
  return withDatabase(settings, onProgress, ({ connection }) => restoreInto(connection.db!, () => unzipped(file)));
}

async function* unzipped(file: string): AsyncGenerator<Buffer> {
  const zipped = createReadStream(file);
  const unzip = createGunzip();
  zipped.on('error', (error) => unzip.destroy(error));
  try {
    yield* zipped.pipe(unzip);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
      throw new StartupError(`The backup cannot be read: ${message}.`);
    throw new StartupError(`The backup is damaged or was cut off (${message}): nothing was restored from it.`);
  } finally {
    zipped.destroy();
  }
}

// Writes a database as a stream of bytes, and restores it. A backup shows one moment, whatever is
// written during it. Its last line counts the documents, so that a truncated backup is recognised.
// It begins with a line that names the format. Blocks follow: a line with a collection and its
// size in bytes, then that many bytes of BSON documents. The last line counts all documents.

const { BSON } = mongoose.mongo;

const FORMAT = 'stellar-collect backup 1';
/** The size of 500 documents of MongoDB's largest size: a larger number is not from a backup. */
const MAX_BLOCK_BYTES = 500 * 16 * 2 ** 20;
const MAX_LINE_BYTES = 1000;

interface BackupPart {
  bytes: Buffer;
  /** Number of documents. */
  documents: number;
}

interface Block {
  collection: string;
  documents: Buffer[];
}

const line = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

/** Everything in the database. One batch is in memory at a time.
 *  @throws on the way, when reading takes longer than the five minutes for which MongoDB keeps
 *  a moment */
export async function* backupOf(connection: mongoose.Connection, takenAt: Date): AsyncGenerator<BackupPart> {
  const db = connection.db!;
  yield { bytes: line({ format: FORMAT, takenAt: takenAt.toISOString() }), documents: 0 };
  let count = 0;
  const parts = inSnapshot(connection, async function* (session) {
    // The first read fixes the moment; collections listed after it include all that existed then.
    await db.collection(VERSION_COLLECTION).findOne({}, { session });
    for (const name of await collectionsOf(db)) {
      const found = db.collection(name).find<Buffer>({}, { session, raw: true });
      for await (const documents of batchesOf(found)) yield { name, documents };
    }
  });
  for await (const { name, documents } of parts) {
    const bytes = documents.reduce((sum, each) => sum + each.length, 0);
    count += documents.length;
    yield { bytes: Buffer.concat([line({ collection: name, bytes }), ...documents]), documents: documents.length };
  }
  yield { bytes: line({ documents: count }), documents: 0 };
}

/** @param chunks of the backup, however they are cut
 *  @throws StartupError when it is not a complete backup */
async function* blocksOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Block> {
  const take = createReader(chunks);
  const { format } = await take.line();
  if (format !== FORMAT)
    throw new StartupError(`This release cannot read this backup: it begins with ${JSON.stringify(format)}.`);
  let count = 0;
  for (;;) {
    const { collection, bytes, documents } = await take.line();
    if (typeof collection !== 'string') {
      if (documents !== count || !(await take.isAtEnd())) throw cut();
      return;
    }
    const block = { collection, documents: documentsIn(await take.bytes(Number(bytes))) };
    count += block.documents.length;
    yield block;
  }
}

const cut = () =>
  new StartupError('The backup is damaged or was cut off: nothing was restored from it. Use another one.');

/** Reads lines and blocks of bytes from a stream. */
function createReader(chunks: AsyncIterable<Buffer>) {
  const source = chunks[Symbol.asyncIterator]();
  let held: Buffer[] = [];
  let size = 0;
  async function more(): Promise<boolean> {
    const { done, value } = await source.next();
    if (done) return false;
    held.push(value);
    size += value.length;
    return true;
  }
  async function bytes(count: number): Promise<Buffer> {
    if (!(count > 0 && count <= MAX_BLOCK_BYTES)) throw cut();
    while (size < count) if (!(await more())) throw cut();
    const all = held.length === 1 ? held[0]! : Buffer.concat(held);
    held = [all.subarray(count)];
    size -= count;
    return all.subarray(0, count);
  }
  return {
    bytes,
    async line(): Promise<Record<string, unknown>> {
      for (;;) {
        held = [Buffer.concat(held)];
        const end = held[0]!.indexOf('\n');
        if (end > MAX_LINE_BYTES || (end < 0 && size > MAX_LINE_BYTES)) throw cut();
        if (end >= 0) return parsed((await bytes(end + 1)).toString());
        if (!(await more())) throw cut();
      }
    },
    isAtEnd: async () => size === 0 && !(await more()),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text);
  } catch {
    throw cut();
  }
}

/** BSON documents begin with their length. */
function documentsIn(bytes: Buffer): Buffer[] {
  const documents: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at >= 5 ? bytes.readInt32LE(at) : 0;
    if (length < 5 || at + length > bytes.length) throw cut();
    documents.push(bytes.subarray(at, at + length));
    at += length;
  }
  return documents;
}

/** What let someone in at the time of the backup, and was ended or used up since. */
const NOT_RESTORED: ReadonlySet<string> = new Set(['sessions', 'passkeyChallenges']);
/** Users come back without their open invitation. */
const restored = (collection: string, bytes: Buffer) =>
  collection === 'users' ? { ...exactly(bytes), invitation: null } : exactly(bytes);

/**
 * Fills an empty database. No session comes back, and no open invitation. No release starts on it
 * before the last document is stored; an interrupted restore starts over, and one that another
 * has begun beside ends.
 * @param open opens the backup at its beginning: it is read twice, so that an incomplete one
 * restores nothing
 * @returns the number of documents
 * @throws StartupError when the backup is not whole, the database is not empty, or another restore
 * has begun since
 */
export async function restoreInto(db: mongoose.mongo.Db, open: () => AsyncIterable<Buffer>): Promise<number> {
  for await (const _ of blocksOf(open()));
  await refuseFilled(db);
  const versions = db.collection<SchemaVersionDoc>(VERSION_COLLECTION);
  const durably = { writeConcern: { w: 'majority' } } as const;
  const own = { _id: versionWhileRestoring._id, by: randomUUID() };
  const guard = { ...versionWhileRestoring, ...own };
  const begun = await versions.replaceOne({ _id: own._id, restoring: true }, guard, { ...durably, upsert: true });
  // After the guard: the other restore stores no further block.
  if (begun.matchedCount > 0) await removeLeftovers(db);
  let count = 0;
  let version: SchemaVersionDoc | null = null;
  for await (const { collection, documents } of blocksOf(open())) {
    if (NOT_RESTORED.has(collection)) continue;
    if (!(await versions.findOne(own))) throw overtaken();
    count += documents.length;
    if (collection === VERSION_COLLECTION) version = BSON.deserialize(documents[0]!) as SchemaVersionDoc;
    else
      await db.collection(collection).insertMany(
        documents.map((bytes) => restored(collection, bytes)),
        { ...durably, ordered: false },
      );
  }
  // Last: allows a release to start.
  const ended = version
    ? (await versions.replaceOne(own, version, durably)).matchedCount
    : (await versions.deleteOne(own, durably)).deletedCount;
  if (ended === 0) throw overtaken();
  return count;
}

const overtaken = () =>
  new StartupError('Another restore of this database has begun since: this one has ended, and leaves it to that one.');

/** Types stay as they were: a Long that would fit into a number, a whole number that is
 *  a Double. */
const exactly = (bytes: Buffer) => BSON.deserialize(bytes, { promoteValues: false, promoteBuffers: false });

/** @throws StartupError when there is anything that no restore has left */
async function refuseFilled(db: mongoose.mongo.Db): Promise<void> {
  const version = await db.collection<SchemaVersionDoc>(VERSION_COLLECTION).findOne({});
  if (version?.restoring) return;
  for (const name of await collectionsOf(db))
    if (await db.collection(name).findOne({}))
      throw new StartupError(`The database ${db.databaseName} is not empty: a backup is restored into a new one.`);
}

/** Removes what another restore has filled. */
async function removeLeftovers(db: mongoose.mongo.Db): Promise<void> {
  for (const name of await collectionsOf(db)) if (name !== VERSION_COLLECTION) await db.dropCollection(name);
}

async function collectionsOf(db: mongoose.mongo.Db): Promise<string[]> {
  const listed = await db.listCollections({ type: 'collection' }, { nameOnly: true }).toArray();
  return listed.map(({ name }) => name).filter((name) => !name.startsWith('system.'));
}

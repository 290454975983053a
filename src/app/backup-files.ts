/** Backups as files. The database is opened unchanged: neither its schema version nor its
 *  indexes change. */
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { constants, createGunzip, createGzip } from 'node:zlib';
import { pino } from 'pino';
import type { Clock } from '../kit/clock.js';
import { connectDatabase, type Database } from '../kit/database.js';
import { StartupError } from '../kit/startup-error.js';
import { backupOf, restoreInto } from './backup.js';
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
    const unfinished = `${file}.part`;
    let count = 0;
    const bytes = async function* () {
      for await (const part of backupOf(connection, clock.now())) {
        count += part.documents;
        yield part.bytes;
      }
    };
    try {
      const zip = createGzip({ level: constants.Z_BEST_SPEED });
      await pipeline(Readable.from(bytes(), { highWaterMark: 1 }), zip, createWriteStream(unfinished, { mode: 0o600 }));
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

async function toDisk(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
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

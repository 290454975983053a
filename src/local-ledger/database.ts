/** The database of a ledger that has its own: a given MongoDB, or an embedded one in
 *  a directory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openMongo } from '@stellar-collect/mongod';
import { type Db, MongoClient } from 'mongodb';
import type { Logger } from 'pino';

export interface OpenDatabase {
  db: Db;
  close(): Promise<void>;
}

/** @param deps.dataDir null for a temporary directory, removed on close
 *  @throws MongoUnavailableError with one line that tells what to do */
export async function openDatabase(deps: {
  mongodbUri: string | null;
  dataDir: string | null;
  log: Logger;
  onProgress?: (line: string) => void;
}): Promise<OpenDatabase> {
  const { mongodbUri: uri, log, onProgress } = deps;
  const isTemporary = uri === null && deps.dataDir === null;
  const dataDir = isTemporary ? await mkdtemp(join(tmpdir(), 'stellar-local-ledger-')) : resolve(deps.dataDir ?? '.');
  const removeTemporary = async () => {
    if (isTemporary) await rm(dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  };
  try {
    const database = await openMongo({ uri, dataDir, log, onProgress });
    const client = await MongoClient.connect(database.uri);
    return {
      db: client.db(),
      async close() {
        await client.close();
        await database.close();
        await removeTemporary();
      },
    };
  } catch (error) {
    await removeTemporary();
    throw error;
  }
}

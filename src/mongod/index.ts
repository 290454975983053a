/** The MongoDB of this process: the operator's, or an embedded one shared by all processes with the
 *  same data directory. */
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { joinEmbeddedMongo } from './embedded.js';
import { findMongod } from './find.js';
import { checkMongo } from './given.js';

export { type Cluster, type ClusterOptions, type ClusterServer, openCluster } from './cluster.js';
export { MongoUnavailableError } from './error.js';
export { findMongod } from './find.js';
export { freePort } from './sockets.js';

export interface OpenMongo {
  /** A connection string; the embedded one holds credentials, so it must not be logged. */
  uri: string;
  embedded: boolean;
  /** Leaves the embedded mongod, which ends with its last member. Connections must be
   *  closed before. */
  close(): Promise<void>;
}

/** Resolves when MongoDB accepts writes.
 *  @param deps.uri the operator's MongoDB, or null for the embedded one in `dataDir`
 *  @param deps.cacheDir directory for the downloaded mongod; default `stellar-collect` in
 *  XDG_CACHE_HOME or `~/.cache`
 *  @param deps.downloads the server of MongoDB's downloads, over https, for systems other than
 *  Linux on x64
 *  @param deps.onProgress gets lines for a person while mongod is downloaded
 *  @throws MongoUnavailableError with what to do about it */
export async function openMongo(deps: {
  uri: string | null;
  dataDir: string;
  cacheDir?: string;
  downloads?: string | undefined;
  log: Logger;
  onProgress?: (line: string) => void;
}): Promise<OpenMongo> {
  const {
    uri,
    dataDir,
    cacheDir = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'stellar-collect'),
    downloads,
    log,
    onProgress = () => undefined,
  } = deps;
  if (uri !== null) {
    await checkMongo(uri, log);
    return { uri, embedded: false, close: async () => undefined };
  }
  const find = () => findMongod({ cacheDir, downloads, log, onProgress });
  const mongo = await joinEmbeddedMongo({ dataDir, log, findMongod: find });
  return { ...mongo, embedded: true };
}

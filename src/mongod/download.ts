/** The second source: MongoDB's own downloads, for systems of which the npm registry has no build.
 *  A program under its final name is complete, and its tarball had the SHA-256 that lies beside
 *  it there. */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, open } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { MongoUnavailableError } from './error.js';
import { INSTEAD, type OnProgress, onceInPlace, type Program } from './fetch.js';

const run = promisify(execFile);

export const MONGODB_DOWNLOADS = 'https://fastdl.mongodb.org';
/** Patched, of the line that MongoDB supports longest. */
const VERSION = '8.0.20';
const CHECKSUM_TIMEOUT_MS = 15_000;
const MAX_CHECKSUM_BYTES = 4096;
/** Three times the largest of today. */
const MAX_BYTES = 300 * 2 ** 20;

/** Paths without `.tgz`, by platform and processor. */
export const DOWNLOADS: Readonly<Record<string, string>> = {
  'linux arm64': `linux/mongodb-linux-aarch64-ubuntu2204-${VERSION}`,
  'darwin arm64': `osx/mongodb-macos-arm64-${VERSION}`,
  'darwin x64': `osx/mongodb-macos-x86_64-${VERSION}`,
};

export const downloadedPath = (path: string, program: Program, cacheDir: string): string =>
  join(cacheDir, `${program}-${basename(path)}`);

interface DownloadDeps {
  /** The server that has them. */
  from: string;
  cacheDir: string;
  onProgress: OnProgress;
}

/** @returns the path of an executable that may still lack shared libraries */
export async function downloadProgram(path: string, program: Program, deps: DownloadDeps): Promise<string> {
  const { from, cacheDir, onProgress } = deps;
  const kept = downloadedPath(path, program, cacheDir);
  const url = `${from.replace(/\/+$/, '')}/${path}.tgz`;
  await onceInPlace(kept, async (workDir) => {
    const expected = /^\s*([0-9a-f]{64})\b/i.exec(await checksumAt(`${url}.sha256`))?.[1];
    if (!expected) throw refused(url, 'there is no SHA-256 beside it');
    const tarball = join(workDir, 'mongodb.tgz');
    if ((await store(await ask(url), tarball, onProgress)) !== expected.toLowerCase())
      throw refused(url, 'its SHA-256 differs from the one beside it');
    const made = await unpacked(tarball, program, workDir);
    onProgress(`MongoDB ${VERSION} is fetched and verified.`);
    return made;
  });
  return kept;
}

/** A redirect is refused: it could lead away from TLS. */
async function ask(url: string, timeoutMs?: number): Promise<Response> {
  try {
    const answer = await fetch(url, {
      redirect: 'error',
      headers: { 'accept-encoding': 'identity' },
      ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
    });
    if (answer.ok) return answer;
    await answer.body?.cancel();
    throw new Error(`HTTP ${answer.status}`);
  } catch (error) {
    throw unreachable(url, error);
  }
}

async function checksumAt(url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of read(await ask(url, CHECKSUM_TIMEOUT_MS), MAX_CHECKSUM_BYTES)) chunks.push(chunk);
  } catch (error) {
    throw unreachable(url, error);
  }
  return Buffer.concat(chunks).toString();
}

/** Refuses what is larger by its header before it reads. */
async function* read(answer: Response, maxBytes: number): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  const check = (size: number) => {
    if (size > maxBytes) throw refused(answer.url, `it has more than ${maxBytes} bytes`);
  };
  check(Number(answer.headers.get('content-length')));
  for await (const chunk of answer.body! as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    check(bytes);
    yield chunk;
  }
}

/** @returns its SHA-256 */
async function store(answer: Response, path: string, onProgress: OnProgress): Promise<string> {
  const total = Number(answer.headers.get('content-length'));
  const hash = createHash('sha256');
  const file = await open(path, 'wx');
  let [bytes, shown] = [0, -1];
  try {
    for await (const chunk of read(answer, MAX_BYTES)) {
      hash.update(chunk);
      await file.writeFile(chunk);
      bytes += chunk.length;
      const tenths = total > 0 ? Math.floor((10 * bytes) / total) : 0;
      if (tenths > shown) onProgress(`Fetching MongoDB ${VERSION} [${'#'.repeat(tenths).padEnd(10, '.')}]`);
      shown = tenths;
    }
  } catch (error) {
    throw unreachable(answer.url, error);
  } finally {
    await file.close();
  }
  return hash.digest('hex');
}

async function unpacked(tarball: string, program: Program, workDir: string): Promise<string> {
  const { stdout } = await run('tar', ['-tzf', tarball], { maxBuffer: 1e7 });
  const entry = stdout.split('\n').find((name) => /^[^/]+\/bin\/[^/]+$/.test(name) && basename(name) === program);
  if (entry === undefined) throw refused(basename(tarball), `it holds no ${program}`);
  await run('tar', ['-xzf', tarball, '-C', workDir, entry]);
  await chmod(join(workDir, entry), 0o755);
  return join(workDir, entry);
}

function unreachable(url: string, error: unknown): MongoUnavailableError {
  if (error instanceof MongoUnavailableError) return error;
  const { message, cause, code } = error as Error & { cause?: { code?: string; message?: string }; code?: string };
  const reason = cause?.code ?? cause?.message ?? code ?? message;
  return new MongoUnavailableError(
    `MongoDB cannot be fetched from ${url} (${reason}). Check the network and MONGODB_DOWNLOADS. ${INSTEAD}`,
  );
}

const refused = (what: string, why: string) =>
  new MongoUnavailableError(`MongoDB at ${what} is not used: ${why}. ${INSTEAD}`);

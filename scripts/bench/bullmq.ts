// biome-ignore-all lint/suspicious/noExplicitAny: the package is not installed, so it has no types here.
/** BullMQ with its own Redis, in a temporary folder outside of the repository: neither is
 *  a dependency. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../../test/helpers/mongo.js';
import type { Scope } from './scope.js';

const run = promisify(execFile);
const BULLMQ = 'bullmq@5';
const DEBIAN_PACKAGES = ['redis-server', 'redis-tools', 'liblzf1', 'libjemalloc2'];

export interface Queueing {
  /** The package. */
  bullmq: any;
  /** Folder of its installation. */
  folder: string;
  connection: { host: string; port: number };
}

/** @throws when there is no npm registry, or neither Redis nor Debian to take it from */
export async function startQueueing(scope: Scope): Promise<Queueing> {
  const folder = await mkdtemp(join(tmpdir(), 'stellar-collect-bullmq-'));
  scope.teardown(() => rm(folder, { recursive: true, force: true }));
  await run('npm', ['install', '--no-save', '--ignore-scripts', '--prefix', folder, BULLMQ], { cwd: folder });
  const bullmq = createRequire(join(folder, 'any.js'))('bullmq');
  const port = await freePort();
  const { command, env } = await findRedis(folder);
  // Redis with its defaults, except for port and folder: it writes nothing to disk during a run.
  const redis = spawn(command, ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  scope.teardown(async () => {
    const ended = once(redis, 'exit');
    redis.kill('SIGKILL');
    await ended;
  });
  for await (const [line] of chunks(redis)) if (String(line).includes('Ready to accept connections')) break;
  redis.stdout.resume();
  return { bullmq, folder, connection: { host: '127.0.0.1', port } };
}

async function* chunks(redis: ReturnType<typeof spawn>) {
  const ended = once(redis, 'exit').then(() => Promise.reject(new Error('Redis ended')));
  ended.catch(() => undefined);
  for (;;) yield await Promise.race([once(redis.stdout!, 'data'), ended]);
}

/** Redis of the machine, else of Debian, unpacked but not installed. */
async function findRedis(folder: string) {
  const { env } = process;
  const own = await run('redis-server', ['--version']).catch(() => null);
  if (own) return { command: 'redis-server', env };
  await run('apt-get', ['download', ...DEBIAN_PACKAGES], { cwd: folder });
  const unpacked = join(folder, 'redis');
  for (const file of await readdir(folder))
    if (file.endsWith('.deb')) await run('dpkg', ['-x', file, unpacked], { cwd: folder });
  const libraries = (await readdir(join(unpacked, 'usr/lib'))).map((name) => join(unpacked, 'usr/lib', name));
  return { command: join(unpacked, 'usr/bin/redis-server'), env: { ...env, LD_LIBRARY_PATH: libraries.join(':') } };
}

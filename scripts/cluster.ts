/** `npm run cluster`: runs a MongoDB cluster of two shards on this machine, and the service on it,
 *  until Ctrl-C. Deletes its data at the end; settings come from the environment as usual. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pino } from 'pino';
import { readConfig } from '../src/app/config.js';
import { MongoUnavailableError, openCluster } from '../src/mongod/index.js';

const { cacheDir } = readConfig({ XDG_CACHE_HOME: process.env.XDG_CACHE_HOME });
const say = (line: string) => console.log(line);

async function main(): Promise<number> {
  const stopped = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stopped.abort());
  say('Starting a cluster: a config server, two shards, a router.');
  const cluster = await openCluster({ cacheDir, log: pino({ level: 'warn' }), onProgress: say });
  const dataDir = mkdtempSync(join(tmpdir(), 'stellar-collect-cluster-service-'));
  try {
    if (stopped.signal.aborted) return 0;
    say(`  Router    ${cluster.uri}`);
    for (const { name, uri } of cluster.shards) say(`  ${name}    ${uri}`);
    const service = spawn(process.execPath, ['--import=tsx', 'src/main.ts'], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      // In its own process group, so that Ctrl-C does not reach it: this process stops the service
      // before the database.
      detached: true,
      stdio: 'inherit',
      env: {
        SECRETS_KEY: randomBytes(32).toString('base64'),
        DATA_DIR: dataDir,
        ...process.env,
        MONGODB_URI: cluster.uri,
      },
    });
    stopped.signal.addEventListener('abort', () => service.kill('SIGTERM'));
    const [code] = await once(service, 'exit');
    return code ?? 1;
  } finally {
    await cluster.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  if (!(error instanceof MongoUnavailableError)) throw error;
  say(error.message);
  process.exitCode = 1;
}

/** `npm start` ends as a person or a supervisor ends it, and leaves nothing running. */
import { mkdtemp, readdir, readFile, readlink, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import t from 'tap';
import { ROOT, type Running, start } from '../helpers/command.js';
import { LONG } from '../helpers/long.js';
import { freePort } from '../helpers/mongo.js';

/** Every process that works in this directory or was started with its name: service, npm, keeper
 *  and mongod. */
async function processesOf(dataDir: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const [environment, directory, command] = await Promise.all([
      readFile(`/proc/${pid}/environ`, 'utf8').catch(() => ''),
      readlink(`/proc/${pid}/cwd`).catch(() => ''),
      readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
    ]);
    // A zombie has no command line any more.
    if (command === '') continue;
    const belongs = environment.split('\0').includes(`DATA_DIR=${dataDir}`) || directory.startsWith(dataDir + sep);
    if (belongs) found.push(command.replaceAll('\0', ' '));
  }
  return found;
}

const ways: Record<string, (service: Running) => void> = {
  // As a supervisor sends it: to the process that it started.
  SIGTERM: ({ process }) => process.kill('SIGTERM'),
  // As a terminal sends them: to the whole group in the foreground.
  SIGHUP: ({ process: { pid } }) => process.kill(-pid!, 'SIGHUP'),
  'Ctrl-C': ({ process: { pid } }) => process.kill(-pid!, 'SIGINT'),
};
for (const [name, send] of Object.entries(ways)) {
  t.test(
    `${name} to npm start ends the service and its MongoDB within 10 s, and no process is left`,
    name === 'Ctrl-C' ? {} : LONG,
    async (t) => {
      const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-stop-'));
      t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
      const env = {
        DATA_DIR: dataDir,
        PORT: String(await freePort()),
        LOCAL_LEDGER_PORT: String(await freePort()),
        LOG_LEVEL: 'warn',
        MONGODB_URI: undefined,
      };
      const service = start('npm', ['start'], { env, cwd: ROOT, detached: true });
      t.teardown(() => service.process.exitCode ?? process.kill(-service.process.pid!, 'SIGKILL'));
      await service.says(/stellar-collect is ready/, 180_000);
      const running = await processesOf(dataDir);
      t.ok(
        ['npm start', 'dist/src/main.js', 'keeper', 'mongod'].every((part) =>
          running.some((line) => line.includes(part)),
        ),
        running.join('\n'),
      );

      const sentAt = Date.now();
      send(service);
      await service.ended;
      while ((await processesOf(dataDir)).length > 0 && Date.now() < sentAt + 20_000) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const ms = Date.now() - sentAt;
      t.same(await processesOf(dataDir), [], 'nothing is left');
      t.ok(ms < 10_000, `${ms} ms`);
      t.notMatch(service.stderr(), /"level"|Error/, 'and nothing is wrong');
    },
  );
}

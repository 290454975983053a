/** MongoDB that is there and cannot write: for a minute without a primary, and on a full disk.
 *  Requests fail until it can, nothing is lost, and the service recovers by itself. */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { freemem, tmpdir } from 'node:os';
import { join } from 'node:path';
import { mongo } from 'mongoose';
import t from 'tap';
import { isReady, type Killable, keepPaying, NO_FAULTS, openShop, prepareKillable, tally } from '../e2e/kill-rounds.js';
import { startProgram } from '../helpers/command.js';
import { eventually } from '../helpers/service.js';

// Processes start slowly on a busy machine.
t.setTimeout(300_000);

const READ_ONLY_SECONDS = 60;
/** MongoDB makes no indexes with less than 500 MB free. */
const DISK_BYTES = 1_200_000_000;
const SMALL_DISK_BYTES = 400_000_000;
const NO_DISK = 'left out: a disk of its own needs root and memory';

/** To the embedded mongod of a place, as its replica set does it. */
async function administer({ dataDir }: Killable, ...commands: mongo.Document[]): Promise<void> {
  const key = readFileSync(join(dataDir, 'mongodb/keyfile'), 'utf8');
  const port = readFileSync(join(dataDir, 'mongodb/port'), 'utf8').trim();
  const uri = `mongodb://__system:${encodeURIComponent(key)}@127.0.0.1:${port}/?authSource=local&directConnection=true`;
  const client = new mongo.MongoClient(uri);
  try {
    for (const command of commands) await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

async function openBusyShop(place: Killable) {
  const service = await place.start();
  await eventually(() => isReady(service.url), 'the service is ready', 60_000);
  const shop = await openShop(place, service.url);
  const paying = keepPaying(place, shop, 1);
  await place.receiver.until(() => place.receiver.requests.length > 2, 20_000);
  const write = () =>
    fetch(`${service.url}/api/v1/wallets/${shop.wallet.id}`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${shop.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name: 'another' }),
    });
  return { service, shop, paying, write };
}

t.test(
  'a MongoDB that takes no writes for a minute: errors in the usual form, not ready, alive; then nothing is lost and nothing twice',
  async (t) => {
    const place = await prepareKillable(t);
    const { service, shop, paying, write } = await openBusyShop(place);
    const startedAt = Date.now();
    await administer(place, { replSetStepDown: READ_ONLY_SECONDS, force: true });

    const refused = await write();
    t.ok(refused.status >= 500, `a write is answered ${refused.status}`);
    t.match(await refused.json(), { data: null, error: { message: String, code: String } });
    const ready = await fetch(`${service.url}/health/ready`);
    t.equal(ready.status, 503);
    t.match(await ready.text(), 'MongoDB does not answer');
    t.equal((await fetch(`${service.url}/health/live`)).status, 200, 'it lives');
    const paidBefore = paying.hashes.length;
    await eventually(() => isReady(service.url), 'the service is ready again by itself', 120_000);
    t.ok(Date.now() - startedAt >= (READ_ONLY_SECONDS - 5) * 1000, `away for ${Date.now() - startedAt} ms`);
    t.ok(paying.hashes.length > paidBefore + 20, 'payments continued in that time');
    t.equal((await write()).status, 200, 'writes are taken again');
    const { payments, repeated, ...faults } = await tally(place, shop, service.url, await paying.stop(), 60_000);
    t.same({ ...faults, repeated }, { ...NO_FAULTS, repeated: 0 }, `${payments} payments`);
  },
);

/** A small disk of its own for a directory: only root may have one. */
function mountDisk(t: { teardown(end: () => unknown): void }, directory: string, bytes: number): boolean {
  mkdirSync(directory, { mode: 0o700 });
  // It is in memory.
  if (freemem() < 2 * bytes) return false;
  const size = `size=${bytes},mode=700`;
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', size, 'stellar-collect-test', directory]).status !== 0) return false;
  // Its mongod may end a moment later than the test.
  t.teardown(() => spawnSync('umount', ['--lazy', directory]));
  return true;
}

async function fill(directory: string): Promise<string> {
  const path = join(directory, 'filler');
  const file = await open(path, 'w');
  const block = Buffer.alloc(1 << 20);
  try {
    for (;;) {
      const { bavail, bsize } = statfsSync(directory);
      writeSync(file.fd, block, 0, Math.min(block.length, Math.max(1, bavail * bsize)));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
  return path;
}

// MongoDB ends at each write that finds no room, and is started again each time.
t.test('a full disk ends MongoDB, not the service: errors until there is room, then nothing is lost', async (t) => {
  const place = await prepareKillable(t);
  const disk = join(place.dataDir, 'mongodb');
  if (!mountDisk(t, disk, DISK_BYTES)) return void t.comment(NO_DISK);
  const { service, shop, paying, write } = await openBusyShop(place);

  const filler = await fill(disk);
  const refused = await eventually(
    async () => {
      // More than fits into the gaps of MongoDB's files; its checkpoint, which is due once a
      // minute, writes it.
      const document = { bytes: randomBytes(4_000_000) };
      await administer(place, { insert: 'ballast', documents: [document] }, { fsync: 1 }).catch(() => undefined);
      const answer = await write().catch(() => null);
      return answer && answer.status >= 500 && answer;
    },
    'a write is refused',
    60_000,
  );
  t.match(await refused.json(), { data: null, error: { message: String, code: String } }, `${refused.status}`);
  t.equal((await fetch(`${service.url}/health/live`)).status, 200, 'it lives');
  const paidBefore = paying.hashes.length;
  await eventually(async () => paying.hashes.length > paidBefore + 10, 'payments continue in that time', 20_000);

  rmSync(filler);
  await eventually(() => isReady(service.url), 'the service is ready again by itself', 60_000);
  const { payments, repeated, ...faults } = await tally(place, shop, service.url, await paying.stop(), 60_000);
  t.same(faults, NO_FAULTS, `${payments} payments, ${repeated} deliveries sent again`);
});

t.test(
  'on a disk without enough room for MongoDB, the service and the cli end with one line that says so',
  async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'stellar-collect-small-disk-'));
    t.teardown(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    if (!mountDisk(t, join(dataDir, 'mongodb'), SMALL_DISK_BYTES)) return void t.comment(NO_DISK);
    const env = { DATA_DIR: dataDir, MONGODB_URI: undefined, PORT: '0', NETWORKS: 'LOCAL', LOG_LEVEL: 'error' };
    for (const [program, ...args] of [
      ['src/main.ts'],
      ['src/cli/main.ts', 'account', 'create', '--name', 'Shop'],
    ] as const) {
      const { code, stderr } = await startProgram(program, args, { env }).ended;
      t.match(stderr, /^MongoDB does not let the service start: available disk space of [^\n]+\n$/);
      t.equal(code, 1, program);
    }
  },
);

/** A process that is killed inside a transaction leaves its documents locked, on an operator's
 *  MongoDB for a minute. No other account waits for that, and its own not for long. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { openMongo } from '../../src/mongod/index.js';
import { CACHE_DIR } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

const HOLDER = fileURLToPath(new URL('../helpers/transaction-holder.ts', import.meta.url));
type Held = [collection: string, filter: Record<string, unknown>][];

const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-held-'));
t.teardown(() => rm(dataDir, { recursive: true, force: true }));
const mongod = await openMongo({ uri: null, dataDir, cacheDir: CACHE_DIR, log: pino({ level: 'warn' }) });
t.teardown(() => mongod.close());
const client = await mongo.MongoClient.connect(mongod.uri);
t.teardown(() => client.close());
// MongoDB's default, which the embedded one shortens.
await client.db('admin').command({ setParameter: 1, transactionLifetimeLimitSeconds: 60 });

interface Shop {
  accountId: string;
  key: string;
  pay(): Promise<unknown>;
  /** @returns milliseconds until the events of its payments have numbers */
  told(payments: number, sinceMs: number, withinMs: number): Promise<number>;
}

async function openShop(service: TestService): Promise<Shop> {
  const { accountId, apiKey: key } = await service.openAccount();
  const api: TestService['api'] = (method, path, body) => service.api(method, path, body, key);
  const { link, wallet } = await startSelling({ ...service, api });
  const pay = () =>
    service.context.localLedger!.client.pay({ to: wallet.address, amount: '25', memo: link.memo }) as Promise<unknown>;
  const told: Shop['told'] = async (payments, sinceMs, withinMs) => {
    const isTold = async () => (await api('GET', '/events?type=payment.completed')).meta!.total >= payments;
    await eventually(isTold, `events of ${accountId}`, withinMs);
    return Date.now() - sinceMs;
  };
  return { accountId, key, pay, told };
}

let databases = 0;

/** Two shops, each with a payment that is told already. */
async function rig(t: Test) {
  databases += 1;
  const url = new URL(mongod.uri);
  url.pathname = `/held_${databases}`;
  const service = await startTestService(t, { database: { uri: url.href } });
  const held = await openShop(service);
  const other = await openShop(service);
  for (const shop of [held, other]) {
    await shop.pay();
    await shop.told(1, Date.now(), 20_000);
  }
  return { uri: url.href, db: client.db(url.pathname.slice(1)), held, other };
}

/** Runs a process of ours until it holds the documents, and kills it. */
async function killHolding(uri: string, held: Held): Promise<void> {
  const child = spawn(process.execPath, ['--import=tsx', HOLDER, uri, JSON.stringify(held)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'exit');
}

t.test('a process is killed while its transaction holds what numbers the events: they go on', async (t) => {
  const { uri, held, other } = await rig(t);
  await killHolding(uri, [['eventCounters', { _id: held.accountId }]]);
  const sinceMs = Date.now();
  await Promise.all([held.pay(), other.pay()]);
  const [own, others] = await Promise.all([held.told(2, sinceMs, 15_000), other.told(2, sinceMs, 10_000)]);
  t.comment(`another account's events after ${others} ms, its own after ${own} ms`);
});

t.test('a process is killed while its transaction holds what records payments: they go on', async (t) => {
  const { uri, held, other } = await rig(t);
  await killHolding(uri, [
    ['cursors', {}],
    ...['paymentLinks', 'products', 'wallets', 'countSegments', 'idempotency', 'eventCounters'].map(
      (name): Held[number] => [name, { accountId: held.accountId }],
    ),
  ]);
  const sinceMs = Date.now();
  await Promise.all([held.pay(), other.pay()]);
  const [own, others] = await Promise.all([held.told(2, sinceMs, 15_000), other.told(2, sinceMs, 10_000)]);
  t.comment(`another account's events after ${others} ms, its own after ${own} ms`);
});

t.test('another program holds an account in a transaction: the others go on', async (t) => {
  const { db, held, other } = await rig(t);
  const session = client.startSession();
  session.startTransaction();
  t.teardown(() => session.endSession());
  await db
    .collection<{ _id: string }>('eventCounters')
    .updateOne({ _id: held.accountId }, { $set: { held: true } }, { session });
  const sinceMs = Date.now();
  await Promise.all([held.pay(), other.pay()]);
  t.comment(`another account's events after ${await other.told(2, sinceMs, 10_000)} ms`);
  await session.abortTransaction();
  await held.told(2, sinceMs, 30_000);
});

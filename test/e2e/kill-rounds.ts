/** The real thing, killed: the service as a process of its own with its embedded mongod, SIGKILL at
 *  random moments under steady payments. The ledger and the merchant's endpoint live in this
 *  process and survive. */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LedgerClient } from '../../src/local-ledger/index.js';
import { DEVELOPMENT_CA_FILE } from '../../src/webhooks/development-ca.js';
import { builtFile } from '../helpers/command.js';
import { startTestLedger } from '../helpers/ledger.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { type Receiver, startReceiver, testAuthority } from '../helpers/receiver.js';
import { eventually } from '../helpers/service.js';
import { startEventReaders } from './event-readers.js';

interface Test {
  teardown(end: () => unknown): void;
}

const root = fileURLToPath(new URL('../..', import.meta.url));
export const WEBHOOK_TIMEOUT_MS = 2000;

export interface Service {
  url: string;
  process: ChildProcess;
  /** Exit code, or the signal that ended it. */
  ended: Promise<number | string>;
  output(): string;
}

export interface Killable {
  dataDir: string;
  ledger: LedgerClient;
  receiver: Receiver;
  env: Record<string, string>;
  /** Starts one more process. It is killed at the end of the test if it still lives. */
  start(options?: { role?: string; env?: Record<string, string> }): Promise<Service>;
  cli(...args: string[]): Promise<string>;
  /** Process id of the embedded mongod, from its lock file. Null while there is none. */
  mongodPid(): Promise<number | null>;
  /** SIGKILL. Nothing where it is dead already. */
  killMongod(): Promise<void>;
  call(url: string, key: string, method: string, path: string, body?: unknown): Promise<any>;
}

/** @param env adds to the service's settings; with MONGODB_URI there is no embedded mongod. */
export async function prepareKillable(t: Test, env: Record<string, string> = {}, closeMs = 200): Promise<Killable> {
  const database = await testDatabase(t);
  const ledger = await startTestLedger(t, { uri: database.uri, closeMs });
  const receiver = await startReceiver();
  t.teardown(() => receiver.close());
  const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-kill-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  await writeFile(join(dataDir, DEVELOPMENT_CA_FILE), (await testAuthority()).cert);
  const settings = {
    ...process.env,
    DATA_DIR: dataDir,
    NETWORKS: 'LOCAL',
    HORIZON_URLS_LOCAL: ledger.url,
    POLL_INTERVAL_MS: '200',
    RATE_LIMIT_PER_MINUTE: '0',
    PUBLIC_RATE_LIMIT_PER_MINUTE: '0',
    WEBHOOK_TIMEOUT_MS: String(WEBHOOK_TIMEOUT_MS),
    WEBHOOK_RETRY_BASE_MS: '200',
    LOG_LEVEL: 'warn',
    ...env,
  } as Record<string, string>;
  const run = (script: string, args: readonly string[], more: Record<string, string> = {}) =>
    spawn(process.execPath, [builtFile(script), ...args], {
      cwd: root,
      env: { ...settings, ...more },
      stdio: ['ignore', 'pipe', 'pipe'],
    });

  const mongodPid = async () => {
    const lock = await readFile(join(dataDir, 'mongodb/data/mongod.lock'), 'utf8').catch(() => '');
    const pid = Number.parseInt(lock, 10);
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    // The number may be anybody's by now.
    return command.includes('mongod') ? pid : null;
  };

  return {
    dataDir,
    ledger: ledger.client,
    receiver,
    env: settings,
    async start({ role = 'all', env: more = {} } = {}) {
      const port = more.PORT ?? String(await freePort());
      const child = run('src/main.ts', ['--role', role], { ...more, PORT: port });
      let output = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
      const ended = new Promise<number | string>((resolve) =>
        child.once('exit', (code, signal) => resolve(code ?? signal!)),
      );
      t.teardown(async () => {
        child.kill('SIGKILL');
        await ended;
      });
      return { url: `http://127.0.0.1:${port}`, process: child, ended, output: () => output };
    },
    cli: (...args) =>
      new Promise((resolve, reject) => {
        const child = run('src/cli/main.ts', args);
        let [out, err] = ['', ''];
        child.stdout.on('data', (chunk) => (out += chunk));
        child.stderr.on('data', (chunk) => (err += chunk));
        child.once('exit', (code) => (code === 0 ? resolve(out) : reject(new Error(err))));
      }),
    mongodPid,
    async killMongod() {
      const pid = await mongodPid();
      if (pid !== null) process.kill(pid, 'SIGKILL');
    },
    async call(url, key, method, path, body) {
      const response = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(10_000),
      });
      const answer = (await response.json()) as { data: unknown; meta?: unknown; error: { message: string } | null };
      if (!response.ok) throw new Error(`${response.status} ${answer.error?.message}`);
      return path.includes('?') ? answer : answer.data;
    },
  };
}

export const isReady = async (url: string): Promise<boolean> =>
  fetch(`${url}/health/ready`, { signal: AbortSignal.timeout(2000) }).then(
    (response) => response.ok,
    () => false,
  );

export interface Shop {
  key: string;
  wallet: { id: string; address: string };
  link: { id: string; memo: string };
  webhook: { id: string; secret: string };
}

export async function openShop(place: Killable, url: string): Promise<Shop> {
  const key: string = JSON.parse(await place.cli('account', 'create', '--name', 'Kill', '--json')).apiKey.key;
  const { address } = await place.ledger.fund();
  const post = (path: string, body: unknown) => place.call(url, key, 'POST', path, body);
  const wallet = await post('/wallets', { name: 'w', address, network: 'LOCAL' });
  const product = await post('/products', {
    name: 'p',
    walletId: wallet.id,
    assetCode: 'XLM',
    priceType: 'FIXED',
    price: '10',
  });
  const link = await post('/payment-links', { productId: product.id });
  const webhook = await post('/webhooks', {
    name: 'h',
    url: `${place.receiver.origin}/hook`,
    events: ['payment.received', 'payment.completed'],
  });
  return { key, wallet, link, webhook };
}

/** Payments one after another, by several payers. @returns their hashes when it is stopped. */
export function keepPaying(place: Killable, shop: Shop, payers = 2) {
  const hashes: string[] = [];
  let stopped = false;
  const paying = Array.from({ length: payers }, async () => {
    while (!stopped) {
      const { hash } = await place.ledger.pay({ to: shop.wallet.address, amount: '10', memo: shop.link.memo });
      hashes.push(hash);
    }
  });
  // When a test fails, the ledger is gone before the payers.
  for (const each of paying) each.catch(() => undefined);
  return {
    hashes,
    async stop(): Promise<string[]> {
      stopped = true;
      await Promise.all(paying);
      return hashes;
    },
  };
}

/** What a tally shows of a service that does what it promises. */
export const NO_FAULTS = { lost: 0, doubled: 0, misjudged: 0, miscounted: 0, undelivered: 0, disordered: 0 };

export interface Tally {
  payments: number;
  /** Hashes without a payment, with more than one, or judged otherwise than COMPLETED. */
  lost: number;
  doubled: number;
  misjudged: number;
  miscounted: number;
  /** Events that never arrived, and deliveries beyond the first of an event. */
  undelivered: number;
  repeated: number;
  /** `payment.completed` that came before its `payment.received`. */
  disordered: number;
}

/** Waits until everything is through, at most `withinMs`, and counts what is wrong. */
export async function tally(
  place: Killable,
  shop: Shop,
  url: string,
  hashes: readonly string[],
  withinMs = 30_000,
): Promise<Tally> {
  const all = async (path: string): Promise<any[]> => {
    const items: any[] = [];
    for (let page = 1; ; page++) {
      const answer = await place.call(url, shop.key, 'GET', `${path}?pageSize=100&page=${page}`);
      items.push(...answer.data);
      if (page >= answer.meta.totalPages) return items;
    }
  };
  const deliveries = async (filter = ''): Promise<number> =>
    (await place.call(url, shop.key, 'GET', `/webhooks/${shop.webhook.id}/deliveries${filter}`)).meta.total;
  /** Deliveries are opened after their events are stored: that none is pending says little before
   *  all are there. */
  const isDelivered = async () =>
    (await deliveries()) >= 2 * hashes.length && (await deliveries('?status=PENDING')) === 0;
  await eventually(
    async () => {
      try {
        return (await all('/payments')).length >= hashes.length && (await isDelivered());
      } catch {
        return false;
      }
    },
    'all payments are stored and delivered',
    withinMs,
  ).catch(() => undefined);

  const payments = await all('/payments');
  const events = await all('/events');
  const counts = new Map<string, number>();
  for (const { transactionHash } of payments) counts.set(transactionHash, (counts.get(transactionHash) ?? 0) + 1);
  const link = await place.call(url, shop.key, 'GET', `/payment-links/${shop.link.id}`);
  const arrived = place.receiver.at('/hook').map(({ body }) => JSON.parse(body));
  const firstAt = new Map<string, number>();
  for (const [index, { id }] of arrived.entries()) if (!firstAt.has(id)) firstAt.set(id, index);
  const receivedAt = new Map(
    events
      .filter(({ type }) => type === 'payment.received')
      .map((event) => [event.data.payment.id, firstAt.get(event.id) ?? Number.POSITIVE_INFINITY]),
  );
  return {
    payments: hashes.length,
    lost: hashes.filter((hash) => !counts.has(hash)).length,
    doubled: payments.length - counts.size,
    misjudged: payments.filter(({ status, reason }) => status !== 'COMPLETED' || reason !== null).length,
    miscounted: Math.abs(link.paymentCount - payments.length) + Math.abs(events.length - 2 * payments.length),
    undelivered: events.filter(({ id }) => !firstAt.has(id)).length,
    repeated: arrived.length - firstAt.size,
    disordered: events.filter(
      ({ id, type, data }) =>
        type === 'payment.completed' &&
        (receivedAt.get(data.payment.id) ?? 0) > (firstAt.get(id) ?? Number.POSITIVE_INFINITY),
    ).length,
  };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const someMs = (low: number, high: number) => low + (randomBytes(4).readUInt32BE() / 2 ** 32) * (high - low);

/** @returns the tally of all rounds together, and what readers of events saw otherwise than once
 *  and in order. */
export async function killRounds(
  t: Test,
  rounds: number,
  say: (line: string) => void = () => undefined,
): Promise<Tally & { misread: string[] }> {
  const place = await prepareKillable(t);
  const port = String(await freePort());
  let service = await place.start({ env: { PORT: port } });
  const { url } = service;
  await eventually(() => isReady(url), 'the service is ready', 60_000);
  const shop = await openShop(place, url);
  const readers = await startEventReaders(t, place, shop, url);
  const paying = keepPaying(place, shop);
  for (let round = 1; round <= rounds; round++) {
    await sleep(someMs(100, 1500));
    const victim = ['service', 'mongod', 'both'][Math.floor(someMs(0, 3))]!;
    if (victim !== 'service') await place.killMongod();
    if (victim !== 'mongod') {
      service.process.kill('SIGKILL');
      await service.ended;
      service = await place.start({ env: { PORT: port } });
    }
    // Half of the time the next blow falls while it is still getting up.
    if (someMs(0, 1) < 0.5) await eventually(() => isReady(url), `the service is ready after round ${round}`, 60_000);
    void readers.replay();
    say(
      `round ${round}: ${victim} killed, ${paying.hashes.length} payments so far, ${place.receiver.requests.length} requests`,
    );
  }
  await eventually(() => isReady(url), 'the service is ready at last', 60_000).catch((error) => {
    throw new Error(`${error.message}\n${service.output().slice(-3000)}`);
  });
  await readers.replay();
  const result = await tally(place, shop, url, await paying.stop());
  if (readers.replays() === 0) throw new Error('nothing was replayed');
  return { ...result, misread: await readers.faults() };
}

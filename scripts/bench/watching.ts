/** Watching: the requests to Horizon in an hour, for any number of wallets, and the time from a
 *  payment to the merchant's endpoint.
 *
 *  The hours are simulated: the real watcher and a real MongoDB, on a clock that leaps from one
 *  sleeper to the next. The times from payment to webhook are real: the whole service, a stand-in
 *  for Horizon in its own process, and an HTTPS endpoint. */
import { StrKey } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import { networkInfo } from '../../contracts/networks.js';
import { createOutbox } from '../../src/events/outbox.js';
import { monotonicClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import type { Fetch } from '../../src/ledger/request.js';
import { createPayments } from '../../src/payments/compose.js';
import { createStores } from '../../src/stores.js';
import { watch } from '../../src/watching/watch.js';
import { createWatcher } from '../../src/watching/watcher.js';
import { PAYER } from '../../test/helpers/horizon-records.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { startReceiver } from '../../test/helpers/receiver.js';
import { startTestService } from '../../test/helpers/service.js';
import { walletDoc } from '../../test/helpers/stores.js';
import { startStandIn } from './horizon.js';
import { createLedgers, nextBeatMs } from './ledgers.js';
import { sequence } from './random.js';
import type { Section } from './report.js';
import { createScope, quantile } from './scope.js';
import type { Told } from './stand-in.js';
import { virtualClock } from './virtual-clock.js';

const HOUR_MS = 3_600_000;
/** Pubnet, 2024. */
const BEAT = { beatMs: 5800, spreadMs: 500 };
/** Round-trip time. */
const WAY_MS = 100;
/** Other accounts' payments in a ledger: about as many as on pubnet, and the most that a
 *  ledger holds. */
const USUAL = 110;
const FULL = 1000;
const PER_HOUR = 3600;
const HOURS = Number(process.env.BENCH_HOURS ?? 2);
const PAYMENTS = Number(process.env.BENCH_PAYMENTS ?? 65);
/** Payments until the beat is known. */
const WARM_UP = 5;
/** Wallets, other accounts' payments in a ledger, hours. */
const CASES = [
  [2, USUAL, HOURS],
  [5, USUAL, HOURS],
  [5000, USUAL, HOURS],
  [100_000, USUAL, HOURS],
  [100_000, FULL, HOURS / 4],
] as const;
const ENDING_MS = 60_000;
const NETWORK = 'TESTNET';
const { passphrase } = networkInfo[NETWORK];

const address = (n: number) => {
  const key = Buffer.alloc(32);
  key.writeUInt32BE(n + 1, 28);
  return StrKey.encodeEd25519PublicKey(key);
};
const addresses = (count: number) => Array.from({ length: count }, (_, n) => address(n));

/** Watches the wallets for these hours of the simulated clock. */
async function simulate(wallets: number, noise: number, hours: number) {
  const scope = createScope();
  try {
    const { uri, db } = await testDatabase(scope);
    const monitored = new URL(uri);
    monitored.searchParams.set('monitorCommands', 'true');
    const { connection, transaction, close } = await connectDatabase(monitored.href);
    scope.teardown(close);
    let waiting = 0;
    const client = connection.getClient();
    for (const name of ['commandStarted', 'connectionCheckOutStarted'] as const) client.on(name, () => (waiting += 1));
    for (const name of [
      'commandSucceeded',
      'commandFailed',
      'connectionCheckedOut',
      'connectionCheckOutFailed',
    ] as const)
      client.on(name, () => (waiting -= 1));

    const startMs = Date.parse('2026-01-02T03:04:05Z');
    const clock = virtualClock(startMs, () => waiting > 0);
    const newId = createIds(clock);
    const log = pino({ level: process.env.BENCH_LOG ?? 'silent' });
    const stores = createStores(connection, { clock, newId });
    await stores.ensureIndexes();
    const ledgers = createLedgers({ passphrase, memo: 'NOTOURS', keep: 200 });
    ledgers.close(startMs, []);
    const all = addresses(wallets);
    const createdAt = new Date(startMs);
    const windows = [{ from: { at: createdAt, ledger: 1001 }, until: null }];
    const docs = all.map((address) =>
      walletDoc({ _id: newId('wallet'), accountId: 'acct_1', address, windows, createdAt }),
    );
    for (let from = 0; from < docs.length; from += 10_000)
      await db.collection('wallets').insertMany(docs.slice(from, from + 10_000) as never[]);

    const requests: number[] = [];
    const visible = new Map<string, number>();
    const seen: number[] = [];
    let closed = 0;
    const stand: Fetch = async (url) => {
      const { pathname, searchParams } = new URL(url);
      requests.push(clock.nowMs());
      await clock.sleep(WAY_MS / 2);
      const body = ledgers.answer(pathname, searchParams);
      await clock.sleep(WAY_MS / 2);
      return {
        status: body === null ? 404 : 200,
        headers: { get: () => null },
        body: (async function* () {
          yield Buffer.from(body ?? '{"status":404}');
        })(),
      };
    };
    const horizon = createLedger({
      network: NETWORK,
      horizonUrls: ['http://horizon.example'],
      rpcUrls: [],
      passphrase,
      budget: stores.system.requestBudgets.of(NETWORK, PER_HOUR),
      clock,
      log,
      fetch: stand,
    });
    scope.teardown(() => horizon.close());
    const { system } = stores;
    const outbox = createOutbox({ ...system, newId });
    const { record } = createPayments({
      system,
      outbox,
      transaction,
      newId,
      monotonic: monotonicClock,
      rateBook: { load: async () => () => [], loadWorth: async () => () => null },
      publicUrl: 'https://pay.example',
    }).recorder;
    const watcher = createWatcher({
      ...stores.system,
      network: NETWORK,
      flagGap: async () => undefined,
      recorder: {
        async record(...args) {
          const stored = await record(...args);
          for (const { transactionHash } of stored) seen.push(clock.nowMs() - visible.get(transactionHash)!);
          return stored;
        },
      },
      clock,
      log,
      metrics: { payments: () => undefined, parked: () => undefined },
      eventsStored: () => undefined,
    });
    const ended = new AbortController();
    const watching = watch(
      {
        ...stores.system,
        network: NETWORK,
        watcher,
        // No records are parked here.
        retries: { run: async () => undefined },
        ledger: horizon,
        holder: 'bench',
        pollIntervalMs: 1000,
        requestsPerHour: PER_HOUR,
        clock,
        log,
      },
      ended.signal,
    );
    const random = sequence(11);
    const others = Array.from({ length: noise }, () => PAYER);
    const closing = (async () => {
      while (!ended.signal.aborted) {
        await clock.sleep(nextBeatMs(BEAT.beatMs, BEAT.spreadMs, random), ended.signal);
        const ours = all[Math.floor(random() * all.length)]!;
        visible.set(ledgers.close(clock.nowMs(), [...others, ours], noise).hash!, clock.nowMs());
        closed += 1;
      }
    })();
    // The first minutes, in which all wallets are taken up, count too: no hour may exceed
    // the budget.
    const startedMs = performance.now();
    const endMs = startMs + hours * HOUR_MS;
    await clock.run(endMs);
    const workMsPerLedger = (performance.now() - startedMs) / closed;
    ended.abort();
    const over = Promise.all([horizon.close(), watching, closing]);
    // Work in progress still needs virtual time.
    await clock.run(endMs + ENDING_MS);
    await over;
    const stored = await db.collection('payments').countDocuments();
    // Full ledgers exceed the budget, so the last ones may still wait.
    if (stored < closed - 10) throw new Error(`${stored} payments of ${closed}`);
    return { requests: busiestHour(requests, hours), ledgers: closed, seen, workMsPerLedger };
  } finally {
    await scope.close();
  }
}

/** The most requests in any hour; less than an hour is extrapolated. */
function busiestHour(requests: readonly number[], hours: number): number {
  if (hours < 1) return requests.length / hours;
  let most = 0;
  for (let from = 0, to = 0; to < requests.length; to++) {
    while (requests[to]! - requests[from]! > HOUR_MS) from += 1;
    most = Math.max(most, to - from + 1);
  }
  return most;
}

/** Runs the whole service with these wallets until the payments have reached the endpoint. */
async function fromPaymentToWebhook(wallets: number, payments: number) {
  const scope = createScope();
  try {
    const database = await testDatabase(scope);
    const receiver = await startReceiver();
    scope.teardown(() => receiver.close());
    const env = { NETWORKS: NETWORK, POLL_INTERVAL_MS: '1000', WEBHOOK_ALLOW_PRIVATE: 'true' };
    const { accountId, api } = await startTestService(scope, {
      database,
      env: { ...env, HORIZON_URLS_TESTNET: 'http://127.0.0.1:9' },
      role: 'api',
    });
    const windows = [{ from: { at: new Date(), ledger: 1001 }, until: null }];
    const docs = addresses(wallets).map((address) => walletDoc({ accountId, address, windows }));
    await database.db.collection('wallets').insertMany(docs as never[]);
    const { _id: walletId, address } = docs.at(-1)!;
    const terms = { walletId, assetCode: 'XLM', priceType: 'FIXED', price: '10' };
    const product = await api('POST', '/products', { name: 'Thing', ...terms });
    const link = await api('POST', '/payment-links', { productId: product.data.id });
    await api('POST', '/webhooks', { name: 'Shop', url: `${receiver.origin}/hook`, events: ['payment.received'] });

    const plan = { passphrase, ...BEAT, wayMs: WAY_MS, noise: USUAL, addresses: [address], memo: link.data.memo };
    const standIn = await startStandIn(scope, plan);
    await startTestService(scope, { database, env: { ...env, HORIZON_URLS_TESTNET: standIn.url }, role: 'worker' });
    await receiver.until(() => receiver.requests.length >= WARM_UP, 120_000);
    const before = await standIn.tell();
    const fromMs = Date.now();
    await receiver.until(
      () => receiver.requests.length >= WARM_UP + payments,
      (payments + 20) * (BEAT.beatMs + BEAT.spreadMs),
    );
    const tookMs = Date.now() - fromMs;
    const after = await standIn.tell();
    const visibleAt = new Map(after.ledgers.map(({ hash, atMs }) => [hash, atMs]));
    const times = receiver.requests.slice(WARM_UP).map(({ body, at }) => {
      return at - visibleAt.get(JSON.parse(body).data.payment.transactionHash)!;
    });
    const count = ({ requests }: Told) => Object.values(requests).reduce((sum, each) => sum + each, 0);
    return { times, perHour: ((count(after) - count(before)) / tookMs) * HOUR_MS };
  } finally {
    await scope.close();
  }
}

export async function watching(): Promise<Section> {
  const rows: Section['rows'] = [];
  const tell = (row: Section['rows'][0]) => {
    rows.push(row);
    console.log(`  ${JSON.stringify(row)}`);
  };
  // Both wait most of the time.
  const [oneByOne, byFeed] = await Promise.all([
    fromPaymentToWebhook(2, PAYMENTS),
    fromPaymentToWebhook(5000, PAYMENTS),
  ]);
  for (const [name, { times, perHour }] of Object.entries({
    '2 wallets, one by one, for real': oneByOne,
    "5,000 wallets, by the network's feed, for real": byFeed,
  })) {
    const values = {
      payments: times.length,
      'requests/h': perHour,
      p50: quantile(times, 0.5),
      p95: quantile(times, 0.95),
    };
    tell({ name, values: { ...values, max: Math.max(...times) }, ratio: perHour / PER_HOUR });
  }
  for (const [wallets, noise, hours] of CASES) {
    const { requests, ledgers, seen, workMsPerLedger } = await simulate(wallets, noise, hours);
    tell({
      name: `${wallets.toLocaleString('en')} wallets, ${noise.toLocaleString('en')} payments a ledger`,
      values: {
        payments: ledgers,
        'requests/h': requests,
        p50: quantile(seen, 0.5),
        p95: quantile(seen, 0.95),
        max: Math.max(...seen),
        'work, ms a ledger': workMsPerLedger,
      },
      ratio: requests / PER_HOUR,
    });
  }
  return {
    name: 'watching',
    title: 'Watching: requests in the busiest hour, and the time from visible to sent',
    aim: `at most ${PER_HOUR.toLocaleString('en')} requests an hour however many wallets there are; p50 ≤ 500 ms, p95 ≤ 1,500 ms from a payment's being visible in Horizon to its webhook's arrival`,
    bound: { most: 1 },
    rows,
    notes: [
      `Ledgers every ${BEAT.beatMs} ± ${BEAT.spreadMs} ms; each request to Horizon takes ${WAY_MS} ms there and back.`,
      '"For real": the whole service against a stand-in for Horizon, on the real clock; the time ends with the webhook in the hands of an HTTPS endpoint. Requests are scaled to an hour.',
      `The other rows are simulated hours (${HOURS}, those of full ledgers less): the real watcher and MongoDB on a clock that stands still while they work; the time ends with the payment stored.`,
    ],
  };
}

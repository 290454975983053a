/** The cost of watching by Horizon and by Stellar RPC: requests and bytes for each ledger of the
 *  local ledger, and the time from a visible ledger to the arrival of its webhook. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import { pino } from 'pino';
import { fetch as undiciFetch } from 'undici';
import { systemClock } from '../../src/kit/clock.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import type { Fetch } from '../../src/ledger/request.js';
import { createFlagGap } from '../../src/watching/gap-store.js';
import { createWatcher } from '../../src/watching/watcher.js';
import { startTestLedger, type TestLedger } from '../../test/helpers/ledger.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { startReceiver } from '../../test/helpers/receiver.js';
import { startTestService } from '../../test/helpers/service.js';
import { newId, openStores, walletDoc } from '../../test/helpers/stores.js';
import type { Section } from './report.js';
import { createScope, quantile, type Scope } from './scope.js';

const log = pino({ level: 'silent' });
const LEDGERS = Number(process.env.BENCH_LEDGERS ?? 40);
/** Ledgers without payments before the measurement: a network has a history, and the first rounds
 *  take up the wallets and check the servers. */
const QUIET_LEDGERS = 400;
const WARM_UP_LEDGERS = 6;
/** Senders in each ledger, for about as many payments as on the public network. */
const STRANGERS = 20;
const PAYMENTS_EACH = 5;
/** Time until the submitted transactions wait for the next ledger. */
const SENDING_MS = 300;
/** Interval, in ledgers, of payments to one of the wallets. */
const PAID_EVERY = 5;
const LEDGERS_PER_HOUR = 3600 / 5;
const PAYMENTS = Number(process.env.BENCH_PAYMENTS ?? 20);
/** The budget's default. */
const PER_HOUR = 3600;
const KINDS = ['Horizon', 'RPC'] as const;
type Kind = (typeof KINDS)[number];

/** Counts requests and the bytes of their answers. */
function countingFetch(count: { requests: number; bytes: number }): Fetch {
  return async (url, init) => {
    const response = await undiciFetch(url, init);
    count.requests += 1;
    const { body } = response;
    async function* counted() {
      for await (const chunk of body ?? []) {
        count.bytes += (chunk as Uint8Array).length;
        yield chunk as Uint8Array;
      }
    }
    return { status: response.status, headers: response.headers, body: counted() };
  };
}

interface Costs {
  requests: number;
  bytes: number;
}

/** A watcher of these addresses with its own database. */
async function openReader(scope: Scope, kind: Kind, network: TestLedger, addresses: readonly string[], start: number) {
  const { url, ledger } = network;
  const { db, stores, transaction, outbox, recorder } = await openStores(scope);
  const windows = [{ from: { at: new Date(0), ledger: start }, until: null }];
  const docs = addresses.map((address) => walletDoc({ accountId: 'a', address, windows, network: 'LOCAL' }));
  await db.collection('wallets').insertMany(docs as never[]);
  const count: Costs = { requests: 0, bytes: 0 };
  const source = createLedger({
    network: 'LOCAL',
    horizonUrls: kind === 'Horizon' ? [url] : [],
    rpcUrls: kind === 'RPC' ? [`${url}/rpc`] : [],
    passphrase: ledger.passphrase,
    budget: null,
    clock: systemClock,
    log,
    fetch: countingFetch(count),
  });
  scope.teardown(() => source.close());
  const watcher = createWatcher({
    ...stores.system,
    network: 'LOCAL',
    recorder,
    flagGap: createFlagGap({ ...stores.system, newId, outbox, transaction, eventsStored: () => undefined }),
    clock: systemClock,
    log,
    metrics: { payments: () => undefined, parked: () => undefined },
    eventsStored: () => undefined,
  });
  const round = async () => {
    const session = source.session({ purpose: 'watching' });
    await watcher.round(session, await session.tip());
  };
  return { kind, round, count, stored: () => db.collection('payments').countDocuments() };
}

/** Runs a round of the watcher after each ledger for both kinds, so that both read the same. */
async function costsOf(scope: Scope, wallets: number): Promise<Record<Kind, Costs>> {
  const { uri } = await testDatabase(scope);
  const network = await startTestLedger(scope, { uri, closeMs: 50 });
  const { ledger, client } = network;
  const { address } = await client.fund();
  const payer = Keypair.fromSecret((await client.fund()).secret);
  const funded = await Promise.all(Array.from({ length: STRANGERS }, () => client.fund()));
  const strangers = funded.map(({ secret }) => Keypair.fromSecret(secret));
  ledger.stopTimer();
  const addresses = [address, ...Array.from({ length: wallets - 1 }, () => Keypair.random().publicKey())];
  const start = await ledger.closeLedger();
  const readers = await Promise.all(KINDS.map((kind) => openReader(scope, kind, network, addresses, start)));
  const roundsOfAll = async () => {
    for (const { round } of readers) await round();
  };
  const submitting: Promise<unknown>[] = [];
  let paid = 0;
  const pay = (from: Keypair, destination: string, count: number) => {
    const payment = () => Operation.payment({ destination, asset: Asset.native(), amount: '0.1' });
    submitting.push(client.submit({ from, operations: Array.from({ length: count }, payment), memo: 'no link' }));
  };
  for (let n = 0; n < QUIET_LEDGERS; n++) {
    if (n % 100 === 0) await roundsOfAll();
    await ledger.closeLedger();
  }
  for (let n = -WARM_UP_LEDGERS; n < LEDGERS; n++) {
    if (n === 0) for (const { count } of readers) Object.assign(count, { requests: 0, bytes: 0 });
    for (const [index, from] of strangers.entries())
      pay(from, strangers[(index + 1) % STRANGERS]!.publicKey(), PAYMENTS_EACH);
    if (n % PAID_EVERY === 0) {
      paid += 1;
      pay(payer, address, 1);
    }
    await systemClock.sleep(SENDING_MS);
    await ledger.closeLedger();
    await roundsOfAll();
  }
  const costs = Object.fromEntries(readers.map(({ kind, count }) => [kind, { ...count }])) as Record<Kind, Costs>;
  ledger.startTimer();
  await Promise.all(submitting);
  ledger.stopTimer();
  await roundsOfAll();
  for (const { kind, stored } of readers) {
    const found = await stored();
    if (found !== paid) throw new Error(`${kind}: ${found} payments of ${paid}`);
  }
  return costs;
}

/** Times of the whole service from a visible ledger to its webhook. */
async function fromLedgerToWebhook(scope: Scope, kind: Kind): Promise<number[]> {
  const { uri } = await testDatabase(scope);
  const { url, ledger, client } = await startTestLedger(scope, { uri, closeMs: 1000 });
  const receiver = await startReceiver();
  scope.teardown(() => receiver.close());
  const urls: Record<string, string> = kind === 'RPC' ? { RPC_URLS_LOCAL: `${url}/rpc` } : { HORIZON_URLS_LOCAL: url };
  const env = { ...urls, POLL_INTERVAL_MS: '1000', WEBHOOK_ALLOW_PRIVATE: 'true' };
  const { api } = await startTestService(scope, { env });
  const { address } = await client.fund();
  const wallet = await api('POST', '/wallets', { name: 'W', address, network: 'LOCAL' });
  const terms = { walletId: wallet.data.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };
  const product = await api('POST', '/products', { name: 'Thing', ...terms });
  const link = await api('POST', '/payment-links', { productId: product.data.id });
  await api('POST', '/webhooks', { name: 'Shop', url: `${receiver.origin}/hook`, events: ['payment.received'] });
  const times: number[] = [];
  for (let n = 0; n < PAYMENTS + 3; n++) {
    // The call is answered when the ledger is visible.
    await client.pay({ to: address, amount: '1', memo: link.data.memo });
    const visibleMs = Date.now();
    await receiver.until(() => receiver.requests.length > n, 30_000);
    if (n >= 3) times.push(receiver.requests[n]!.at - visibleMs);
  }
  ledger.stopTimer();
  return times;
}

export async function sources(): Promise<Section> {
  const rows: Section['rows'] = [];
  for (const wallets of [5, 12, 5000]) {
    const scope = createScope();
    try {
      const found = await costsOf(scope, wallets);
      for (const kind of KINDS) {
        const perHour = (sum: number) => (sum / LEDGERS) * LEDGERS_PER_HOUR;
        const { requests, bytes } = found[kind];
        const values = { 'requests/h': perHour(requests), 'MB/h': perHour(bytes) / 1e6 };
        const name = `${wallets.toLocaleString('en')} wallets by ${kind}`;
        rows.push({ name, values, ratio: perHour(requests) / PER_HOUR });
        console.log(`  ${JSON.stringify(rows.at(-1))}`);
      }
    } finally {
      await scope.close();
    }
  }
  for (const kind of KINDS) {
    const scope = createScope();
    try {
      const times = await fromLedgerToWebhook(scope, kind);
      const values = { p50: quantile(times, 0.5), p95: quantile(times, 0.95), max: Math.max(...times) };
      rows.push({ name: `visible to webhook by ${kind}, ms`, values, ratio: null });
      console.log(`  ${JSON.stringify(rows.at(-1))}`);
    } finally {
      await scope.close();
    }
  }
  return {
    name: 'sources',
    title: 'Sources: what watching costs by Horizon and by Stellar RPC',
    aim: 'the same payments from either, within 3,600 requests an hour',
    bound: { most: 1 },
    rows,
    notes: [
      `The local ledger, ${STRANGERS * PAYMENTS_EACH} payments of strangers in ${STRANGERS} transactions in each ledger, and one to a wallet in every fifth; ${LEDGERS} ledgers with one look at each, scaled to ledgers of 5 s. Each further look at a ledger costs one small request. Bytes are those of the answers, uncompressed.`,
      'Time: the whole service, ledgers of 1 s and a look every second, until an HTTPS endpoint has the webhook.',
    ],
  };
}

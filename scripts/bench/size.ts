/** Size: lists, reports, exports and recording of an account with a million payments, compared with
 *  an account with a hundredth of them; and the sizes of the indexes. */
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { mongo } from 'mongoose';
import { createMemo } from '../../src/domain/memo.js';
import { systemClock } from '../../src/kit/clock.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { startTestService } from '../../test/helpers/service.js';
import { openBacklog } from './catch-up.js';
import { startProgram } from './program.js';
import type { Row, Section } from './report.js';
import { createScope, quantile, type Scope, timed } from './scope.js';
import { type Seeded, type Sizes, seed } from './seed.js';

const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 100);
const SIZE = Number(process.env.BENCH_SIZE ?? 1_000_000);
const SMALL = Number(process.env.BENCH_SMALL ?? SIZE / 100);

const PAGE = 200;
const RECORDED = 60;
const WARM = 10;
const MEMO = createMemo(systemClock, 'link');

/** Paths relative to /api/v1; `of` returns a share of the number of payments. */
const LISTS: Record<string, (seeded: Seeded, of: (count: number) => number) => string> = {
  'payments, newest': () => '/payments?pageSize=20',
  'payments, last page': (_, of) => `/payments?pageSize=20&page=${Math.floor((of(1) * 0.88) / 20)}`,
  'payments, middle page': (_, of) => `/payments?pageSize=20&page=${Math.floor((of(1) * 0.45) / 20)}`,
  'payments of a status': () => '/payments?status=UNDERPAID',
  'payments, two statuses': () => '/payments?status=UNDERPAID&status=UNMATCHED',
  'payments of the busiest product': ({ productIds }) => `/payments?productId=${productIds[0]}`,
  'payments of another product': ({ productIds }) => `/payments?productId=${productIds[7]}`,
  'payments of the busiest product, deep': ({ productIds }, of) =>
    `/payments?productId=${productIds[0]}&page=${Math.floor((of(1) * 0.2) / 20)}`,
  'payments of the busiest link': ({ linkIds }) => `/payments?paymentLinkId=${linkIds[0]}`,
  'payments of a wallet': ({ walletIds }) => `/payments?walletId=${walletIds[0]}`,
  'payments in an asset': () => '/payments?assetCode=USDC',
  'payments of an exchange': ({ exchange }) => `/payments?senderAddress=${exchange}`,
  'payments of a transaction': ({ transactionHash }) => `/payments?transactionHash=${transactionHash}`,
  'payments of a month': ({ month }) => `/payments?createdFrom=${month.createdFrom}&createdTo=${month.createdTo}`,
  'payments, search for a reference': () => '/payments?search=order-4711',
  'payments, search for a memo that all have': () => '/payments?search=abcdefgh',
  'payments, search for a hash': ({ transactionHash }) => `/payments?search=${transactionHash}`,
  'payments, four filters': ({ productIds, walletIds }) =>
    `/payments?productId=${productIds[0]}&walletId=${walletIds[1]}&assetCode=XLM&status=COMPLETED`,
  'links, newest': () => '/payment-links',
  'links, last page': (_, of) => `/payment-links?page=${Math.floor(of(0.1) / 20)}`,
  'links of the busiest product': ({ productIds }) => `/payment-links?productId=${productIds[0]}`,
  'links, inactive': () => '/payment-links?active=false',
  'links, search': () => '/payment-links?search=zzz',
  'checkouts, newest': () => '/checkouts',
  'checkouts, middle page': (_, of) => `/checkouts?page=${Math.floor(of(0.045) / 20)}`,
  'checkouts of a status': () => '/checkouts?status=PAID',
  'checkouts of a status, middle page': (_, of) => `/checkouts?status=PAID&page=${Math.floor(of(0.025) / 20)}`,
  'checkouts of a wallet': ({ walletIds }) => `/checkouts?walletId=${walletIds[0]}`,
  'checkouts of a month': ({ month }) => `/checkouts?createdFrom=${month.createdFrom}&createdTo=${month.createdTo}`,
  'events, newest': () => '/events',
  'events, oldest first, deep': (_, of) => `/events?order=asc&page=${Math.floor((of(0.25) * 0.9) / 20)}`,
  'events of a type': () => '/events?type=payment.completed',
  'events of a month': ({ month }) => `/events?createdFrom=${month.createdFrom}&createdTo=${month.createdTo}`,
  'deliveries of a webhook': ({ webhookId }) => `/webhooks/${webhookId}/deliveries`,
  'deliveries of a status': ({ webhookId }) => `/webhooks/${webhookId}/deliveries?status=DELIVERED`,
  products: () => '/products',
  wallets: () => '/wallets',
  'report by day, same payments': ({ alike }) => `/reports/summary?groupBy=day&from=${alike.from}&to=${alike.to}`,
  'report by product, same payments': ({ alike }) =>
    `/reports/summary?groupBy=product&from=${alike.from}&to=${alike.to}`,
  'payments as CSV, same payments': ({ alike }) =>
    `/payments/export?format=csv&createdFrom=${alike.from}&createdTo=${alike.to}`,
};

/** An account with this many payments in its own database, and a service on it. */
export async function openSide(scope: Scope, payments: number) {
  const database = await testDatabase(scope);
  const service = await startTestService(scope, {
    role: 'api',
    database,
    env: { NETWORKS: 'TESTNET', HORIZON_URLS_TESTNET: 'http://127.0.0.1:9', WEBHOOK_ALLOW_PRIVATE: 'true' },
  });
  const startedMs = performance.now();
  const seeded = await seed(database.db, service.accountId, sizesOf(payments));
  console.log(`  seeded ${payments} payments in ${Math.round(performance.now() - startedMs)} ms`);
  return { database, service, seeded, of: (share: number) => payments * share };
}

export type Side = Awaited<ReturnType<typeof openSide>>;

/** Sizes of the other collections for a number of payments. */
export const sizesOf = (payments: number): Sizes => ({
  payments,
  links: payments / 10,
  checkouts: payments / 10,
  events: payments / 4,
  deliveries: payments / 10,
});

/** Compares two accounts: their lists, and the recording of a ledger page of payments. */
export async function compareSides(scope: Scope, small: Side, big: Side): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [name, pathOf] of Object.entries(LISTS)) {
    const sides = [small, big].map((side) => {
      const path = pathOf(side.seeded, side.of);
      const get = async () => {
        const headers = { authorization: `Bearer ${side.service.apiKey}` };
        const answer = await fetch(`${side.service.url}/api/v1${path}`, { headers });
        const text = await answer.text();
        if (answer.status !== 200) throw new Error(`${path}: ${text}`);
        return text;
      };
      return { get, times: [] as number[], cold: 0 };
    });
    for (const side of sides) side.cold = await timed(side.get);
    for (let n = 0; n < 3; n++) for (const side of sides) await side.get();
    for (let n = 0; n < ROUNDS; n++) for (const side of sides) side.times.push(await timed(side.get));
    const [a, b] = sides as [(typeof sides)[0], (typeof sides)[0]];
    rows.push(rowOf(name, totalOf(await b.get()), { few: a.times, many: b.times, 'first big': b.cold }));
  }
  const recorded = await Promise.all(
    [small, big].map(async ({ database, service }) => {
      const options = { memo: MEMO, webhooks: 1, accountId: service.accountId };
      return { backlog: await openBacklog(scope, database.uri, options), times: [] as number[] };
    }),
  );
  for (let n = 0; n < RECORDED; n++) {
    for (const { backlog, times } of recorded) times.push(await backlog.read(PAGE));
  }
  const [few, many] = recorded.map(({ times }) => times.slice(WARM)) as [number[], number[]];
  rows.push(rowOf(`a page of ${PAGE} payments recorded`, big.of(1), { few, many }));
  return rows;
}

function rowOf(name: string, total: number, times: { few: number[]; many: number[]; 'first big'?: number }): Row {
  const { few, many, ...first } = times;
  const row = {
    name,
    values: {
      total,
      'p50 small': quantile(few, 0.5),
      'p50 big': quantile(many, 0.5),
      'p99 small': quantile(few, 0.99),
      'p99 big': quantile(many, 0.99),
      ...first,
    },
    ratio: quantile(many, 0.99) / quantile(few, 0.99),
  };
  console.log(`  ${JSON.stringify(row)}`);
  return row;
}

export async function size(): Promise<Section> {
  const scope = createScope();
  try {
    const small = await openSide(scope, SMALL);
    const big = await openSide(scope, SIZE);
    const rows = await compareSides(scope, small, big);
    const stats = await big.database.db.command({ dbStats: 1, scale: 2 ** 20 });
    const alone = await aProcessOfItsOwn(scope, big);
    return {
      name: 'size',
      title: `Lists at ${SIZE.toLocaleString('en')} payments and ${(SIZE / 10).toLocaleString('en')} links, beside ${SMALL.toLocaleString('en')} and ${(SMALL / 10).toLocaleString('en')}`,
      aim: 'p99 at most 3 times that of the small account (ms over HTTP; "first": nothing remembered yet)',
      bound: { most: 3 },
      rows,
      notes: [
        alone,
        `Indexes of payments, bytes a payment: ${await weights(big.database.db, SIZE)}.`,
        `Data ${Math.round(stats.dataSize)} MB, indexes ${Math.round(stats.indexSize)} MB.`,
      ],
    };
  } finally {
    await scope.close();
  }
}

/** The total of a list, a report or an export in CSV. */
function totalOf(answer: string): number {
  if (!answer.startsWith('{')) return answer.trim().split('\n').length - 1;
  const { data, meta } = JSON.parse(answer) as { data: { count: number }[]; meta?: { total: number } };
  return meta?.total ?? data.reduce((sum, { count }) => sum + count, 0);
}

/** Sizes of the payments' indexes, largest first, with the number of their uses by the lists. */
async function weights(db: mongo.Db, payments: number): Promise<string> {
  const collection = db.collection('payments');
  const [stats] = await collection.aggregate([{ $collStats: { storageStats: {} } }]).toArray();
  const uses = await collection.aggregate([{ $indexStats: {} }]).toArray();
  return uses
    .map(({ name, accesses }) => ({ name, bytes: stats!.storageStats.indexSizes[name] / payments, uses: accesses.ops }))
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ name, bytes, uses }) => `${name} ${bytes.toFixed(1)} (${uses} times)`)
    .join(', ');
}

/** Describes a process that is started and used on this database, compared with one on an
 *  empty database. */
export async function aProcessOfItsOwn(scope: Scope, { database, service, seeded, of }: Side): Promise<string> {
  const start = async (on: string) => {
    const startedMs = performance.now();
    const { child, line } = await startProgram(scope, './service.ts', on, '{}', 'all');
    return { child, url: line, tookMs: performance.now() - startedMs };
  };
  const megabytes = ({ pid }: ChildProcess) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024;
  const empty = await start((await testDatabase(scope)).uri);
  empty.child.kill();
  const { child, url, tookMs } = await start(database.uri);
  const startMb = megabytes(child);
  const headers = { authorization: `Bearer ${service.apiKey}` };
  for (const pathOf of Object.values(LISTS)) {
    const path = pathOf(seeded, of);
    const { status } = await fetch(`${url}/api/v1${path}`, { headers });
    if (status !== 200) throw new Error(`${path}: ${status}`);
  }
  const usedMb = megabytes(child);
  child.kill();
  return (
    `A process of its own (API and worker) at that size: ready after ${Math.round(tookMs)} ms (${Math.round(empty.tookMs)} ms on an empty database, ` +
    `both from the sources, which takes most of it), ${Math.round(startMb)} MB; after each list once ${Math.round(usedMb)} MB.`
  );
}

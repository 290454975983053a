/** The API compared with a handwritten server, each in its own process, with the same client, on
 *  the same MongoDB. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { mongo } from 'mongoose';
import { pairKey } from '../../src/domain/rate.js';
import type { RatePairDoc } from '../../src/rates/rate-pairs.js';
import type { RateSampleDoc } from '../../src/rates/rate-samples.js';
import { testDatabase } from '../../test/helpers/mongo.js';
import { startTestService } from '../../test/helpers/service.js';
import { confine } from './cpu-share.js';
import type { LoadPlan } from './load.js';
import { pathOf, startProgram } from './program.js';
import type { Row, Section } from './report.js';
import { beside, createScope, median } from './scope.js';
import { seed } from './seed.js';

const MS = Number(process.env.BENCH_MS ?? 2000);
const ROUNDS = Number(process.env.BENCH_API_ROUNDS ?? 5);
/** About as many as the servers of a busy shop keep open. */
const CONNECTIONS = 32;
/** Share of a core for each of two processes. */
const SHARE = Number(process.env.BENCH_CPU_SHARE ?? 0.25);
/** Each request is about a random one: repeated requests for one document would be too easy
 *  to answer. */
const PRODUCTS = 1000;
/** Owners of the products, in runs with several accounts. */
const ACCOUNTS = [8, 50];

interface Loaded {
  perSecond: number;
  p50: number;
  p99: number;
}

async function load(plan: LoadPlan): Promise<Loaded> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import=tsx',
    pathOf('./load.ts'),
    JSON.stringify(plan),
  ]);
  return JSON.parse(stdout);
}

type Subjects = LoadPlan['subjects'];
type Asked = Pick<LoadPlan, 'method' | 'body' | 'subjects'> & { path: string };

const PAIR = { currency: 'EUR', asset: { code: 'XLM', issuer: null }, network: 'LOCAL' } as const;

/** The same order for a wallet, priced in the asset and in a currency. */
function pricedCheckouts(wallets: Subjects): [Asked, Asked] {
  const order = { walletId: '{id}', name: 'Order 1042', assetCode: PAIR.asset.code, reference: 'order-1042' };
  const post = (price: object): Asked => ({
    ...{ method: 'POST', path: '/checkouts', body: JSON.stringify({ ...order, ...price }), subjects: wallets },
  });
  return [post({ amount: '20' }), post({ currency: PAIR.currency, price: '5.00' })];
}

/** Stores a sample of the pair, which stays fresh for ten minutes. */
async function sampleNow(db: mongo.Db): Promise<void> {
  const at = new Date();
  const pair = pairKey(PAIR);
  const sample = { pair, rate: '0.25', at, from: { at, ledger: 1 }, source: 'bench', isHourly: true };
  await db.collection<RateSampleDoc>('rateSamples').insertOne({ _id: `${pair} ${at.toISOString()}`, ...sample });
  const { currency, asset, network } = PAIR;
  const later = new Date(at.getTime() + 30 * 86_400_000);
  await db.collection<RatePairDoc>('ratePairs').insertOne({
    ...{ _id: pair, currency, assetCode: asset.code, assetIssuer: asset.issuer, network, openedBy: 'bench' },
    ...{ openedAt: at, dueAt: later, neededUntil: later, sampledAt: at, unconfirmed: null, trouble: null },
  });
}

/** Such requests for so long, over connections that are spread over the processes. */
const measure =
  ({ path, ...what }: Asked, bases: readonly string[], connections = CONNECTIONS) =>
  async (): Promise<Loaded[]> =>
    Promise.all(
      bases.map((base) => load({ ...what, url: base + path, connections: connections / bases.length, ms: MS })),
    );
const rateOf = (measured: () => Promise<Loaded[]>) => async () =>
  (await measured()).reduce((sum, { perSecond }) => sum + perSecond, 0);

/** An account's products, wallets and pages of products. */
interface Shop {
  products: Subjects;
  wallets: Subjects;
  pages: Subjects;
}

/** The requests: a product, a list page of products, and creations for a product, each picked
 *  at random. */
function requestsOf(shops: readonly Shop[]): [string, Asked][] {
  const of = (name: keyof Shop) => shops.flatMap((shop) => shop[name]);
  const product = { name: 'Another', walletId: '{id}', assetCode: 'XLM', priceType: 'FIXED', price: '10' };
  const get = (path: string, subjects: Subjects): Asked => ({ method: 'GET', path, subjects });
  const post = (path: string, body: object, subjects: Subjects): Asked => ({
    ...{ method: 'POST', path, body: JSON.stringify(body), subjects },
  });
  const where = shops.length === 1 ? '' : `, in ${shops.length} accounts`;
  return Object.entries({
    'GET one product': get('/products/{id}', of('products')),
    'GET a list of 20 products': get('/products?pageSize=20&page={id}', of('pages')),
    'POST a product': post('/products', product, of('wallets')),
    'POST a payment link': post('/payment-links', { productId: '{id}' }, of('products')),
    'POST a checkout': post('/checkouts', { productId: '{id}', reference: 'order-1042' }, of('products')),
  }).map(([name, what]): [string, Asked] => [name + where, what]);
}

export async function api(): Promise<Section> {
  const scope = createScope();
  try {
    const database = await testDatabase(scope);
    // Makes the account, its key and the indexes; the processes below answer the requests.
    const service = await startTestService(scope, {
      role: 'api',
      database,
      env: { NETWORKS: 'TESTNET', HORIZON_URLS_TESTNET: 'http://127.0.0.1:9' },
    });
    const shopOf = async ({ accountId, apiKey }: { accountId: string; apiKey: string }, products: number) => {
      const sizes = { payments: 100, links: 100, events: 10, deliveries: 10, products };
      const { productIds, walletIds } = await seed(database.db, accountId, sizes);
      const subjects = (ids: readonly string[]) => ids.map((id) => ({ id, apiKey }));
      const pages = Array.from({ length: products / 20 }, (_, n) => String(n + 1));
      return { products: subjects(productIds), wallets: subjects(walletIds), pages: subjects(pages) };
    };
    const mine = [await shopOf(service, PRODUCTS)];
    const several: Shop[][] = [];
    for (const accounts of ACCOUNTS) {
      const shops: Shop[] = [];
      for (let n = 0; n < accounts; n++) shops.push(await shopOf(await service.openAccount(), PRODUCTS / accounts));
      several.push(shops);
    }
    // Inactive products and wallets sell nothing. No worker runs that would watch the wallets.
    for (const name of ['products', 'wallets']) {
      await database.db.collection(name).updateMany({}, { $set: { active: true } });
    }
    const processes = [
      await startProgram(scope, './service.ts', database.uri),
      await startProgram(scope, './service.ts', database.uri),
    ];
    const [ours, second] = processes.map(({ line }) => `${line}/api/v1`) as [string, string];
    const { line: minimal } = await startProgram(scope, './plain-server.ts', database.uri);
    const { line: sameWork } = await startProgram(scope, './plain-server.ts', database.uri, 'same-work');
    const [{ _id: newestLink }] = (await database.db
      .collection<{ _id: string }>('paymentLinks')
      .find({}, { sort: { _id: -1 }, limit: 1 })
      .toArray()) as [{ _id: string }];
    /** Removes what was made: it must not lengthen the lists for the next run. */
    const tidy = async () => {
      await database.db.collection('products').deleteMany({ name: 'Another' });
      await database.db.collection<{ _id: string }>('paymentLinks').deleteMany({ _id: { $gt: newestLink } });
      await database.db.collection('checkouts').deleteMany({});
    };
    const rows: Row[] = [];
    const isWanted = (name: string) => new RegExp(process.env.BENCH_API ?? '').test(name);
    const add = (row: Row) => {
      rows.push(row);
      console.log(`  ${JSON.stringify(row)}`);
    };
    const compare = async (asked: Asked, one: readonly string[], other: readonly string[]) => {
      const [ofOne, ofOther] = [rateOf(measure(asked, one)), rateOf(measure(asked, other))];
      await ofOne();
      await ofOther();
      const result = await beside(ROUNDS, ofOne, ofOther);
      await tidy();
      return result;
    };
    const [inAsset, inCurrency] = pricedCheckouts(mine[0]!.wallets);
    const priced = 'POST a checkout in a currency beside one in its asset';
    if (isWanted(priced)) {
      await sampleNow(database.db);
      const result = await beside(ROUNDS, rateOf(measure(inCurrency, [ours])), rateOf(measure(inAsset, [ours])));
      const values = {
        'in a currency/s': result.ours,
        'in its asset/s': result.theirs,
        'ratio to asset': result.ratio,
      };
      add({ name: priced, values, ratio: null });
      await tidy();
    }
    const inOne = requestsOf(mine);
    for (const [name, asked] of inOne.filter(([each]) => isWanted(each))) {
      const result = await compare(asked, [ours], [minimal]);
      add({ name, values: { 'ours/s': result.ours, 'minimal/s': result.theirs }, ratio: result.ratio });
    }
    for (const [name, asked] of several.flatMap(requestsOf).filter(([each]) => isWanted(each))) {
      const result = await compare(asked, [ours], [sameWork]);
      add({ name, values: { 'ours/s': result.ours, 'same work/s': result.theirs }, ratio: result.ratio });
    }
    for (const [each, asked] of inOne) {
      const name = `${each}, one connection`;
      if (!isWanted(name)) continue;
      const at = async (base: string) => (await measure(asked, [base], 1)())[0]!;
      await at(ours);
      await at(minimal);
      const pairs: [Loaded, Loaded][] = [];
      for (let round = 0; round < ROUNDS; round++) pairs.push([await at(ours), await at(minimal)]);
      await tidy();
      const mid = (of: (pair: [Loaded, Loaded]) => number) => median(pairs.map(of));
      const values = {
        ...{ 'ours p50 ms': mid(([a]) => a.p50), 'minimal p50 ms': mid(([, b]) => b.p50) },
        ...{ 'ours p99 ms': mid(([a]) => a.p99), 'minimal p99 ms': mid(([, b]) => b.p99) },
        'p50 beside it': mid(([a, b]) => a.p50 / b.p50),
        'p99 beside it': mid(([a, b]) => a.p99 / b.p99),
      };
      add({ name, values, ratio: null });
    }
    const notes: string[] = [];
    try {
      const shares = processes.map(({ child }) => confine(`api-${child.pid}`, [child.pid!]));
      for (const each of shares) each.limitTo(SHARE);
      for (const [each, asked] of [...inOne, ...requestsOf(several[0]!)]) {
        const name = `${each}, two processes beside one`;
        if (!isWanted(name)) continue;
        const result = await compare(asked, [ours, second], [ours]);
        const values = { 'of two/s': result.ours, 'of one/s': result.theirs, 'ratio to one': result.ratio };
        add({ name, values, ratio: null });
      }
      notes.push(
        `Two processes beside one: each with ${SHARE} of a core, so that MongoDB and the client have what they ask for on two cores. There are 16 connections to each of two or 32 to one: what is made in an account meets in the counts of its wallets and lists, and of two transactions one begins anew; what is read by id at once is one query, of 16 or of 32.`,
      );
    } catch (error) {
      notes.push(`Nothing was confined to a share of a core: ${(error as Error).message}`);
    }
    return {
      name: 'api',
      title: 'The API beside Express and the driver by hand',
      aim: `1.0, at least 0.8 of the requests/s (median of ${ROUNDS} rounds of ${MS} ms by turns)`,
      bound: { least: 0.8 },
      rows,
      notes: [
        `${CONNECTIONS} connections each, every request about one of ${PRODUCTS.toLocaleString('en')} products picked at random (a list: one of their pages; a new product: one of four wallets). Minimal (scripts/bench/plain-server.ts): the key is looked up, one document is read and one is inserted with majority write concern, and the same JSON is answered; nothing keeps a product from being deleted at the same time, and there is no validation of the whole, no metrics, no request id, no rate limit.`,
        `In ${ACCOUNTS.join(' and ')} accounts: the same requests about as many products of several accounts, beside the same work: the body is checked by the contract's Zod schema, and the thing, its activity and its names are inserted in one transaction.`,
        ...notes,
      ],
    };
  } finally {
    await scope.close();
  }
}

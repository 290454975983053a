/** The API compared with a handwritten server, each in its own process, with the same client, on the same MongoDB. */
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
import { beside, createScope } from './scope.js';
import { seed } from './seed.js';

const MS = Number(process.env.BENCH_MS ?? 2000);
const ROUNDS = Number(process.env.BENCH_API_ROUNDS ?? 5);
/** About as many as the servers of a busy shop keep open. */
const CONNECTIONS = 32;
/** Share of a core for each of two processes. */
const SHARE = Number(process.env.BENCH_CPU_SHARE ?? 0.25);
/** Each request is about a random one: repeated requests for one document would be too easy to answer. */
const PRODUCTS = 1000;
/** Owners of the products, in runs with several accounts. */
const ACCOUNTS = 8;

async function load(plan: LoadPlan): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    '--import=tsx',
    pathOf('./load.ts'),
    JSON.stringify(plan),
  ]);
  return JSON.parse(stdout).perSecond;
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

/** Such requests per second to one process. */
const measureOne =
  (base: string, { path, ...what }: Asked) =>
  () =>
    load({ ...what, url: base + path, connections: CONNECTIONS, ms: MS });

/** The requests: a product, a list page of products, and creations for a product, each picked at random. */
function requestsOf(products: Subjects, wallets: Subjects): [string, Asked][] {
  const { apiKey } = products[0]!;
  const pages = Array.from({ length: PRODUCTS / 20 }, (_, n) => ({ id: String(n + 1), apiKey }));
  const product = { name: 'Another', walletId: '{id}', assetCode: 'XLM', priceType: 'FIXED', price: '10' };
  const get = (path: string, subjects: Subjects): Asked => ({ method: 'GET', path, subjects });
  const post = (path: string, body: object, subjects: Subjects): Asked => ({
    ...{ method: 'POST', path, body: JSON.stringify(body), subjects },
  });
  return Object.entries({
    'GET one product': get('/products/{id}', products),
    'GET a list of 20 products': get('/products?pageSize=20&page={id}', pages),
    'POST a product': post('/products', product, wallets),
    'POST a payment link': post('/payment-links', { productId: '{id}' }, products),
    'POST a checkout': post('/checkouts', { productId: '{id}', reference: 'order-1042' }, products),
  }).filter(([name]) => name.includes(process.env.BENCH_API ?? ''));
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
    const subjectsIn = async ({ accountId, apiKey }: { accountId: string; apiKey: string }, products: number) => {
      const sizes = { payments: 100, links: 100, events: 10, deliveries: 10, products };
      const { productIds, walletIds } = await seed(database.db, accountId, sizes);
      const subjects = (ids: readonly string[]) => ids.map((id) => ({ id, apiKey }));
      return { products: subjects(productIds), wallets: subjects(walletIds) };
    };
    const mine = await subjectsIn(service, PRODUCTS);
    const several = [];
    for (let n = 0; n < ACCOUNTS; n++) several.push(await subjectsIn(await service.openAccount(), PRODUCTS / ACCOUNTS));
    // Inactive products and wallets sell nothing. No worker runs that would watch the wallets.
    for (const name of ['products', 'wallets']) {
      await database.db.collection(name).updateMany({}, { $set: { active: true } });
    }
    const processes = [
      await startProgram(scope, './service.ts', database.uri),
      await startProgram(scope, './service.ts', database.uri),
    ];
    const [ours, second] = processes.map(({ line }) => `${line}/api/v1`) as [string, string];
    const { line: theirs } = await startProgram(scope, './plain-server.ts', database.uri);
    const [{ _id: newestLink }] = (await database.db
      .collection<{ _id: string }>('paymentLinks')
      .find({}, { sort: { _id: -1 }, limit: 1 })
      .toArray()) as [{ _id: string }];
    const rows: Row[] = [];
    const asked = requestsOf(mine.products, mine.wallets);
    const ofSeveral = requestsOf(
      several.flatMap(({ products }) => products),
      several.flatMap(({ wallets }) => wallets),
    );
    const compare = async (
      { path, ...what }: Asked,
      one: readonly string[],
      other: readonly string[],
    ): Promise<Awaited<ReturnType<typeof beside>>> => {
      /** The same connections, spread over the processes. */
      const measure = (bases: readonly string[]) => async () => {
        const connections = CONNECTIONS / bases.length;
        const rates = await Promise.all(bases.map((base) => load({ ...what, url: base + path, connections, ms: MS })));
        return rates.reduce((sum, rate) => sum + rate);
      };
      await measure(one)();
      await measure(other)();
      const result = await beside(ROUNDS, measure(one), measure(other));
      // The results of POST must not lengthen the lists for the next run.
      await database.db.collection('products').deleteMany({ name: 'Another' });
      await database.db.collection<{ _id: string }>('paymentLinks').deleteMany({ _id: { $gt: newestLink } });
      await database.db.collection('checkouts').deleteMany({});
      return result;
    };
    const add = (row: Row) => {
      rows.push(row);
      console.log(`  ${JSON.stringify(row)}`);
    };
    const [inAsset, inCurrency] = pricedCheckouts(mine.wallets);
    await sampleNow(database.db);
    const priced = await beside(ROUNDS, measureOne(ours, inCurrency), measureOne(ours, inAsset));
    add({
      name: 'POST a checkout in a currency beside one in its asset',
      values: { 'in a currency/s': priced.ours, 'in its asset/s': priced.theirs, 'ratio to asset': priced.ratio },
      ratio: null,
    });
    await database.db.collection('checkouts').deleteMany({});
    const inSeveral = ofSeveral
      .filter(([name]) => !name.includes('list'))
      .map(([name, what]): [string, Asked] => [`${name}, in ${ACCOUNTS} accounts`, what]);
    for (const [name, what] of [...asked, ...inSeveral]) {
      const result = await compare(what, [ours], [theirs]);
      add({ name, values: { 'ours/s': result.ours, 'by hand/s': result.theirs }, ratio: result.ratio });
    }
    const notes: string[] = [];
    try {
      const shares = processes.map(({ child }) => confine(`api-${child.pid}`, [child.pid!]));
      for (const each of shares) each.limitTo(SHARE);
      for (const [name, what] of [...asked, ...inSeveral]) {
        const result = await compare(what, [ours, second], [ours]);
        add({
          name: `${name}, two processes beside one`,
          values: { 'of two/s': result.ours, 'of one/s': result.theirs, 'ratio to one': result.ratio },
          ratio: null,
        });
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
        `${CONNECTIONS} connections each, every request about one of ${PRODUCTS.toLocaleString('en')} products picked at random (a list: one of their pages; a new product: one of four wallets). By hand (scripts/bench/plain-server.ts): the key is looked up, one document is read and one is inserted with majority write concern, and the same JSON is answered; nothing keeps a product from being deleted meanwhile, and there is no validation of the whole, no metrics, no request id, no rate limit.`,
        `In ${ACCOUNTS} accounts: the same requests about as many products of several accounts, of which ours reads and writes each by itself.`,
        ...notes,
      ],
    };
  } finally {
    await scope.close();
  }
}

/** Accounts divided among the shards of a real cluster: how the collections come to be sharded, how
 *  accounts move, and which shards a request asks. */
import type { mongo } from 'mongoose';
import { pino } from 'pino';
import t from 'tap';
import { openDatabase, SHARD_KEYS } from '../../src/app/open-database.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { StartupError } from '../../src/kit/startup-error.js';
import { request } from '../helpers/api.js';
import { testCluster } from '../helpers/cluster.js';
import type { TestDatabase } from '../helpers/mongo.js';
import { eventually, startTestService, type TestService } from '../helpers/service.js';
import { askedOf, BY_ACCOUNT, moveFrom, placesOf } from '../helpers/shards.js';

const ACCOUNTS = 40;
const SIDE_BY_SIDE = 8;
const SHARDED = Object.keys(SHARD_KEYS);

// Documents that a range has left behind are removed at once, so that each shard holds what belongs
// to it.
const cluster = await testCluster(t, { parameters: { orphanCleanupDelaySecs: 0 } });

async function open({ uri }: TestDatabase) {
  const lines: string[] = [];
  const opened = await openDatabase(
    {
      ...{ clock: systemClock, newId: createIds(systemClock), log: pino({ level: 'silent' }) },
      onProgress: (line) => lines.push(line),
    },
    { mongodbUri: uri, dataDir: '.', cacheDir: '.' },
  );
  await opened.close();
  return lines;
}

/** By collection, as the cluster knows it. */
async function keysOf({ db, name }: TestDatabase) {
  const known = await db.client
    .db('config')
    .collection<{ _id: string; key: object; unsplittable?: boolean }>('collections')
    .find({ _id: new RegExp(`^${name}\\.`), unsplittable: { $ne: true } })
    .toArray();
  return Object.fromEntries(known.map(({ _id, key }) => [_id.slice(name.length + 1), key]));
}

/** Documents of a collection on each shard. */
const countsOn = ({ name }: TestDatabase, collection: string, filter = {}) =>
  cluster.onShards(name, (db) => db.collection(collection).countDocuments(filter));

const admin = ({ db }: TestDatabase) => db.client.db('admin');
t.test('a fresh database is sharded by accounts once, and a start later leaves it as it is', async (t) => {
  const database = cluster.database();
  t.match(await open(database), [/^Sharding payments, .*\.$/]);
  t.same(await keysOf(database), SHARD_KEYS);
  t.same(await open(database), []);
  t.same(await keysOf(database), SHARD_KEYS);
  const spread = await database.db.client
    .db('config')
    .collection('chunks')
    .distinct('shard', {
      uuid: (await database.db.client
        .db('config')
        .collection('collections')
        .findOne({
          _id: `${database.name}.payableNames` as never,
        }))!.uuid,
    });
  t.equal(spread.length, 2, 'memos and slugs lie on both');
});

t.test('two processes that start at once, and one that starts where sharding was cut off, end the same', async (t) => {
  const database = cluster.database();
  await Promise.all([open(database), open(database)]);
  t.same(await keysOf(database), SHARD_KEYS);

  const cut = cluster.database();
  await cut.db.collection('payments').createIndex(SHARD_KEYS.payments as mongo.IndexSpecification);
  await admin(cut).command({ shardCollection: `${cut.name}.payments`, key: SHARD_KEYS.payments });
  await open(cut);
  t.same(await keysOf(cut), SHARD_KEYS);
});

t.test('a collection that is sharded in another way is refused with one line, and nothing is changed', async (t) => {
  for (const [collection, key, said] of [
    ['refunds', { accountId: 1 }, /refunds is sharded by \{"accountId":1\}, and has to be by/],
    ['wallets', { accountId: 1, network: 1 }, /wallets is sharded by .*, and has to be whole/],
  ] as const) {
    const database = cluster.database();
    await database.db.collection<object>(collection).createIndex(key as mongo.IndexSpecification);
    await admin(database).command({ shardCollection: `${database.name}.${collection}`, key });
    const refusal = await open(database).catch((error: unknown) => error);
    t.ok(refusal instanceof StartupError);
    t.match((refusal as Error).message, said);
    t.notMatch((refusal as Error).message, /\n/);
    t.same(Object.keys(await keysOf(database)), [collection]);
  }
});

interface Shop {
  accountId: string;
  apiKey: string;
  wallet: { id: string; address: string };
  product: { id: string };
  link: { id: string; memo: string; slug: string };
}

async function openShop(service: TestService): Promise<Shop> {
  const { accountId, apiKey } = await service.openAccount();
  const make = async (path: string, body: object) => {
    const { status, data, error } = await service.api('POST', path, body, apiKey);
    if (status !== 201) throw new Error(`${path}: ${JSON.stringify(error)}`);
    return data;
  };
  const { address } = await service.context.localLedger!.client.fund();
  const wallet = await make('/wallets', { name: 'Shop', address, network: 'LOCAL' });
  const terms = { walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };
  const product = await make('/products', { name: 'Tea', ...terms });
  const link = await make('/payment-links', { productId: product.id });
  await make('/checkouts', { productId: product.id });
  await make('/webhooks', { name: 'shop', url: 'https://shop.invalid/', events: ['payment.completed'] });
  return { accountId, apiKey, wallet, product, link };
}

/** What a merchant and a payer ask for. */
async function ask(service: TestService, { apiKey, product, link, wallet }: Shop): Promise<void> {
  const call = async (method: string, path: string, body?: object) => {
    const { status, data, error } = await service.api(method, path, body, apiKey);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(error)}`);
    return data;
  };
  const hook = (await call('GET', '/webhooks'))[0];
  const payment = (await call('GET', '/payments'))[0];
  for (const path of [
    ...['/account', '/wallets', '/products', '/payment-links', '/checkouts', '/events', '/activity'],
    ...['/products?search=tea', '/payments?search=tea', '/events?after=0', '/reports/summary?groupBy=day'],
    ...[`/payments/${payment.id}`, `/products/${product.id}`, `/payment-links/${link.id}`],
    ...[`/webhooks/${hook.id}/deliveries`, `/webhooks/${hook.id}/health`, `/payments?walletId=${wallet.id}`],
  ]) {
    await call('GET', path);
  }
  const made = await call('POST', '/products', {
    ...{ name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'CUSTOM' },
  });
  await call('PATCH', `/products/${made.id}`, { name: 'Cup' });
  const other = await call('POST', '/payment-links', { productId: made.id });
  await call('PATCH', `/payment-links/${other.id}`, { active: false });
  await call('DELETE', `/payment-links/${other.id}`);
  const checkout = await call('POST', '/checkouts', { productId: product.id });
  await call('POST', `/checkouts/${checkout.id}/cancel`);
  for (const path of [`/p/${link.slug}`, `/p/${link.slug}/status`]) {
    const answer = await fetch(service.url + path);
    await answer.text();
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status}`);
  }
}

t.test(
  'forty accounts on two shards: half of them move while they are paid, and each request asks one shard',
  async (t) => {
    const database = cluster.database();
    const service = await startTestService(t, { database });
    const shops: Shop[] = [];
    while (shops.length < ACCOUNTS) {
      shops.push(...(await Promise.all(Array.from({ length: SIDE_BY_SIDE }, () => openShop(service)))));
    }
    shops.sort((a, b) => (a.accountId < b.accountId ? -1 : 1));
    const ledger = service.context.localLedger!.client;
    const payAll = async () => {
      for (const { wallet, link } of shops) await ledger.pay({ to: wallet.address, amount: '1', memo: link.memo });
    };
    await payAll();
    const { other } = await placesOf(database);
    await Promise.all([payAll(), moveFrom(database, shops[ACCOUNTS / 2]!.accountId, other)]);
    const paid = { status: 'COMPLETED' };
    const count = (filter: object) => database.db.collection('payments').countDocuments(filter);
    await eventually(async () => (await count(paid)) === 2 * ACCOUNTS, 'every payment', 120_000);
    const delivered = () => database.db.collection('deliveries').countDocuments();
    await eventually(async () => (await delivered()) === 2 * ACCOUNTS, 'a delivery of each', 120_000);
    for (const { accountId } of shops) t.equal(await count({ accountId }), 2, 'each is recorded once');
    const held = await countsOn(database, 'payments');
    t.equal(held[0]! + held[1]!, 2 * ACCOUNTS, 'what has moved lies on one shard');

    const rows = await Promise.all(SHARDED.map(async (each) => [each, await countsOn(database, each)] as const));
    for (const [collection, counts] of rows) t.comment(`${collection}: ${counts.join(' + ')}`);
    for (const collection of [
      'payments',
      'paymentLinks',
      'checkouts',
      'products',
      'events',
      'deliveries',
      'activities',
    ]) {
      t.ok(
        rows.find(([each]) => each === collection)![1].every((held) => held > 0),
        `both shards hold ${collection}`,
      );
    }

    // Workers look at what is due of all accounts: what requests ask is seen without them.
    await service.context.close(500);
    const api = await startTestService(t, { database, role: 'api' });
    for (const shop of [shops[0]!, shops.at(-1)!]) {
      const home = (await countsOn(database, 'payments', { accountId: shop.accountId })).findIndex((held) => held > 0);
      const asked = (await askedOf(cluster, database.name, () => ask(api, shop))).map((of) =>
        of
          .filter(({ collection }) => BY_ACCOUNT.includes(collection))
          .map((each) => JSON.stringify(each).slice(0, 300)),
      );
      t.ok(asked[home]!.length > 20, `its shard was asked ${asked[home]!.length} times`);
      t.same(asked[1 - home], [], 'the other was asked nothing');
    }
  },
);

t.test('an account moves to the other shard amid its orders: pieces and redemptions add up', async (t) => {
  const database = cluster.database();
  const service = await startTestService(t, { database });
  const other = await service.join('api');
  const { accountId, apiKey, wallet } = await openShop(service);
  const make = async (path: string, body: object) => (await service.api('POST', path, body, apiKey)).data;
  const [PIECES, ORDERS] = [10, 40];
  const terms = { walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };
  const coupon = await make('/coupons', { code: 'MOVED', percentOff: '10', maxRedemptions: 2 * PIECES });
  const sold = async () => {
    const mug = await make('/products', { name: 'Mug', stock: PIECES, ...terms });
    const answers = await Promise.all(
      Array.from({ length: ORDERS }, (_, index) =>
        request(index % 2 ? service.url : other.url, 'POST', '/checkouts', {
          headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
          body: JSON.stringify({ productId: mug.id, couponCode: 'MOVED' }),
        }),
      ),
    );
    t.same(answers.map(({ status }) => status).sort(), [
      ...Array(PIECES).fill(201),
      ...Array(ORDERS - PIECES).fill(409),
    ]);
    return { mug, orders: answers.flatMap(({ status, data }) => (status === 201 ? [data] : [])) };
  };
  const left = async (id: string) => (await service.api('GET', `/products/${id}`, undefined, apiKey)).data.stock;
  const redemptions = async () =>
    (await service.api('GET', `/coupons/${coupon.id}`, undefined, apiKey)).data.redemptions;
  const { other: away } = await placesOf(database);
  const [during] = await Promise.all([sold(), moveFrom(database, accountId, away)]);
  const after = await sold();
  t.same([await left(during.mug.id), await left(after.mug.id), await redemptions()], [0, 0, 2 * PIECES]);
  for (const { id } of [...during.orders, ...after.orders])
    await service.api('POST', `/checkouts/${id}/cancel`, undefined, apiKey);
  const isBack = async () =>
    String([await left(during.mug.id), await left(after.mug.id), await redemptions()]) === `${PIECES},${PIECES},0`;
  await eventually(isBack, 'all of it comes back', 60_000);
  t.equal((await countsOn(database, 'checkouts', { accountId }))[away], 2 * PIECES + 1, 'they lie on the other shard');
});

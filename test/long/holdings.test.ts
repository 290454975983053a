/** What orders hold, in processes of their own: as many orders get a piece or a coupon as there
 *  are, and whatever write a process dies before, the repeated request changes the stock once. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { request } from '../helpers/api.js';
import { type Running, startProgram } from '../helpers/command.js';
import { cuttableWay, databaseAt } from '../helpers/cut.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY, type TestService } from '../helpers/service.js';

const PIECES = 10;
const ORDERS = 40;

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const { wallet } = await startSelling(service);
const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-holdings-'));
t.teardown(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));

interface Api extends Running {
  url: string;
}

async function startApi(mongodbUri = database.uri): Promise<Api> {
  const port = String(await freePort());
  const env = {
    MONGODB_URI: mongodbUri,
    SECRETS_KEY: TEST_SECRETS_KEY,
    DATA_DIR: dataDir,
    PORT: port,
    HORIZON_URLS_LOCAL: service.context.localLedger!.url,
    RATE_LIMIT_PER_MINUTE: '0',
    LOG_LEVEL: 'error',
  };
  const api = startProgram('src/main.ts', ['--role', 'api'], { env });
  t.teardown(() => api.process.exitCode ?? api.process.kill('SIGKILL'));
  await api.says(/is ready/);
  return { ...api, url: `http://127.0.0.1:${port}` };
}

/** Status 0 where no answer came. */
const send = (url: string, method: string, path: string, body: object, key?: string, apiKey = service.apiKey) =>
  request(url, method, path, {
    headers: {
      authorization: `Bearer ${apiKey}`,
      'content-type': 'application/json',
      ...(key && { 'idempotency-key': key }),
    },
    body: JSON.stringify(body),
  }).catch(() => ({ status: 0 }));

const made = async (path: string, body: object): Promise<any> => {
  const { data, error } = await service.api('POST', path, body);
  if (error) throw new Error(JSON.stringify(error));
  return data;
};
const stocked = (stock: number, name = 'Mug'): Promise<{ id: string }> =>
  made('/products', { name, walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '10', stock });
const left = async (id: string): Promise<number> => (await service.api('GET', `/products/${id}`)).data.stock;
const redemptions = async (id: string): Promise<number> =>
  (await service.api('GET', `/coupons/${id}`)).data.redemptions;
const basket = (...lines: object[]) => ({ walletId: wallet.id, assetCode: 'XLM', lines });

/** Answers of processes in turn, sorted. */
async function statuses(apis: readonly Api[], bodyOf: (index: number) => object): Promise<number[]> {
  const orders = Array.from({ length: ORDERS }, (_, index) =>
    send(apis[index % apis.length]!.url, 'POST', '/checkouts', bodyOf(index)),
  );
  return (await Promise.all(orders)).map(({ status }) => status).sort();
}

t.test('40 orders at once through two processes → as many are made as there are pieces or redemptions', async (t) => {
  const apis = await Promise.all([startApi(), startApi()]);
  const refused = (status: number) => [...Array(PIECES).fill(201), ...Array(ORDERS - PIECES).fill(status)];
  const mugs = await stocked(PIECES);
  t.same(await statuses(apis, () => ({ productId: mugs.id })), refused(409));
  t.equal(await left(mugs.id), 0);

  const [cups, pots] = [await stocked(ORDERS, 'Cup'), await stocked(PIECES, 'Pot')];
  const lines = [{ productId: cups.id }, { productId: pots.id }];
  const turned = (index: number) => basket(...(index % 3 === 0 ? lines : lines.toReversed()));
  t.same(await statuses(apis, turned), refused(409));
  t.same([await left(cups.id), await left(pots.id)], [ORDERS - PIECES, 0], 'all lines or none, in any order of them');

  const coupon = await made('/coupons', { code: 'FIRST', percentOff: '10', maxRedemptions: PIECES });
  const plates = await stocked(ORDERS, 'Plate');
  t.same(await statuses(apis, () => ({ productId: plates.id, couponCode: 'first' })), refused(422));
  t.same([await redemptions(coupon.id), await left(plates.id)], [PIECES, ORDERS - PIECES]);
  for (const { process } of apis) process.kill('SIGKILL');
});

t.test('a process dies amid 40 orders, which are sent again to another: each is made once', async (t) => {
  const [dying, other] = await Promise.all([startApi(), startApi()]);
  const coupon = await made('/coupons', { code: 'AMID', percentOff: '10', maxRedemptions: ORDERS });
  const mugs = await stocked(ORDERS + PIECES);
  const body = { productId: mugs.id, couponCode: 'AMID', reference: 'amid' };
  const ask = (url: string) =>
    Promise.all(Array.from({ length: ORDERS }, (_, index) => send(url, 'POST', '/checkouts', body, `amid-${index}`)));
  const first = ask(dying.url);
  await eventually(async () => (await left(mugs.id)) < ORDERS + PIECES, 'the first ones are made', 20_000);
  dying.process.kill('SIGKILL');
  t.comment(`${(await first).filter(({ status }) => status === 201).length} were answered`);
  await endRuns();
  t.same(new Set((await ask(other.url)).map(({ status }) => status)), new Set([201]));
  t.equal((await service.api('GET', '/checkouts?reference=amid')).meta!.total, ORDERS);
  t.same([await left(mugs.id), await redemptions(coupon.id)], [PIECES, ORDERS]);
  other.process.kill('SIGKILL');
});

/** What died holds its Idempotency-Keys for a while: as if that had passed. */
const endRuns = () =>
  database.db.collection('idempotency').updateMany({ answer: null }, { $set: { runsUntil: new Date(0) } });

/** The beginning of a command, as BSON. */
const WRITE = /(?:(insert|update|delete|findAndModify)\0.{4}(\w+)|(commitTransaction))\0/s;

/** Sends the request to a process that is killed before its n-th write.
 *  @returns that write, or null when the process lived to answer */
async function killedBefore(n: number, [method, path, body]: Asked, key: string, apiKey: string) {
  let [left, killed] = [Number.POSITIVE_INFINITY, null as string | null];
  const way = await cuttableWay(t, database.uri, (bytes) => {
    const [found, command, collection, commit] = WRITE.exec(bytes.toString('latin1')) ?? [];
    if (!found || --left > 0) return killed !== null;
    api.process.kill('SIGKILL');
    killed ??= commit ?? `${command} ${collection}`;
    return true;
  });
  const api = await startApi(databaseAt(database.uri, way));
  left = n;
  const { status } = await send(api.url, method, path, body, key, apiKey);
  api.process.kill('SIGKILL');
  await api.ended;
  return status === 0 ? killed : null;
}

type Asked = [method: string, path: string, body: object];
const changes: [what: string, takes: number, asked: (id: string) => Asked][] = [
  ['a change of a stock', 3, (id) => ['PATCH', `/products/${id}`, { stockChange: '-3' }]],
  ['an order', 2, (id) => ['POST', '/checkouts', { productId: id, quantity: 2, couponCode: 'EACH' }]],
];
for (const [what, takes, askedOf] of changes)
  t.test(
    `${what} whose process is killed before any of its writes, and that is sent again, is made once`,
    async (t) => {
      /** In an account of its own, which waits for no transaction that another process left. */
      const once = async (n: number) => {
        const { apiKey } = await service.openAccount();
        const api: TestService['api'] = (method, path, body) => service.api(method, path, body, apiKey);
        const { product, wallet } = await startSelling({ ...service, api });
        const { name, assetCode, priceType, price } = product;
        const fields = { name, assetCode, priceType, price, walletId: wallet.id, stock: 100 };
        const { id } = (await api('POST', '/products', fields)).data;
        const coupon = (await api('POST', '/coupons', { code: 'EACH', percentOff: '10' })).data;
        const asked = askedOf(id);
        const killed = await killedBefore(n, asked, 'once', apiKey);
        await endRuns();
        const [method, path, body] = asked;
        t.match((await send(service.url, method, path, body, 'once', apiKey)).status, /^20[01]$/, `${n}: ${killed}`);
        t.equal((await api('GET', `/products/${id}`)).data.stock, 100 - takes, `killed before ${killed}`);
        t.equal((await api('GET', `/coupons/${coupon.id}`)).data.redemptions, method === 'POST' ? 1 : 0);
        return killed;
      };
      const all: (string | null)[] = [];
      const isComplete = () => all.includes('commitTransaction') && all.includes('update idempotency');
      // Writes of leases come in between, at other places each time.
      for (let round = 0; round < 4 && !isComplete(); round++) {
        const killed: (string | null)[] = [];
        while (!killed.includes(null))
          killed.push(...(await Promise.all([1, 2, 3, 4].map((more) => once(killed.length + more)))));
        all.push(...killed);
      }
      t.ok(isComplete(), all.join(', '));
    },
  );

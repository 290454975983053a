/** Two processes of the API, each with a router of its own, on accounts that move from shard
 *  to shard. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { isReady, openShop, prepareKillable } from '../e2e/kill-rounds.js';
import { testCluster } from '../helpers/cluster.js';
import { eventually } from '../helpers/service.js';
import { moveFrom, placesOf } from '../helpers/shards.js';

const ROUNDS = 500;
const SIDE_BY_SIDE = 8;

const cluster = await testCluster(t, { routers: 2, parameters: { orphanCleanupDelaySecs: 0 } });
const database = cluster.database();
const place = await prepareKillable(t, {
  MONGODB_URI: database.uri,
  SECRETS_KEY: randomBytes(32).toString('base64'),
  LOG_LEVEL: 'error',
});
const processes = [
  await place.start({ env: { MONGODB_URI: cluster.database([0], database.name).uri } }),
  await place.start({ role: 'api', env: { MONGODB_URI: cluster.database([1], database.name).uri } }),
];
for (const { url } of processes) await eventually(() => isReady(url), 'the service is ready', 120_000);
const shop = await openShop(place, processes[0]!.url);
const { primary, other } = await placesOf(database);
const { accountId } = (await database.db.collection('wallets').findOne({}))!;

/** Calls the API of one of the processes. @returns what was made; throws what is not 201 */
async function make(process: number, path: string, body: object, idempotencyKey?: string): Promise<any> {
  const answer = await fetch(`${processes[process]!.url}/api/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${shop.key}`,
      'content-type': 'application/json',
      ...(idempotencyKey ? { 'idempotency-key': idempotencyKey } : {}),
    },
    body: JSON.stringify(body),
  });
  const { data, error } = (await answer.json()) as any;
  if (answer.status !== 201) throw new Error(`${path} ${answer.status}: ${JSON.stringify(error)}`);
  return data;
}

/** Runs rounds side by side. @returns what failed, each fault once with how often */
async function inLanes(rounds: number, round: (n: number) => Promise<unknown>): Promise<Record<string, number>> {
  const faults: Record<string, number> = {};
  let next = 0;
  const lane = async () => {
    while (next < rounds) {
      await round(next++).catch(({ message }: Error) => {
        faults[message] = (faults[message] ?? 0) + 1;
      });
    }
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  return faults;
}

const newProduct = { name: 'Tea', walletId: shop.wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };

t.test('what one process has made can be used at once through another process and router', async (t) => {
  const faults = await inLanes(ROUNDS, async (n) => {
    const [here, there] = [n % 2, 1 - (n % 2)];
    const product = await make(here, '/products', newProduct);
    const link = await make(there, '/payment-links', { productId: product.id });
    const page = await fetch(link.url.replace(/^http:\/\/[^/]+/, processes[here]!.url));
    if (page.status !== 200) throw new Error(`its page: ${page.status}`);
  });
  t.same(faults, {});
});

t.test('while the account moves back and forth, everything that is made side by side is made, once', async (t) => {
  const product = await make(0, '/products', newProduct);
  const checkouts = database.db.collection<{ _id: string }>('checkouts');
  let [isOver, moves] = [false, 0];
  const moving = (async () => {
    for (; !isOver; moves++) await moveFrom(database, accountId, moves % 2 === 0 ? other : primary);
  })();
  const made = new Set<string>();
  const faults = await inLanes(ROUNDS, async (n) => {
    const order = { productId: product.id, reference: `order ${n}` };
    const key = n % 2 === 0 ? `key ${n}` : undefined;
    const { id } = await make(n % 2, '/checkouts', order, key);
    made.add(id);
    if (key && (await make(1 - (n % 2), '/checkouts', order, key)).id !== id) throw new Error('made twice');
    if (n % 5 === 0) await make(n % 2, '/payment-links', { productId: product.id });
  });
  isOver = true;
  await moving;
  t.ok(moves >= 2, `${moves} moves`);
  t.comment(`${moves} moves of the account`);
  t.same(faults, {}, processes.map(({ output }) => output().slice(-5000)).join('\n'));
  t.equal(await checkouts.countDocuments({ accountId, productId: product.id }), ROUNDS);
  t.equal(made.size, ROUNDS);
});

/** Totals of lists that are counted each time, asked for by many at once, and searches that find
 *  very much. */
import t from 'tap';
import { createSharedCount } from '../../src/kit/tick-loader.js';
import type { ProductFilter } from '../../src/selling/product-store.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';
import { newId, openStoresOn } from '../helpers/stores.js';

const { uri, db } = await testDatabase(t);
const monitored = new URL(uri);
monitored.searchParams.set('monitorCommands', 'true');
const { connection, stores } = await openStoresOn(t, monitored.href);
let counts = 0;
connection.getClient().on('commandStarted', ({ commandName }) => {
  if (commandName === 'aggregate') counts += 1;
});

const [one, other] = [newId('acct'), newId('acct')];
const productsOf = (accountId: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    ...{ _id: newId('prod'), accountId, name: `Thing ${n}`, nameKey: `thing ${n}`, active: n % 3 > 0 },
  }));
await db.collection<{ _id: string }>('products').insertMany([...productsOf(one, 23), ...productsOf(other, 7)]);

const total = async (accountId: string, filter: Partial<ProductFilter>): Promise<number> => {
  const { meta } = await stores
    .forAccount(accountId)
    .products.list({ sortBy: 'createdAt', sortOrder: 'desc', ...filter } as ProductFilter, {
      ...{ page: 1, pageSize: 5 },
      signal: new AbortController().signal,
    });
  return meta.total;
};

t.test('callers at the same moment get the total of their own account and filter, each counted once', async (t) => {
  const asked: [string, Partial<ProductFilter>, number][] = [
    [one, {}, 23],
    [one, { active: true }, 15],
    [one, { active: false }, 8],
    [one, { search: 'thing 1' }, 11],
    [one, { search: 'THING 2' }, 4],
    [one, { search: '.' }, 0],
    [other, {}, 7],
    [other, { active: true }, 4],
    [other, { search: 'thing 1' }, 1],
  ];
  const everybody = Array.from({ length: 5 }, () => asked).flat();
  counts = 0;
  const totals = await Promise.all(everybody.map(([accountId, filter]) => total(accountId, filter)));
  t.same(
    totals,
    everybody.map(([, , expected]) => expected),
  );
  t.equal(counts, asked.length);
});

t.test('a later caller is told what is true then', async (t) => {
  const before = total(one, {});
  const [added] = productsOf(one, 1);
  await db.collection<{ _id: string }>('products').insertOne(added!);
  t.equal(await total(one, {}), 24);
  t.match(await before, /^2[34]$/);
});

t.test('one of two who wait for a total leaves → the other has it; both leave → the count ends', async (t) => {
  const slow = {
    accountId: other,
    $expr: { $function: { body: 'function() { sleep(100); return true }', args: [], lang: 'js' } },
  };
  const count = createSharedCount(connection.collection<{ accountId: string }>('products'));
  const [stays, leaves, later] = [new AbortController(), new AbortController(), new AbortController()];
  const counted = count(slow as never, stays.signal);
  const left = count(slow as never, leaves.signal);
  setTimeout(() => leaves.abort(new Error('left')), 50);
  await t.rejects(left, { message: 'left' });
  t.equal(await counted, 7);
  const running = async () =>
    (await db.client.db('admin').command({ currentOp: 1, ns: `${db.databaseName}.products` })).inprog.length;
  const alone = count(slow as never, later.signal);
  await eventually(async () => (await running()) > 0, 'it is being counted');
  later.abort(new Error('left'));
  await t.rejects(alone, { message: 'left' });
  await eventually(async () => (await running()) === 0, 'it ends in MongoDB');
});

t.test('a total that cannot be counted fails alone', async (t) => {
  const count = createSharedCount(connection.collection<{ accountId: string }>('products'));
  const [good, bad] = await Promise.allSettled([
    count({ accountId: other }),
    count({ accountId: { $wrong: 1 } as never }),
  ]);
  t.match(good, { status: 'fulfilled', value: 7 });
  t.match(bad, { status: 'rejected', reason: /\$wrong/ });
});

t.test('a search among links by a name that very many products have is refused with a reason', async (t) => {
  const database = await testDatabase(t);
  const service = await startTestService(t, { role: 'api', database });
  const { data: named } = await service.api('GET', '/payment-links?search=shirt');
  t.same(named, []);
  for (const from of [0, 25_000]) {
    const batch = productsOf(service.accountId, 25_000 + from / 25_000);
    await database.db.collection<{ _id: string }>('products').insertMany(batch, { ordered: false });
  }
  const { status, error } = await service.api('GET', '/payment-links?search=thing');
  t.match([status, error], [400, { code: 'bad_request', message: /^search: More than 50,000 products/ }]);
  t.equal((await service.api('GET', '/payment-links?search=thing%2024999')).status, 200);
});

t.test('what was sent back of a checkout is the sum of all its payments, in its asset, of its account', async (t) => {
  const checkout = { _id: newId('chk'), accountId: one, assetCode: 'XLM', assetIssuer: null };
  const payments = (count: number, changes: Record<string, unknown>) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ ...checkout, checkoutId: checkout._id, amount: '1', refundedAmount: '0.3000001', ...changes },
      ...{
        _id: newId('pay'),
        walletId: 'w',
        operationId: String(n + 1),
        changeIndex: 0,
        transactionHash: newId('pay'),
      },
    }));
  const stored = [
    ...payments(25, {}),
    ...payments(3, { refundedAmount: undefined }),
    ...payments(2, { assetCode: 'OTHER' }),
    ...payments(2, { checkoutId: newId('chk') }),
    ...payments(2, { accountId: other }),
  ];
  await db.collection<{ _id: string }>('payments').insertMany(stored, { ignoreUndefined: true });
  t.equal(await stores.forAccount(one).payments.refundedOfCheckout(checkout), 75_000_025n);
});

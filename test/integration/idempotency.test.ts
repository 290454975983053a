import { pino } from 'pino';
import t from 'tap';
import { createIdempotency, createIdempotencyStore } from '../../src/api/idempotency.js';
import { ApiError } from '../../src/kit/api-error.js';
import type { Caller } from '../../src/kit/caller.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const log = pino({ level: 'silent' });
const HOUR_MS = 3_600_000;

let nowMs = Date.parse('2026-11-21T09:30:00Z');
const clock: Clock = { ...systemClock, nowMs: () => nowMs, now: () => new Date(nowMs) };
/** The clock of a process that has died: nothing of it goes on. */
const stopped: Clock = { ...clock, sleep: () => new Promise(() => undefined) };

// Its own, without the index of ends: by that MongoDB removes claims by its own clock, and the
// clock of this test is days behind it.
const { uri, db } = await testDatabase(t, { own: true });
const databases = [await connectDatabase(uri), await connectDatabase(uri)] as const;
t.teardown(() => Promise.all(databases.map((database) => database.close())));
const storeOf = (n: 0 | 1) => createIdempotencyStore(databases[n].connection);
const stores = [storeOf(0), storeOf(1)] as const;
const processOf = (n: 0 | 1, processClock = clock) =>
  createIdempotency({
    forAccount: (accountId) => ({ idempotency: stores[n].forAccount(accountId) }),
    clock: processClock,
    newId: createIds(processClock),
    log,
  });
const [one, two] = [processOf(0), processOf(1)];
const processWithoutTimers = processOf(0, stopped);

const caller: Caller = { accountId: 'acct_one', keyId: 'key_one', scope: 'FULL' };
let keys = 0;
const request = (changes = {}) => ({
  method: 'POST',
  path: '/products',
  key: `key ${++keys}`,
  body: { name: 'tea', price: '1' },
  ...changes,
});

/** Counts its runs; each makes something. */
function creation() {
  const made: string[] = [];
  const execute = async ({ reservedId }: Caller) => {
    made.push(reservedId!('prod'));
    await systemClock.sleep(20);
    return { status: 201, body: { id: reservedId!('prod'), nth: made.length } };
  };
  return { made, execute };
}

t.test('20 requests at once in two processes create one thing and get one answer', async (t) => {
  const { made, execute } = creation();
  const same = request();
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => (n % 2 ? one : two).run(caller, same, execute)),
  );
  t.equal(made.length, 1);
  t.match(made[0], /^prod_[0-9a-z]{26}$/);
  for (const { status, body } of answers) t.same({ status, body }, { status: 201, body: { id: made[0], nth: 1 } });
  t.equal(answers.filter(({ replayed }) => !replayed).length, 1);

  const another = request();
  const quick = await Promise.all([1, 2, 3].map(() => processWithoutTimers.run(caller, another, execute)));
  t.equal(quick.filter(({ replayed }) => replayed).length, 2, 'within a process no caller waits for a timer');
});

t.test('a key means a request of one account, method, path and body', async (t) => {
  const { made, execute } = creation();
  const first = request();
  await one.run(caller, first, execute);
  const reordered = { ...first, body: { price: '1', name: 'tea' } };
  t.match(await two.run(caller, reordered, execute), { replayed: true, body: { nth: 1 } });
  for (const body of [
    { name: 'tea', price: '2' },
    { name: 'tea' },
    { name: 'tea', price: '1', active: true },
    undefined,
  ]) {
    await t.rejects(two.run(caller, { ...first, body }, execute), { code: 'conflict' });
  }
  t.equal(made.length, 1);
  await one.run({ ...caller, accountId: 'acct_two' }, first, execute);
  await one.run(caller, { ...first, path: '/webhooks' }, execute);
  await one.run(caller, { ...first, method: 'PUT' }, execute);
  await one.run(caller, { ...first, key: `${first.key}!` }, execute);
  t.equal(new Set(made).size, 5);

  const slow = request();
  const running = one.run(caller, slow, async (as) => {
    await t.rejects(two.run(caller, { ...slow, body: {} }, execute), { code: 'conflict' }, 'also while the first runs');
    return execute(as);
  });
  await running;
});

t.test('the first answer shows the secret, a replay has the rest, and the secret is stored nowhere', async (t) => {
  const same = request({ secretField: 'secret' });
  const execute = async () => ({ status: 201, body: { id: 'hook_1', secret: 'whsec_hidden', status: 'ACTIVE' } });
  t.match(await one.run(caller, same, execute), { body: { secret: 'whsec_hidden' } });
  t.same(await two.run(caller, same, execute), {
    status: 201,
    body: { id: 'hook_1', status: 'ACTIVE' },
    replayed: true,
  });
  t.notOk(JSON.stringify(await db.collection('idempotency').find().toArray()).includes('hidden'));

  const nested = request({ secretField: 'apiKey.key' });
  await one.run(caller, nested, async () => ({ status: 200, body: { apiKey: { id: 1, key: 'sk_hidden' } } }));
  t.same((await one.run(caller, nested, execute)).body, { apiKey: { id: 1 } });
});

t.test('a failure is not kept: the next request runs, with whatever body', async (t) => {
  const same = request();
  const refuse = async () => {
    throw new ApiError('conflict', 'taken');
  };
  await t.rejects(one.run(caller, same, refuse), { message: 'taken' });
  t.match(await one.run(caller, same, async () => ({ status: 409, body: null })), { status: 409, replayed: false });
  const { made, execute } = creation();
  let waiting: Promise<unknown> | null = null;
  const refused = one.run(caller, same, async () => {
    waiting = Promise.all([one.run(caller, same, execute), two.run(caller, same, execute)]);
    await systemClock.sleep(60);
    return refuse();
  });
  await t.rejects(refused, { message: 'taken' });
  t.match(await waiting, [{ body: { nth: 1 } }, { body: { nth: 1 } }], 'callers that waited for the failed one run');
  t.equal(made.length, 1);

  const mended = request();
  await t.rejects(one.run(caller, mended, refuse), { message: 'taken' });
  t.match(await two.run(caller, { ...mended, body: {} }, execute), { status: 201, replayed: false });
});

t.test('a key is free again after 24 hours', async (t) => {
  const { made, execute } = creation();
  const same = request();
  await one.run(caller, same, execute);
  nowMs += 24 * HOUR_MS - 1;
  t.match(await one.run(caller, same, execute), { replayed: true });
  nowMs += 1;
  t.match(await two.run(caller, { ...same, body: {} }, execute), { replayed: false });
  t.match(await one.run(caller, { ...same, body: {} }, execute), { replayed: true });
  t.equal(new Set(made).size, 2);
});

t.test('when the first process dies, one other takes over and reserves the same id', async (t) => {
  const { made, execute } = creation();
  const same = request();
  let reserved = '';
  void processOf(0, stopped).run(caller, same, ({ reservedId }) => {
    reserved = reservedId!('prod');
    return new Promise(() => undefined);
  });
  while (reserved === '') await systemClock.sleep(5);
  const waiting = Promise.all([one.run(caller, same, execute), two.run(caller, same, execute)]);
  await systemClock.sleep(120);
  t.equal(made.length, 0, 'it may still be alive');
  nowMs += 10_001;
  const answers = await waiting;
  t.same(made, [reserved]);
  t.same(answers.map(({ replayed }) => replayed).sort(), [false, true]);
});

t.test('a creation whose first run was slow, not dead, still makes one thing, and both runs answer it', async (t) => {
  const service = await startTestService(t);
  const { accountId, context } = service;
  const { product, wallet } = await startSelling(service);
  const contexts = [context, await service.join('api')] as const;
  const as: Caller = { ...caller, accountId };
  const { address } = await context.localLedger!.client.fund();
  const creations: Record<string, (n: 0 | 1, runner: Caller) => Promise<{ id: string }>> = {
    '/wallets': (n, runner) =>
      contexts[n].services.wallets.create(runner, { name: 'Second', address, network: 'LOCAL' }),
    '/products': (n, runner) =>
      contexts[n].services.products.create(runner, { ...product, price: '1', walletId: wallet.id }),
    '/payment-links': (n, runner) => contexts[n].services.paymentLinks.create(runner, { productId: product.id }),
    '/checkouts': (n, runner) => contexts[n].services.checkouts.create(runner, { productId: product.id }),
    '/webhooks': (n, runner) =>
      contexts[n].services.webhooks.create(runner, {
        name: 'Orders',
        url: 'https://shop.example/hook',
        events: ['payment.completed'],
      }),
    '/api-keys': (n, runner) => contexts[n].services.apiKeys.create(runner, { name: 'Till', scope: 'READ' }),
  };
  for (const [path, create] of Object.entries(creations)) {
    const same = request({ path });
    let go = (): void => undefined;
    const both = new Promise<void>((resolve) => (go = resolve));
    const running = (n: 0 | 1) => async (runner: Caller) => {
      if (n === 1) go();
      await both;
      return { status: 201, body: await create(n, runner) };
    };
    const slow = processOf(0, stopped).run(as, same, running(0));
    while (!(await db.collection('idempotency').findOne({ accountId, answer: null }))) await systemClock.sleep(5);
    nowMs += 10_001;
    const answers = await Promise.all([slow, two.run(as, same, running(1))]);
    const [first, second] = answers.map(({ body }) => (body as { id: string }).id);
    t.equal(first, second, path);
    t.match(answers, [{ status: 201 }, { status: 201 }], path);
  }
});

t.test('a change of a stock was slow, not dead, and was taken over → the stock changes once', async (t) => {
  const service = await startTestService(t);
  const { accountId, context } = service;
  const { product } = await startSelling(service, { stock: 10 }, { order: { fields: [] } });
  const contexts = [context, await service.join('api')] as const;
  const as: Caller = { ...caller, accountId };
  const same = request({ method: 'PATCH', path: `/products/${product.id}` });
  let isTakenOver = (): void => undefined;
  const takenOver = new Promise<void>((resolve) => (isTakenOver = resolve));
  const change = async (n: 0 | 1, runner: Caller) => ({
    status: 200,
    body: await contexts[n].services.products.update(runner, { id: product.id, stockChange: '-3' } as never),
  });
  const slow = processOf(0, stopped).run(as, same, async (runner) => {
    await takenOver;
    return change(0, runner);
  });
  while (!(await db.collection('idempotency').findOne({ accountId, answer: null }))) await systemClock.sleep(5);
  nowMs += 10_001;
  const second = await two.run(as, same, (runner) => change(1, runner));
  isTakenOver();
  t.match(
    [await slow, second].map(({ body }) => (body as { stock: number }).stock),
    [7, 7],
  );
});

t.test('after a fault the next request runs at once and reserves the same id', async (t) => {
  const same = request();
  const ids: string[] = [];
  const faulty = async ({ reservedId }: Caller) => {
    ids.push(reservedId!('link'));
    if (ids.length === 1) throw new Error('the connection broke, after the effect or before');
    return { status: 201, body: {} };
  };
  await t.rejects(one.run(caller, same, faulty), { message: /connection broke/ });
  t.match(await two.run(caller, same, faulty), { status: 201 });
  t.equal(ids.length, 2);
  t.equal(ids[0], ids[1]);
});

t.test('what can be done once only is answered, though the run that did it never answered', async (t) => {
  const service = await startTestService(t);
  const { context, accountId } = service;
  const { payments, checkouts } = context.services;
  const { wallet, product, link } = await startSelling(service);
  const as: Caller = { ...caller, accountId };
  const order = (await service.api('POST', '/checkouts', { productId: product.id })).data;
  const paid = async (memo: string) => {
    const { hash } = await context.localLedger!.client.pay({ to: wallet.address, amount: '1', memo });
    const path = `/payments?transactionHash=${hash}&status=UNDERPAID&status=UNMATCHED`;
    return eventually(async () => (await service.api('GET', path)).data[0], 'the payment');
  };
  const [part, lost, forOrder] = [await paid(link.memo), await paid('NOBODY'), await paid('NO ORDER')];
  await paid(order.memo);
  const actions: Record<string, (runner: Caller) => Promise<{ id: string }>> = {
    accept: (runner) => payments.accept(runner, { id: part.id }),
    'assign to a link': (runner) => payments.assign(runner, { id: lost.id, paymentLinkId: link.id }),
    'assign to a checkout': (runner) => payments.assign(runner, { id: forOrder.id, checkoutId: order.id }),
    'accept a checkout': (runner) => checkouts.accept(runner, { id: order.id }),
  };
  for (const [path, act] of Object.entries(actions)) {
    const same = request({ path });
    let done: unknown = null;
    const run = async (runner: Caller) => {
      const answer = { status: 200, body: await act(runner) };
      if (done !== null) return answer;
      done = answer.body;
      throw new Error('the process died');
    };
    await t.rejects(one.run(as, same, run), { message: 'the process died' });
    t.match(await two.run(as, same, run), { status: 200, body: done as object, replayed: false }, path);
    await t.rejects(two.run(as, request({ path }), run), { code: 'conflict' }, `${path}, as another request`);
  }

  const same = request();
  const ends: Date[] = [];
  const make = async (runner: Caller) => {
    if (ends.push(new Date()) === 1) throw new Error('the database is away');
    return { status: 201, body: await checkouts.create(runner, { productId: product.id }) };
  };
  await t.rejects(one.run(as, same, make));
  await systemClock.sleep(100);
  const { expiresAt, createdAt } = (await two.run(as, same, make)).body as Record<'expiresAt' | 'createdAt', string>;
  t.ok(Date.parse(expiresAt) - Date.parse(createdAt) >= 24 * HOUR_MS, 'has all of its time');
  t.ok(Date.parse(expiresAt) >= ends[1]!.getTime() + 24 * HOUR_MS);
});

t.test('a slow first request is waited for while it lives, but not for ever', async (t) => {
  const { made, execute } = creation();
  const same = request();
  await db.collection('idempotency').deleteMany({});
  let beat = (): void => undefined;
  let finish = (): void => undefined;
  const beating: Clock = { ...clock, sleep: () => new Promise((resolve) => (beat = resolve)) };
  const first = processOf(0, beating).run(caller, same, async () => {
    await new Promise<void>((resolve) => (finish = resolve));
    return { status: 201, body: 'slow' };
  });
  const prolonged = () => db.collection('idempotency').findOne({ runsUntil: new Date(nowMs + 10_000) });
  while (!(await prolonged())) await systemClock.sleep(5);
  const second = t.rejects(two.run(caller, same, execute), { code: 'conflict', message: /still running/ });
  for (let n = 0; n < 6; n += 1) {
    nowMs += 6000;
    while (!(await prolonged())) {
      beat();
      await systemClock.sleep(5);
    }
    await systemClock.sleep(60);
  }
  await second;
  finish();
  t.match(await first, { body: 'slow', replayed: false });
  t.match(await two.run(caller, same, execute), { body: 'slow', replayed: true });
  t.equal(made.length, 0);
});

t.test('a malformed key is refused', async (t) => {
  const { made, execute } = creation();
  for (const key of ['', 'x'.repeat(256), 'schlüssel', 'a\nb', '\u007f']) {
    await t.rejects(one.run(caller, request({ key }), execute), { code: 'bad_request' }, JSON.stringify(key));
  }
  t.equal(made.length, 0);
  await one.run(caller, request({ key: 'x'.repeat(255) }), execute);
  await one.run(caller, request({ key: '~ !' }), execute);
  t.equal(made.length, 2);
});

/** Several dispatchers on a real MongoDB: they share the webhooks, send nothing twice, and take
 *  over from each other. */
import { spawn } from 'node:child_process';
import t from 'tap';
import type { EventDoc } from '../../src/events/event-store.js';
import { systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createStores } from '../../src/stores.js';
import type { DeliveryStore } from '../../src/webhooks/delivery-store.js';
import { cuttableWay, databaseAt } from '../helpers/cut.js';
import { eventIdOf, HOUR_MS, inOrder, isDelivered, payments, rig, unrenewable } from '../helpers/dispatch-rig.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';

// Keeps mongod running from one test to the next.
await testDatabase(t);

t.test('a lease of a worker that died is free although the clock was set back by an hour since', async (t) => {
  const r = await rig(t);
  const until = new Date(Date.now() + HOUR_MS);
  await r.webhook('/dead', { lease: { holder: 'dead', until, lastsMs: 18_000 } });
  await r.webhook('/held', { lease: { holder: 'alive', until, lastsMs: HOUR_MS } });
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  r.dispatch();
  await r.receiver.until(() => r.receiver.requests.length === 1, 5000);
  await systemClock.sleep(500);
  t.same(
    r.receiver.requests.map(({ path }) => path),
    ['/dead'],
  );
});

t.test('two dispatchers send nothing twice, and payment.received first, whatever is due first', async (t) => {
  const r = await rig(t, () => ({ delayMs: 20 }));
  for (const path of ['/a', '/b', '/c']) await r.webhook(path);
  r.dispatch();
  r.dispatch();
  const docs: EventDoc[] = [];
  for (let round = 0; round < 3; round++) {
    const batch = r.eventsOf(payments(10, `pay${round}`), ['payment.received', 'payment.completed']);
    docs.push(...batch);
    await r.publish(round % 2 ? batch.toReversed() : batch);
  }
  // Stored by a process whose clock is behind: `completed` is due long before `received`.
  const late = r.eventsOf(payments(10, 'late'), ['payment.received', 'payment.completed']);
  docs.push(...late);
  await r.database.transaction((session) => r.events.insert(late, session));
  const opening = r.newSequencer({
    async open(planned, session) {
      await r.deliveries.open(planned, session);
      await r.database.connection
        .collection('deliveries')
        .updateMany(
          { subjectId: /^late/, eventType: 'payment.received' },
          { $set: { nextAttemptAt: new Date(Date.now() + HOUR_MS) } },
          { session },
        );
    },
  });
  while (await opening.round());
  await r.settled((all) => all.length === 240 && all.every(isDelivered));
  t.equal(r.receiver.requests.length, 240, 'each exactly once');
  t.equal(new Set(r.receiver.requests.map((request) => request.path + eventIdOf(request))).size, 240);
  inOrder(t, r, docs, 20);
});

t.test('nothing is sent twice when the database was away for longer than a lease', LONG, async (t) => {
  const r = await rig(t, () => ({ delayMs: 100 }));
  for (let n = 0; n < 20; n++) await r.webhook(`/${n}`);
  const ways = await Promise.all([1, 2].map(() => cuttableWay(t, r.uri)));
  for (const way of ways) {
    const database = await connectDatabase(databaseAt(r.uri, way));
    t.teardown(() => database.close());
    const { system } = createStores(database.connection, { newId: r.newId, clock: r.clock });
    r.dispatch({ timeoutMs: 1000, leaseMarginMs: 3000, graceMs: 0 }, system);
    if (way === ways[0]) await r.publish(r.eventsOf(payments(2), ['payment.completed']));
    await r.receiver.until(() => r.receiver.requests.length >= 20);
  }
  // Attempts that are sent now cannot be recorded, and their sender is the last to reach the
  // database again.
  for (const way of ways) way.close(true);
  await systemClock.sleep(8000);
  for (const way of ways.toReversed()) {
    way.close(false);
    await systemClock.sleep(1500);
  }
  await r.settled((all) => all.length === 40 && all.every(isDelivered));
  t.equal(r.receiver.requests.length, 40);
});

t.test(
  'a dispatcher that comes later gets its share of the webhooks, in order, and nothing is sent twice',
  LONG,
  async (t) => {
    const r = await rig(t, () => ({ delayMs: 300 }));
    const paths = ['/a', '/b', '/c', '/d', '/e', '/f'];
    for (const path of paths) await r.webhook(path);
    const docs = r.eventsOf(payments(500), ['payment.received', 'payment.completed']);
    await r.publish(docs);
    const recordedBy = [0, 0];
    const counted = (nth: number): DeliveryStore => ({
      ...r.deliveries,
      async record(records) {
        recordedBy[nth]! += records.length;
        return r.deliveries.record(records);
      },
    });
    r.dispatch({}, { deliveries: counted(0) });
    await r.receiver.until(() => paths.every((path) => r.receiver.at(path).length > 0));
    r.dispatch({}, { deliveries: counted(1) });
    await r.settled((all) => all.every(isDelivered), 120_000);
    t.equal(r.receiver.requests.length, docs.length * paths.length, 'each exactly once');
    t.equal(new Set(r.receiver.requests.map((request) => request.path + eventIdOf(request))).size, 6000);
    inOrder(t, r, docs, 300);
    const [first, second] = recordedBy as [number, number];
    t.ok(Math.min(first, second) > 500, `${first} by the first, ${second} by the second`);
  },
);

t.test('a dispatcher takes half of the webhooks at a time, so that another one gets the other half', async (t) => {
  const r = await rig(t);
  const paths = ['/a', '/b', '/c', '/d'];
  for (const path of paths) await r.webhook(path);
  await r.publish(r.eventsOf(payments(5), ['payment.completed']));
  let goOn = (): void => undefined;
  const gate = new Promise<void>((resolve) => (goOn = resolve));
  let hasLeases = (): void => undefined;
  const leased = new Promise<void>((resolve) => (hasLeases = resolve));
  const dueOf: DeliveryStore['dueOf'] = async (...asked) => {
    hasLeases();
    await gate;
    return r.deliveries.dueOf(...asked);
  };
  r.dispatch({}, { deliveries: { ...r.deliveries, dueOf } });
  t.teardown(goOn);
  await leased;
  r.dispatch();
  await r.receiver.until(() => r.receiver.requests.length === 10);
  t.equal(new Set(r.receiver.requests.map(({ path }) => path)).size, 2, 'half of the webhooks');
  goOn();
  await r.settled((all) => all.every(isDelivered));
  t.equal(r.receiver.requests.length, 20, 'each exactly once');
});

t.test(
  'more webhooks than a dispatcher leases at once are sent to without a wait for the next look',
  LONG,
  async (t) => {
    const r = await rig(t);
    for (let n = 0; n < 1500; n++) await r.webhook(`/${n}`);
    await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
    r.dispatch({ pollMs: HOUR_MS, leaseMarginMs: 60_000 });
    await r.receiver.until(() => r.receiver.requests.length === 1500, 60_000);
    t.equal(new Set(r.receiver.requests.map(({ path }) => path)).size, 1500, 'each once');
  },
);

t.test('slow endpoints with a backlog do not keep all leases', LONG, async (t) => {
  const r = await rig(t, ({ path }) => (path === '/quick' ? {} : { delayMs: 1000 }));
  const slow = ['/a', '/b', '/c', '/d'];
  for (const path of slow) await r.webhook(path);
  // Leases are taken in the order of ids: this one is the last.
  const { _id } = await r.webhook('/quick', { accountId: 'acct_quick' });
  await r.publish(r.eventsOf(payments(1000), ['payment.completed']));
  await r.publish(r.eventsOf(['pay_quick'], ['payment.completed'], 'acct_quick'));
  r.dispatch({ maxQueues: 3 });
  await r.receiver.until(() => r.receiver.at('/quick').length === 1, 15_000);
  const left = (await r.all()).filter((each) => each.webhookId !== _id && each.status === 'PENDING');
  t.ok(left.length > 1000, `${left.length} are still due for the others`);
  t.ok(
    slow.every((path) => r.receiver.at(path).length > 0),
    'each of which had a turn or has it now',
  );
});

t.test(
  'a dispatcher that cannot renew its leases stops in time, and the next one sends the rest, nothing twice',
  LONG,
  async (t) => {
    const r = await rig(t, () => ({ delayMs: 400 }));
    await r.webhook('/');
    await r.publish(r.eventsOf(payments(250), ['payment.completed']));
    const settings = { timeoutMs: 4000, leaseMarginMs: 800, retryBaseMs: 50, maxAttempts: 20 };
    r.dispatch(settings, { webhooks: unrenewable(r.webhooks) });
    await r.receiver.until(() => r.receiver.requests.length > 0);
    r.dispatch(settings);
    const all = await r.settled((all) => all.every(isDelivered));
    const attempts = all.reduce((sum, { attemptCount }) => sum + attemptCount, 0);
    t.equal(r.receiver.requests.length, attempts, 'each request is a recorded attempt');
  },
);

t.test('a lease that ended is renewed, unless another dispatcher had it since', async (t) => {
  const { webhooks, ...r } = await rig(t);
  const [left, taken] = [await r.webhook('/left'), await r.webhook('/taken')];
  const ids = [left._id, taken._id];
  await webhooks.takeLeases(ids, 'one', -1);
  await webhooks.takeLeases([taken._id], 'two', 60_000);
  await webhooks.releaseLeases([taken._id], 'two');
  await webhooks.renewLeases(ids, 'one', 60_000);
  const holders = new Map((await webhooks.byIds(ids)).map(({ _id, lease }) => [_id, lease?.holder ?? null]));
  t.equal(holders.get(left._id), 'one');
  t.equal(holders.get(taken._id), null, 'what was loaded under it may be sent by now');
});

t.test(
  'deliveries in flight when a process was killed are sent again, once, in time; no others are',
  LONG,
  async (t) => {
    const timeoutMs = 1000;
    const r = await rig(t, ({ path }, nth) => (path === '/hang' && nth <= 2 ? { trouble: 'hang' } : {}));
    const [hang, fine] = [await r.webhook('/hang'), await r.webhook('/fine')];
    const module = (path: string) => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
    const child = spawn(
      process.execPath,
      [
        '--import=tsx',
        '--input-type=module',
        '-e',
        `
      import { pino } from 'pino';
      import { systemClock as clock } from ${module('kit/clock.ts')};
      import { createIds } from ${module('kit/ids.ts')};
      import { createSecretBox } from ${module('kit/secrets.ts')};
      import { connectDatabase } from ${module('kit/database.ts')};
      import { createStores } from ${module('stores.ts')};
      import { createDispatcher } from ${module('webhooks/dispatch.ts')};
      import { createPoster } from ${module('webhooks/poster.ts')};
      const { connection } = await connectDatabase(process.env.URI);
      const { webhooks, deliveries, events } = createStores(connection, { newId: createIds(clock), clock }).system;
      const poster = createPoster({ allowPrivate: true, timeoutMs: ${timeoutMs}, clock, developmentCa: () => process.env.CA });
      const secrets = createSecretBox(Buffer.from(process.env.KEY, 'base64'), clock);
      const settings = { timeoutMs: ${timeoutMs}, retryBaseMs: 60000, maxAttempts: 4 };
      const log = pino({ level: 'warn' });
      await createDispatcher({ webhooks, deliveries, events, pause: async () => undefined, poster, secrets, clock, log, settings }).drain(new AbortController().signal);`,
      ],
      { env: { ...process.env, URI: r.uri, CA: r.receiver.ca, KEY: r.key.toString('base64') }, stdio: 'inherit' },
    );
    t.teardown(() => child.kill('SIGKILL'));
    await r.publish(r.eventsOf(payments(2), ['payment.completed']));
    await r.receiver.until(() => r.receiver.at('/hang').length === 2);
    await r.settled((all) => all.filter(({ webhookId }) => webhookId === fine._id).every(isDelivered));
    // A second dispatcher lives all the while, and must not touch what is in flight at the first.
    r.dispatch({ timeoutMs, leaseMarginMs: 3000 });
    child.kill('SIGKILL');
    const killedAt = Date.now();
    await r.publish(r.eventsOf(['pay_after'], ['payment.completed']));
    await r.settled((all) => all.every(isDelivered), timeoutMs + 5000);
    const again = r.receiver.at('/hang');
    t.ok(again[2]!.at - killedAt < timeoutMs + 5000, `again after ${again[2]!.at - killedAt} ms`);
    t.ok(again[2]!.at - killedAt > timeoutMs, 'not while the dead might still have been sending');
    t.equal(again.length, 5);
    t.equal(r.receiver.at('/fine').length, 3);
    t.match(
      (await r.all()).filter(({ webhookId }) => webhookId === hang._id).map(({ attemptCount }) => attemptCount),
      [1, 1, 1],
    );
  },
);

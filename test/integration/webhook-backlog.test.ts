/** A dispatcher with much to send, on a real MongoDB and a real HTTPS endpoint: what is bounded, in
 *  which order it goes, and what holds up nothing else. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import type { DeliveryStore } from '../../src/webhooks/delivery-store.js';
import { eventIdOf, HOUR_MS, inOrder, isDelivered, payments, rig, unrenewable } from '../helpers/dispatch-rig.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';

// Keeps mongod running from one test to the next.
await testDatabase(t);

t.test('what is due is found for many webhooks at once, however much is due for one of them', async (t) => {
  const r = await rig(t);
  const ids = Array.from({ length: 12 }, () => r.newId('hook'));
  // The first read ends among those of the second of these.
  const [busy, next, now] = [ids[5]!, ids[6]!, Date.now()];
  const counts = new Map([
    [busy, 4060],
    [next, 90],
  ]);
  const due = ids.flatMap((webhookId) =>
    Array.from({ length: counts.get(webhookId) ?? 3 }, (_, n) => ({
      _id: `${webhookId}_${String(n).padStart(4, '0')}`,
      webhookId,
      eventId: `evt_${n}`,
      attemptCount: 0,
      isReplayed: n % 3 === 1,
      nextAttemptAt: new Date(now - (n % 100) * 1000),
    })),
  );
  const later = { _id: 'del_later', webhookId: ids[0], attemptCount: 0, nextAttemptAt: new Date(now + HOUR_MS) };
  await r.database.connection.collection('deliveries').insertMany([...due, later] as never[]);
  const known = new Set([`${ids[0]}_0001`, `${ids[9]}_0000`, `${busy}_0099`]);
  /** What is fresh goes first, then the oldest. */
  const expected = (withReplays: boolean) =>
    ids.map((webhookId) =>
      due
        .filter((each) => each.webhookId === webhookId && !known.has(each._id) && (withReplays || !each.isReplayed))
        .sort(
          (a, b) =>
            Number(a.isReplayed) - Number(b.isReplayed) ||
            a.nextAttemptAt.getTime() - b.nextAttemptAt.getTime() ||
            (a._id < b._id ? -1 : 1),
        )
        .slice(0, 100)
        .map(({ _id }) => _id),
    );
  const ofEach = async (wanted: readonly string[], replayed: boolean) => {
    const found = await r.deliveries.dueOf(
      wanted.map((webhookId) => ({
        webhookId,
        known: new Set([...known].filter((id) => id.startsWith(webhookId))),
        replayed,
      })),
      new Date(now),
      100,
    );
    return wanted.map((id) => found.filter(({ webhookId }) => webhookId === id).map(({ _id }) => _id));
  };
  for (const withReplays of [true, false]) {
    t.same(await ofEach(ids, withReplays), expected(withReplays), 'of all at once');
    t.same(await ofEach(ids.slice(3, 8), withReplays), expected(withReplays).slice(3, 8), 'of some');
  }
});

t.test('endpoints that hang hold up no other, and the database is asked in batches', async (t) => {
  const hanging = new Set(['/0', '/7', '/13']);
  // The answers come together, ten times a second, however busy the machine is.
  const r = await rig(t, ({ path }) =>
    hanging.has(path) ? { trouble: 'hang' } : { delayMs: 100 - (Date.now() % 100) },
  );
  for (let index = 0; index < 20; index++) await r.webhook(`/${index}`);
  const docs = r.eventsOf(payments(50), ['payment.completed']);
  await r.publish(docs);
  let roundTrips = 0;
  const counted = <Store extends object>(store: Store): Store =>
    new Proxy(store, {
      get: (target, verb) => {
        const value = Reflect.get(target, verb) as unknown;
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          roundTrips += 1;
          return value.apply(target, args) as unknown;
        };
      },
    });
  const startedAt = Date.now();
  r.dispatch(
    { timeoutMs: 60_000, leaseMarginMs: 3000, graceMs: 0, pollMs: 1000 },
    { webhooks: counted(r.webhooks), deliveries: counted(r.deliveries), events: counted(r.events) },
  );
  while ((await r.delivered()) < 850 && Date.now() - startedAt < 40_000) await systemClock.sleep(50);
  const ms = Date.now() - startedAt;
  // Where the machine is slow, fewer results share a write.
  const most = Math.max(283, ms / 20);
  t.ok(roundTrips < most, `${roundTrips} calls of the stores in ${ms} ms for 850 deliveries, at most ${most}`);
  t.equal(await r.delivered(), 850, 'long before the first of them times out');
  for (const path of hanging) {
    const open = r.receiver.at(path).length;
    t.ok(open >= 2 && open <= 32, `${path} has ${open} requests and no more`);
  }
  t.equal(r.receiver.requests.filter(({ path }) => !hanging.has(path)).length, 850, 'each once');

  // A newcomer among the hanging starts at once.
  await r.webhook('/new', { accountId: 'acct_new' });
  const storedAt = Date.now();
  await r.publish(r.eventsOf(['pay_new'], ['payment.completed'], 'acct_new'));
  await r.receiver.until(() => r.receiver.at('/new').length === 1);
  t.ok(r.receiver.at('/new')[0]!.at - storedAt < 5000, 'it does not wait for them');
});

t.test(
  'what happened is recorded though the database fails for a while, and an ending process gives its queues back',
  async (t) => {
    const r = await rig(t, () => ({ delayMs: 150 }));
    await r.webhook('/');
    let faults = 2;
    const flaky: DeliveryStore = {
      ...r.deliveries,
      record: async (records) => {
        if (faults-- > 0) throw new Error('the database is away');
        return r.deliveries.record(records);
      },
    };
    const first = r.dispatch({ leaseMarginMs: 5000 }, { deliveries: flaky });
    await r.publish(r.eventsOf(payments(3), ['payment.completed']));
    await r.settled((all) => all.every(isDelivered));
    t.equal(r.receiver.requests.length, 3, 'nothing was sent again until then');

    await r.publish(r.eventsOf(['pay_last'], ['payment.completed']));
    await r.receiver.until(() => r.receiver.requests.length === 4);
    await first.stop();
    t.ok((await r.all()).every(isDelivered), 'what was in flight is recorded');
    t.equal((await r.database.connection.collection('webhooks').findOne())!.lease, null);
    const startedAt = Date.now();
    await r.publish(r.eventsOf(['pay_next'], ['payment.completed']));
    r.dispatch();
    await r.receiver.until(() => r.receiver.requests.length === 5);
    t.ok(r.receiver.requests[4]!.at - startedAt < 3000, 'the next process need not wait for a lease');
  },
);

t.test('a backlog longer than one load is sent without a wait for the next look', async (t) => {
  const r = await rig(t);
  await r.webhook('/');
  await r.publish(r.eventsOf(payments(2500), ['payment.completed']));
  // The queue runs low while it is being loaded.
  const slow = {
    ...r.events,
    byIds: async (...asked: Parameters<typeof r.events.byIds>) => {
      const found = await r.events.byIds(...asked);
      await systemClock.sleep(150);
      return found;
    },
  };
  r.dispatch({ pollMs: HOUR_MS, leaseMarginMs: 60_000 }, { events: slow });
  await r.receiver.until(() => r.receiver.requests.length === 2500, 20_000);
  t.equal(new Set(r.receiver.requests.map(eventIdOf)).size, 2500, 'each once');
});

t.test('large bodies do not wait in memory, and are sent in order like any other', async (t) => {
  const r = await rig(t);
  await r.webhook('/');
  const filling = 'ä'.repeat(50_000);
  const events = r.eventsOf(payments(60), ['payment.received', 'payment.completed']).map((event) => ({
    ...event,
    data: JSON.stringify({ ...JSON.parse(event.data), filling }),
  }));
  await r.publish(events);
  let waitingBytes = 0;
  let faults = 3;
  const watched = {
    ...r.events,
    byIds: async (...asked: Parameters<typeof r.events.byIds>) => {
      const found = await r.events.byIds(...asked);
      for (const { data } of found) waitingBytes += Buffer.byteLength(data ?? '');
      return found;
    },
    byId: async (accountId: string, id: string) => {
      if (faults-- > 0) throw new Error('the database is away');
      return r.events.byId(accountId, id);
    },
  };
  r.dispatch({}, { events: watched });
  const all = await r.settled((all) => all.length === 120 && all.every(isDelivered));
  t.equal(waitingBytes, 0);
  t.ok(
    all.every(({ attemptCount }) => attemptCount === 1),
    'a body that could not be read was no attempt',
  );
  t.equal(new Set(r.receiver.requests.map(eventIdOf)).size, 120);
  inOrder(t, r, events, 0);
  t.ok(r.receiver.requests.every(({ body }) => JSON.parse(body).data.filling === filling));
});

t.test('no attempt is made without keys, nor with keys that come after the lease', async (t) => {
  const r = await rig(t);
  await r.webhook('/');
  await r.publish(r.eventsOf(['pay_0'], ['payment.received', 'payment.completed']));
  let isAway = true;
  const answers = [() => Promise.reject(new Error('the database is away')), () => systemClock.sleep(700)];
  let late = false;
  const signers = async () => {
    const answer = answers.shift();
    await answer?.();
    late ||= answer !== undefined && answers.length === 0;
    return [];
  };
  r.dispatch({ timeoutMs: 500 }, { signers, webhooks: unrenewable(r.webhooks, () => isAway) });
  while (!late) await systemClock.sleep(5);
  await systemClock.sleep(200);
  t.equal(r.receiver.requests.length, 0);
  isAway = false;
  const all = await r.settled((all) => all.every(isDelivered));
  t.ok(all.every(({ attemptCount }) => attemptCount === 1));
  t.same(
    r.receiver.requests.map(({ body }) => JSON.parse(body).type),
    ['payment.received', 'payment.completed'],
  );
});

t.test('while no result can be recorded, the number of requests is bounded', LONG, async (t) => {
  const r = await rig(t);
  await r.webhook('/');
  await r.publish(r.eventsOf(payments(5000), ['payment.completed']));
  const away = async () => {
    throw new Error('the disk is full');
  };
  r.dispatch({ graceMs: 0 }, { deliveries: { ...r.deliveries, record: away } });
  await r.receiver.until(() => r.receiver.requests.length > 500, 20_000);
  for (let before = 0; before < r.receiver.requests.length; ) {
    before = r.receiver.requests.length;
    await systemClock.sleep(1000);
  }
  t.ok(r.receiver.requests.length <= 3000, `${r.receiver.requests.length} of 5,000`);
});

t.test('pausing and a new address count within seconds, in the middle of a backlog', async (t) => {
  const r = await rig(t, () => ({ delayMs: 100 }));
  const webhook = await r.webhook('/old');
  await r.publish(r.eventsOf(payments(1500), ['payment.completed']));
  r.dispatch({ leaseMarginMs: 600 });
  await r.receiver.until(() => r.receiver.requests.length > 20);
  await r.own.webhooks.update(webhook._id, { url: `${r.receiver.origin}/new` });
  await r.receiver.until(() => r.receiver.at('/new').length > 0, 5000);
  await r.own.webhooks.update(webhook._id, { status: 'PAUSED' });
  const pausedAt = Date.now();
  let sent = -1;
  while (r.receiver.requests.length !== sent) {
    sent = r.receiver.requests.length;
    await systemClock.sleep(600);
  }
  t.ok(sent < 1500, `${sent} of 1,500 are sent`);
  t.ok(Date.now() - pausedAt < 5000, `nothing is sent any more after ${Date.now() - pausedAt} ms`);
  t.ok(r.receiver.at('/old').at(-1)!.at - r.receiver.at('/new')[0]!.at < 1500);
  await r.settled((all) => all.filter(isDelivered).length === sent);
  await systemClock.sleep(600);
  t.equal(r.receiver.requests.length, sent, 'what was in flight is recorded, and nothing is sent again');
});

t.test('webhooks with due deliveries are found, however many they are', async (t) => {
  const { database, deliveries } = await rig(t);
  // As long as the ids of some 400,000 webhooks.
  const ids = Array.from({ length: 20 }, (_, n) => `hook_${n % 10}${n}`.padEnd(1_000_000, 'x'));
  const collection = database.connection.db!.collection<{ _id: string }>('deliveries');
  for (const [n, webhookId] of ids.entries()) {
    for (const nth of [1, 2]) {
      await collection.insertOne({
        _id: `dlv_${n}_${nth}`,
        webhookId,
        subjectId: nth,
        nextAttemptAt: new Date(n),
      } as never);
    }
  }
  const due = await deliveries.dueWebhooks(new Date(18));
  t.ok(
    due.join() === ids.slice(0, 19).sort().join(),
    'those of which something is due by then, each once, by their ids',
  );
});

/** Numbers of events and deliveries on a real MongoDB: bounded, without holes, whichever process
 *  dies or works at the same time. */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { EventDoc } from '../../src/events/event-store.js';
import { createSequencer, type SequencerDeps } from '../../src/events/sequencer.js';
import { systemClock as clock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createStores } from '../../src/stores.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { newId } from '../helpers/stores.js';

const log = pino({ level: 'silent' });
await testDatabase(t);

async function rig(t: Test) {
  const { uri, db } = await testDatabase(t);
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  const stores = createStores(connection, { clock, newId });
  await stores.ensureIndexes();
  const accountId = newId('acct');
  return {
    ...{ db, stores, transaction, accountId, own: stores.forAccount(accountId) },
    sequencer: (changes: Partial<SequencerDeps> = {}) =>
      createSequencer({
        ...{ ...stores.system, transaction, clock, log },
        holder: newId('key'),
        deliveriesDue: () => undefined,
        ...changes,
      }),
    webhook: (changes: Partial<WebhookDoc> = {}): WebhookDoc => ({
      _id: newId('hook'),
      accountId,
      name: 'shop',
      url: 'https://shop.example/',
      events: ['payment.received', 'payment.completed'],
      status: 'ACTIVE',
      secretMasked: '',
      secrets: [],
      failingSince: null,
      openedTo: 0,
      deliverySequence: 0,
      lease: null,
      createdAt: clock.now(),
      ...changes,
    }),
    events: (count: number, owner = accountId): EventDoc[] =>
      Array.from({ length: count }, (_, n) => ({
        _id: newId('evt'),
        accountId: owner,
        type: n % 2 ? 'payment.completed' : 'payment.received',
        subjectId: `pay_${owner}${Math.floor(n / 2)}`,
        occurrence: '',
        sequence: 0,
        data: '{}',
        createdAt: clock.now(),
      })),
    store: (docs: EventDoc[]) => transaction((session) => stores.system.events.insert(docs, session)),
    async numbersOf(webhookId: string): Promise<number[]> {
      const own = await db.collection('deliveries').find({ webhookId }).sort({ sequence: 1 }).toArray();
      return own.map(({ sequence }) => sequence);
    },
  };
}

const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

t.test(
  '300 webhooks and one transaction of 100 payments are numbered and opened without delaying other accounts',
  LONG,
  async (t) => {
    const r = await rig(t);
    const hooks = Array.from({ length: 300 }, () => r.webhook());
    await r.db.collection('webhooks').insertMany(hooks as never[]);
    const other = newId('acct');
    const others = r.webhook({ accountId: other });
    await r.stores.forAccount(other).webhooks.insert(others);
    // As the recorder stores them: what it writes does not grow with the webhooks.
    await r.store(r.events(200));
    await r.store(r.events(2, other));
    const sequencer = r.sequencer();
    let rounds = 0;
    let otherAfter = 0;
    for (; await sequencer.round(); rounds++)
      if (otherAfter === 0 && (await r.numbersOf(others._id)).length === 2) otherAfter = rounds + 1;
    t.equal(await r.db.collection('deliveries').countDocuments(), 60_002);
    t.same(await r.numbersOf(hooks[299]!._id), upTo(200));
    t.ok(otherAfter <= 2, `the other account had its deliveries after ${otherAfter} of ${rounds} rounds`);
  },
);

t.test('two accounts with very much to open keep none of the others waiting', async (t) => {
  const r = await rig(t);
  const busy = [newId('acct'), newId('acct')];
  const quiet = newId('acct');
  const hooks = busy.flatMap((accountId) => Array.from({ length: 10 }, () => r.webhook({ accountId })));
  const waiting = r.webhook({ accountId: quiet });
  await r.db.collection('webhooks').insertMany([...hooks, waiting] as never[]);
  for (const accountId of [...busy, quiet]) await r.store(r.events(accountId === quiet ? 2 : 400, accountId));
  const sequencer = r.sequencer();
  let rounds = 0;
  while ((await r.numbersOf(waiting._id)).length < 2 && (await sequencer.round())) rounds += 1;
  t.ok(rounds <= 2, `the third account had its deliveries after ${rounds} rounds`);
  while (await sequencer.round());
  t.equal(await r.db.collection('deliveries').countDocuments(), 8002);
});

t.test('two sequencers at once, with or without the lease, number and open everything once', async (t) => {
  const r = await rig(t);
  const hook = r.webhook();
  await r.own.webhooks.insert(hook);
  const seen: number[][] = [];
  const stop = new AbortController();
  const running = [1, 2, 3].map(() => {
    // Everybody believes that the lease is theirs.
    const leases = { ...r.stores.system.leases, hold: async () => true };
    return r.sequencer({ leases, pollMs: 5 }).run(stop.signal);
  });
  for (let n = 0; n < 20; n++) {
    await r.store(r.events(6).map((event) => ({ ...event, subjectId: `${event.subjectId}_${n}` })));
    seen.push((await r.own.events.after(0, 1000)).map(({ sequence }) => sequence));
  }
  for (const end = Date.now() + 20_000; (await r.numbersOf(hook._id)).length < 120 && Date.now() < end; )
    await clock.sleep(20);
  stop.abort();
  await Promise.all(running);
  for (const numbers of seen) t.same(numbers, upTo(numbers.length), 'a reader never sees a hole');
  t.same(await r.numbersOf(hook._id), upTo(120));
  const events = await r.own.events.after(0, 1000);
  t.same(
    events.map(({ sequence }) => sequence),
    upTo(120),
  );
});

t.test('an event is not shown before it has its number', async (t) => {
  const r = await rig(t);
  const [event] = r.events(1);
  await r.store([event!]);
  const list = () => r.own.events.list({ order: 'desc' }, { page: 1, pageSize: 5 });
  t.equal((await list()).meta.total, 0);
  t.equal(await r.own.events.byId(event!._id), null);
  await r.sequencer().round();
  t.equal((await list()).meta.total, 1);
  t.match(await r.own.events.byId(event!._id), { sequence: 1 });
});

t.test('a process that dies between numbering and opening loses and doubles nothing', async (t) => {
  const r = await rig(t);
  const hook = r.webhook();
  await r.own.webhooks.insert(hook);
  await r.store(r.events(10));
  const dying = r.sequencer({ deliveries: { open: () => Promise.reject(new Error('died')) } });
  await t.rejects(dying.round(), /died/);
  t.same(await r.numbersOf(hook._id), []);
  while (await r.sequencer().round());
  t.same(await r.numbersOf(hook._id), upTo(10));
});

t.test('a webhook gets what is numbered after it was made', async (t) => {
  const r = await rig(t);
  await r.store(r.events(4));
  while (await r.sequencer().round());
  const openedTo = await r.transaction((session) => r.own.eventCounters.countWebhook(session));
  t.equal(openedTo, 4);
  const hook = r.webhook({ openedTo });
  await r.own.webhooks.insert(hook);
  await r.store(r.events(2).map((event) => ({ ...event, subjectId: 'pay_later' })));
  while (await r.sequencer().round());
  t.same(await r.numbersOf(hook._id), [1, 2]);
});

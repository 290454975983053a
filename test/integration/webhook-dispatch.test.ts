/** The dispatcher on a real MongoDB and a real HTTPS endpoint: what arrives, when, in which order, how often. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import type { EventType } from '../../contracts/event-kinds.js';
import { type Clock, type MonotonicClock, monotonicClock, systemClock } from '../../src/clock.js';
import { createIds } from '../../src/domain/ids.js';
import { createSecretBox } from '../../src/domain/secrets.js';
import { mask, newWebhookSecret } from '../../src/domain/signature.js';
import { createOutbox } from '../../src/events/outbox.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { connectDatabase, isDuplicateKey } from '../../src/stores/database.js';
import type { DeliveryDoc, DeliveryStore } from '../../src/stores/deliveries.js';
import type { EventDoc } from '../../src/stores/events.js';
import { createStores } from '../../src/stores/index.js';
import type { WebhookDoc, WebhookStore } from '../../src/stores/webhooks.js';
import { createDispatcher, type DispatcherDeps, type DispatchSettings } from '../../src/webhooks/dispatch.js';
import { createPause } from '../../src/webhooks/pause.js';
import { createPoster } from '../../src/webhooks/poster.js';
import { createSend } from '../../src/webhooks/send.js';
import { cuttableWay, databaseAt } from '../helpers/cut.js';
import { testDatabase } from '../helpers/mongo.js';
import { type Behave, type Received, startReceiver, testAuthority, verified } from '../helpers/receiver.js';

const HOUR_MS = 3_600_000;
const log = pino({ level: process.env.TEST_LOG_LEVEL ?? 'silent' });

/** Real time, that can be put forward. */
const movableClock = () => {
  let offsetMs = 0;
  const clock: Clock & { advance(ms: number): void } = {
    ...systemClock,
    nowMs: () => Date.now() + offsetMs,
    now: () => new Date(Date.now() + offsetMs),
    advance: (ms) => {
      offsetMs += ms;
    },
  };
  return clock;
};

const SETTINGS: DispatchSettings = {
  timeoutMs: 20_000,
  retryBaseMs: 60_000,
  maxAttempts: 4,
  pollMs: 25,
  leaseMarginMs: 600,
};

const rig = async (t: Test, behave: Behave = () => ({})) => {
  const { uri } = await testDatabase(t);
  const database = await connectDatabase(uri);
  t.teardown(() => database.close());
  const clock = movableClock();
  const newId = createIds(clock);
  const stores = createStores(database.connection, { newId, clock });
  const { webhooks, events, deliveries } = stores.system;
  await stores.ensureIndexes();
  const newSequencer = (opening: Pick<DeliveryStore, 'open'> = deliveries) =>
    createSequencer({
      ...stores.system,
      ...{ clock, log, deliveries: opening },
      transaction: database.transaction,
      holder: 'test',
      deliveriesDue: () => undefined,
    });
  const sequencer = newSequencer();
  const pause = createPause({
    webhooks,
    outbox: createOutbox({ events, newId }),
    ...{ activities: stores.system.activities, newId },
    transaction: database.transaction,
    eventsStored: () => undefined,
  });
  const key = randomBytes(32);
  const secrets = createSecretBox(key, clock);
  const receiver = await startReceiver({ behave });
  t.teardown(() => receiver.close());
  const { cert } = await testAuthority();

  const newPoster = (timeoutMs = SETTINGS.timeoutMs) => {
    const poster = createPoster({ allowPrivate: true, timeoutMs, clock, developmentCa: () => cert });
    t.teardown(() => poster.close());
    return poster;
  };
  const accountId = newId('acct');
  const secretOf = new Map<string, string>();

  return {
    ...{
      uri,
      key,
      database,
      clock,
      newId,
      webhooks,
      events,
      deliveries,
      pause,
      secrets,
      receiver,
      accountId,
      secretOf,
    },
    newPoster,
    forAccount: stores.forAccount,
    own: stores.forAccount(accountId),
    /** Runs until the test ends or `stop` is called. */
    dispatch(
      changes: Partial<DispatchSettings> = {},
      deps: Partial<
        Pick<DispatcherDeps, 'webhooks' | 'deliveries' | 'events' | 'pause' | 'signers' | 'monotonic'>
      > = {},
    ) {
      const settings = { ...SETTINGS, ...changes };
      const poster = newPoster(settings.timeoutMs);
      const ending = new AbortController();
      const dispatcher = createDispatcher({
        ...{ webhooks, deliveries, events, pause, poster, secrets, clock, log, settings },
        ...deps,
      });
      const running = dispatcher.drain(ending.signal);
      const stop = async () => {
        ending.abort();
        await running;
      };
      t.teardown(stop);
      return { stop, wake: dispatcher.wake };
    },
    async webhook(path: string, changes: Partial<WebhookDoc> = {}): Promise<WebhookDoc> {
      const secret = newWebhookSecret(clock);
      const _id = newId('hook');
      secretOf.set(_id, secret);
      const webhook: WebhookDoc = {
        _id,
        accountId,
        name: path,
        url: receiver.origin + path,
        events: ['payment.received', 'payment.completed'],
        status: 'ACTIVE',
        secretMasked: mask(secret),
        secrets: [{ sealed: secrets.seal(secret, _id), until: null }],
        failingSince: null,
        openedTo: await stores.forAccount(changes.accountId ?? accountId).eventCounters.last(),
        deliverySequence: 0,
        lease: null,
        createdAt: clock.now(),
        ...changes,
      };
      await stores.forAccount(webhook.accountId).webhooks.insert(webhook);
      return webhook;
    },
    eventsOf(paymentIds: string[], types: EventType[], owner = accountId): EventDoc[] {
      return paymentIds.flatMap((paymentId) =>
        types.map((type) => ({
          _id: newId('evt'),
          accountId: owner,
          type,
          subjectId: paymentId,
          occurrence: '',
          sequence: 0,
          data: JSON.stringify({ payment: { id: paymentId, amount: '10.5', memo: 'ünïcode ✓' } }),
          createdAt: clock.now(),
        })),
      );
    },
    ...{ sequencer, newSequencer },
    /** Stores events and opens their deliveries. */
    async publish(docs: EventDoc[]): Promise<void> {
      await database.transaction((session) => events.insert(docs, session));
      while (await sequencer.round());
    },
    all: () => database.connection.collection<DeliveryDoc>('deliveries').find().sort({ _id: 1 }).toArray(),
    delivered: () => database.connection.collection('deliveries').countDocuments({ status: 'DELIVERED' }),
    /** Resolves when the deliveries are as `check` wants them. */
    async settled(check: (all: DeliveryDoc[]) => boolean, ms = 30_000): Promise<DeliveryDoc[]> {
      for (const end = Date.now() + ms; ; ) {
        const all = await this.all();
        if (check(all)) return all;
        if (Date.now() > end) throw new Error(`not so: ${JSON.stringify(all.filter(isOpen).slice(0, 5))}`);
        await systemClock.sleep(15);
      }
    },
  };
};

type Rig = Awaited<ReturnType<typeof rig>>;

/** What the recorder gathers, it gathers for longer. */
const gathering: MonotonicClock['sleep'] = (ms, signal) => monotonicClock.sleep(ms === 10 ? 300 : ms, signal);

/** A store that takes a lease once and, while the database is away, renews none. */
const unrenewable = (webhooks: WebhookStore, isAway = () => true): WebhookStore => {
  let isTaken = false;
  return {
    ...webhooks,
    async takeLeases(...args) {
      if (isTaken && isAway()) throw new Error('the database is away');
      isTaken = true;
      await webhooks.takeLeases(...args);
    },
    async renewLeases(...args) {
      if (isAway()) throw new Error('the database is away');
      await webhooks.renewLeases(...args);
    },
  };
};

const payments = (count: number, name = 'pay') => Array.from({ length: count }, (_, index) => `${name}_${index}`);
const eventIdOf = (request: Received) => request.headers['webhook-id']!;
const isDelivered = ({ status }: DeliveryDoc) => status === 'DELIVERED';
const isOpen = (each: DeliveryDoc) => !isDelivered(each);

// Keeps mongod running from one test to the next.
await testDatabase(t);

t.test('events and deliveries are stored together, once for each webhook that wants the event', async (t) => {
  const r = await rig(t);
  const both = await r.webhook('/both');
  const completed = await r.webhook('/completed', { events: ['payment.completed'] });
  const paused = await r.webhook('/paused', { status: 'PAUSED' });
  const stranger = r.newId('acct');
  const foreign = await r.webhook('/foreign', { accountId: stranger });
  const docs = r.eventsOf(payments(2), ['payment.received', 'payment.completed']);
  await r.publish([...docs, ...r.eventsOf(['pay_foreign'], ['payment.completed'], stranger)]);
  const counts = (await r.all()).reduce<Record<string, number>>((counts, { webhookId }) => {
    counts[webhookId] = (counts[webhookId] ?? 0) + 1;
    return counts;
  }, {});
  t.same(counts, { [both._id]: 4, [completed._id]: 2, [paused._id]: 4, [foreign._id]: 1 });

  const again = r.eventsOf(['pay_9', 'pay_1'], ['payment.received']);
  const refused = (work: Promise<unknown>) => work.then(() => false, isDuplicateKey);
  t.ok(await refused(r.publish(again)));
  t.equal((await r.all()).length, 11, 'a replay opens no second delivery, and nothing of its transaction stays');
  t.equal(await r.sequencer.round(), false, 'nor does another look');
  t.equal(await r.own.events.byId(again[0]!._id), null);

  const [one, two] = await r.all();
  const attempt = { at: new Date(), durationMs: 1, responseStatus: 200, error: null };
  const record = (of: DeliveryDoc) => ({
    id: of._id,
    accountId: of.accountId,
    attemptCount: 0,
    attempt,
    status: 'DELIVERED' as const,
    nextAttemptAt: null,
  });
  t.equal(await r.deliveries.record([record(one!)]), 1);
  t.equal(await r.deliveries.record([record(one!)]), 0, 'an attempt is recorded once');
  await r.own.deliveries.redeliver(one!._id);
  t.equal(await r.deliveries.record([record(one!)]), 0, 'not by a dispatcher that saw an older state');
  await r.deliveries.cancelPending([two!.webhookId]);
  t.equal(await r.deliveries.record([record(two!)]), 0, 'nor once it was cancelled');

  t.match(await r.own.events.byId(docs[0]!._id), { subjectId: 'pay_0' });
  t.equal(await r.forAccount('acct_other').events.byId(docs[0]!._id), null);
  const { items, meta } = await r.own.events.list(
    { type: 'payment.completed', order: 'asc' },
    { page: 1, pageSize: 1 },
  );
  t.same([items.map(({ _id }) => _id), meta.total], [[docs[1]!._id], 2]);
  const mine = await r.own.deliveries.list(both._id, {}, { page: 2, pageSize: 3 });
  t.match([mine.items.length, mine.meta], [1, { total: 4, totalPages: 2 }]);
  t.equal((await r.own.deliveries.list(both._id, { status: 'FAILED' }, { page: 1, pageSize: 5 })).meta.total, 0);
  t.equal((await r.forAccount('acct_other').deliveries.list(both._id, {}, { page: 1, pageSize: 5 })).meta.total, 0);
  t.equal(await r.forAccount('acct_other').deliveries.byId(mine.items[0]!._id), null);
});

t.test('a delivery arrives signed, and each attempt has the same id and body', async (t) => {
  const r = await rig(t, (_request, nth) => ({ status: nth < 3 ? 500 : 200 }));
  const webhook = await r.webhook('/shop');
  r.dispatch({ pollMs: 250 });
  const [event] = r.eventsOf(['pay_0'], ['payment.completed']);
  await r.publish([event!]);
  await r.receiver.until(() => r.receiver.requests.length === 1);
  for (const attempts of [2, 3]) {
    await r.settled(([one]) => one!.attemptCount === attempts - 1);
    r.clock.advance(HOUR_MS);
    await r.receiver.until(() => r.receiver.requests.length === attempts);
  }
  const [delivery] = await r.settled(([one]) => isDelivered(one!));
  t.match(delivery, { attemptCount: 3, nextAttemptAt: null, lastResponseStatus: 200, lastError: null });
  t.match(delivery!.attempts, [
    { responseStatus: 500, error: 'answered 500' },
    { responseStatus: 500, error: 'answered 500' },
    { responseStatus: 200, error: null },
  ]);

  const secret = r.secretOf.get(webhook._id)!;
  for (const request of r.receiver.requests) {
    t.equal(eventIdOf(request), event!._id);
    t.equal(request.headers['webhook-sequence'], '1');
    t.equal(request.body, r.receiver.requests[0]!.body);
    t.same(verified(request, secret), {
      id: event!._id,
      type: 'payment.completed',
      sequence: 1,
      timestamp: event!.createdAt.toISOString(),
      data: JSON.parse(event!.data),
    });
  }
  const stamps = r.receiver.requests.map(({ headers }) => Number(headers['webhook-timestamp']));
  t.ok(stamps[1]! - stamps[0]! >= 3600 && stamps[2]! - stamps[1]! >= 3600, 'the timestamp is of the attempt');
  t.throws(() => verified({ ...r.receiver.requests[0]!, body: '{}' }, secret));
});

const HANG_MS = 8000;

t.test('each answer of an endpoint delivers, retries later, or pauses', async (t) => {
  const cases: Record<string, { behave: ReturnType<Behave>; is: object; waits?: [number, number] }> = {
    ok: { behave: {}, is: { status: 'DELIVERED', lastResponseStatus: 200, lastError: null } },
    created: { behave: { status: 201 }, is: { status: 'DELIVERED', lastResponseStatus: 201 } },
    redirect: {
      behave: { status: 301, headers: { location: '/ok' } },
      is: { lastError: 'redirect not followed' },
      waits: [54, 66],
    },
    error: { behave: { status: 500 }, is: { lastResponseStatus: 500, lastError: 'answered 500' }, waits: [54, 66] },
    busy: {
      behave: { status: 429, headers: { 'retry-after': '600' } },
      is: { lastError: 'answered 429' },
      waits: [599, 602],
    },
    down: {
      behave: { status: 503, headers: { 'retry-after': '1' } },
      is: { lastError: 'answered 503' },
      waits: [54, 66],
    },
    away: { behave: { status: 503, headers: { 'retry-after': '999999' } }, is: {}, waits: [86_399, 86_402] },
    hang: { behave: { trouble: 'hang' }, is: { lastResponseStatus: null, lastError: 'timed out' }, waits: [54, 66] },
    reset: { behave: { trouble: 'reset' }, is: { lastError: 'connection closed' }, waits: [54, 66] },
    slow: { behave: { delayMs: 100 }, is: { status: 'DELIVERED' } },
    gone: { behave: { status: 410 }, is: { lastResponseStatus: 410 }, waits: [54, 66] },
  };
  const r = await rig(t, ({ path }) => cases[path.slice(1)]!.behave);
  const hooks = new Map<string, WebhookDoc>();
  for (const name of Object.keys(cases)) hooks.set(name, await r.webhook(`/${name}`));
  // Long enough for a slow machine to open all connections.
  r.dispatch({ timeoutMs: HANG_MS });
  await r.publish(r.eventsOf(['pay_0'], ['payment.received']));
  const all = await r.settled((all) => all.every(({ attemptCount }) => attemptCount === 1));
  for (const [name, { is, waits }] of Object.entries(cases)) {
    const webhook = hooks.get(name)!;
    const delivery = all.find(({ webhookId }) => webhookId === webhook._id)!;
    t.match(delivery, { status: 'PENDING', attemptCount: 1, ...is }, name);
    if (waits) {
      const [attempt] = delivery.attempts;
      const seconds = (delivery.nextAttemptAt!.getTime() - attempt!.at.getTime() - attempt!.durationMs) / 1000;
      t.ok(seconds >= waits[0] && seconds <= waits[1] + 1, `${name}: again after ${seconds} s`);
    } else t.equal(delivery.nextAttemptAt, null, name);
    const { status } = (await r.own.webhooks.byId(webhook._id))!;
    t.equal(status, name === 'gone' ? 'PAUSED' : 'ACTIVE', `${name}: the webhook`);
  }
});

t.test(
  'retries come when they are due, not before, and end with FAILED; a redelivery goes on counting attempts',
  async (t) => {
    const r = await rig(t, () => ({ status: 500 }));
    await r.webhook('/');
    r.dispatch();
    await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
    for (const [attempt, waitMs] of [60_000, 240_000, 960_000].entries()) {
      const [delivery] = await r.settled(([one]) => one!.attemptCount === attempt + 1);
      const wait = delivery!.nextAttemptAt!.getTime() - r.clock.nowMs();
      t.ok(Math.abs(wait - waitMs) < waitMs * 0.1 + 1000, `retry ${attempt + 1} after ${wait} ms`);
      r.clock.advance(wait - 400);
      await systemClock.sleep(150);
      t.equal(r.receiver.requests.length, attempt + 1, 'not before it is due');
      r.clock.advance(500);
    }
    const [failed] = await r.settled(([one]) => one!.status === 'FAILED');
    t.match(failed, { attemptCount: 4, nextAttemptAt: null, lastError: 'answered 500' });
    r.clock.advance(100 * HOUR_MS);
    await systemClock.sleep(100);
    t.equal(r.receiver.requests.length, 4, 'FAILED is final');

    t.match(await r.own.deliveries.redeliver(failed!._id), { status: 'PENDING', attemptCount: 4 });
    await r.settled(([one]) => one!.status === 'FAILED' && one!.attemptCount === 5);
    r.receiver.behave(() => ({}));
    await r.own.deliveries.redeliver(failed!._id);
    const [delivered] = await r.settled(([one]) => isDelivered(one!));
    t.match(delivered, { attemptCount: 6, lastError: null });
    await r.own.deliveries.redeliver(failed!._id);
    await r.settled(([one]) => isDelivered(one!) && one!.attemptCount === 7);
    t.equal(new Set(r.receiver.requests.map(eventIdOf)).size, 1, 'always the same event');
    t.equal(await r.forAccount('acct_other').deliveries.redeliver(failed!._id), null);
  },
);

t.test('a paused webhook gets nothing; made ACTIVE again, its waiting deliveries are sent at once', async (t) => {
  const r = await rig(t, () => ({ status: 410 }));
  const webhook = await r.webhook('/');
  r.dispatch();
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  await r.settled(([one]) => one!.attemptCount === 1);
  t.equal((await r.own.webhooks.byId(webhook._id))!.status, 'PAUSED');
  await r.publish(r.eventsOf(['pay_1'], ['payment.completed']));
  r.clock.advance(48 * HOUR_MS);
  await systemClock.sleep(150);
  t.equal(r.receiver.requests.length, 1);
  t.equal((await r.own.webhooks.byId(webhook._id))!.lease, null, 'its lease is free when it is made ACTIVE again');
  t.same(
    (await r.all()).map(({ status }) => status),
    ['PENDING', 'PENDING'],
  );

  const poster = r.newPoster();
  const send = createSend({ poster, secrets: r.secrets, clock: r.clock, log });
  const [sample] = r.eventsOf(['pay_x'], ['payment.completed']);
  t.match(
    await send(webhook, sample!),
    { responseStatus: 410, error: 'answered 410' },
    'the test event is sent all the same',
  );
  verified(r.receiver.requests[1]!, r.secretOf.get(webhook._id)!);

  r.receiver.behave((_request, nth) => ({ status: nth === 3 ? 500 : 200 }));
  const resume = async () => {
    await r.own.deliveries.expedite(webhook._id);
    await r.own.webhooks.update(webhook._id, { status: 'ACTIVE' });
  };
  await resume();
  const [first, second] = await r.settled((all) => all.every(({ attemptCount }, index) => attemptCount === 2 - index));
  t.same([first!.status, second!.status].sort(), ['DELIVERED', 'PENDING']);
  // Paused and resumed by hand: the retry does not wait for its hour.
  await r.own.webhooks.update(webhook._id, { status: 'PAUSED' });
  await resume();
  await r.settled((all) => all.every(isDelivered), 2000);
});

t.test(
  '10 failures in a row over 5 days pause a webhook, and its account is told; a delivery ends the row',
  async (t) => {
    let today = 0;
    const r = await rig(t, ({ path }) => ({ status: path === '/well%20on%20day%203' && today === 3 ? 200 : 500 }));
    const [sick, recovering] = [await r.webhook('/sick'), await r.webhook('/well%20on%20day%203')];
    const told = await r.webhook('/told', { events: ['webhook.paused'] });
    const itself = await r.own.webhooks.update(sick._id, { events: ['payment.completed', 'webhook.paused'] });
    r.dispatch({ retryBaseMs: 1, maxAttempts: 2 });
    const statusOf = async ({ _id }: WebhookDoc) => (await r.own.webhooks.byId(_id))!.status;
    const attemptsOf = async ({ _id }: WebhookDoc) => (await r.own.webhooks.byId(_id))!.failedAttempts;
    for (let day = 0; day <= 4; day++) {
      today = day;
      await r.publish(r.eventsOf([`pay_${day}`], ['payment.completed']));
      await r.settled((all) => all.every(({ status }) => status !== 'PENDING'));
      t.equal(await statusOf(sick), 'ACTIVE', `day ${day}`);
      r.clock.advance(24 * HOUR_MS);
    }
    t.equal(await attemptsOf(sick), 10, 'often enough, but not for long enough');
    await r.publish(r.eventsOf(['pay_5'], ['payment.completed']));
    while ((await statusOf(sick)) === 'ACTIVE') await systemClock.sleep(20);
    t.equal(await statusOf(recovering), 'ACTIVE', 'a delivery on day 3');
    while (await r.sequencer.round());
    const all = await r.settled((all) => all.some(({ webhookId }) => webhookId === told._id));
    t.equal(all.filter(({ eventType }) => eventType === 'webhook.paused').length, 1, 'not told to itself');
    const { items } = await r.own.events.list({ type: 'webhook.paused', order: 'asc' }, { page: 1, pageSize: 5 });
    t.match(JSON.parse(items[0]!.data), { webhook: { id: itself!._id, status: 'PAUSED' }, reason: 'failing' });
    const changed = await r.own.webhooks.update(sick._id, { status: 'ACTIVE' });
    t.match(changed, { failingSince: null, failedAttempts: 0 }, 'a new start');
  },
);

t.test('a pause that could not be written is written later, whatever other attempts said since', async (t) => {
  const r = await rig(t, ({ body }) => (body.includes('pay_0') ? { status: 410 } : { status: 500, delayMs: 300 }));
  const webhook = await r.webhook('/');
  let faults = 1;
  const recordHealth: typeof r.webhooks.recordHealth = async (...args) => {
    if (faults-- <= 0) return r.webhooks.recordHealth(...args);
    await systemClock.sleep(600);
    throw new Error('the database is away');
  };
  await r.publish(r.eventsOf(['pay_0', 'pay_1'], ['payment.completed']));
  r.dispatch({}, { webhooks: { ...r.webhooks, recordHealth } });
  await r.settled((all) => all.every(({ attemptCount }) => attemptCount === 1));
  t.equal((await r.own.webhooks.byId(webhook._id))!.status, 'PAUSED');
});

t.test(
  'a webhook that is made ACTIVE again is not blamed for failures before, nor for what is in flight',
  async (t) => {
    const r = await rig(t, () => ({ status: 500, delayMs: 300 }));
    const failing = { failingSince: new Date(r.clock.nowMs() - 6 * 24 * HOUR_MS), failedAttempts: 20 };
    const webhook = await r.webhook('/', failing);
    await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
    r.dispatch();
    while (r.receiver.requests.length === 0) await systemClock.sleep(5);
    await r.own.webhooks.update(webhook._id, { status: 'ACTIVE' });
    await r.settled(([one]) => one!.attemptCount === 1);
    const after = await r.own.webhooks.byId(webhook._id);
    t.equal(after!.status, 'ACTIVE');
    t.ok(after!.failedAttempts! <= 1, `${after!.failedAttempts} failed attempts`);
  },
);

t.test('an endpoint that answers 410 and 200 at once does not keep attempts from being recorded', async (t) => {
  const r = await rig(t, ({ body, path }) => ({ status: path === '/odd' && body.includes('gone') ? 410 : 200 }));
  const odd = await r.webhook('/odd');
  await r.webhook('/other');
  for (let round = 0; round < 3; round++) {
    await r.publish(r.eventsOf([`gone_${round}`, `well_${round}`], ['payment.completed']));
    // Both answers are in one batch.
    const { stop } = r.dispatch({}, { monotonic: { ...monotonicClock, sleep: gathering } });
    await r.settled((all) => all.every(({ attemptCount }) => attemptCount >= 1), 5000);
    await stop();
    t.equal((await r.own.webhooks.byId(odd._id))!.status, 'PAUSED');
    await r.own.webhooks.update(odd._id, { status: 'ACTIVE' });
  }
  t.equal(await r.database.connection.collection('events').countDocuments({ type: 'webhook.paused' }), 3);
});

t.test('a webhook that cannot be paused for a while is paused in the end, and others do not wait for it', async (t) => {
  const r = await rig(t, ({ path }) => ({ status: path === '/gone' ? 410 : 200 }));
  const gone = await r.webhook('/gone');
  const well = await r.webhook('/well');
  let isAway = true;
  const pause: typeof r.pause = (...args) => (isAway ? Promise.reject(new Error('not now')) : r.pause(...args));
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  r.dispatch({}, { pause });
  const all = await r.settled((all) => all.some(isDelivered), 5000);
  t.match(
    all.find(({ webhookId }) => webhookId === well._id),
    { attemptCount: 1 },
  );
  t.match(
    all.find(({ webhookId }) => webhookId === gone._id),
    { attemptCount: 0 },
  );
  isAway = false;
  await r.settled((all) => all.every(({ attemptCount }) => attemptCount === 1), 5000);
  t.equal((await r.own.webhooks.byId(gone._id))!.status, 'PAUSED');
});

t.test('the answer of an old URL does not count for the new one', async (t) => {
  const r = await rig(t, ({ path }) => (path === '/old' ? { status: 410, delayMs: 1500 } : {}));
  const webhook = await r.webhook('/old');
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  r.dispatch({ retryBaseMs: 100 });
  await r.receiver.until(() => r.receiver.requests.length === 1);
  await r.own.webhooks.update(webhook._id, { url: `${r.receiver.origin}/new` });
  await r.settled((all) => all.every(isDelivered));
  t.equal(r.receiver.at('/new').length, 1);
  t.equal((await r.own.webhooks.byId(webhook._id))!.status, 'ACTIVE');
});

t.test('a lease of a worker that died is free although the clock was set back by an hour since', async (t) => {
  const r = await rig(t);
  const until = new Date(Date.now() + HOUR_MS);
  await r.webhook('/known', { lease: { holder: 'dead', until, lastsMs: 18_000 } });
  await r.webhook('/unknown', { lease: { holder: 'dead', until } });
  await r.webhook('/held', { lease: { holder: 'alive', until, lastsMs: HOUR_MS } });
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  r.dispatch();
  await r.receiver.until(() => r.receiver.requests.length === 2, 5000);
  await systemClock.sleep(500);
  t.same(r.receiver.requests.map(({ path }) => path).sort(), ['/known', '/unknown']);
});

t.test('deleting a webhook cancels its pending deliveries, those opened at the same time included', async (t) => {
  const r = await rig(t, () => ({ status: 500 }));
  const webhook = await r.webhook('/');
  const { stop } = r.dispatch();
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  const [waiting] = await r.settled(([one]) => one!.attemptCount === 1);
  await stop();
  await r.publish(r.eventsOf(['pay_1'], ['payment.completed']));
  t.equal(await r.forAccount('acct_other').webhooks.remove(webhook._id), false);
  t.equal(await r.own.webhooks.remove(webhook._id), true);
  // The service would cancel now; a crash in between is made good by the dispatcher.
  r.dispatch();
  await r.settled((all) => all.some(({ status }) => status === 'CANCELLED'));
  await r.deliveries.cancelPending([webhook._id]);
  t.match(await r.own.deliveries.byId(waiting!._id), {
    status: 'CANCELLED',
    attemptCount: 1,
    nextAttemptAt: null,
  });
  t.equal(await r.own.deliveries.redeliver(waiting!._id), null);
  r.clock.advance(48 * HOUR_MS);
  await systemClock.sleep(100);
  t.equal(r.receiver.requests.length, 1);
});

t.test('after a rotation both secrets sign for 24 h, then the new one alone', async (t) => {
  const r = await rig(t, (_request, nth) => ({ delayMs: nth === 1 ? 1500 : 0 }));
  const webhook = await r.webhook('/');
  r.dispatch({ leaseMarginMs: 9000 });
  const old = r.secretOf.get(webhook._id)!;
  // While a queue is held, because something slow is in flight, a rotation counts for whatever is stored after it.
  await r.publish(r.eventsOf(['pay_slow'], ['payment.completed']));
  await r.receiver.until(() => r.receiver.requests.length === 1);
  const rotate = async () => {
    const secret = newWebhookSecret(r.clock);
    const kept = { sealed: r.secrets.seal(secret, webhook._id), masked: mask(secret) };
    const rotated = await r.own.webhooks.rotate(webhook._id, kept, r.clock.now());
    t.equal(rotated!.secretMasked, mask(secret));
    return secret;
  };
  let sent = 1;
  const next = async () => {
    await r.publish(r.eventsOf([`pay_${sent++}`], ['payment.completed']));
    await r.receiver.until(() => r.receiver.requests.length === sent);
    return r.receiver.requests.at(-1)!;
  };
  const accepts = (request: Received, secret: string) => {
    try {
      return verified(request, secret) && true;
    } catch {
      return false;
    }
  };
  const fresh = await rotate();
  const during = await next();
  t.same([accepts(during, fresh), accepts(during, old)], [true, true]);
  r.clock.advance(12 * HOUR_MS);
  const third = await rotate();
  r.clock.advance(11 * HOUR_MS);
  const twice = await next();
  t.same(
    [third, fresh, old].map((secret) => accepts(twice, secret)),
    [true, true, true],
    'each for its own 24 h',
  );
  r.clock.advance(2 * HOUR_MS);
  const later = await next();
  t.same(
    [third, fresh, old].map((secret) => accepts(later, secret)),
    [true, true, false],
  );
  r.clock.advance(12 * HOUR_MS);
  const last = await next();
  t.same(
    [third, fresh, old].map((secret) => accepts(last, secret)),
    [true, false, false],
  );
  t.equal(last.headers['webhook-signature']!.split(' ').length, 1);
});

/** At each path the first attempt of a payment's `received` was answered before its `completed` began. */
const inOrder = (t: Test, r: Rig, events: EventDoc[], delayMs: number) => {
  const eventOf = new Map(events.map((event) => [event._id, event]));
  const received = new Map<string, number>();
  let wrong = 0;
  for (const request of r.receiver.requests) {
    const { type, subjectId } = eventOf.get(eventIdOf(request))!;
    const key = `${request.path} ${subjectId}`;
    if (type === 'payment.received') received.set(key, received.get(key) ?? request.at);
    else if (!(request.at >= (received.get(key) ?? Number.POSITIVE_INFINITY) + delayMs - 2)) wrong += 1;
  }
  t.equal(wrong, 0, 'no payment.completed before its payment.received');
};

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

t.test('nothing is sent twice when the database was away for longer than a lease', async (t) => {
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
  // Attempts that are sent now cannot be recorded, and their sender is the last to reach the database again.
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

t.test('more webhooks than a dispatcher leases at once are sent to without a wait for the next look', async (t) => {
  const r = await rig(t);
  for (let n = 0; n < 1500; n++) await r.webhook(`/${n}`);
  await r.publish(r.eventsOf(['pay_0'], ['payment.completed']));
  r.dispatch({ pollMs: HOUR_MS, leaseMarginMs: 3000 });
  await r.receiver.until(() => r.receiver.requests.length === 1500, 60_000);
  t.equal(new Set(r.receiver.requests.map(({ path }) => path)).size, 1500, 'each once');
});

t.test('slow endpoints with a backlog do not keep all leases', async (t) => {
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

t.test(
  'a dispatcher that cannot renew its leases stops in time, and the next one sends the rest, nothing twice',
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

t.test('deliveries in flight when a process was killed are sent again, once, in time; no others are', async (t) => {
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
      import { systemClock as clock } from ${module('clock.ts')};
      import { createIds } from ${module('domain/ids.ts')};
      import { createSecretBox } from ${module('domain/secrets.ts')};
      import { connectDatabase } from ${module('stores/database.ts')};
      import { createStores } from ${module('stores/index.ts')};
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
});

t.test('endpoints that hang hold up no other, and the database is asked in batches', async (t) => {
  const hanging = new Set(['/0', '/7', '/13']);
  const r = await rig(t, ({ path }) => (hanging.has(path) ? { trouble: 'hang' } : {}));
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
  r.dispatch({ pollMs: HOUR_MS }, { events: slow });
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

t.test('while no result can be recorded, the number of requests is bounded', async (t) => {
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

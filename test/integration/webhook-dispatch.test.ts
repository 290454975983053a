/** A dispatcher on a real MongoDB and a real HTTPS endpoint: what arrives, when, and what follows
 *  from the answers. */
import t from 'tap';
import { mask, newWebhookSecret } from '../../src/domain/signature.js';
import { monotonicClock, systemClock } from '../../src/kit/clock.js';
import { isDuplicateKey } from '../../src/kit/database.js';
import type { DeliveryDoc } from '../../src/webhooks/delivery-store.js';
import { createSend } from '../../src/webhooks/dispatch.js';
import { createReadHealth } from '../../src/webhooks/health.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';
import { eventIdOf, gathering, HOUR_MS, isDelivered, log, payments, rig } from '../helpers/dispatch-rig.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { type Behave, type Received, verified } from '../helpers/receiver.js';

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

t.test('an attempt that fails while its webhook’s health is read is in all of the report, or in nothing', async (t) => {
  const r = await rig(t, () => ({ status: 500 }));
  const webhook = await r.webhook('/failing');
  await r.publish(r.eventsOf(payments(1), ['payment.completed']));
  const fail = async () => {
    r.dispatch({ maxAttempts: 1 });
    await r.settled((all) => all.every(({ status }) => status === 'FAILED'));
  };
  const reading = (afterWebhook: () => Promise<void>) =>
    createReadHealth({
      forAccount(accountId) {
        const { webhooks, deliveries, replays } = r.forAccount(accountId);
        const byId: typeof webhooks.byId = async (...args) => {
          const found = await webhooks.byId(...args);
          await afterWebhook();
          return found;
        };
        return { webhooks: { ...webhooks, byId }, deliveries, replays };
      },
      transaction: r.database.transaction,
      clock: r.clock,
    })(r.accountId, webhook._id);
  t.match(await reading(fail), { state: 'IDLE', failed24h: 0, lastFailureAt: null, lastError: null });
  const after = await reading(async () => undefined);
  t.match(after, { state: 'FAILING', failed24h: 1, lastFailureAt: /Z$/, lastError: 'answered 500' });
});

t.test('each answer of an endpoint delivers, retries later, or pauses', LONG, async (t) => {
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
  // While a queue is held, because something slow is in flight, a rotation counts for whatever is
  // stored after it.
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

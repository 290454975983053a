import { pino } from 'pino';
import t from 'tap';
import type { EventType } from '../../contracts/event-kinds.js';
import { webhookPayloadSchema } from '../../contracts/events.js';
import { unlimited } from '../../src/accounts/account.js';
import { createCommit } from '../../src/accounts/commit.js';
import { createKeyWatch } from '../../src/accounts/key-watch.js';
import { createEventTail } from '../../src/events/event-tail.js';
import { createEventService } from '../../src/events/events.js';
import { createEventNotifier } from '../../src/events/notifier.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { type Caller, withDoing } from '../../src/kit/caller.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createStores } from '../../src/stores.js';
import { signAndPost } from '../../src/webhooks/attempt.js';
import { createDispatcher } from '../../src/webhooks/dispatch.js';
import { createPoster, toBody } from '../../src/webhooks/poster.js';
import type { WebhookDoc } from '../../src/webhooks/webhook-store.js';
import {
  createDeliveryService,
  createWebhookService,
  type SampleEvent,
  sampleEvent,
} from '../../src/webhooks/webhooks.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver, verified } from '../helpers/receiver.js';

const HOUR_MS = 3_600_000;
const log = pino({ level: 'silent' });
let nowMs = Date.parse('2026-11-21T09:30:00Z');
const clock: Clock = { ...systemClock, nowMs: () => nowMs, now: () => new Date(nowMs) };
const newId = createIds(clock);

const { uri, db } = await testDatabase(t);
const { connection, transaction, close } = await connectDatabase(uri);
t.teardown(close);
const stores = createStores(connection, { clock, newId });
await stores.ensureIndexes();
const receiver = await startReceiver();
t.teardown(receiver.close);
const poster = createPoster({ allowPrivate: true, timeoutMs: 2000, clock, developmentCa: () => receiver.ca });
t.teardown(poster.close);

const secrets = createSecretBox(Buffer.alloc(32, 7), clock);
const dispatcher = createDispatcher({
  ...stores.system,
  pause: async () => undefined,
  poster,
  secrets,
  clock,
  log,
  // The dispatcher does not poll: a service woke it for everything that is sent.
  settings: { timeoutMs: 2000, retryBaseMs: 5000, maxAttempts: 2, pollMs: HOUR_MS },
});
const stop = new AbortController();
const draining = dispatcher.drain(stop.signal);
t.teardown(() => {
  stop.abort();
  return draining;
});

const sequencer = createSequencer({
  ...{ ...stores.system, transaction, clock, log },
  holder: 'test',
  deliveriesDue: () => undefined,
});

const commit = createCommit({ ...stores, transaction, newId, activities: stores.system.activities });
const webhookDeps = {
  forAccount: stores.forAccount,
  transaction,
  commit,
  secrets,
  send: async (webhook: WebhookDoc, event: SampleEvent) => {
    const request = { eventId: event._id, sequence: null, body: toBody(event), at: clock.now(), keys: [] };
    const { responseStatus, durationMs, error } = await signAndPost(webhook, request, { poster, secrets, log });
    return { responseStatus, durationMs, error };
  },
  deliveriesDue: dispatcher.wake,
  eventsStored: () => undefined,
  clock,
  newId,
  publicUrl: 'https://pay.example',
  quota: unlimited(commit),
};
const webhooks = withDoing('webhooks', createWebhookService(webhookDeps));
const deliveries = withDoing(
  'deliveries',
  createDeliveryService({ ...stores, commit, deliveriesDue: dispatcher.wake }),
);
const notifier = createEventNotifier({ ...stores.system, isStreamLate: false, clock, log });
t.teardown(() => notifier.close());
const keyWatch = createKeyWatch({ ...stores.system, clock, log });
const tail = createEventTail({ ...stores, notifier, keyWatch, maxOpenPerAccount: 5 });
const events = createEventService({ ...stores, tail, eventsStored: sequencer.wake, clock });

const caller: Caller = { accountId: newId('acct'), keyId: newId('key'), scope: 'FULL' };
const stranger: Caller = { ...caller, accountId: newId('acct') };
const firstPage = { page: 1, pageSize: 20 };
let paths = 0;
const subscribe = (as: Caller, changes: { url?: string; events?: EventType[] } = {}) =>
  webhooks.create(as, {
    name: 'shop',
    url: `${receiver.origin}/${++paths}`,
    events: ['payment.completed'],
    ...changes,
  });
const pathOf = ({ url }: { url: string }) => new URL(url).pathname;

/** Stores an event as the watcher does. */
async function happen(as: Caller, type: 'payment.received' | 'payment.completed' = 'payment.completed') {
  const event = { ...sampleEvent(newId, clock.now(), 'https://pay.example'), type };
  const doc = {
    ...event,
    sequence: 0,
    accountId: as.accountId,
    subjectId: JSON.parse(event.data).payment.id as string,
    occurrence: '',
  };
  await transaction((session) => stores.system.events.insert([doc], session));
  while (await sequencer.round());
  return doc;
}
const only = async ({ id }: { id: string }) => {
  const { items } = await webhooks.deliveries(caller, { id, ...firstPage });
  if (items.length !== 1) throw new Error(`${items.length} deliveries`);
  return items[0]!;
};
async function settled(webhook: { id: string }, status: string, attemptCount: number) {
  for (;;) {
    const delivery = await only(webhook);
    if (delivery.status === status && delivery.attemptCount === attemptCount) return delivery;
    await systemClock.sleep(10);
  }
}

t.test('a secret is shown when it is made, and kept sealed', async (t) => {
  const { secret, ...webhook } = await subscribe(caller, { events: ['payment.received', 'payment.received'] });
  t.match(secret, /^whsec_[0-9A-Za-z+/]{43}=$/);
  t.same(webhook.events, ['payment.received']);
  t.match(webhook, { status: 'ACTIVE', secretMasked: `whsec_…${secret.slice(-4)}` });
  t.same(await webhooks.get(caller, { id: webhook.id }), webhook);
  t.same((await webhooks.list(caller, firstPage)).items[0], webhook);
  t.same(await webhooks.update(caller, { id: webhook.id }), webhook, 'an empty change changes nothing');
  t.same(await webhooks.update(caller, { id: webhook.id, name: 'till' }), { ...webhook, name: 'till' });
  t.notOk(JSON.stringify(await db.collection('webhooks').find().toArray()).includes(secret.slice(6)));

  const rotated = await webhooks.rotateSecret(caller, { id: webhook.id });
  t.not(rotated.secret, secret);
  t.equal(rotated.secretMasked, `whsec_…${rotated.secret.slice(-4)}`);
});

t.test("an account's webhooks, deliveries and events are hidden from other accounts", async (t) => {
  const { id } = await subscribe(caller);
  const event = await happen(caller);
  const delivery = await only({ id });
  const attempts: [string, () => Promise<unknown>][] = [
    ['get', () => webhooks.get(stranger, { id })],
    ['update', () => webhooks.update(stranger, { id, name: 'mine' })],
    ['delete', () => webhooks.delete(stranger, { id })],
    ['deliveries', () => webhooks.deliveries(stranger, { id, ...firstPage })],
    ['test', () => webhooks.test(stranger, { id })],
    ['rotate', () => webhooks.rotateSecret(stranger, { id })],
    ['delivery', () => deliveries.get(stranger, { id: delivery.id })],
    ['redeliver', () => deliveries.redeliver(stranger, { id: delivery.id })],
    ['event', () => events.get(stranger, { id: event._id })],
  ];
  for (const [what, attempt] of attempts) await t.rejects(attempt(), { code: 'not_found' }, what);
  t.equal((await webhooks.list(stranger, firstPage)).meta.total, 0);
  t.equal((await events.list(stranger, { ...firstPage, order: 'asc' })).meta.total, 0);
  t.match(await webhooks.get(caller, { id }), { name: 'shop' });
});

t.test(
  'what waits for a paused webhook goes at once when it is made active, however far off its next attempt',
  async (t) => {
    const webhook = await subscribe(caller);
    receiver.behave(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    await happen(caller);
    dispatcher.wake();
    t.match(await settled(webhook, 'PENDING', 1), { nextAttemptAt: new Date(nowMs + HOUR_MS).toISOString() });
    receiver.behave(() => ({}));
    await webhooks.update(caller, { id: webhook.id, status: 'PAUSED' });
    const paused = receiver.at(pathOf(webhook)).length;
    await webhooks.update(caller, { id: webhook.id, name: 'still paused' });
    t.match(await webhooks.update(caller, { id: webhook.id, status: 'ACTIVE' }), { status: 'ACTIVE' });
    t.match(await settled(webhook, 'DELIVERED', 2), { nextAttemptAt: null, lastResponseStatus: 200, lastError: null });
    t.equal(receiver.at(pathOf(webhook)).length, paused + 1);
  },
);

t.test(
  'a delivery is sent again with the same event id, whatever became of it, and its attempts go on counting',
  async (t) => {
    const webhook = await subscribe(caller);
    receiver.behave((_, nth) => ({ status: nth === 2 ? 500 : 200 }));
    await happen(caller);
    dispatcher.wake();
    const { id } = await settled(webhook, 'DELIVERED', 1);
    t.match(await deliveries.redeliver(caller, { id }), { id, status: 'PENDING', attemptCount: 1 });
    t.match(await settled(webhook, 'FAILED', 2), { lastResponseStatus: 500, nextAttemptAt: null });
    await deliveries.redeliver(caller, { id });
    const delivery = await settled(webhook, 'DELIVERED', 3);
    t.match(delivery.attempts, [
      { responseStatus: 200, error: null },
      { responseStatus: 500 },
      { responseStatus: 200 },
    ]);
    t.same(await deliveries.get(caller, { id }), delivery);
    const received = receiver.at(pathOf(webhook));
    t.same(new Set(received.map(({ headers }) => headers['webhook-id'])), new Set([delivery.eventId]));
    t.equal(new Set(received.map(({ body }) => body)).size, 1);
  },
);

t.test('what waits is due when a webhook is ACTIVE again, whatever died in between; no retry is hurried', async (t) => {
  const webhook = await subscribe(caller);
  receiver.behave((_, nth) => ({ status: nth === 1 ? 500 : 200 }));
  await happen(caller);
  dispatcher.wake();
  const { id, nextAttemptAt } = await settled(webhook, 'PENDING', 1);

  await webhooks.update(caller, { id: webhook.id, status: 'ACTIVE' });
  t.match(await deliveries.get(caller, { id }), { nextAttemptAt }, 'it was ACTIVE already');

  await webhooks.update(caller, { id: webhook.id, status: 'PAUSED' });
  const dying = withDoing(
    'webhooks',
    createWebhookService({
      ...webhookDeps,
      forAccount: (accountId) => {
        const { webhooks, deliveries, events, eventCounters, replays } = stores.forAccount(accountId);
        const dying = { ...webhooks, update: () => Promise.reject(new Error('died')) };
        return { deliveries, events, eventCounters, replays, webhooks: dying };
      },
    }),
  );
  await t.rejects(dying.update(caller, { id: webhook.id, status: 'ACTIVE' }));
  t.match(await webhooks.get(caller, { id: webhook.id }), { status: 'PAUSED' });
  t.match(await only(webhook), { attemptCount: 1 }, 'and nothing was sent');

  const dyingLater = withDoing(
    'webhooks',
    createWebhookService({
      ...webhookDeps,
      deliveriesDue: () => {
        throw new Error('died');
      },
    }),
  );
  await t.rejects(dyingLater.update(caller, { id: webhook.id, status: 'ACTIVE' }));
  dispatcher.wake();
  await settled(webhook, 'DELIVERED', 2);
});

t.test(
  'deleting a webhook cancels what was pending; its deliveries stay readable and are never sent again',
  async (t) => {
    const webhook = await subscribe(caller);
    receiver.behave(() => ({}));
    await happen(caller);
    dispatcher.wake();
    const delivered = await settled(webhook, 'DELIVERED', 1);
    await webhooks.update(caller, { id: webhook.id, status: 'PAUSED' });
    await happen(caller);
    const pending = (await webhooks.deliveries(caller, { id: webhook.id, ...firstPage, status: 'PENDING' })).items;
    t.equal(pending.length, 1);

    t.same(await webhooks.delete(caller, { id: webhook.id }), { id: webhook.id, deleted: true });
    await t.rejects(webhooks.get(caller, { id: webhook.id }), { code: 'not_found' });
    await t.rejects(webhooks.delete(caller, { id: webhook.id }), { code: 'not_found' });
    t.match(await deliveries.get(caller, { id: pending[0]!.id }), { status: 'CANCELLED', nextAttemptAt: null });
    t.match(await deliveries.get(caller, { id: delivered.id }), { status: 'DELIVERED' });
    for (const { id } of [pending[0]!, delivered]) {
      await t.rejects(deliveries.redeliver(caller, { id }), { code: 'conflict' });
    }
  },
);

t.test('the test event is signed, goes to a paused webhook too, and is neither event nor delivery', async (t) => {
  const webhook = await subscribe(caller);
  await webhooks.update(caller, { id: webhook.id, status: 'PAUSED' });
  receiver.behave(() => ({ status: 418, body: 'private' }));
  const before = await db.collection('events').countDocuments();
  const result = await webhooks.test(caller, { id: webhook.id });
  t.match(result, { responseStatus: 418, durationMs: Number, error: String });
  t.notOk(JSON.stringify(result).includes('private'));
  const [request] = receiver.at(pathOf(webhook));
  const payload = verified(request!, webhook.secret);
  t.same(webhookPayloadSchema.parse(payload), payload, 'it has the shape of a real event, and nothing more');
  t.equal(payload.type, 'payment.completed');
  t.equal(await db.collection('events').countDocuments(), before);
  t.equal((await webhooks.deliveries(caller, { id: webhook.id, ...firstPage })).meta.total, 0);
  t.match(await webhooks.get(caller, { id: webhook.id }), { status: 'PAUSED' });

  const unreachable = await subscribe(caller, { url: 'https://127.0.0.1:1/' });
  t.match(await webhooks.test(caller, { id: unreachable.id }), { responseStatus: null, error: 'connection refused' });
});

t.test('for 24 hours after a rotation both secrets sign, then only the new one', async (t) => {
  const webhook = await subscribe(caller);
  receiver.behave(() => ({}));
  const { secret } = await webhooks.rotateSecret(caller, { id: webhook.id });
  const latest = async () => {
    await webhooks.test(caller, { id: webhook.id });
    return receiver.at(pathOf(webhook)).at(-1)!;
  };
  nowMs += 24 * HOUR_MS - 1;
  const during = await latest();
  t.ok(verified(during, secret));
  t.ok(verified(during, webhook.secret));
  nowMs += 1;
  const after = await latest();
  t.ok(verified(after, secret));
  t.throws(() => verified(after, webhook.secret));
});

t.test('every rotated secret signs for its 24 hours, until it is ended; too many rotations are refused', async (t) => {
  const webhook = await subscribe(caller);
  receiver.behave(() => ({}));
  const all = [webhook.secret];
  for (let n = 1; n < 20; n++) all.push((await webhooks.rotateSecret(caller, { id: webhook.id })).secret);
  await t.rejects(webhooks.rotateSecret(caller, { id: webhook.id }), { code: 'conflict' });
  const latest = async () => {
    await webhooks.test(caller, { id: webhook.id });
    return receiver.at(pathOf(webhook)).at(-1)!;
  };
  const during = await latest();
  for (const secret of all) t.ok(verified(during, secret));
  t.same(await webhooks.deletePreviousSecret(caller, { id: webhook.id }), { id: webhook.id, deleted: true });
  await webhooks.deletePreviousSecret(caller, { id: webhook.id });
  const after = await latest();
  t.ok(verified(after, all.at(-1)!));
  t.throws(() => verified(after, all.at(-2)!));
  await t.rejects(webhooks.deletePreviousSecret(stranger, { id: webhook.id }), { code: 'not_found' });
});

t.test('events are listed by kind, payment and time, newest or oldest first', async (t) => {
  const reader: Caller = { ...caller, accountId: newId('acct') };
  const happened: Awaited<ReturnType<typeof happen>>[] = [];
  for (const type of ['payment.received', 'payment.completed', 'payment.received'] as const) {
    happened.push(await happen(reader, type));
    nowMs += 1000;
  }
  const ids = happened.map(({ _id }) => _id);
  const list = async (filter: Partial<Parameters<typeof events.list>[1]>) =>
    (await events.list(reader, { ...firstPage, order: 'desc', ...filter })).items.map(({ id }) => id);
  const at = (n: number) => happened[n]!.createdAt.toISOString();
  t.same(await list({}), ids.toReversed());
  t.same(await list({ order: 'asc' }), ids);
  t.same(await list({ order: 'asc', page: 2, pageSize: 2 }), ids.slice(2));
  t.same(await list({ type: 'payment.received' }), [ids[2], ids[0]]);
  t.same(await list({ paymentId: happened[1]!.subjectId }), [ids[1]]);
  t.same(await list({ createdFrom: at(1) }), [ids[2], ids[1]], 'from is inclusive');
  t.same(await list({ createdTo: at(1) }), [ids[0]], 'to is exclusive');
  t.same(await list({ createdFrom: at(1), createdTo: at(2) }), [ids[1]]);
  t.same(await list({ createdFrom: '2099-01-01' }), []);
  const data = JSON.parse(happened[1]!.data);
  const shown = { id: ids[1], type: 'payment.completed', sequence: 2, createdAt: at(1), data };
  t.same(await events.get(reader, { id: ids[1]! }), shown);
  await t.rejects(events.get(reader, { id: 'evt_unknown' }), { code: 'not_found' });
});

t.test('a creation that is done again makes one webhook and shows the same secret', async (t) => {
  const again: Caller = { ...caller, accountId: newId('acct'), reservedId: () => 'hook_reserved' };
  const lost = await subscribe(again);
  const shown = await subscribe(again);
  t.same(shown, lost);
  t.equal((await webhooks.list(again, firstPage)).meta.total, 1);
});

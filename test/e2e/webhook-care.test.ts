/** What a merchant sees and does when an endpoint was ill: health, replay, and that it is not asked
 *  for more than it can take. */
import { createPublicKey, verify } from 'node:crypto';
import t from 'tap';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createKeyring } from '../../src/webhooks/keyring.js';
import { createThrottles } from '../../src/webhooks/load.js';
import { gate } from '../helpers/gate.js';
import { createHappenings } from '../helpers/happenings.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver, verified } from '../helpers/receiver.js';
import { eventually, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const HOUR_MS = 3_600_000;
const database = await testDatabase(t);
let offsetMs = 0;
const { systemClock } = await import('../../src/kit/clock.js');
const clock = { ...systemClock, nowMs: () => Date.now() + offsetMs, now: () => new Date(Date.now() + offsetMs) };
const receiver = await startReceiver();
t.teardown(() => receiver.close());
const service = await startTestService(t, { database, clock, env: { WEBHOOK_MAX_ATTEMPTS: '1' } });
const { happen } = await createHappenings(t, database.uri);
let paths = 0;

async function account() {
  const { apiKey, accountId } = await service.openAccount();
  const api = (method: string, path: string, body?: unknown) => service.api(method, path, body, apiKey);
  const webhook = async (fields: object = {}) => {
    const path = `/${++paths}`;
    const made = await api('POST', '/webhooks', {
      ...{ name: 'shop', url: `${receiver.origin}${path}`, events: ['payment.received', 'payment.completed'] },
      ...fields,
    });
    const { id, secret } = made.data;
    const health = async () => (await api('GET', `/webhooks/${id}/health`)).data;
    const deliveries = async (query = '') =>
      (await api('GET', `/webhooks/${id}/deliveries?pageSize=100${query}`)).data as any[];
    return {
      id,
      secret,
      path,
      health,
      deliveries,
      replay: (body?: object) => api('POST', `/webhooks/${id}/replay`, body),
    };
  };
  return { api, apiKey, accountId, webhook };
}
const sentTo = ({ path }: { path: string }) =>
  receiver.at(path).map(({ headers }) => Number(headers['webhook-sequence']));

t.test('health says what waits, what arrived, what failed and why, and for how long', async (t) => {
  const { accountId, api, webhook } = await account();
  const hook = await webhook();
  t.same(await hook.health(), {
    ...{ state: 'IDLE', pending: 0, oldestPendingAt: null, delivered24h: 0, failed24h: 0 },
    ...{ lastDeliveredAt: null, lastFailureAt: null, lastError: null, latencyMs: { p50: null, p95: null } },
  });
  receiver.behave(() => ({ delayMs: 30 }));
  await happen(accountId, 'payment.received', 'payment.completed');
  const healthy = await eventually(async () => {
    const health = await hook.health();
    return health.delivered24h === 2 && health;
  }, 'two deliveries');
  t.match(healthy, { state: 'HEALTHY', pending: 0, failed24h: 0, lastDeliveredAt: /Z$/, lastError: null });
  t.ok(healthy.latencyMs.p50 >= 30 && healthy.latencyMs.p95 >= healthy.latencyMs.p50, JSON.stringify(healthy));
  receiver.behave(() => ({ status: 500 }));
  await happen(accountId, 'payment.received');
  const failing = await eventually(async () => {
    const health = await hook.health();
    return health.failed24h === 1 && health;
  }, 'a failure');
  t.match(failing, { state: 'FAILING', delivered24h: 2, lastFailureAt: /Z$/, lastError: /500/ });
  offsetMs += 23 * HOUR_MS;
  t.match(await hook.health(), { state: 'FAILING', delivered24h: 2, failed24h: 1 }, 'until the next success');
  offsetMs += 1.1 * HOUR_MS;
  t.match(await hook.health(), {
    ...{ state: 'FAILING', delivered24h: 0, failed24h: 0, latencyMs: { p50: null, p95: null } },
    ...{ lastDeliveredAt: healthy.lastDeliveredAt, lastFailureAt: failing.lastFailureAt },
  });
  receiver.behave(() => ({}));
  t.match(await hook.replay(), { status: 200, data: { replayed: 1 } }, 'without a body, too');
  await eventually(async () => (await hook.health()).state === 'HEALTHY', 'healthy again');
  t.match(await hook.health(), { delivered24h: 1, failed24h: 0 });
  await api('PATCH', `/webhooks/${hook.id}`, { status: 'PAUSED' });
  await happen(accountId, 'payment.received');
  const paused = await eventually(async () => {
    const health = await hook.health();
    return health.pending === 1 && health;
  }, 'one that waits');
  t.match(paused, { state: 'PAUSED', oldestPendingAt: /Z$/ });
});

t.test('the published keys verify deliveries without a secret, through a rotation and after it', async (t) => {
  const { accountId, webhook } = await account();
  const hook = await webhook();
  receiver.behave(() => ({}));
  const published = async () => {
    const answer = await fetch(`${service.url}/.well-known/webhook-keys.json`);
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8');
    return ((await answer.json()) as { keys: Record<string, string | null>[] }).keys;
  };
  /** By Node's own means, as a receiver would. */
  const verifiedBy = ({ headers, body }: (typeof receiver.requests)[number], publicKey: string) => {
    const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
    const signatures = headers['webhook-signature']!.split(' ').filter((each) => each.startsWith('v1a,'));
    const isValid = signatures.some((each) => verify(null, signed, key, Buffer.from(each.slice(4), 'base64')));
    return { isValid, signatures: signatures.length };
  };
  const next = async () => {
    const before = receiver.at(hook.path).length;
    await happen(accountId, 'payment.received');
    await receiver.until(() => receiver.at(hook.path).length > before);
    const request = receiver.at(hook.path).at(-1)!;
    verified(request, hook.secret);
    return request;
  };
  const [first] = await published();
  t.match(first, { id: /^whk_/, publicKey: /^whpk_[A-Za-z0-9+/]{43}=$/, createdAt: /Z$/, retiresAt: null });
  const request = await next();
  t.same(verifiedBy(request, first!.publicKey!), { isValid: true, signatures: 1 });
  t.notOk(verifiedBy({ ...request, body: `${request.body} ` }, first!.publicKey!).isValid);

  // As the cli does it, in another process.
  const secrets = createSecretBox(Buffer.from(TEST_SECRETS_KEY, 'base64'), clock);
  const keyring = createKeyring({ webhookKeys: service.context.stores.system.webhookKeys, secrets, clock });
  const { webhookKeys } = service.context.stores.system;
  const rotate = () =>
    keyring.rotate(async (id) => {
      const since = clock.now();
      return (await webhookKeys.begin(id, '', since)) ? since : null;
    });
  await Promise.all([rotate(), rotate()]);
  const during = await eventually(async () => {
    const keys = await published();
    return keys.length === 3 && keys;
  }, 'all know of it');
  t.same(
    during.map(({ retiresAt }) => retiresAt !== null),
    [false, true, true],
  );
  const overlapping = await next();
  for (const { publicKey } of during) t.same(verifiedBy(overlapping, publicKey!), { isValid: true, signatures: 3 });
  offsetMs += 24.1 * HOUR_MS;
  const after = await next();
  t.same(verifiedBy(after, during[0]!.publicKey!), { isValid: true, signatures: 1 });
  t.notOk(verifiedBy(after, first!.publicKey!).isValid);
  t.same(
    (await published()).map(({ id }) => id),
    [during[0]!.id],
  );
  const stored = await database.db.collection('webhookKeys').find().toArray();
  t.equal(stored.length, 3);
  for (const { _id, sealed } of stored) t.equal(Buffer.from(secrets.open(sealed, String(_id)), 'base64').length, 32);

  for (let made = 1; made < 10; made += 1) await rotate();
  await t.rejects(rotate(), { message: /10 keys sign already: rotate again after 2.*Z/ });
  offsetMs += 24.1 * HOUR_MS;
  t.match(await rotate(), { id: 'whk_13' });
});

t.test('a replay of failed deliveries sends the same deliveries again', async (t) => {
  const { accountId, webhook } = await account();
  const hook = await webhook();
  receiver.behave(({ path }) => (path === hook.path ? { status: 500 } : {}));
  const events = await happen(accountId, 'payment.received', 'payment.completed', 'payment.received');
  await eventually(async () => (await hook.deliveries('&status=FAILED')).length === 3, 'three that failed');
  receiver.behave(() => ({}));
  const before = await hook.deliveries();
  const ids = new Map(events.map(({ _id, createdAt }) => [_id, createdAt]));
  t.equal((await hook.replay({ types: ['payment.completed'] })).data.replayed, 1);
  await eventually(async () => (await hook.deliveries('&status=DELIVERED')).length === 1, 'one');
  t.equal((await hook.replay({ types: ['checkout.paid'] })).data.replayed, 0, 'a kind that it does not take');
  const to = events[0]!.createdAt.toISOString();
  t.equal((await hook.replay({ to })).data.replayed, 0, 'before the first');
  t.equal((await hook.replay({ from: new Date(Date.now() + 90_000_000).toISOString() })).data.replayed, 0);
  t.equal((await hook.replay({ from: to })).data.replayed, 2, 'the rest: from is inclusive');
  await eventually(async () => (await hook.deliveries('&status=DELIVERED')).length === 3, 'all');
  const after = await hook.deliveries();
  const key = ({ id, sequence, eventId }: any) => [id, sequence, ids.has(eventId)];
  t.same(after.map(key), before.map(key), 'the same deliveries with the same numbers');
  t.ok(after.every(({ attemptCount }: any) => attemptCount === 2));
  t.equal((await hook.replay()).data.replayed, 0, 'nothing is left');
  const bad = await hook.replay({ status: 'DELIVERED', from: 'x', more: 1 });
  t.same([bad.status, bad.error?.details?.map(({ path }) => path).sort()], [422, ['from', 'more', 'status']]);
});

t.test(
  'a replay of all sends what happened before the webhook existed, in new deliveries, and leaves alone what waits',
  async (t) => {
    const { accountId, api, webhook } = await account();
    await webhook();
    receiver.behave(() => ({}));
    await happen(accountId, 'payment.received', 'payment.completed', 'payment.received');
    await eventually(async () => (await api('GET', '/events')).meta!.total === 3, 'three events');
    const hook = await webhook({ events: ['payment.received'] });
    const [first, second] = await Promise.all([hook.replay({ status: 'ALL' }), hook.replay({ status: 'FAILED' })]);
    t.same([first.data, second.data], [{ replayed: 2 }, { replayed: 0 }]);
    await eventually(async () => (await hook.deliveries('&status=DELIVERED')).length === 2, 'two');
    t.same(sentTo(hook).sort(), [1, 2]);
    t.equal((await hook.replay({ status: 'ALL' })).data.replayed, 2);
    await eventually(async () => (await hook.deliveries('&status=DELIVERED')).length === 4, 'two more');
    await happen(accountId, 'payment.received');
    await eventually(async () => (await hook.deliveries('&status=DELIVERED')).length === 5, 'a fresh one');
    t.same(sentTo(hook).sort(), [1, 2, 3, 4, 5], 'numbers without a hole');
    const bodies = receiver.at(hook.path).map((each) => verified(each, hook.secret));
    t.equal(new Set(bodies.map(({ id }) => id)).size, 3, 'the same events');
    await api('PATCH', `/webhooks/${hook.id}`, { status: 'PAUSED' });
    await happen(accountId, 'payment.received');
    await eventually(async () => (await hook.health()).pending === 1, 'one that waits');
    t.equal((await hook.replay({ status: 'ALL' })).data.replayed, 3, 'pending deliveries are not touched');
    await eventually(async () => (await hook.health()).pending === 4, 'it waits');
    t.equal(receiver.at(hook.path).length, 5);
    await api('PATCH', `/webhooks/${hook.id}`, { status: 'ACTIVE' });
    await eventually(async () => (await hook.deliveries('&status=DELIVERED')).length === 9, 'all');
    t.same(
      sentTo(hook).sort((a, b) => a - b),
      [1, 2, 3, 4, 5, 6, 7, 8, 9],
    );
  },
);

t.test('a replay counts what it will send, and all of that waits from then on', async (t) => {
  const { accountId, api, webhook } = await account();
  await happen(accountId, ...Array.from({ length: 40 }, () => 'payment.completed' as const));
  await eventually(async () => (await api('GET', '/events')).meta!.total === 40, 'the events');
  const hook = await webhook();
  await api('PATCH', `/webhooks/${hook.id}`, { status: 'PAUSED' });
  const all = () => hook.replay({ status: 'ALL' });
  const together = await Promise.all([all(), all(), all()]);
  t.same(together.map(({ data }) => data.replayed).sort(), [0, 0, 40], 'side by side');
  const { pending, oldestPendingAt } = await hook.health();
  t.equal(pending, 40);
  t.match(oldestPendingAt, /Z$/);
  t.equal((await all()).data.replayed, 0, 'one after the other');
  t.equal((await hook.health()).pending, 40);
  receiver.behave(() => ({ status: 500 }));
  await api('PATCH', `/webhooks/${hook.id}`, { status: 'ACTIVE' });
  await eventually(async () => (await hook.health()).failed24h === 40, 'each has failed');
  await api('PATCH', `/webhooks/${hook.id}`, { status: 'PAUSED' });
  const failed = await Promise.all([hook.replay(), hook.replay()]);
  t.same(failed.map(({ data }) => data.replayed).sort(), [0, 40], 'failed deliveries, too');
  t.equal((await hook.health()).pending, 40);
});

t.test('a replay is as quick as its endpoint', LONG, async (t) => {
  const count = 3000;
  const { accountId, api, webhook } = await account();
  for (let made = 0; made < count; made += 500)
    await happen(accountId, ...Array.from({ length: 500 }, () => 'payment.completed' as const));
  await eventually(async () => (await api('GET', '/events')).meta!.total === count, 'the events', 60_000);
  const hook = await webhook();
  receiver.behave(() => ({}));
  const begunMs = Date.now();
  t.equal((await hook.replay({ status: 'ALL' })).data.replayed, count);
  await eventually(async () => receiver.at(hook.path).length >= count, 'all of it', 120_000);
  const tookMs = Date.now() - begunMs;
  t.comment(`${Math.round((count / tookMs) * 1000)} deliveries a second`);
  // Twelve at a time took 70 s; a machine that has much else to do takes half of it.
  t.ok(tookMs < 45_000, `${tookMs} ms`);
});

t.test('a fresh event is never behind a replay, however slow the endpoint', async (t) => {
  const { accountId, api, webhook } = await account();
  const happened = Array.from({ length: 150 }, () => 'payment.completed' as const);
  await happen(accountId, ...happened);
  await eventually(async () => (await api('GET', '/events')).meta!.total === 150, 'the events');
  const hook = await webhook();
  const answers = gate();
  receiver.behave(({ path }) => (path === hook.path ? { after: answers.passed, delayMs: 20 } : {}));
  t.equal((await hook.replay({ status: 'ALL' })).data.replayed, 150);
  await receiver.until(() => receiver.at(hook.path).length > 0);
  t.ok(receiver.at(hook.path).length < 150);
  const [fresh] = await happen(accountId, 'payment.received');
  const deliveries = async () => (await api('GET', `/webhooks/${hook.id}/deliveries?pageSize=1`)).meta!.total;
  await eventually(async () => (await deliveries()) === 151, 'its delivery is there');
  answers.open();
  const releasedMs = Date.now();
  await receiver.until(() => receiver.at(hook.path).some(({ headers }) => headers['webhook-id'] === fresh!._id));
  t.ok(Date.now() - releasedMs < 5000, `${Date.now() - releasedMs} ms`);
  t.ok(receiver.at(hook.path).length < 150, 'and the replay was not over');
  receiver.behave(() => ({}));
  await receiver.until(() => receiver.at(hook.path).length >= 151, 60_000);
  t.same(
    sentTo(hook).sort((a, b) => a - b),
    Array.from({ length: 151 }, (_, n) => n + 1),
  );
});

t.test(
  'an endpoint that says that it has too much gets half as many requests at once, and one more for each success',
  async (t) => {
    const throttles = createThrottles(2);
    const answer = (id: string, responseStatus: number | null, error: string | null = 'x') =>
      throttles.answered(id, { responseStatus, error }, 32);
    const slots = (id: string) => throttles.slots(id, 32);
    for (const status of [500, 404, null, 301]) answer('a', status);
    t.equal(slots('a'), 32);
    for (const [status, left] of [
      [429, 16],
      [502, 8],
      [503, 4],
      [504, 2],
      [503, 1],
      [503, 1],
    ] as const) {
      answer('a', status);
      t.equal(slots('a'), left, String(status));
    }
    t.equal(slots('b'), 32);
    for (let n = 2; n <= 32; n++) {
      answer('a', 200, null);
      t.equal(slots('a'), n);
    }
    t.equal(throttles.slots('a', 2), 2, 'never more than its share');
    for (const id of ['a', 'b', 'c']) answer(id, 429);
    t.same([slots('a'), slots('b'), slots('c')], [32, 16, 16], 'what is known is bounded');

    const { accountId, webhook } = await account();
    const hook = await webhook();
    receiver.behave(({ path, open }) => (path === hook.path ? { delayMs: 40, status: open > 4 ? 429 : 200 } : {}));
    await happen(accountId, ...Array.from({ length: 90 }, () => 'payment.received' as const));
    await eventually(
      async () => (await hook.health()).pending === 0 && (await hook.health()).delivered24h > 0,
      'all',
      30_000,
    );
    const requests = receiver.at(hook.path).map(({ open }) => open);
    t.ok(Math.max(...requests.slice(0, 32)) > 8, 'at first many at once');
    const later = requests.slice(45);
    t.ok(later.reduce((sum, open) => sum + open) / later.length < 7, `then few: ${requests.join()}`);
  },
);

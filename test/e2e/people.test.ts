/** People of an account: invitations that work once, passkeys that sign in, sessions that end with a change, and a cashier who sees only their own. */
import t from 'tap';
import { systemClock } from '../../src/clock.js';
import { createAuthenticator } from '../helpers/authenticator.js';
import { startProgram } from '../helpers/command.js';
import { testDatabase } from '../helpers/mongo.js';
import { accept, comeIn, passkeyFor, personOf, post } from '../helpers/people.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

const HOUR_MS = 3_600_000;
let aheadMs = 0;
const nowMs = () => systemClock.nowMs() + aheadMs;
const database = await testDatabase(t);
const service = await startTestService(t, { database });
/** One whose clock the tests set. */
const timed = await startTestService(t, {
  role: 'api',
  clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) },
});
const { api } = service;
const { wallet, product } = await startSelling(service);
const ledger = service.context.localLedger!.client;
const invite = async (role = 'MANAGER', more = {}) =>
  (await api('POST', '/users', { name: 'Ana', role, ...more })).data;
const inviteTimed = async () => (await timed.api('POST', '/users', { name: 'Ana', role: 'VIEWER' })).data;
const signIn = async (authenticator: ReturnType<typeof createAuthenticator>, change = {}) => {
  const { data } = await post(service, '/passkey/options', {});
  return post(service, '/passkey', { response: { ...authenticator.sign(data), ...change } });
};
const isIn = async (cookie: string | null) =>
  (await fetch(`${service.url}/dashboard/session`, { headers: { cookie: cookie ?? '' } })).status === 200;

t.test('an invitation lets one in once, and nothing of its token is stored', async (t) => {
  const invited = await invite('MANAGER', { email: 'ana@shop.example' });
  t.match(invited, { role: 'MANAGER', email: 'ana@shop.example', status: 'INVITED', name: 'Ana' });
  t.match(invited.url, new RegExp(`^${service.context.publicUrl}/dashboard/invite/[\\w-]{43}$`));
  const hours = (Date.parse(invited.expiresAt) - nowMs()) / HOUR_MS;
  t.ok(hours > 71.9 && hours <= 72, `${hours} h`);
  const listed = (await api('GET', '/users')).data.find(({ id }: any) => id === invited.id);
  t.match(listed, { status: 'INVITED' });
  t.notOk('url' in listed);
  const token = invited.url.split('/').at(-1);
  const stored = await database.db.collection('users').findOne({ _id: invited.id });
  t.notOk(JSON.stringify(stored).includes(token));
  t.equal((await fetch(invited.url)).status, 200, 'the link is a page of the dashboard');

  const { data } = await post(service, '/invitation/options', { token });
  t.match(data, { name: 'Ana', role: 'MANAGER', account: 'Test', options: { rp: { name: 'Test' } } });
  const { cookie, authenticator } = await accept(service, invited.url);
  t.ok(await isIn(cookie));
  t.match((await api('GET', '/users')).data[0], { id: invited.id, status: 'ACTIVE' });
  t.equal((await post(service, '/invitation/options', { token })).status, 404, 'used');
  t.equal((await post(service, '/invitation', { token, response: {} })).status, 404);
  t.ok(await isIn((await signIn(authenticator)).cookie), 'the passkey signs in from then on');
});

t.test('a key that ends makes no user and no OWNER, who would outlive it', async (t) => {
  const expiresAt = new Date(nowMs() + HOUR_MS).toISOString();
  const { key } = (await api('POST', '/api-keys', { name: 'An hour', scope: 'FULL', expiresAt })).data;
  const { id } = await invite('VIEWER');
  const refused = { status: 403, error: { code: 'forbidden', message: /key ends/ } };
  t.match(await api('POST', '/users', { name: 'Eve', role: 'OWNER' }, key), refused);
  t.match(await api('PATCH', `/users/${id}`, { role: 'OWNER' }, key), refused);
  t.match(await api('PATCH', `/users/${id}`, { name: 'Ann' }, key), { status: 200, data: { name: 'Ann' } });
});

t.test('two uses of an invitation at once: one is let in', async (t) => {
  const { url } = await invite();
  const token = url.split('/').at(-1);
  const asked = await Promise.all([1, 2].map(() => post(service, '/invitation/options', { token })));
  const answers = await Promise.all(
    asked.map(({ data }) => post(service, '/invitation', { token, response: passkeyFor(url).register(data.options) })),
  );
  t.same(answers.map(({ status }) => status).sort(), [200, 404]);
});

t.test('an invitation ends after 72 h, and with its user', async (t) => {
  const [late, removed] = [await inviteTimed(), await inviteTimed()];
  await timed.api('DELETE', `/users/${removed.id}`);
  const ask = ({ url }: { url: string }) => post(timed, '/invitation/options', { token: url.split('/').at(-1) });
  t.equal((await ask(removed)).status, 404);
  aheadMs += 72 * HOUR_MS - 60_000;
  t.equal((await ask(late)).status, 200);
  aheadMs += 120_000;
  t.equal((await ask(late)).status, 404);
  aheadMs = 0;
});

t.test('only the right passkey, for this host, signing this challenge, lets one in', async (t) => {
  const { authenticator } = await comeIn(service, 'VIEWER');
  const { origin, hostname } = new URL(service.context.publicUrl);
  t.equal((await signIn(authenticator)).status, 200);
  const twice = (await post(service, '/passkey/options', {})).data;
  const response = authenticator.sign(twice);
  t.equal((await post(service, '/passkey', { response })).status, 200);
  t.equal((await post(service, '/passkey', { response })).status, 401, 'a challenge is answered once');
  t.equal((await post(service, '/passkey', { response: authenticator.sign({ challenge: 'bm9uZQ' }) })).status, 401);
  t.equal((await signIn(createAuthenticator({ origin }))).status, 401, 'a passkey of no user');
  t.equal((await signIn(authenticator, { id: 'x' })).status, 401);
  for (const body of [{}, { response: null }, { response: [] }, { response: { id: { $gt: '' } } }, { response: 'x' }])
    t.ok([401, 422].includes((await post(service, '/passkey', body)).status), JSON.stringify(body));
  for (const wrong of [
    { origin: 'https://evil.example', rpId: hostname },
    { origin, rpId: 'evil.example' },
    { origin, flags: 0x01 },
  ]) {
    const { url } = await invite();
    const { status } = await accept(service, url, createAuthenticator(wrong));
    t.equal(status, 404, JSON.stringify(wrong));
  }
  const foreign = await post(service, '/passkey', { response: {} }, { origin: 'https://evil.example' });
  t.equal(foreign.status, 403, 'from another site');
});

t.test('a challenge is answered within 5 minutes', async (t) => {
  const { authenticator } = await comeIn(timed, 'VIEWER');
  const answerAfter = async (ms: number) => {
    const { data } = await post(timed, '/passkey/options', {});
    aheadMs += ms;
    return (await post(timed, '/passkey', { response: authenticator.sign(data) })).status;
  };
  t.same([await answerAfter(290_000), await answerAfter(301_000)], [200, 401]);
});

t.test('a changed or removed user’s sessions end at once', async (t) => {
  const changed = await comeIn(service, 'MANAGER');
  const removed = await comeIn(service, 'MANAGER');
  t.equal((await changed.call('webhooks.list', true)).status, 200);
  const { data } = await api('PATCH', `/users/${changed.id}`, { role: 'VIEWER' });
  t.match(data, { role: 'VIEWER', status: 'ACTIVE' });
  t.equal((await changed.call('webhooks.list', true)).status, 401);
  const again = (await signIn(changed.authenticator)).cookie!;
  const viewer = personOf(service, changed.id, again, changed.authenticator);
  t.match(await viewer.call('products.update', false, { id: product.id, active: true }), {
    status: 403,
    code: 'forbidden',
  });
  await api('PATCH', `/users/${changed.id}`, { role: 'VIEWER' });
  t.equal((await viewer.call('webhooks.list', true)).status, 200, 'an update without changes ends no session');
  t.equal((await api('DELETE', `/users/${removed.id}`)).status, 200);
  t.equal((await removed.call('webhooks.list', true)).status, 401);
  t.equal((await signIn(removed.authenticator)).status, 401);
});

t.test('the last OWNER stays', async (t) => {
  const { apiKey: key } = await service.openAccount();
  const make = async () => (await api('POST', '/users', { name: 'O', role: 'OWNER' }, key)).data;
  const first = await make();
  const refused = { status: 409, error: { code: 'conflict' } };
  t.match(await api('DELETE', `/users/${first.id}`, undefined, key), refused);
  t.match(await api('PATCH', `/users/${first.id}`, { role: 'VIEWER' }, key), refused);
  t.match(await api('PATCH', `/users/${first.id}`, { name: 'Olga' }, key), { status: 200, data: { name: 'Olga' } });
  const second = await make();
  const ended = await Promise.all([first, second].map(({ id }) => api('DELETE', `/users/${id}`, undefined, key)));
  t.same(ended.map(({ status }) => status).sort(), [200, 409], 'one of two at once stays');
  const [left] = (await api('GET', '/users', undefined, key)).data;
  const invited = await make();
  await accept(service, invited.url);
  t.equal((await api('DELETE', `/users/${left.id}`, undefined, key)).status, 200);
  await make();
  t.match(
    await api('DELETE', `/users/${invited.id}`, undefined, key),
    refused,
    'a user who never signed in is no OWNER yet',
  );
});

t.test('another account’s users are not found', async (t) => {
  const { id } = await invite();
  const { apiKey: key } = await service.openAccount();
  t.equal((await api('DELETE', `/users/${id}`, undefined, key)).status, 404);
  t.equal((await api('PATCH', `/users/${id}`, { name: 'x' }, key)).status, 404);
  t.same((await api('GET', '/users', undefined, key)).data, []);
});

t.test('a cashier sees their own checkouts and the payments of these, and nothing of others', async (t) => {
  const cashier = await comeIn(service, 'CASHIER', 'Ben');
  const other = await comeIn(service, 'CASHIER', 'Cleo');
  const fields = { walletId: wallet.id, name: 'Coffee', assetCode: 'XLM', amount: '3' };
  const mine = (await cashier.call('checkouts.create', false, fields)).data;
  const theirs = (await other.call('checkouts.create', false, fields)).data;
  const ofKey = (await api('POST', '/checkouts', fields)).data;
  for (const { memo } of [mine, theirs, ofKey]) await ledger.pay({ to: wallet.address, amount: '3', memo });
  await eventually(
    async () => (await api('GET', '/checkouts?status=PAID')).data.length === 3,
    'three checkouts are PAID',
  );
  const ids = ({ data }: any) => data.items.map(({ id }: any) => id);
  t.same(ids(await cashier.call('checkouts.list', true)), [mine.id]);
  t.same(ids(await cashier.call('checkouts.list', true, { status: 'OPEN' })), []);
  const seen = await cashier.call('payments.list', true);
  t.match(seen.data, { items: [{ checkoutId: mine.id }], meta: { total: 1 } });
  const all = (await api('GET', '/payments')).data;
  for (const { checkoutId, id } of all) {
    const expected = checkoutId === mine.id ? 200 : 404;
    t.equal((await cashier.call('payments.get', true, { id })).status, expected);
  }
  for (const { id } of [theirs, ofKey]) {
    for (const name of ['checkouts.get', 'checkouts.instructions'])
      t.match(await cashier.call(name, true, { id }), { status: 404, code: 'not_found' }, name);
    t.match(await cashier.call('checkouts.cancel', false, { id }), { status: 404, code: 'not_found' });
  }
  t.equal((await cashier.call('checkouts.get', true, { id: mine.id })).status, 200);
  const next = (await cashier.call('checkouts.create', false, fields)).data;
  t.match((await cashier.call('checkouts.cancel', false, { id: next.id })).data, { status: 'CANCELLED' });
  t.same(ids(await (await comeIn(service, 'VIEWER')).call('checkouts.list', true)).length, 4, 'others see all');
});

t.test('the operator of the service invites the first user', async (t) => {
  const { accountId } = await service.openAccount('Bakery');
  const env = {
    MONGODB_URI: database.uri,
    PUBLIC_URL: service.context.publicUrl,
    DATA_DIR: service.dataDir,
    SECRETS_KEY: TEST_SECRETS_KEY,
  };
  const asked = ['user', 'invite', '--account', accountId, '--name', 'Olga', '--role', 'OWNER', '--json'];
  const { stdout, stderr } = await startProgram('src/cli/main.ts', asked, { env }).ended;
  t.equal(stderr, '');
  const made = JSON.parse(stdout);
  t.match(made, {
    user: { id: /^user_/, name: 'Olga', role: 'OWNER' },
    url: /\/dashboard\/invite\//,
    expiresAt: String,
  });
  t.same(Object.keys(made).sort(), ['expiresAt', 'url', 'user']);
  const { cookie } = await accept(service, made.url);
  t.ok(await isIn(cookie));
});

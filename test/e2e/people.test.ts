/** People of an account: invitations that work once, passkeys that sign in, sessions that end with
 *  a change, and a cashier who sees only their own. */
import t from 'tap';
import type { Caller } from '../../src/kit/caller.js';
import { systemClock } from '../../src/kit/clock.js';
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
  // Passkeys work at the name of this machine, not at its address.
  const home = service.context.publicUrl.replace('127.0.0.1', 'localhost');
  t.match(invited.url, new RegExp(`^${home}/dashboard/invite/[\\w-]{43}$`));
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

t.test(
  'an invitation sent twice with one Idempotency-Key makes one user, also after a crash and his acceptance',
  async (t) => {
    const send = async (key: string) => {
      const headers = {
        ...{ authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
        'idempotency-key': key,
      };
      const body = JSON.stringify({ name: 'Once', role: 'MANAGER' });
      const answer = await fetch(`${service.url}/api/v1/users`, { method: 'POST', headers, body });
      return { status: answer.status, ...((await answer.json()) as { data: any }) };
    };
    const [first, again] = [await send('once'), await send('once')];
    t.equal(again.status, 201);
    t.equal(again.data.id, first.data.id);
    t.notOk('url' in again.data, 'its link is shown once');
    const ofName = async () =>
      (await api('GET', '/users?pageSize=100')).data.filter(({ name }: any) => name === 'Once');
    t.equal((await ofName()).length, 1);
    const { cookie } = await accept(service, first.data.url);
    t.ok(await isIn(cookie));

    // The run that made him died before its answer was kept, and he has come in since.
    await database.db.collection('idempotency').deleteMany({});
    const suffix = first.data.id.slice('user_'.length);
    const reservedId = (prefix: string) => `${prefix}_${suffix}`;
    const caller: Caller = { accountId: service.accountId, keyId: '', scope: 'FULL', agent: 'system', reservedId };
    const repeated = await service.context.services.users.create(caller, { name: 'Once', role: 'MANAGER' } as never);
    t.match(repeated, { id: first.data.id, status: 'ACTIVE' });
    t.match(await ofName(), [{ id: first.data.id, status: 'ACTIVE' }]);
    t.ok(await isIn(cookie), 'he stays signed in');
  },
);

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

t.test('a stranger sends anything as the challenge → no challenge is used up, and no answer is a fault', async (t) => {
  const { authenticator } = await comeIn(service, 'VIEWER');
  // Each process counts by itself: none of them is at its limit.
  const [first, second, third] = [await service.join('api'), await service.join('api'), await service.join('api')];
  const options = (await post(service, '/passkey/options', {})).data;
  for (const challenge of [{ $gt: '' }, { $regex: '(' }, { $ne: null }, ['a'], 5, null, { a: 1 }, 'not base64url!']) {
    const asked = { challenge: challenge as never };
    const signed = await post(first, '/passkey', { response: authenticator.sign(asked) });
    t.equal(signed.status, 401, `signing in with ${JSON.stringify(challenge)}`);
    const { url } = await invite();
    const response = passkeyFor(url).register(asked);
    const accepted = await post(second, '/invitation', { token: url.split('/').at(-1), response });
    t.equal(accepted.status, 404, `accepting with ${JSON.stringify(challenge)}`);
  }
  const whole = authenticator.sign(options);
  for (const change of [
    ...[{ id: { $gt: '' } }, { id: 5 }, { rawId: null }, { type: 'x' }, { response: { clientDataJSON: 5 } }],
    { response: { ...whole.response, signature: { $gt: '' } } },
  ])
    t.equal((await post(third, '/passkey', { response: { ...whole, ...change } })).status, 401, JSON.stringify(change));
  t.equal((await post(service, '/passkey', { response: whole })).status, 200, 'it is still good');
});

t.test(
  'an address is beyond its sign-ins → a right answer is refused before any work, and is good elsewhere',
  async (t) => {
    const crowded = await service.join('api');
    const { authenticator } = await comeIn(service, 'VIEWER');
    const broken = async () =>
      (
        await fetch(`${crowded.url}/dashboard/passkey`, {
          method: 'POST',
          body: '{',
          headers: { 'content-type': 'application/json' },
        })
      ).status;
    for (let i = 0; i < 20; i += 1) t.equal(await broken(), 400, 'a broken attempt');
    const { data } = await post(crowded, '/passkey/options', {});
    const response = authenticator.sign(data);
    t.equal((await post(crowded, '/passkey', { response })).status, 429);
    t.equal((await post(service, '/passkey', { response })).status, 200);
  },
);

t.test('a counter does not rise → the user signs in, and activity tells; of two at once one wins', async (t) => {
  const person = await comeIn(service, 'MANAGER');
  const { authenticator } = person;
  const told = async () => (await api('GET', `/activity?subjectId=${person.id}&operation=users_repeatedCounter`)).data;
  t.equal((await signIn(authenticator)).status, 200);
  authenticator.setCounter(1);
  t.equal((await signIn(authenticator)).status, 200, 'a lower value');
  const changes = [{ field: 'passkey' }, { field: 'counterBefore', to: 2 }, { field: 'counterNow', to: 1 }];
  t.match(await told(), [{ actor: { type: 'user', id: person.id }, changes }]);
  const asked = await Promise.all([1, 2].map(() => post(service, '/passkey/options', {})));
  const responses = asked.map(({ data }) => {
    authenticator.setCounter(7);
    return authenticator.sign(data);
  });
  const answers = await Promise.all(responses.map((response) => post(service, '/passkey', { response })));
  t.same(answers.map(({ status }) => status).sort(), [200, 401]);
  t.equal((await told()).length, 1);
  authenticator.setCounter(7);
  t.equal((await signIn(authenticator)).status, 200, 'later it signs in, and is told');
  t.equal((await told()).length, 2);
});

t.test('a user lost the passkey → a new invitation adds another one, and id, role and sales stay', async (t) => {
  const cashier = await comeIn(service, 'CASHIER', 'Dora');
  const fields = { walletId: wallet.id, name: 'Tea', assetCode: 'XLM', amount: '1' };
  const sold = (await cashier.call('checkouts.create', false, fields)).data;
  const again = await api('POST', `/users/${cashier.id}/invite`);
  t.same(Object.keys(again.data).sort(), ['expiresAt', 'url']);
  const next = await accept(service, again.data.url);
  const found = personOf(service, cashier.id, next.cookie!, next.authenticator);
  t.match((await found.call('checkouts.list', true)).data, { items: [{ id: sold.id }], meta: { total: 1 } });
  t.equal((await signIn(cashier.authenticator)).status, 200, 'the first one signs in as well');
  const listed = (await api('GET', `/users/${cashier.id}/passkeys`)).data;
  t.match(listed, [
    { id: cashier.authenticator.id, name: String, createdAt: String, lastUsedAt: String },
    { id: next.authenticator.id, lastUsedAt: null },
  ]);
  t.same(Object.keys(listed[0]).sort(), ['createdAt', 'id', 'lastUsedAt', 'name']);
  const removed = await api('DELETE', `/users/${cashier.id}/passkeys/${cashier.authenticator.id}`);
  t.match(removed, { status: 200, data: { id: cashier.authenticator.id, deleted: true } });
  t.equal((await signIn(cashier.authenticator)).status, 401);
  t.equal((await found.call('checkouts.list', true)).status, 401, 'sessions end with it');
  t.equal((await api('DELETE', `/users/${cashier.id}/passkeys/none`)).status, 404);
  const activity = (await api('GET', `/activity?subjectId=${cashier.id}`)).data;
  t.same(
    activity.map(({ operation }: any) => operation),
    ['users_deletePasskey', 'users_accept', 'users_invite', 'users_accept', 'users_create'],
  );
});

t.test('users see and remove their own passkeys, an OWNER anybody’s; the last of the last OWNER stays', async (t) => {
  const { apiKey: key } = await service.openAccount();
  const made = async (role: string) => {
    const user = (await api('POST', '/users', { name: role, role }, key)).data;
    const { cookie, authenticator } = await accept(service, user.url);
    return personOf(service, user.id, cookie!, authenticator);
  };
  const passkeyOf = ({ id, authenticator }: Awaited<ReturnType<typeof made>>) => ({ id, passkeyId: authenticator.id });
  const remove = (by: Awaited<ReturnType<typeof made>>, of = by) =>
    by.call('users.deletePasskey', false, passkeyOf(of));
  const [owner, manager, cashier] = [await made('OWNER'), await made('MANAGER'), await made('CASHIER')];
  const { id } = cashier;
  t.match((await cashier.call('users.passkeys', true, { id })).data, [{ id: cashier.authenticator.id }]);
  t.equal((await manager.call('users.passkeys', true, { id })).status, 404);
  t.equal((await manager.call('users.invite', false, { id })).status, 404);
  t.equal((await remove(manager, cashier)).status, 404);
  const { url } = (await cashier.call('users.invite', false, { id })).data;
  t.equal((await accept(service, url)).status, 200);
  t.equal((await remove(owner, cashier)).status, 200);
  t.match(await remove(owner), { status: 409, code: 'conflict' });
  await api('POST', '/users', { name: 'invited', role: 'OWNER' }, key);
  t.equal((await remove(owner)).status, 409, 'an invited OWNER cannot sign in yet');
  const second = await made('OWNER');
  const both = await Promise.all([remove(owner), remove(second)]);
  t.same(both.map(({ status }) => status).sort(), [200, 409], 'of two at once one stays');
  const { apiKey: other } = await service.openAccount();
  for (const [method = '', path] of [
    ['GET', '/passkeys'],
    ['POST', '/invite'],
    ['DELETE', `/passkeys/${owner.authenticator.id}`],
  ])
    t.equal((await api(method, `/users/${owner.id}${path}`, undefined, other)).status, 404, 'of another account');
});

t.test(
  'a passkey is removed whose session made its user an invitation → that one ends, another’s does not',
  async (t) => {
    const thief = await comeIn(service, 'MANAGER', 'Lost phone');
    const { id } = thief;
    const stored = () => database.db.collection('users').findOne({ _id: id as never });
    t.equal((await thief.call('users.invite', false, { id })).status, 200);
    t.match(await stored(), { invitation: { hash: String } });
    await api('DELETE', `/users/${id}/passkeys/${thief.authenticator.id}`);
    t.match(await stored(), { passkeys: [], invitation: null });

    const user = await comeIn(service, 'MANAGER', 'New phone');
    const given = (await api('POST', `/users/${user.id}/invite`)).data.url;
    await api('DELETE', `/users/${user.id}/passkeys/${user.authenticator.id}`);
    t.equal((await accept(service, given)).status, 200, 'made by an API key');
  },
);

t.test('a user has ten passkeys → a further acceptance is refused, and changes nothing', async (t) => {
  const user = await comeIn(service, 'VIEWER');
  const invitedAgain = async () => (await api('POST', `/users/${user.id}/invite`)).data.url;
  for (let made = 1; made < 10; made += 1)
    t.equal((await accept(service, await invitedAgain())).status, 200, `passkey ${made + 1}`);
  const url = await invitedAgain();
  t.match(await accept(service, url), { status: 409, error: { code: 'conflict' } });
  await api('DELETE', `/users/${user.id}/passkeys/${user.authenticator.id}`);
  t.equal((await accept(service, url)).status, 200, 'the invitation is still good');
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
  t.same(ids(await (await comeIn(service, 'VIEWER')).call('checkouts.list', true)).length, 5, 'others see all');
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

t.test('a user chooses a language, which the page speaks at once and their session outlasts', async (t) => {
  const person = await comeIn(service, 'VIEWER', 'Lia');
  const page = async (accept: string) => {
    const answer = await fetch(`${service.url}/dashboard/`, {
      headers: { cookie: person.cookie, 'accept-language': accept },
    });
    const text = await answer.text();
    const [, script] = /<script type="module" src="[^"]*\/(language-\w+)-/.exec(text) ?? [];
    return `${/<html [^>]*>/.exec(text)} ${script}`;
  };
  const choose = async (body: object) => {
    const answer = await fetch(`${service.url}/dashboard/session`, {
      method: 'PATCH',
      headers: { cookie: person.cookie, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: answer.status, ...((await answer.json()) as { data: { user: { language: string | null } } }) };
  };
  t.equal(await page('fr-CA, en;q=0.5'), '<html lang="fr" dir="ltr"> language-fr');
  t.match(await choose({ language: 'ar' }), { status: 200, data: { user: { language: 'ar' } } });
  t.equal(await page('fr-CA'), '<html lang="ar" dir="rtl"> language-ar');
  for (const language of ['xx', 'AR', 7, { $gt: '' }]) t.equal((await choose({ language })).status, 422);
  t.equal((await service.api('GET', `/users/${person.id}`)).data.language, 'ar');
  t.match(await choose({ language: null }), { status: 200, data: { user: { language: null } } });
  t.equal(await page('id'), '<html lang="id" dir="ltr"> language-id');
  t.equal((await person.call('payments.list', true, {})).status, 200, 'no session ended');
  const set = await service.api('PATCH', `/users/${person.id}`, { language: 'tr' });
  t.equal(set.data.language, 'tr', 'an owner may choose for others');
  t.equal((await service.api('PATCH', `/users/${person.id}`, { language: 'xx' })).status, 422);
});

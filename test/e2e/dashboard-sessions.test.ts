/** Sessions of the dashboard over HTTP: who gets one, what ends it, and that no other page can
 *  use it. */

import { request as httpRequest } from 'node:http';
import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import { createSessionCookie } from '../../src/accounts/sessions.js';
import { createFiles, createIsForeign } from '../../src/dashboard/files.js';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { comeIn } from '../helpers/people.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

let offsetMs = 0;
const nowMs = () => systemClock.nowMs() + offsetMs;
const clock: Clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
const service = await startTestService(t, { clock });
const { url } = service;
const { product, wallet } = await startSelling(service);

interface Sent {
  cookie?: string;
  origin?: string;
  headers?: Record<string, string>;
  body?: unknown;
  at?: string;
}
async function send(method: string, path: string, { cookie, origin, headers, body, at = url }: Sent = {}) {
  const answer = await fetch(`${at}/dashboard${path}`, {
    method,
    headers: {
      ...(cookie === undefined ? {} : { cookie }),
      ...(origin === undefined ? {} : { origin }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'manual',
  });
  const text = await answer.text();
  const json = answer.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : null;
  return { status: answer.status, headers: answer.headers, text, data: json?.data, error: json?.error, json };
}
const cookieOf = (answer: { headers: Headers }) => answer.headers.get('set-cookie')!.split(';')[0]!;
async function signIn(key = service.apiKey, sent: Sent = {}): Promise<string> {
  const answer = await send('POST', '/session', { body: { key }, ...sent });
  if (answer.status !== 200) throw new Error(answer.text);
  return cookieOf(answer);
}
const query = (name: string, sent: Sent, input: unknown = {}) =>
  send('GET', `/trpc/${name}?input=${encodeURIComponent(JSON.stringify(input))}`, sent);
const mutate = (name: string, sent: Sent) => send('POST', `/trpc/${name}`, sent);
const newKey = async (scope = 'FULL', more = {}) =>
  (await service.api('POST', '/api-keys', { name: 'test', scope, ...more })).data as { id: string; key: string };

t.test('a pasted key opens a session, whose cookie no script and no other site can use', async (t) => {
  const answer = await send('POST', '/session', { body: { key: ` \n${service.apiKey}\t` } });
  t.equal(answer.status, 200);
  t.match(answer.data, { account: { id: service.accountId, name: 'Test' }, scope: 'FULL', networks: ['LOCAL'] });
  t.notOk(answer.text.includes(service.apiKey), 'the key does not come back');
  const set = answer.headers.get('set-cookie')!;
  t.match(set, /^dashboard=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
  const cookie = cookieOf(answer);
  t.match((await send('GET', '/session', { cookie })).data, { account: { id: service.accountId }, scope: 'FULL' });
  const list = await query('products.list', { cookie });
  t.equal(list.json.result.data.items[0].id, product.id, 'the same procedures as over /trpc');

  const stored = await service.context.stores.system.sessions.byId('x');
  t.equal(stored, null);
  const token = cookie.split('=')[1]!;
  t.equal(await service.context.stores.system.sessions.byId(token), null, 'the token itself is not stored');
  for (const path of ['/api/v1/account', '/trpc/account.get']) {
    t.equal((await fetch(`${url}${path}`, { headers: { cookie } })).status, 401, `the cookie is no key for ${path}`);
  }
});

t.test('a secret seed in the field of the key is refused with its own sentence', async (t) => {
  for (const key of [Keypair.random().secret(), ` ${Keypair.random().secret()}\n`]) {
    const { status, error } = await send('POST', '/session', { body: { key } });
    t.match({ status, error }, { status: 422, error: { details: [{ path: 'key', code: 'secret_seed' }] } });
    t.notOk(JSON.stringify(error).includes(key.trim()));
  }
});

t.test('behind https the cookie is Secure and of this host alone', (t) => {
  const cookie = createSessionCookie('https://shop.example/pay/', 1000);
  t.equal(cookie.set('x'), '__Host-dashboard=x; Max-Age=1; Path=/; HttpOnly; Secure; SameSite=Strict');
  t.equal(cookie.read({ headers: { cookie: 'a=b; __Host-dashboard=x;c=d' } } as never), 'x');
  t.equal(cookie.read({ headers: { cookie: 'dashboard=x' } } as never), '', 'one set over plain http does not count');
  t.match(cookie.clear(), /^__Host-dashboard=; Max-Age=0; /);
  t.end();
});

t.test('without a session, or with a made-up or another one, nothing is shown', async (t) => {
  const other = await service.openAccount('Other');
  const cookie = await signIn(other.apiKey);
  t.equal((await query('products.get', { cookie }, { id: product.id })).status, 404);
  t.same((await query('products.list', { cookie })).json.result.data.items, []);
  for (const wrong of [undefined, 'dashboard=', `dashboard=${'x'.repeat(43)}`, 'dashboard={"$gt":""}', 'dashboard']) {
    const answer = await query('products.list', { cookie: wrong! });
    t.match([answer.status, answer.json.error.data.error.code], [401, 'unauthorized'], `cookie ${wrong}`);
    t.equal((await send('GET', '/session', { cookie: wrong! })).status, 401);
  }
});

t.test('signing in refuses a key that does not work, naming the field', async (t) => {
  for (const [body, status] of [
    [{ key: `sk_${'0'.repeat(43)}` }, 401],
    [{ key: 'banana' }, 401],
    [{ key: '' }, 401],
    [{ key: 1 }, 422],
    [{}, 422],
  ] as const) {
    const answer = await send('POST', '/session', { body });
    t.equal(answer.status, status, JSON.stringify(body));
    t.equal(answer.headers.get('set-cookie'), null);
    if (status === 422) t.equal(answer.error.details[0].path, 'key');
  }
  t.equal((await send('POST', '/session', { headers: { 'content-type': 'text/plain' } })).status, 422, 'no body');
});

t.test('a session sees and changes what its key may', async (t) => {
  const full = await signIn();
  const made = await mutate('paymentLinks.create', { cookie: full, body: { productId: product.id } });
  t.equal(made.json.result.data.product.id, product.id);
  const reader = await signIn((await newKey('READ')).key);
  t.match((await send('GET', '/session', { cookie: reader })).data, { scope: 'READ' });
  t.equal((await query('products.list', { cookie: reader })).status, 200);
  const refused = await mutate('paymentLinks.create', { cookie: reader, body: { productId: product.id } });
  t.match([refused.status, refused.json.error.data.error.code], [403, 'forbidden']);
});

t.test('files are downloaded by the session, which only reads there', async (t) => {
  const cookie = await signIn((await newKey('READ')).key);
  const file = await send('GET', '/api/payments/export?format=csv', { cookie });
  t.match([file.status, file.headers.get('content-disposition')], [200, /^attachment; /]);
  t.equal((await send('GET', '/api/payments/export')).status, 401);
  t.equal((await send('GET', '/api/payments/export', { cookie, origin: 'https://evil.example' })).status, 403);
  const full = await signIn();
  const body = { productId: product.id };
  t.equal((await send('POST', '/api/payment-links', { cookie: full, body })).status, 404);
});

t.test('no event stream outlasts a sign-out: a session opens none', async (t) => {
  const cookie = await signIn();
  for (const path of [
    '/api/events/stream',
    '/api/events/%73tream',
    '/trpc/events.stream',
    '/trpc/events%2estream',
    '/trpc/account.get,events.stream?batch=1',
  ]) {
    t.equal((await send('GET', path, { cookie, headers: { accept: 'text/event-stream' } })).status, 403, path);
  }
});

t.test('signing out ends that session at once, in every process, and no other', async (t) => {
  const second = await service.join('api');
  const [one, two] = [await signIn(), await signIn()];
  t.equal((await query('account.get', { cookie: one, at: second.url })).status, 200, 'it holds in every process');
  const answer = await send('DELETE', '/session', { cookie: one });
  t.match([answer.status, answer.headers.get('set-cookie')], [200, /^dashboard=; Max-Age=0; /]);
  for (const at of [url, second.url]) {
    t.equal((await query('account.get', { cookie: one, at })).status, 401);
    t.equal((await query('account.get', { cookie: two, at })).status, 200);
  }
  t.equal((await send('DELETE', '/session', { cookie: one })).status, 200, 'a second time too');
});

t.test('signing in again ends the session that the browser had', async (t) => {
  const one = await signIn();
  const two = await signIn(service.apiKey, { cookie: one });
  t.equal((await query('account.get', { cookie: one })).status, 401);
  t.equal((await query('account.get', { cookie: two })).status, 200);
});

t.test('a session ends with its key: revoked, rotated or expired', async (t) => {
  const [revoked, rotated] = [await newKey(), await newKey()];
  const expiring = await newKey('FULL', { expiresAt: new Date(nowMs() + 60_000).toISOString() });
  const cookies = await Promise.all([revoked, rotated, expiring].map(({ key }) => signIn(key)));
  for (const cookie of cookies) t.equal((await query('account.get', { cookie })).status, 200);
  await service.api('DELETE', `/api-keys/${revoked.id}`);
  t.equal((await query('account.get', { cookie: cookies[0]! })).status, 401, 'revoked');
  await service.api('POST', `/api-keys/${rotated.id}/rotate`);
  t.equal((await query('account.get', { cookie: cookies[1]! })).status, 401, 'rotated');
  offsetMs += 61_000;
  t.equal((await query('account.get', { cookie: cookies[2]! })).status, 401, 'expired');
});

t.test('a session outlasts a restart, and ends after 12 hours', async (t) => {
  const first = await service.join('api');
  const cookie = await signIn(service.apiKey, { at: first.url });
  await first.close();
  const next = await service.join('api');
  t.equal((await query('account.get', { cookie, at: next.url })).status, 200);
  offsetMs += 12 * 3_600_000 - 60_000;
  t.equal((await query('account.get', { cookie })).status, 200);
  offsetMs += 61_000;
  t.equal((await query('account.get', { cookie })).status, 401);
  t.equal((await send('GET', '/session', { cookie })).status, 401);
});

t.test('a key has at most 50 sessions: a further one ends the oldest', async (t) => {
  const { key } = await newKey();
  const cookies: string[] = [];
  for (let i = 0; i < 51; i += 1) {
    offsetMs += 1;
    cookies.push(await signIn(key));
  }
  t.equal((await query('account.get', { cookie: cookies[0]! })).status, 401);
  for (const cookie of [cookies[1]!, cookies[50]!]) t.equal((await query('account.get', { cookie })).status, 200);
});

t.test('a foreign page cannot use a session, not even one on another name of the same host', async (t) => {
  const cookie = await signIn(service.apiKey, { origin: url });
  t.equal((await query('account.get', { cookie, origin: url })).status, 200);
  const { port } = new URL(url);
  for (const origin of [
    'https://evil.example',
    'null',
    `http://localhost:${port}`,
    `https://127.0.0.1:${port}`,
    `http://127.0.0.1:${Number(port) + 1}`,
    'http://127.0.0.1',
    `${url}.evil.example`,
  ]) {
    const body = { productId: product.id };
    const made = await mutate('paymentLinks.create', { cookie, origin, body });
    t.match([made.status, made.json.error.data.error.code], [403, 'forbidden'], origin);
    t.equal((await query('account.get', { cookie, origin })).status, 403);
    for (const method of ['GET', 'DELETE']) {
      t.equal((await send(method, '/session', { cookie, origin })).status, 403, `${method} from ${origin}`);
    }
    const answer = await send('POST', '/session', { cookie, origin, body: { key: service.apiKey } });
    t.match([answer.status, answer.headers.get('set-cookie')], [403, null], `signing in from ${origin}`);
  }
  t.equal((await query('account.get', { cookie })).status, 200, 'the session is still there');

  // What fetch does not let a program send.
  const bySite = (site: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { cookie, 'sec-fetch-site': site };
      httpRequest(`${url}/dashboard/session`, { headers }, (res) => resolve(res.resume().statusCode!))
        .on('error', reject)
        .end();
    });
  t.same(await Promise.all(['cross-site', 'same-site', 'same-origin', 'none'].map(bySite)), [403, 403, 200, 200]);

  const isForeign = createIsForeign('https://shop.example/pay');
  const proxied = { host: '127.0.0.1:3000', origin: 'https://shop.example' };
  t.notOk(isForeign({ headers: proxied }), 'behind a proxy the public origin counts');
  t.ok(isForeign({ headers: { ...proxied, origin: 'https://www.shop.example' } }));
});

t.test('wrong keys are limited for each address, and a good one is served all the same', async (t) => {
  const app = await service.join('api');
  const attempt = (key: string) => send('POST', '/session', { body: { key }, at: app.url });
  const seen = new Set<number>();
  for (let i = 0; i < 20; i += 1) seen.add((await attempt(`sk_${'1'.repeat(43)}`)).status);
  t.same([...seen], [401]);
  const refused = await attempt('banana');
  t.match([refused.status, refused.error.code], [429, 'rate_limited']);
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.equal((await attempt(service.apiKey)).status, 200);
  offsetMs += 61_000;
  t.equal((await attempt('banana')).status, 401);
});

t.test('unknown parameters of the session are refused', async (t) => {
  const cookie = await signIn();
  for (const [method, body] of [['GET'], ['DELETE'], ['POST', { key: service.apiKey }]] as const) {
    const answer = await send(method, '/session?next=%2F', { cookie, body });
    t.match([answer.status, answer.error.code, answer.error.message], [400, 'bad_request', /next/], method);
  }
  t.equal((await send('GET', '/session', { cookie })).status, 200);
});

t.test('what waits ends within 2 s of a sign-out, and of its user’s role', async (t) => {
  const out = await signIn();
  const person = await comeIn(service, 'MANAGER');
  await query('account.get', { cookie: out });
  const after = (await query('events.list', { cookie: out }, { after: 0, pageSize: 100 })).json.result.data.meta.after;
  const waiting = (cookie: string) => query('events.list', { cookie }, { after, wait: 30 });
  const both = [waiting(out), waiting(person.cookie)];
  await new Promise((resolve) => setTimeout(resolve, 500));
  const endedAtMs = Date.now();
  await send('DELETE', '/session', { cookie: out });
  await service.api('PATCH', `/users/${person.id}`, { role: 'CASHIER' });
  for (const answer of await Promise.all(both)) t.equal(answer.status, 401);
  const tookMs = Date.now() - endedAtMs;
  t.comment(`ended after ${tookMs} ms`);
  t.ok(tookMs < 10_000, 'long before the wait is over');
});

t.test('files and page: strict headers, hashed names kept, compressed, nothing outside of the build', async (t) => {
  for (const path of ['', '/', '/payments', '/payments/pay_x?status=UNDERPAID', '/no/such/view']) {
    const page = await send('GET', path);
    t.match([page.status, page.headers.get('content-type')], [200, /^text\/html/], path);
    const policy = page.headers.get('content-security-policy')!;
    for (const part of ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"]) {
      t.ok(policy.split('; ').includes(part), part);
    }
    t.notMatch(policy, /unsafe|data:|\*/);
    t.notMatch(page.text, /<script(?![^>]*\ssrc=)|<style|\son\w+=|\sstyle=/i, 'nothing inline');
  }
  const { text } = await send('GET', '');
  const assets = [...text.matchAll(/(?:src|href)="\/dashboard(\/assets\/[^"]+)"/g)].map(([, path]) => path!);
  t.ok(assets.length >= 2, 'script and style');
  for (const path of assets) {
    const asset = await send('GET', path, { headers: { 'accept-encoding': 'br' } });
    t.equal(asset.status, 200, path);
    t.equal(asset.headers.get('cache-control'), 'public, max-age=31536000, immutable');
    t.equal(asset.headers.get('content-encoding'), 'br');
    const plain = await send('GET', path, { headers: { 'accept-encoding': 'identity' } });
    t.equal(plain.text, asset.text);
  }
  for (const name of ['nothing.js', '..%2findex.html', '%2e%2e%2findex.html', 'x.html', '%00.js']) {
    t.equal((await send('GET', `/assets/${name}`)).status, 404, name);
  }
  t.equal((await send('POST', '/payments')).status, 404);

  const behind = await createFiles('/pay').page('en');
  t.match(behind, /"\/pay\/dashboard\/assets\//, 'below the path of PUBLIC_URL');
  t.equal(await createFiles('', '/nowhere/').page('en'), null);
});

t.test('the page of a checkout that was closed 90 days ago shows strangers only that it is closed', async (t) => {
  const { localLedger, stores } = service.context;
  const { checkouts } = stores.forAccount(service.accountId);
  const begunMs = offsetMs;
  const order = async () =>
    (await service.api('POST', '/checkouts', { productId: product.id, reference: 'Order 4711' })).data;
  const [cancelled, paid] = [await order(), await order()];
  await service.api('POST', `/checkouts/${cancelled.id}/cancel`);
  await localLedger!.client.pay({ to: wallet.address, amount: '25', memo: paid.memo });
  await eventually(async () => (await service.api('GET', `/checkouts/${paid.id}`)).data.status === 'PAID', 'paid');
  const read = async (slug: string, path = '', cookie = '') => {
    const answer = await fetch(`${url}/c/${slug}${path}`, { headers: { cookie, 'accept-language': 'de' } });
    return { status: answer.status, text: await answer.text() };
  };
  const says = async (slug: string, path: string, cookie = '') => /4711/.test((await read(slug, path, cookie)).text);
  offsetMs = begunMs + 90 * 24 * 3_600_000 - 60_000;
  t.ok(await says(paid.slug, '/receipt'), 'before, a receipt is one');
  t.match(await read(cancelled.slug), { status: 200, text: product.name });

  offsetMs += 120_000;
  for (const [slug, path] of [
    [paid.slug, ''],
    [paid.slug, '/receipt'],
    [cancelled.slug, ''],
  ] as const) {
    const { status, text } = await read(slug, path);
    t.equal(status, 200);
    t.match(text, 'Diese Bestellung ist abgeschlossen');
    for (const secret of [product.name, '4711', paid.id, wallet.address])
      t.notOk(text.includes(secret), `${path} does not say ${secret}`);
  }
  t.same(JSON.parse((await read(paid.slug, '/status')).text), {
    ...{ state: 'CLOSED', payable: false, title: 'Diese Bestellung ist abgeschlossen' },
    ...{ announcement: '', html: '', payments: [] },
  });
  t.equal((await read(paid.slug, '/events')).status, 410);
  for (const body of ['{}', JSON.stringify({ account: wallet.address })]) {
    const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const answer = await fetch(`${url}/c/${paid.slug}/transaction`, asked);
    t.equal(answer.status, 409, await answer.text());
  }

  const cookie = await signIn();
  t.ok(await says(paid.slug, '/receipt', cookie), 'its own account sees it');
  t.match((await read(cancelled.slug, '', cookie)).text, product.name);
  const stranger = await signIn((await service.openAccount()).apiKey);
  t.notOk(await says(paid.slug, '/receipt', stranger), 'another does not');
  await checkouts.update({ ...(await checkouts.byId(cancelled.id))!, paidAt: clock.now() }, null as never);
  t.match((await read(cancelled.slug)).text, product.name, 'what was accepted after its end is shown from then on');
});

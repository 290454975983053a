/** The first account of an installation, made in the browser by the person with the code: who is
 *  let in, when, and what is left of it afterwards. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { request } from '../helpers/api.js';
import { createAuthenticator } from '../helpers/authenticator.js';
import { startProgram } from '../helpers/command.js';
import { cuttableWay, databaseAt } from '../helpers/cut.js';
import { LONG } from '../helpers/long.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { accept, post } from '../helpers/people.js';
import { eventually, startTestService } from '../helpers/service.js';
import { CODE, SETUP_ENV as ENV, startEmpty } from '../helpers/setup.js';

type Database = Awaited<ReturnType<typeof testDatabase>>;

const NAMES = { accountName: 'Bean & Leaf', userName: 'Ana' };

const counts = async ({ db }: Database) =>
  Promise.all(['accounts', 'users', 'api-keys', 'sessions'].map((name) => db.collection(name).countDocuments()));

/** Makes the passkey of a person who has just set up, as the page does. */
async function makePasskey({ url, context }: Awaited<ReturnType<typeof startEmpty>>, cookie: string, userId: string) {
  const answer = await fetch(`${url}/dashboard/trpc/users.invite`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', cookie },
    body: JSON.stringify({ id: userId }),
  });
  const { result } = (await answer.json()) as { result: { data: { url: string } } };
  const origin = new URL(result.data.url).origin;
  return accept(context, result.data.url, createAuthenticator({ origin }));
}

t.test(
  'without an account every page leads to the setup, and the code lets one person in, who makes a passkey',
  async (t) => {
    const database = await testDatabase(t);
    const service = await startEmpty(t, database);
    const { setUp, get } = service;
    for (const path of ['/dashboard', '/dashboard/', '/dashboard/wallets/new', '/dashboard/pos?x=1'])
      t.match(await get(path), { status: 302, location: '/dashboard/setup' }, path);
    t.equal((await get('/dashboard/setup')).status, 200);
    t.equal((await get('/dashboard/session')).status, 401, 'only pages lead there');

    const made = await setUp({ code: CODE, ...NAMES, email: 'ana@shop.example' });
    t.match(made, { status: 200, data: { accountId: /^acct_/, userId: /^user_/, apiKey: null } });
    t.same(await counts(database), [1, 1, 0, 1]);
    const cookie = made.cookie!;
    const session = (await (await get('/dashboard/session', cookie)).answer.json()) as any;
    t.match(session.data, { account: { name: 'Bean & Leaf' }, user: { name: 'Ana', role: 'OWNER' } });
    t.equal((await get('/dashboard')).status, 200);
    t.equal((await get('/dashboard/setup')).status, 200, 'the setup can be gone on with');

    const again = await setUp({ code: CODE, ...NAMES });
    t.match(again, { status: 200, data: made.data }, 'cut off: the same ids');
    t.not(again.cookie, cookie);
    t.match(await setUp({ code: CODE, ...NAMES, userName: 'Eve' }), {
      status: 409,
      error: { message: /Bean & Leaf.*Ana/ },
    });
    t.equal((await setUp({ code: `${CODE}x`, ...NAMES })).status, 403);

    t.equal((await makePasskey(service, again.cookie!, made.data.userId)).status, 200);
    t.match(await setUp({ code: CODE, ...NAMES }), { status: 404, error: { code: 'not_found' } });
    t.match(await setUp({ code: 'x', ...NAMES }), { status: 404 });
    t.match(await get('/dashboard/setup'), { status: 302, location: '/dashboard' });
    t.same((await counts(database)).slice(0, 3), [1, 1, 0]);
    t.notMatch(JSON.stringify(await database.db.collection('activities').find().toArray()), CODE);
  },
);

t.test('where the browser can make no passkey, the answer shows an API key, once', async (t) => {
  const database = await testDatabase(t);
  const { setUp, url } = await startEmpty(t, database);
  const body = { code: CODE, ...NAMES, passkeys: false };
  const made = await setUp(body);
  t.match(made, { status: 200, data: { apiKey: /^sk_/ } });
  const account = await request(url, 'GET', '/account', {
    headers: { authorization: `Bearer ${made.data.apiKey}` },
  });
  t.match(account, { status: 200, data: { id: made.data.accountId } });
  t.equal((await setUp(body)).status, 404);
  t.same(await counts(database), [1, 1, 1, 1]);
});

t.test('an answer with a key that never left: the setup is gone on with, and its key is another', async (t) => {
  const database = await testDatabase(t);
  const { setUp } = await startEmpty(t, database);
  const body = { code: CODE, ...NAMES, passkeys: false };
  const lost = await setUp(body);
  // As after a kill before the answer: nothing says that it was shown. That is stored after the
  // answer has left.
  const setup = database.db.collection('setup');
  await eventually(
    async () => (await setup.updateOne({ isDone: true }, { $unset: { isDone: 1 } })).modifiedCount === 1,
    'the end of the setup',
  );
  const { setUp: setUpAgain } = await startEmpty(t, database);
  const made = await setUpAgain(body);
  t.match(made, { status: 200, data: { accountId: lost.data.accountId, userId: lost.data.userId, apiKey: /^sk_/ } });
  t.not(made.data.apiKey, lost.data.apiKey);
  t.same((await counts(database)).slice(0, 3), [1, 1, 1]);
});

t.test('the order of refusals: foreign, set up, no JSON, wrong code, faults', async (t) => {
  const database = await testDatabase(t);
  const { setUp, url } = await startEmpty(t, database);
  const send = async (body: string, headers = {}) => {
    const answer = await fetch(`${url}/dashboard/setup`, { method: 'POST', body, headers });
    return { status: answer.status, ...((await answer.json()) as { error: any }) };
  };
  t.equal((await setUp({ code: CODE, ...NAMES }, { origin: 'https://evil.example' })).status, 403);
  t.match(await send('{'), { status: 400, error: { code: 'bad_request' } });
  t.equal((await send('', { 'content-type': 'application/json' })).status, 400);
  t.equal((await send('[]', { 'content-type': 'application/json' })).status, 400);
  for (const code of ['wrong', '', 17, null, { $gt: '' }, [CODE], `${CODE} `])
    t.match(await setUp({ code }), { status: 403, error: { code: 'forbidden' } }, JSON.stringify(code));
  const faulty = await setUp({ code: CODE, accountName: '', email: 'x', stray: 1 });
  t.equal(faulty.status, 422);
  t.same(faulty.error.details.map(({ path }: any) => path).sort(), ['accountName', 'email', 'stray', 'userName']);
  t.equal((await setUp({ code: CODE, ...NAMES, accountName: `S${'A'.repeat(55)}` })).status, 200, 'no seed');
  await database.db.collection('setup').updateOne({}, { $set: { isDone: true } });
  const { url: other } = await startEmpty(t, database);
  const elsewhere = { method: 'POST', body: '{' };
  t.equal((await fetch(`${other}/dashboard/setup`, elsewhere)).status, 404, 'before the body is looked at');
  const foreign = { ...elsewhere, headers: { 'sec-fetch-site': 'cross-site' } };
  t.equal((await fetch(`${other}/dashboard/setup`, foreign)).status, 403);
});

t.test('four people set up at once, in two processes → one wins, and nothing is half made', async (t) => {
  const database = await testDatabase(t);
  const [one, other] = [await startEmpty(t, database), await startEmpty(t, database)];
  // A later one of the same names would go on with the setup of the first.
  const as = (userName: string) => ({ code: CODE, accountName: 'Corner Café', userName });
  const answers = await Promise.all([
    one.setUp(as('Ada')),
    one.setUp(as('Eve')),
    other.setUp(as('Mia')),
    other.setUp(as('Bob')),
  ]);
  t.same(answers.map(({ status }) => status).sort(), [200, 409, 409, 409]);
  t.same(await counts(database), [1, 1, 0, 1]);
});

t.test('ten wrong codes a minute are an address’s, a hundred an hour the installation’s', async (t) => {
  const database = await testDatabase(t);
  let aheadMs = 0;
  const nowMs = () => systemClock.nowMs() + aheadMs;
  const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
  const { setUp } = await startEmpty(t, database, { TRUST_PROXY: '1' }, clock);
  const from = (address: string, code = 'wrong') =>
    setUp({ code, ...NAMES, accountName: '' }, { 'x-forwarded-for': address });
  for (let n = 0; n < 15; n += 1) t.equal((await from('203.0.113.1', CODE)).status, 422, 'a right code is no try');
  for (let n = 0; n < 10; n += 1) t.equal((await from('203.0.113.1')).status, 403);
  t.match(await from('203.0.113.1'), { status: 429, error: { code: 'rate_limited' } });
  t.equal((await from('203.0.113.1', CODE)).status, 429);
  t.equal((await from('203.0.113.2', CODE)).status, 422, 'others are let in');
  aheadMs += 61_000;
  t.equal((await from('203.0.113.1')).status, 403, 'a minute later');
  for (let n = 11; n < 100; n += 1) t.equal((await from(`203.0.113.${n}`)).status, 403);
  t.equal((await from('203.0.113.200')).status, 429);
  // Another process, whose clock is a day ahead.
  aheadMs += 86_400_000;
  const other = await startEmpty(t, database, { TRUST_PROXY: '1' }, clock);
  const refused = await other.setUp({ code: CODE, ...NAMES });
  t.match(refused, { status: 429, error: { code: 'rate_limited' } }, 'the right code too');
  t.same(await counts(database), [0, 0, 0, 0]);
  await database.db.collection('setup').updateOne({}, { $set: { 'tries.endsAt': new Date() } });
  t.equal((await setUp({ code: CODE, ...NAMES })).status, 200, 'an hour later');
});

t.test(
  'a start prints the link while there is no account, the same in each process; setup-code prints it too',
  LONG,
  async (t) => {
    const database = await testDatabase(t);
    const env = { ...ENV, MONGODB_URI: database.uri, LOG_LEVEL: 'trace' };
    const started = async (role: string) => {
      const port = String(await freePort());
      const program = startProgram('src/main.ts', ['--role', role], { env: { ...env, PORT: port } });
      await program.says(/Health /);
      await new Promise((resolve) => setTimeout(resolve, 300));
      program.process.kill('SIGTERM');
      const { stdout, stderr } = await program.ended;
      return { lines: stdout.split('\n').filter((line) => line.startsWith('Set up at ')), all: stdout + stderr, port };
    };
    const cli = async () => (await startProgram('src/cli/main.ts', ['setup-code'], { env }).ended).stdout.trim();
    const first = await started('api');
    t.equal(first.lines.length, 1);
    const [, code] = new RegExp(`^Set up at http://localhost:${first.port}/dashboard/setup#([\\w-]{16,128})$`).exec(
      first.lines[0]!,
    )!;
    t.equal(first.all.split(code!).length, 2, 'it is logged nowhere else');
    t.ok((await started('all')).lines[0]!.endsWith(`#${code}`));
    t.same((await started('worker')).lines, []);
    t.match(await cli(), new RegExp(`^Set up at http://.*/dashboard/setup#${code}$`));
    t.notMatch(JSON.stringify(await database.db.collection('setup').find().toArray()), code!);

    const { setUp } = await startEmpty(t, database, { SETUP_CODE: '' });
    const made = await setUp({ code, ...NAMES });
    t.equal(made.status, 200);
    t.same((await started('api')).lines, [], 'there is an account');
    t.match(await cli(), new RegExp(`#${code}$`), 'without a passkey yet');
    await database.db.collection('setup').updateOne({}, { $set: { isDone: true } });
    t.equal(await cli(), 'This installation is set up.');
  },
);

t.test(
  'MongoDB goes away in the middle of a setup: a sentence, nothing half made, and it is gone on with',
  LONG,
  async (t) => {
    for (const last of ['insert', 'commitTransaction', 'api-keys', 'sessions']) {
      const database = await testDatabase(t);
      let isArmed = false;
      const way = await cuttableWay(t, database.uri.replace('mongodb', 'http'), (bytes) => {
        const isLast = isArmed && bytes.includes(last);
        if (isLast) way.close(true);
        return isLast;
      });
      const { setUp } = await startEmpty(t, { uri: databaseAt(database.uri, way) });
      isArmed = true;
      const body = { code: CODE, ...NAMES, passkeys: false };
      const refused = await setUp(body);
      t.match(refused, { status: 503, error: { code: 'unavailable', message: /\.$/ } }, last);
      isArmed = false;
      way.close(false);
      const [accounts, users] = await counts(database);
      t.equal(accounts, users, `${last}: an account has its owner`);
      // What was begun may go on until the driver gives up.
      let made = await setUp(body);
      await eventually(async () => {
        if (made.status === 200) return true;
        t.match(made, { status: /^(503|409)$/, error: { message: /[Tt]ry again/ } }, last);
        made = await setUp(body);
        return false;
      }, `${last}: the setup`);
      t.match(made.data, { apiKey: /^sk_/ }, last);
      t.same((await counts(database)).slice(0, 3), [1, 1, 1], last);
    }
  },
);

t.test(
  'setup-code before the first start of a demo says that it is coming, and afterwards that all is set up',
  async (t) => {
    const { uri, db } = await testDatabase(t);
    const env = { ...ENV, NETWORKS: 'LOCAL', MONGODB_URI: uri };
    const cli = async () => (await startProgram('src/cli/main.ts', ['setup-code'], { env }).ended).stdout.trim();
    t.equal(await cli(), 'The first start makes a demo account, and shows its key.');
    await db.collection('accounts').insertOne({ _id: 'acct_demo' as never, name: 'Demo', createdAt: new Date() });
    t.equal(await cli(), 'This installation is set up.');
  },
);

t.test('an installation whose account was made otherwise is set up', async (t) => {
  const { url } = await startTestService(t, { env: { ...ENV, SETUP_CODE: CODE }, role: 'api' });
  const answer = await post({ url }, '/setup', { code: CODE, ...NAMES });
  t.match(answer, { status: 404, error: { code: 'not_found' } });
  t.equal((await fetch(`${url}/dashboard`, { redirect: 'manual' })).status, 200);
});

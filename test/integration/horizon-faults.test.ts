/** What Horizon and the way to it may do wrong, done by real servers on loopback: each fault is
 *  named, survived, and recovered from. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { parseRecord } from '../../src/ledger/horizon/record.js';
import { createLedger, type NetworkLedger, type SourcesOptions } from '../../src/ledger/network-ledger.js';
import { LedgerUnavailable, WrongNetwork } from '../../src/ledger/source.js';
import { budgetOf } from '../helpers/budget.js';
import { effectsOf, page, payment, SHOP, toid, transactionRecord } from '../helpers/horizon-records.js';
import { type ManualClock, manualClock } from '../helpers/manual-clock.js';
import { freePort } from '../helpers/mongo.js';

const PASSPHRASE = 'Standalone Network ; February 2017';
const LATEST = 1_000;

type Respond = (response: ServerResponse, request: IncomingMessage) => void;

interface TestBase {
  url: string;
  /** Path and query of every request that came. */
  requests: string[];
  headers: IncomingMessage['headers'][];
  /** Misbehaves from now on where the path begins so; null behaves again. */
  misbehave(respond: Respond | null, path?: string): void;
  until(count: number): Promise<void>;
}

const json =
  (body: unknown, status = 200, headers: Record<string, string> = {}): Respond =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/hal+json; charset=utf-8', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
const problem = (status: number, tail: string, headers: Record<string, string> = {}): Respond =>
  json({ type: `https://stellar.org/horizon-errors/${tail}`, title: tail, status }, status, headers);

const closedAt = (ledger: number): string =>
  new Date(Date.parse('2026-01-02T03:00:00Z') + ledger * 5_000).toISOString();
const root = (fields: Record<string, unknown> = {}) => ({
  history_latest_ledger: LATEST,
  history_latest_ledger_closed_at: closedAt(LATEST),
  history_elder_ledger: 2,
  network_passphrase: PASSPHRASE,
  ...fields,
});
const ledgerBody = (sequence: number) => ({ sequence, hash: 'ab'.repeat(32), closed_at: closedAt(sequence) });
const records = [payment({}, { ledger: 990 }), payment({}, { ledger: 995 })];

function behave(path: string): Respond {
  const ledger = /^\/ledgers\/(\d+)$/.exec(path);
  if (ledger) return Number(ledger[1]) > LATEST ? problem(404, 'not_found') : json(ledgerBody(Number(ledger[1])));
  if (path.startsWith('/transactions/')) return json(transactionRecord());
  if (path.endsWith('/effects')) return json(effectsOf(SHOP, '1.0000000'));
  if (path.endsWith('/payments')) return json(page(records));
  return path === '/' ? json(root()) : problem(404, 'not_found');
}

async function startBase(t: Test): Promise<TestBase> {
  let wrong: { respond: Respond; path: string } | null = null;
  const base: TestBase = {
    url: '',
    requests: [],
    headers: [],
    misbehave(respond, path = '/') {
      wrong = respond && { respond, path };
    },
    until: async (count) => {
      while (base.requests.length < count) await once(server, 'request');
    },
  };
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    base.requests.push(url);
    base.headers.push(request.headers);
    const path = url.split('?')[0]!;
    if (wrong && path.startsWith(wrong.path)) wrong.respond(response, request);
    else behave(path)(response, request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  return base;
}

interface Setup {
  horizon: NetworkLedger;
  clock: ManualClock;
  bases: TestBase[];
  /** What was logged, as text. */
  logged(): string;
}

async function setUp(t: Test, count: number, options: Partial<SourcesOptions> = {}): Promise<Setup> {
  const bases: TestBase[] = [];
  for (let i = 0; i < count; i++) bases.push(await startBase(t));
  const lines: string[] = [];
  const clock = manualClock();
  const horizon = createLedger({
    network: 'LOCAL',
    horizonUrls: bases.map((base) => base.url),
    rpcUrls: [],
    passphrase: PASSPHRASE,
    budget: null,
    clock,
    log: pino({ level: 'debug' }, { write: (line: string) => lines.push(line) }),
    ...options,
  });
  t.teardown(() => horizon.close());
  return { horizon, clock, bases, logged: () => lines.join('') };
}

const failure = async (promise: Promise<unknown>): Promise<LedgerUnavailable> => {
  const error = await promise.then(
    () => new Error('it did not fail'),
    (error: unknown) => error,
  );
  if (!(error instanceof LedgerUnavailable)) throw error;
  return error;
};
const host = (base: TestBase): string => new URL(base.url).host;
const read = (horizon: NetworkLedger) => horizon.session({ purpose: 'watching' }).payments(toid(1), 200);

t.test('every verb asks for what it says', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  const [base] = bases as [TestBase];
  const session = horizon.session({ purpose: 'watching' });
  t.equal(session.server, null);
  t.strictSame(await session.tip(), {
    latestLedger: LATEST,
    latestClosedAt: new Date(closedAt(LATEST)),
    oldestLedger: 2,
    passphrase: PASSPHRASE,
    version: null,
    protocol: null,
    isBehind: false,
  });
  t.equal(session.server, host(base));
  const feed = await session.payments(toid(1), 2);
  t.match(feed, { cursor: toid(995), full: true, gone: false });
  t.equal(feed.records.length, 2);
  t.match(await session.accountPayments(SHOP, toid(1), 200), { full: false });
  t.match(await session.ledger(7), { sequence: 7, hash: 'ab'.repeat(32), closedAt: new Date(closedAt(7)) });
  t.equal(await session.ledger(LATEST + 1), null);
  const lacking = payment({}, { ledger: 990, joined: false });
  const hash = lacking.transaction_hash;
  const { outcome } = await session.complete({ raw: lacking, outcome: parseRecord(lacking) }, () => true);
  t.match(outcome, { kind: 'credits' });
  t.strictSame(base.requests, [
    '/',
    `/payments?cursor=${toid(1)}&limit=2&order=asc&join=transactions`,
    `/accounts/${SHOP}/payments?cursor=${toid(1)}&limit=200&order=asc&join=transactions`,
    '/ledgers/7',
    '/ledgers/1001',
    `/transactions/${hash}`,
  ]);
});

t.test('the ledger at or before a time is found over HTTP', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  const time = new Date(Date.parse(closedAt(400)) + 4_999);
  t.match(await horizon.session({ purpose: 'watching' }).ledgerAtOrBefore(time), { sequence: 400 });
  t.ok(bases[0]!.requests.length < 10, `${bases[0]!.requests.length} requests`);
  t.equal(await horizon.session({ purpose: 'watching' }).ledgerAtOrBefore(new Date(closedAt(1))), null);
  t.match(await horizon.session({ purpose: 'watching' }).ledgerAtOrBefore(new Date(closedAt(9_999))), {
    sequence: LATEST,
  });
});

t.test('an account without history has an empty page', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  bases[0]!.misbehave(problem(404, 'not_found'), '/accounts/');
  const empty = { records: [], cursor: null, full: false, gone: false, shownLedger: null, among: null };
  t.strictSame(await horizon.session({ purpose: 'watching' }).accountPayments(SHOP, toid(1), 200), empty);
});

t.test('ledgers that are no longer kept are gone, not empty', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  bases[0]!.misbehave(problem(410, 'before_history'), '/accounts/');
  t.match(await horizon.session({ purpose: 'watching' }).accountPayments(SHOP, toid(1), 200), {
    records: [],
    gone: true,
  });
  bases[0]!.misbehave(problem(410, 'before_history'), '/ledgers/');
  t.equal(await horizon.session({ purpose: 'watching' }).ledger(7), 'gone');
});

t.test('what a record lacks and Horizon does not have stays missing', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  bases[0]!.misbehave(problem(404, 'not_found'), '/transactions/');
  const raw = payment({}, { ledger: 990, joined: false });
  const record = { raw, outcome: parseRecord(raw) };
  const { outcome } = await horizon.session({ purpose: 'watching' }).complete(record, () => true);
  t.match(outcome, { kind: 'incomplete', needs: 'transaction' });
  t.notOk('isTooLarge' in outcome, 'it may come');
  const { length } = bases[0]!.requests;
  t.match(await horizon.session({ purpose: 'watching' }).complete(record, () => false), {
    outcome: { kind: 'incomplete' },
  });
  t.equal(bases[0]!.requests.length, length, 'nothing is fetched for unknown addresses');
});

const whole = JSON.stringify(page(records));
const FAULTS: { fault: string; respond: Respond; reason: RegExp }[] = [
  { fault: '429 without Retry-After', respond: problem(429, 'rate_limit_exceeded'), reason: /status 429$/ },
  { fault: '500', respond: problem(500, 'server_error'), reason: /status 500$/ },
  { fault: '503 of stale history', respond: problem(503, 'stale_history'), reason: /status 503$/ },
  { fault: '503 in plain text', respond: json('Server is busy', 503), reason: /status 503 without JSON$/ },
  { fault: '504 with an empty body', respond: json('', 504), reason: /status 504 without JSON$/ },
  { fault: '502 in HTML', respond: json('<html>Bad Gateway</html>', 502), reason: /status 502/ },
  { fault: '403', respond: problem(403, 'forbidden'), reason: /status 403$/ },
  { fault: '404 on the feed', respond: problem(404, 'not_found'), reason: /invalid page response$/ },
  { fault: '404 in HTML', respond: json('<html>Not Found</html>', 404), reason: /status 404 without JSON$/ },
  { fault: 'HTML with 200', respond: json('<html>Welcome</html>'), reason: /status 200 without JSON$/ },
  { fault: 'an empty body with 200', respond: json(''), reason: /status 200 without JSON$/ },
  { fault: 'null with 200', respond: json('null'), reason: /status 200 without JSON$/ },
  { fault: 'cut JSON', respond: json(whole.slice(0, -20)), reason: /status 200 without JSON$/ },
  { fault: 'another object', respond: json({ hello: 1 }), reason: /invalid page response$/ },
  {
    fault: 'records that are no list',
    respond: json({ _embedded: { records: {} } }),
    reason: /invalid page response$/,
  },
  {
    fault: 'a page from before the cursor',
    respond: json(page([payment({}, { ledger: 1 })])),
    reason: /does not follow its cursor$/,
  },
  { fault: 'a page in reverse', respond: json(page([...records].reverse())), reason: /does not follow its cursor$/ },
  {
    fault: 'a next link that leads back',
    respond: json(page([{ junk: 1 }], '5')),
    reason: /does not follow its cursor$/,
  },
  { fault: 'a redirect', respond: json('', 302, { location: '/elsewhere' }), reason: /status 302/ },
  { fault: 'a reset', respond: (response) => response.socket?.resetAndDestroy(), reason: /connection failed/ },
  {
    fault: 'a connection that ends within the body',
    respond: (response) => {
      response.writeHead(200, { 'content-length': `${whole.length}` });
      response.write(whole.slice(0, 100), () => response.socket?.destroy());
    },
    reason: /connection failed/,
  },
  {
    fault: 'a body without end',
    respond: (response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(1 << 20, 32);
      const more = () => {
        while (response.write(chunk) && !response.destroyed);
        if (!response.destroyed) response.once('drain', more);
      };
      more();
    },
    reason: /an answer of more than 33554432 bytes$/,
  },
];

for (const { fault, respond, reason } of FAULTS) {
  t.test(`${fault}: named, passed over while another base answers, and forgotten when it is over`, async (t) => {
    const { horizon, clock, bases } = await setUp(t, 2);
    const [first, second] = bases as [TestBase, TestBase];
    await read(horizon);
    t.equal(second.requests.length, 0, 'the first of the list is asked first');

    first.misbehave(respond, '/payments');
    const session = horizon.session({ purpose: 'watching' });
    t.match(await session.payments(toid(1), 200), { cursor: toid(995) }, 'the next one answers the same question');
    t.equal(session.server, host(second));
    const asked = first.requests.length;
    await read(horizon);
    t.equal(first.requests.length, asked, 'while it rests it is not asked');

    second.misbehave(respond, '/payments');
    const error = await failure(read(horizon));
    t.match(error.reason, reason);
    t.ok(error.retryAfterMs <= 5_000, 'and it is worth asking again soon');

    first.misbehave(null);
    second.misbehave(null);
    clock.advance(5_000);
    const recovered = horizon.session({ purpose: 'watching' });
    t.match(await recovered.payments(toid(1), 200), { cursor: toid(995) });
    t.equal(recovered.server, host(first), 'back to the first one');
  });
}

t.test('a root that cannot be true is a fault, and an old one without a close time asks for its ledger', async (t) => {
  const { horizon, clock, bases } = await setUp(t, 1);
  const [base] = bases as [TestBase];
  for (const [fields, reason] of [
    [{ history_elder_ledger: LATEST + 1 }, /its oldest ledger is newer than its newest$/],
    [{ history_latest_ledger: 0 }, /invalid root response$/],
    [{ history_latest_ledger: `${LATEST}` }, /invalid root response$/],
    [{ network_passphrase: undefined }, /invalid root response$/],
  ] as const) {
    base.misbehave((response, request) =>
      (request.url === '/' ? json(root(fields)) : problem(500, 'x'))(response, request),
    );
    t.match((await failure(horizon.session({ purpose: 'watching' }).tip())).reason, reason);
    clock.advance(5_000);
  }
  base.misbehave((response, request) =>
    (request.url === '/' ? json(root({ history_latest_ledger_closed_at: undefined })) : behave(request.url!))(
      response,
      request,
    ),
  );
  t.strictSame((await horizon.session({ purpose: 'watching' }).tip()).latestClosedAt, new Date(closedAt(LATEST)));
});

t.test('a base that hangs is given up in time, before its headers or within its body', async (t) => {
  for (const [name, hang] of [
    ['no answer', () => undefined],
    ['half a body', (response: ServerResponse) => void response.writeHead(200).write('{"_embedded":')],
  ] as const) {
    const { horizon, clock, bases } = await setUp(t, 2, { timeoutMs: 4_000 });
    const [first, second] = bases as [TestBase, TestBase];
    await read(horizon);
    const asked = first.requests.length;
    first.misbehave(hang, '/payments');
    const answer = read(horizon);
    await first.until(asked + 1);
    clock.advance(3_999);
    t.equal(second.requests.length, 0);
    clock.advance(1);
    t.match(await answer, { cursor: toid(995) }, `${name}: the next one answers`);
    t.equal(clock.sleepers, 0, 'no timer is left behind');

    clock.advance(60_000);
    first.misbehave(hang);
    const probed = read(horizon);
    await first.until(asked + 2);
    clock.advance(3_000);
    t.match(await probed, { cursor: toid(995) }, `${name}: a base that failed before is waited for less long`);
  }
});

t.test('a base that asks to be left alone is left alone until then, whatever others do', async (t) => {
  for (const [header, name] of [
    ['120', 'seconds'],
    [new Date(manualClock().nowMs() + 120_000).toUTCString(), 'a date'],
  ] as const) {
    const { horizon, clock, bases } = await setUp(t, 1);
    const [base] = bases as [TestBase];
    base.misbehave(problem(429, 'rate_limit_exceeded', { 'retry-after': header }));
    t.equal((await failure(read(horizon))).retryAfterMs, 120_000, name);
    const asked = base.requests.length;
    base.misbehave(null);
    clock.advance(119_999);
    t.equal((await failure(read(horizon))).retryAfterMs, 1);
    t.equal(base.requests.length, asked, 'not one request');
    clock.advance(1);
    t.match(await read(horizon), { cursor: toid(995) });
  }
});

t.test('a session that is told to wait does not ask on', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  const [base] = bases as [TestBase];
  const session = horizon.session({ purpose: 'watching' });
  await session.tip();
  base.misbehave(problem(429, 'rate_limit_exceeded', { 'retry-after': '9' }));
  await failure(session.payments(toid(1), 200));
  const asked = base.requests.length;
  await failure(session.ledger(5));
  t.equal(base.requests.length, asked);
});

t.test('an answer that was on its way does not end the rest that another one asked for', async (t) => {
  const { horizon, clock, bases } = await setUp(t, 1);
  const [base] = bases as [TestBase];
  await read(horizon);
  base.misbehave(problem(503, 'stale_history'));
  await failure(read(horizon));
  clock.advance(5_000);
  base.misbehave(null);
  let release = () => {};
  const session = horizon.session({ purpose: 'watching' });
  await session.tip();
  base.misbehave((response, request) => {
    if (request.url?.startsWith('/ledgers'))
      problem(429, 'rate_limit_exceeded', { 'retry-after': '30' })(response, request);
    else release = () => behave(request.url!.split('?')[0]!)(response, request);
  });
  const asked = base.requests.length;
  const slow = session.payments(toid(1), 200);
  await base.until(asked + 1);
  t.equal((await failure(session.ledger(5))).retryAfterMs, 30_000);
  release();
  t.match(await slow, { cursor: toid(995) });
  t.equal((await failure(read(horizon))).retryAfterMs, 30_000, 'it is left alone all the same');
});

t.test('questions that fail side by side are one fault', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  const session = horizon.session({ purpose: 'watching' });
  await session.tip();
  bases[0]!.misbehave(problem(503, 'stale_history'));
  await Promise.all(Array.from({ length: 8 }, (_, i) => failure(session.ledger(i + 5))));
  t.equal((await failure(read(horizon))).retryAfterMs, 1_000);
});

t.test('only a 429 may ask for a long rest: a proxy that guesses must not prolong an outage', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  bases[0]!.misbehave(problem(503, 'service_unavailable', { 'retry-after': '3600' }));
  t.equal((await failure(read(horizon))).retryAfterMs, 60_000);
});

t.test('a page and its root come from one base, though the list recovers in between', async (t) => {
  const { horizon, clock, bases } = await setUp(t, 2);
  const [first, second] = bases as [TestBase, TestBase];
  first.misbehave(problem(503, 'stale_history'));
  const session = horizon.session({ purpose: 'watching' });
  await session.tip();
  first.misbehave(null);
  clock.advance(60_000);
  await session.payments(toid(1), 200);
  t.equal(session.server, host(second));
  t.equal(first.requests.length, 1);
  second.misbehave(problem(503, 'stale_history'));
  const error = await failure(session.ledger(5));
  t.match(error.reason, /status 503/);
  t.equal(error.retryAfterMs, 0, 'another base is free');
  t.equal(first.requests.length, 1, 'the session stays with its base');
});

t.test('first questions that are asked side by side go to one base', async (t) => {
  const { horizon, bases } = await setUp(t, 2);
  bases[0]!.misbehave(problem(503, 'stale_history'));
  const session = horizon.session({ purpose: 'watching' });
  await Promise.all([session.tip(), session.payments(toid(1), 200), session.ledger(5), session.ledger(6)]);
  t.equal(session.server, host(bases[1]!));
  t.equal(bases[0]!.requests.length, 1);
});

t.test('a base whose root answers while its pages do not is not taken for recovered', async (t) => {
  const { horizon, clock, bases } = await setUp(t, 2);
  const [first, second] = bases as [TestBase, TestBase];
  first.misbehave(problem(503, 'stale_history'), '/payments');
  const rests: number[] = [];
  for (let i = 0; i < 4; i++) {
    await read(horizon);
    const asked = first.requests.length;
    let rested = 0;
    while (first.requests.length === asked && rested < 20_000) {
      clock.advance(500);
      rested += 500;
      const session = horizon.session({ purpose: 'watching' });
      await session.tip();
      await session.payments(toid(1), 200).catch(() => undefined);
    }
    rests.push(rested);
  }
  t.ok(second.requests.length > 0);
  t.ok(rests.at(-1)! >= 4_000, `it is left alone longer each time: ${rests}`);
});

t.test('a request that Horizon calls bad counts as our fault', async (t) => {
  const { horizon, bases } = await setUp(t, 2);
  bases[0]!.misbehave(problem(400, 'bad_request'), '/accounts/');
  const error = await failure(horizon.session({ purpose: 'watching' }).accountPayments(SHOP, toid(1), 200));
  t.match(error.reason, /refused the request/);
  t.equal(bases[1]!.requests.length, 0, 'it would not be better elsewhere');
  const session = horizon.session({ purpose: 'watching' });
  await session.tip();
  t.equal(session.server, host(bases[0]!), 'and the base is as good as before');
});

t.test('another network is refused at the start, with a clear line', async (t) => {
  const { horizon, bases } = await setUp(t, 2);
  bases[1]!.misbehave(json(root({ network_passphrase: 'Test SDF Network ; September 2015' })));
  const error = await horizon.checkNetwork().catch((error) => error);
  t.ok(error instanceof WrongNetwork);
  t.equal(
    error.message,
    `${host(bases[1]!)} serves the network "Test SDF Network ; September 2015", not "${PASSPHRASE}"`,
  );
});

t.test('a base that does not answer at the start is no wrong network', async (t) => {
  const { horizon, bases } = await setUp(t, 2);
  bases[0]!.misbehave((response) => response.socket?.resetAndDestroy());
  await horizon.checkNetwork();
});

t.test('no page of another network is ever read', async (t) => {
  const { horizon, clock, bases } = await setUp(t, 2);
  const [first, second] = bases as [TestBase, TestBase];
  const wrong = json(root({ network_passphrase: 'Test SDF Network ; September 2015' }));
  first.misbehave((response, request) => (request.url === '/' ? wrong : behave('/payments'))(response, request));
  await read(horizon);
  t.strictSame(first.requests, ['/'], 'only its root was asked for');
  t.equal(second.requests.length, 2);

  first.misbehave(null);
  clock.advance(60_000);
  await read(horizon);
  const asked = first.requests.length;
  t.ok(asked > 1, 'it is looked at again later');

  first.misbehave(problem(503, 'stale_history'));
  await read(horizon);
  first.misbehave(wrong);
  clock.advance(60_000);
  await read(horizon);
  t.match(first.requests.at(-1), /^\/$/, 'after a fault the network is checked again');

  second.misbehave(wrong, '/');
  const session = horizon.session({ purpose: 'watching' });
  const errors = [];
  for (let i = 0; i < 3; i++) {
    errors.push(await session.tip().catch((error) => error.name));
    clock.advance(60_000);
  }
  t.ok(errors.includes('WrongNetwork'), 'when no other is left, that is said');
});

t.test('keys in a URL reach its host and no other', async (t) => {
  const bases = [await startBase(t), await startBase(t)];
  const secretive = bases.map(
    ({ url }) => `${url.replace('//', '//us%40er:pass%3Aword@')}/v1/topsecret?apikey=alsosecret#x`,
  );
  const behaved: Respond = (response, request) =>
    behave((request.url ?? '').split('?')[0]!.replace('/v1/topsecret', '') || '/')(response, request);
  for (const base of bases) base.misbehave(behaved);
  const { horizon, logged } = await setUp(t, 0, { horizonUrls: secretive });
  await read(horizon);
  t.equal(bases[0]!.requests[0], '/v1/topsecret/?apikey=alsosecret');
  t.match(bases[0]!.requests[1], /^\/v1\/topsecret\/payments\?apikey=alsosecret&cursor=/);
  t.equal(bases[0]!.headers[0]!.authorization, `Basic ${Buffer.from('us@er:pass:word').toString('base64')}`);
  for (const respond of [
    problem(503, 'x'),
    json('<html>'),
    (response: ServerResponse) => response.socket?.resetAndDestroy(),
  ]) {
    for (const base of bases) base.misbehave(respond as Respond);
    const error = await failure(read(horizon));
    t.notMatch(`${error.message} ${error.stack} ${error.reason} ${logged()}`, /secret|pass|us@er|us%40er/);
  }
  t.match(logged(), /a source does not answer/);
});

t.test('an outage is logged once, and its end', async (t) => {
  const { horizon, clock, bases, logged } = await setUp(t, 1);
  const count = (pattern: RegExp) =>
    logged()
      .split('\n')
      .filter((line) => pattern.test(line)).length;
  bases[0]!.misbehave(problem(503, 'stale_history'));
  for (let i = 0; i < 5; i++) {
    await failure(read(horizon));
    clock.advance(5_000);
  }
  bases[0]!.misbehave(null);
  await read(horizon);
  t.equal(count(/"level":40.*does not answer/), 1);
  t.equal(count(/"level":30.*answers again/), 1);
});

t.test('a server that does not listen is unavailable', async (t) => {
  const { horizon } = await setUp(t, 0, { horizonUrls: [`http://127.0.0.1:${await freePort()}`] });
  t.match((await failure(read(horizon))).reason, /^127\.0\.0\.1:\d+: connection failed \(ECONNREFUSED\)$/);
});

t.test('no request goes out that the budget does not grant', async (t) => {
  const waits = [0, 0, 700, 0, 60_000];
  const budget = budgetOf({ take: async () => waits.shift() ?? 0 });
  const { horizon, clock, bases } = await setUp(t, 1, { budget });
  const [base] = bases as [TestBase];
  await read(horizon);
  t.equal(base.requests.length, 2, 'the check of the network is paid for too');
  const waiting = read(horizon);
  while (clock.sleepers === 0) await new Promise(setImmediate);
  t.equal(base.requests.length, 2, 'it waits');
  clock.advance(700);
  t.match(await waiting, { cursor: toid(995) });
  const error = await failure(read(horizon));
  t.match(error, { reason: 'the request budget is used up', retryAfterMs: 60_000 }, 'a long wait is the caller’s');
  t.equal(base.requests.length, 3);
});

t.test('closing ends what is in flight, and nothing is asked afterwards', async (t) => {
  const { horizon, bases } = await setUp(t, 2);
  bases[0]!.misbehave(() => undefined);
  const waiting = failure(read(horizon));
  await bases[0]!.until(1);
  await horizon.close();
  t.equal((await waiting).reason, 'closed');
  t.equal((await failure(read(horizon))).reason, 'closed');
  t.equal(bases[1]!.requests.length, 0);
});

t.test(
  'a page that is too large or too slow is asked for with half as many records, down to one, and back up',
  async (t) => {
    const HEAVY = 24;
    for (const [name, refuse] of [
      ['too large', (response: ServerResponse) => void response.writeHead(200).end(Buffer.alloc(33 << 20, 32))],
      ['504', (response: ServerResponse) => problem(504, 'timeout')(response, undefined as never)],
    ] as const) {
      const { horizon, bases } = await setUp(t, 1);
      const limits: number[] = [];
      let heavy = true;
      bases[0]!.misbehave((response, request) => {
        const limit = Number(new URL(request.url!, 'http://x').searchParams.get('limit'));
        limits.push(limit);
        if (heavy && limit > HEAVY) refuse(response);
        else behave('/payments')(response, request);
      }, '/payments');
      const session = horizon.session({ purpose: 'watching' });
      await session.tip();
      t.match(await session.payments(toid(1), 200), { cursor: toid(995) });
      t.same(limits.splice(0), [200, 100, 50, 25, 12], name);
      heavy = false;
      for (let page = 0; page < 6; page++) await session.payments(toid(1), 200);
      t.same(limits.splice(0), [24, 48, 96, 192, 200, 200], `${name}: back up`);
      heavy = true;
      for (let page = 0; page < 20; page++) await session.payments(toid(1), 200);
      const refused = limits.filter((limit) => limit > HEAVY).length;
      t.equal(refused, 8, `${name}: most heavy pages are not first asked for as larger ones`);
      await horizon.close();
    }
  },
);

t.test('one record that is too large comes without its transaction, and is never in the way of the next', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  bases[0]!.misbehave((response, request) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x');
    const isTooLarge = searchParams.has('join') || pathname.startsWith('/transactions');
    if (isTooLarge) response.writeHead(200).end(Buffer.alloc(33 << 20, 32));
    else if (pathname === '/payments') json(page([payment({}, { ledger: 990, joined: false })]))(response, request);
    else behave(pathname)(response, request);
  });
  const session = horizon.session({ purpose: 'watching' });
  const { records, full } = await session.payments(toid(1), 4);
  t.ok(full, 'one record was asked for, and more may follow');
  t.match(await session.complete(records[0]!, () => true), { outcome: { kind: 'incomplete', isTooLarge: true } });
});

t.test('one stream that always fails leaves the server to the others', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  bases[0]!.misbehave(problem(504, 'timeout'), '/accounts/');
  const session = horizon.session({ purpose: 'watching' });
  await session.tip();
  await failure(session.accountPayments(SHOP, toid(1), 200));
  t.match(await session.payments(toid(1), 200), { cursor: toid(995) });
});

t.test('the first of the list is asked again within a minute, whatever it asked for', async (t) => {
  const { horizon, clock, bases } = await setUp(t, 2);
  bases[0]!.misbehave(problem(429, 'rate_limit_exceeded', { 'retry-after': '3600' }));
  const session = horizon.session({ purpose: 'watching' });
  await session.payments(toid(1), 200);
  t.equal(session.server, host(bases[1]!));
  bases[0]!.misbehave(null);
  t.notOk(session.isStale());
  clock.advance(60_001);
  t.ok(session.isStale(), 'a long catching up ends, so that the next session begins with the first');
  const next = horizon.session({ purpose: 'watching' });
  await next.payments(toid(1), 200);
  t.equal(next.server, host(bases[0]!));
});

t.test('an answer shows its server to be as far as its last record or its headers say', async (t) => {
  const { horizon, bases } = await setUp(t, 1);
  const shown = async (respond: Respond) => {
    bases[0]!.misbehave(respond, '/accounts/');
    return (await horizon.session({ purpose: 'watching' }).accountPayments(SHOP, toid(1), 200)).shownLedger;
  };
  t.equal(await shown(json(page([]))), null, 'an empty page nothing');
  t.equal(await shown(json(page(records))), 995, 'a page the ledger of its last record');
  t.equal(await shown(json(page([]), 200, { 'latest-ledger': '998' })), 998, 'the header its ledger');

  const quiet = async (respond: Respond) => {
    bases[0]!.misbehave(respond, '/accounts/');
    return horizon.session({ purpose: 'watching' }).quietCheck(SHOP, toid(995));
  };
  const now = (ledger: number, found: unknown[]) =>
    json({
      ...page(found as never),
      _links: { self: { href: `/x?cursor=${(BigInt(ledger) << 32n) | 0xffff_ffffn}` } },
    });
  t.same(
    await quiet(now(900, [records[1]])),
    { isQuiet: true, shownLedger: 895 },
    'a few ledgers less than its link says',
  );
  t.match(await quiet(now(1000, [payment({}, { ledger: 999 })])), { isQuiet: false });
  t.same(await quiet(problem(404, 'not_found')), { isQuiet: true, shownLedger: null }, 'an account without history');
  t.match(bases[0]!.requests.at(-1), `/accounts/${SHOP}/payments?cursor=now&limit=1&order=desc`);
});

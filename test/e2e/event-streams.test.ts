/** Reading events instead of being called: pulls that wait and streams, from whichever process,
 *  without a hole and without a double. */
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createTRPCClient, httpSubscriptionLink, type TRPCClientError } from '@trpc/client';
import { EventSource } from 'eventsource';
import t from 'tap';
import { webhookPayloadSchema } from '../../contracts/events.js';
import { createEventStreams } from '../../src/api/event-stream.js';
import { type AppRouter, createClient, followEvents, type WebhookPayload } from '../../src/index.js';
import { cuttableWay } from '../helpers/cut.js';
import { createHappenings, openSse } from '../helpers/happenings.js';
import { manualClock } from '../helpers/manual-clock.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';

const database = await testDatabase(t);
// The worker, which numbers the events, is another process than the two that are asked for them.
const service = await startTestService(t, { database, role: 'worker', env: { MAX_STREAMS_PER_ACCOUNT: '6' } });
const [api, otherApi] = [await service.join('api'), await service.join('api')];
const { happen } = await createHappenings(t, database.uri);

const pathOf = (query: string, origin = api.url) => `${origin}/api/v1/events${query}`;
async function pull(query: string, apiKey: string, origin = api.url, signal?: AbortSignal) {
  const response = await fetch(pathOf(query, origin), { headers: { authorization: `Bearer ${apiKey}` }, signal });
  const { data, error, meta } = (await response.json()) as any;
  return { status: response.status, data, error, meta, sequences: data?.map(({ sequence }: any) => sequence) };
}
/** As many as are waited for are followed in the process. */
const six = ['payment.received', 'payment.completed', 'payment.received', 'payment.completed'] as const;

t.test('a pull answers what comes after a number, oldest first', async (t) => {
  const { accountId, apiKey } = await service.openAccount();
  t.match(await pull('?after=0', apiKey), { status: 200, sequences: [], meta: { after: 0, hasMore: false } });
  await happen(accountId, ...six);
  const all = await eventually(async () => {
    const answer = await pull('?after=0', apiKey);
    return answer.data.length === 4 && answer;
  }, 'four events');
  t.same(all.sequences, [1, 2, 3, 4]);
  t.same(all.meta, { after: 4, hasMore: false });
  t.match(await pull('?after=1&pageSize=2', apiKey), { sequences: [2, 3], meta: { after: 3, hasMore: true } });
  t.match(await pull('?after=3&pageSize=2', apiKey), { sequences: [4], meta: { after: 4, hasMore: false } });
  t.match(await pull('?after=99', apiKey), { sequences: [], meta: { after: 99, hasMore: false } });
  const type = all.data[1].type;
  t.ok((await pull(`?after=0&type=${type}`, apiKey)).data.every((event: any) => event.type === type));
  t.same((await pull(`?after=0&paymentId=${all.data[2].data.payment.id}`, apiKey)).sequences, [3]);
  const { items, meta } = await createClient({ url: api.url, apiKey }).events.list.query({ after: 2, wait: 5 });
  t.same([items.map(({ sequence }) => sequence), meta], [[3, 4], { after: 4, hasMore: false }]);
});

t.test('a pull of very large events answers some of them, and says that there are more', async (t) => {
  const { accountId, apiKey } = await service.openAccount();
  await happen(accountId, ...six);
  await eventually(async () => (await pull('?after=0', apiKey)).data.length === 4, 'four events');
  const blanks = ' '.repeat(3 * 2 ** 20);
  await database.db
    .collection('events')
    .updateMany({ accountId }, [{ $set: { data: { $concat: ['$data', blanks] } } }]);
  t.match(await pull('?after=0', apiKey), { sequences: [1, 2], meta: { after: 2, hasMore: true } });
  t.match(await pull('?after=2', apiKey), { sequences: [3, 4], meta: { after: 4, hasMore: false } });
});

t.test('what does not go together with a number is refused, and named', async (t) => {
  const { apiKey } = await service.openAccount();
  for (const query of [
    'after=',
    'after=-1',
    'after=1.5',
    'after=x',
    'after=9007199254740993',
    'after=1&after=2',
    'after=0&page=1',
    'after=0&order=asc',
    'after=0&createdFrom=2026-01-01',
    'after=0&pageSize=101',
    'wait=1',
    'wait=0',
    'after=0&wait=1.5',
    'after=0&wait=31',
    'after=0&wait=-1',
    'after=0&wait=',
  ]) {
    const { status, error } = await pull(`?${query}`, apiKey);
    t.same([status, error?.code], [400, 'bad_request'], query);
    const [fault] = /page(?!Size)|order|createdFrom|pageSize|wait/.exec(query) ?? ['after'];
    t.match(error.message, fault, `${query}: ${error.message}`);
  }
  const collect = createClient({ url: api.url, apiKey });
  for (const input of [{ wait: 1 }, { after: 0, wait: 1.5 }, { after: 0, page: 1 }]) {
    const refused = await collect.events.list.query(input).catch((error: unknown) => error);
    t.match(refused, { data: { error: { code: 'bad_request' } } });
  }
});

t.test(
  'a pull that waits is answered as soon as another process numbers what fits, and otherwise in time',
  async (t) => {
    const { accountId, apiKey } = await service.openAccount();
    const startedMs = Date.now();
    const waiting = [
      pull('?after=0&wait=20', apiKey),
      pull('?after=0&wait=20&type=payment.completed', apiKey, otherApi.url),
      pull('?after=1&wait=20', apiKey),
    ];
    const late = pull('?after=7&wait=1', apiKey);
    t.match(await late, { status: 200, sequences: [], meta: { after: 7, hasMore: false } });
    t.ok(Date.now() - startedMs >= 990, 'not before its time is over');
    await happen(accountId, 'payment.received');
    t.same((await waiting[0]!).sequences, [1]);
    await happen(accountId, 'payment.completed');
    const happenedMs = Date.now();
    t.same((await waiting[1]!).sequences, [2]);
    t.same((await waiting[2]!).sequences, [2]);
    t.ok(Date.now() - happenedMs < 5000, 'soon');
  },
);

t.test('a waiter is counted until it hangs up', async (t) => {
  const { apiKey } = await service.openAccount();
  const hungUp = new AbortController();
  const six = Array.from({ length: 6 }, () =>
    pull('?after=0&wait=30', apiKey, api.url, hungUp.signal).catch(() => null),
  );
  const isFull = async () => (await pull('?after=0&wait=1', apiKey)).status === 429;
  await eventually(isFull, 'a seventh is refused');
  const refused = await fetch(pathOf('/stream'), { headers: { authorization: `Bearer ${apiKey}` } });
  t.equal(refused.status, 429);
  t.ok(Number(refused.headers.get('retry-after')) > 0);
  t.equal(((await refused.json()) as any).error.code, 'rate_limited');
  const { apiKey: other } = await service.openAccount();
  t.equal((await pull('?after=0&wait=1', other)).status, 200, 'no waiter of another account is refused');
  hungUp.abort();
  await Promise.all(six);
  await eventually(async () => !(await isFull()), 'room again', 3000);
});

t.test('a stream tells each event once, in order, and goes on where it was', async (t) => {
  const { accountId, apiKey } = await service.openAccount();
  await happen(accountId, 'payment.received', 'payment.completed');
  await eventually(async () => (await pull('?after=0', apiKey)).data.length === 2, 'two events');
  const fromNow = await openSse(pathOf('/stream'), apiKey);
  const fromStart = await openSse(pathOf('/stream?after=0', otherApi.url), apiKey);
  t.equal(fromNow.status, 200);
  t.equal(fromNow.headers.get('content-type'), 'text/event-stream');
  t.ok(fromNow.headers.get('x-request-id'));
  await fromStart.until(2);
  await happen(accountId, 'payment.received', 'payment.completed');
  await Promise.all([fromNow.until(2), fromStart.until(4)]);
  t.same(
    fromNow.events().map(({ id }) => id),
    [3, 4],
    'without a number it begins now',
  );
  t.same(
    fromStart.events().map(({ id }) => id),
    [1, 2, 3, 4],
  );
  for (const { id, event, data } of fromStart.events()) {
    t.same([data.sequence, data.type], [id, event]);
    t.ok(webhookPayloadSchema.safeParse(data).success, 'the body that webhooks get');
  }
  for (const [query, headers] of [
    ['?after=2', {}],
    ['?after=0', { 'last-event-id': '2' }],
    ['?lastEventId=2', {}],
    ['?after=2', { 'last-event-id': '' }],
  ] as const) {
    const again = await openSse(pathOf(`/stream${query}`), apiKey, headers);
    await again.until(2);
    t.same(
      again.events().map(({ id }) => id),
      [3, 4],
      query,
    );
    again.hangUp();
  }
  fromNow.hangUp();
  fromStart.hangUp();
  for (const [query, headers] of [
    ['?after=x', {}],
    ['?after=', {}],
    ['?after=0', { 'last-event-id': 'x' }],
  ] as const)
    t.equal((await openSse(pathOf(`/stream${query}`), apiKey, headers)).status, 400, query);
  t.equal((await openSse(pathOf('/stream'), 'sk_wrong')).status, 401);
  // More than an account may have open at once.
  for (let n = 0; n < 8; n++) {
    const head = await fetch(pathOf('/stream'), { method: 'HEAD', headers: { authorization: `Bearer ${apiKey}` } });
    t.same([head.status, head.headers.get('content-type')], [200, 'text/event-stream']);
  }
});

t.test('what goes on ends within 5 s of its key, and with its process', async (t) => {
  const { apiKey, accountId } = await service.openAccount();
  const as = createClient({ url: api.url, apiKey });
  const make = (name: string) => as.apiKeys.create.mutate({ name });
  const [revoked, rotated] = [await make('revoked'), await make('rotated')];
  const streams = await Promise.all([revoked, rotated].map(({ key }) => openSse(pathOf('/stream'), key)));
  const waiting = pull('?after=0&wait=30', revoked.key);
  const kept = await openSse(pathOf('/stream', otherApi.url), apiKey);
  const failed = new Promise<TRPCClientError<AppRouter>>((resolve) => {
    createClient({ url: api.url, apiKey: rotated.key }).events.stream.subscribe({}, { onError: resolve });
  });
  // Both streams are open for sure.
  await happen(accountId, 'payment.received');
  await Promise.all(streams.map((stream) => stream.until(1)));
  t.same((await waiting).sequences, [1]);
  const waitingOn = pull('?after=1&wait=30', revoked.key);
  await as.apiKeys.delete.mutate({ id: revoked.id });
  await as.apiKeys.rotate.mutate({ id: rotated.id });
  const endedMs = Date.now();
  await Promise.all(streams.map(({ ended }) => ended));
  t.same([(await waitingOn).status, (await waitingOn).error.code], [401, 'unauthorized']);
  t.match((await failed).data?.error, { code: 'unauthorized' });
  t.ok(Date.now() - endedMs < 5000, `${Date.now() - endedMs} ms`);
  await happen(accountId, 'payment.completed');
  await kept.until(2);
  kept.hangUp();
});

t.test('the typed client, and a plain tRPC client, follow the same events and reconnect after a break', async (t) => {
  const { accountId, apiKey } = await service.openAccount();
  const { url, cut } = await cuttableWay(t, api.url);
  const seen: { id: string; data: WebhookPayload }[] = [];
  const typed = createClient({ url, apiKey }).events.stream.subscribe(
    { after: 0 },
    { onData: (each) => seen.push(each) },
  );
  const plainSeen: string[] = [];
  const plain = createTRPCClient<AppRouter>({
    links: [
      httpSubscriptionLink({
        url: `${url}/trpc`,
        EventSource,
        eventSourceOptions: {
          fetch: (input, init) =>
            fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${apiKey}` } }),
        },
      }),
    ],
  }).events.stream.subscribe({ after: 0 }, { onData: ({ id }) => plainSeen.push(id) });
  await happen(accountId, 'payment.received', 'payment.completed');
  await eventually(async () => seen.length === 2 && plainSeen.length === 2, 'two events');
  cut();
  await happen(accountId, 'payment.received');
  await eventually(async () => seen.length === 3 && plainSeen.length === 3, 'the third after the break', 20_000);
  await happen(accountId, 'payment.completed');
  await eventually(async () => seen.length === 4 && plainSeen.length === 4, 'the fourth', 20_000);
  t.same(plainSeen, ['1', '2', '3', '4']);
  t.same(
    seen.map(({ id, data }) => [id, data.sequence, data.type.startsWith('payment.')]),
    [1, 2, 3, 4].map((n) => [String(n), n, true]),
  );
  typed.unsubscribe();
  plain.unsubscribe();
});

t.test(
  'while the typed client reconnects a proxy says 502 and the service 429 → it goes on where it was',
  async (t) => {
    const { accountId, apiKey } = await service.openAccount();
    const [seen, errors]: [string[], string[]] = [[], []];
    const refusals = [502, 429];
    let cut = () => {};
    const proxy = createServer((req, res) => {
      const status = seen.length > 0 ? refusals.shift() : undefined;
      if (status !== undefined) return void res.writeHead(status).end('Not now.');
      const to = request(`${api.url}${req.url}`, { headers: req.headers }, (answer) => {
        cut = () => res.destroy();
        answer.on('error', cut);
        // Soon, so that the test need not wait.
        res.writeHead(answer.statusCode!, answer.headers).write('retry: 50\n\n');
        answer.pipe(res).on('close', () => to.destroy());
      });
      to.on('error', () => res.destroy()).end();
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    t.teardown(() => proxy.close().closeAllConnections());
    const { port } = proxy.address() as AddressInfo;
    const subscription = createClient({ url: `http://127.0.0.1:${port}`, apiKey }).events.stream.subscribe(
      { after: 0 },
      { onData: ({ id }) => void seen.push(id), onError: ({ message }) => void errors.push(message) },
    );
    t.teardown(() => subscription.unsubscribe());
    await happen(accountId, 'payment.received');
    await eventually(async () => seen.length === 1, 'the first event');
    cut();
    await happen(accountId, 'payment.completed');
    await eventually(async () => seen.length === 2 || errors.length > 0, 'the second one', 20_000);
    t.same([seen, errors, refusals], [['1', '2'], [], []]);
  },
);

t.test("the client's iteration goes on after breaks without a hole or a double, until it is ended", async (t) => {
  const { accountId, apiKey } = await service.openAccount();
  const way = await cuttableWay(t, api.url);
  const ended = new AbortController();
  const seen: number[] = [];
  const follow = async () => {
    const events = followEvents({ url: way.url, apiKey, after: 0, signal: ended.signal });
    for await (const { sequence } of events) seen.push(sequence);
  };
  const following = follow();
  for (let n = 1; n <= 4; n++) {
    await happen(accountId, 'payment.received');
    await eventually(async () => seen.at(-1) === n, `event ${n}`, 20_000);
    way.cut();
  }
  ended.abort();
  await following;
  t.same(seen, [1, 2, 3, 4]);

  const fromNow = followEvents({ url: way.url, apiKey });
  const first = fromNow.next();
  let isTold = false;
  void first.then(() => {
    isTold = true;
  });
  await eventually(async () => {
    if (!isTold) await happen(accountId, 'payment.received');
    return isTold;
  }, 'an event of after the beginning');
  way.cut();
  await happen(accountId, 'payment.received');
  const { sequence } = (await first).value!;
  t.ok(sequence > 4);
  t.equal((await fromNow.next()).value?.sequence, sequence + 1, 'nothing is missed in a break');
  await fromNow.return();
});

t.test('a stream is never silent for 30 s, and drops a reader that takes nothing', async (t) => {
  const clock = manualClock();
  const streams = createEventStreams(clock);
  const big = 'x'.repeat(4 * 2 ** 20);
  const pace = async (blocks: () => number, expected: number) => {
    for (let second = 0; second < 200 && blocks() < expected; second++) {
      clock.advance(1000);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return blocks();
  };
  let closed = false;
  const server = createServer(async (req, res) => {
    res.on('close', () => {
      closed = true;
    });
    const idle = async function* () {
      if (req.url === '/big') for (let id = 1; ; id++) yield { id: String(id), type: 'big', data: big };
      await new Promise((resolve) => res.on('close', resolve));
    };
    await streams.send(req, res, idle());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  const idle = await openSse(`http://127.0.0.1:${port}/idle`, '');
  const startMs = clock.nowMs();
  t.equal(await pace(() => idle.blocks.length, 4), 4);
  t.match(idle.blocks.slice(1), [':', ':', ':']);
  t.ok((clock.nowMs() - startMs) / 3 < 30_000);
  idle.hangUp();
  await eventually(async () => closed, 'the end of the idle one');
  closed = false;
  const stuck = connect(port, '127.0.0.1');
  stuck.write('GET /big HTTP/1.1\r\nHost: x\r\n\r\n');
  await new Promise((resolve) => stuck.once('readable', resolve));
  t.equal(await pace(() => Number(closed), 1), 1, 'dropped');
  stuck.destroy();
  await eventually(async () => streams.count() === 0, 'no stream left');
});

// Last: it ends a process of the others.
t.test('a process that stops ends its streams and waits at once, and readers go on elsewhere', async (t) => {
  const { accountId, apiKey } = await service.openAccount();
  const [stream, waiting] = [await openSse(pathOf('/stream'), apiKey), pull('?after=0&wait=30', apiKey)];
  const startedMs = Date.now();
  await Promise.all([api.close(5000), stream.ended]);
  t.match(await waiting, { status: 200, sequences: [] });
  t.ok(Date.now() - startedMs < 4000, `${Date.now() - startedMs} ms`);
  await happen(accountId, 'payment.received');
  const next = await openSse(pathOf('/stream?after=0', otherApi.url), apiKey);
  await next.until(1);
  next.hangUp();
});

import { once } from 'node:events';
import { Agent, type IncomingMessage, request } from 'node:http';
import { mongo } from 'mongoose';
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { type Clock, systemClock } from '../../src/kit/clock.js';
import { createStatusFeed } from '../../src/page/status-feed.js';
import type { PagePayment } from '../../src/page/types.js';
import { createPaymentChanges } from '../../src/payments/payment-changes.js';
import type { PaymentDoc } from '../../src/payments/payment-document.js';
import { pageLink, servePages } from '../helpers/browser.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';

const LINK_A = { accountId: 'acc_a', linkId: 'link_a' };

const toPagePayment = ({ _id, status, createdAt }: PaymentDoc): PagePayment | null =>
  status === 'UNMATCHED'
    ? null
    : {
        id: _id,
        status,
        reason: null,
        amount: '25',
        assetCode: 'XLM',
        assetIssuer: null,
        expectedAmount: '25',
        excessAmount: null,
        shortfallAmount: null,
        value: null,
        refundedAmount: null,
        senderShort: 'GABC…WXYZ',
        explorerUrl: null,
        closedAt: createdAt,
        createdAt,
      };

const ACCOUNT = 'acct_1';
let count = 0;
const stored = (paymentLinkId: string | null, given: Partial<PaymentDoc> = {}) =>
  ({
    _id: `pay_${++count}`,
    accountId: ACCOUNT,
    paymentLinkId,
    status: 'COMPLETED',
    createdAt: new Date(),
    ...given,
  }) as PaymentDoc;

type Watch = mongo.Collection<PaymentDoc>['watch'];

/** A feed on a real collection, whose change streams a test may tamper with. */
async function startFeed(t: Test, { clock = systemClock, client }: { clock?: Clock; client?: mongo.MongoClient } = {}) {
  const { db } = await testDatabase(t, { own: true });
  const payments = (client ? client.db(db.databaseName) : db).collection<PaymentDoc>('payments');
  await payments.createIndex({ paymentLinkId: 1, createdAt: -1 });
  const streams: { change: ReturnType<Watch>; options: mongo.ChangeStreamOptions }[] = [];
  let tamper: (options: mongo.ChangeStreamOptions) => mongo.ChangeStreamOptions = (options) => options;
  const watched = new Proxy(payments, {
    get(target, name) {
      if (name !== 'watch') return Reflect.get(target, name, target);
      return ((pipeline: mongo.Document[], options: mongo.ChangeStreamOptions) => {
        const change = target.watch(pipeline, tamper(options)) as unknown as ReturnType<Watch>;
        streams.push({ change, options });
        return change;
      }) as Watch;
    },
  });
  const warnings: string[] = [];
  let begun = false;
  const log = pino({
    level: 'info',
    hooks: {
      logMethod(args, _method, level) {
        if (level >= 40) warnings.push(String(args[1]));
        else begun = true;
      },
    },
  });
  const feed = createStatusFeed({
    payments: createPaymentChanges(watched),
    events: null,
    toPagePayment,
    clock,
    log,
  });
  t.teardown(() => feed.close());
  const told: string[] = [];
  feed.subscribe(LINK_A, ({ id, status }) => told.push(`${id} ${status}`));
  // What is stored before the stream begins may be told twice.
  await until(() => begun);
  return { payments, feed, told, streams, warnings, tamper: (how: typeof tamper) => (tamper = how) };
}

async function until(enough: () => boolean, withinMs = 8_000): Promise<void> {
  const end = Date.now() + withinMs;
  while (!enough()) {
    if (Date.now() > end) throw new Error(`not within ${withinMs} ms: ${enough}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

t.test('a subscriber hears of arrival, acceptance and assignment, once each, and of nothing else', async (t) => {
  const { payments, feed, told } = await startFeed(t);
  const under = stored('link_a', { status: 'UNDERPAID' });
  const lost = stored(null, { status: 'UNMATCHED' });
  await payments.insertMany([under, stored('link_b'), lost]);
  await payments.updateOne({ _id: under._id }, { $set: { note: 'no page shows this' } } as never);
  await payments.updateOne({ _id: under._id }, { $set: { status: 'COMPLETED' } });
  await payments.updateOne({ _id: lost._id }, { $set: { status: 'COMPLETED', paymentLinkId: 'link_a' } });
  await until(() => told.length >= 3);
  t.strictSame(told, [`${under._id} UNDERPAID`, `${under._id} COMPLETED`, `${lost._id} COMPLETED`]);

  const heard: string[] = [];
  const leave = feed.subscribe(LINK_A, ({ id }) => heard.push(id));
  leave();
  const last = stored('link_a');
  await payments.insertOne(last);
  await until(() => told.length >= 4);
  t.strictSame(heard, [], 'a closed subscription hears nothing');
});

t.test('since() has the newest payments of one link, newest first, with their status of now', async (t) => {
  const { payments, feed } = await startFeed(t);
  const at = (second: number) => new Date(Date.UTC(2026, 10, 21, 9, 0, second));
  const old = stored('link_a', { createdAt: at(1) });
  const many = Array.from({ length: 30 }, (_, index) => stored('link_a', { createdAt: at(10 + index) }));
  await payments.insertMany([old, ...many, stored('link_b', { createdAt: at(59) })]);
  const ids = async (since: Date) =>
    (await feed.since({ accountId: ACCOUNT, linkId: 'link_a' }, since)).map(({ id }) => id);
  t.strictSame(await ids(at(38)), [many[29]!._id, many[28]!._id], 'that moment or later');
  t.strictSame(
    await ids(at(0)),
    many
      .slice(10)
      .reverse()
      .map(({ _id }) => _id),
    'at most 20',
  );
  const { executionStats } = await payments
    .find({ paymentLinkId: 'link_a', createdAt: { $gte: at(38) } })
    .sort({ createdAt: -1 })
    .explain('executionStats');
  t.equal(executionStats.totalDocsExamined, 2);
});

t.test('a payment stored before the stream begins is told as well', async (t) => {
  const { db } = await testDatabase(t, { own: true });
  const payments = db.collection<PaymentDoc>('payments');
  await payments.createIndex({ paymentLinkId: 1, createdAt: -1 });
  const early = stored('link_a');
  let watching = false;
  const watched = new Proxy(payments, {
    get(target, name) {
      if (name !== 'watch') return Reflect.get(target, name, target);
      watching = true;
      throw new mongo.MongoNetworkError('not yet');
    },
  });
  const told: string[] = [];
  let reachable = false;
  const gate = new Proxy(payments, {
    get: (_, name) => Reflect.get(reachable ? payments : watched, name, payments),
  });
  const log = pino({ level: 'silent' });
  const feed = createStatusFeed({
    payments: createPaymentChanges(gate),
    events: null,
    toPagePayment,
    clock: systemClock,
    log,
  });
  t.teardown(() => feed.close());
  feed.subscribe(LINK_A, ({ id }) => told.push(id));
  await until(() => watching);
  await payments.insertOne(early);
  reachable = true;
  await until(() => told.length > 0);
  t.strictSame(told, [early._id]);
});

t.test('a payment stored while the stream is broken is told when it is back', async (t) => {
  const { payments, told, streams, feed, warnings } = await startFeed(t);
  await payments.insertOne(stored('link_a'));
  await until(() => told.length === 1);

  await streams.at(-1)!.change.close();
  await until(() => !feed.live());
  const missed = stored('link_a', { createdAt: new Date(0) });
  await payments.insertOne(missed);
  await until(() => told.length === 2);
  t.equal(told[1], `${missed._id} COMPLETED`);
  t.ok(streams.at(-1)!.options.resumeAfter, 'from where it was, by its token: even a payment that is not recent');
  t.equal(warnings.length, 1, 'and the log says that it was broken');
});

t.test('when its place in the stream is lost, it looks for what it missed, then goes on', async (t) => {
  const { payments, told, streams, feed, warnings, tamper } = await startFeed(t);
  const known = stored('link_a');
  await payments.insertOne(known);
  await until(() => told.length === 1);

  const gone = { _data: '00' };
  tamper((options) => (options.resumeAfter ? { ...options, resumeAfter: gone } : options));
  await streams.at(-1)!.change.close();
  await until(() => !feed.live());
  const missed = stored('link_a');
  await payments.insertOne(missed);
  await until(() => feed.live());
  t.equal(warnings.length, 2, 'the break, and that MongoDB no longer has the place');
  t.notOk(streams.at(-1)!.options.resumeAfter);
  await until(() => told.includes(`${missed._id} COMPLETED`));
  const next = stored('link_a');
  await payments.insertOne(next);
  await until(() => told.includes(`${next._id} COMPLETED`));
});

t.test('a stream that falls silent is noticed, said, and replaced', async (t) => {
  let expire = () => {};
  const clock: Clock = {
    ...systemClock,
    sleep: (ms, signal) =>
      ms < 5_000
        ? systemClock.sleep(1, signal)
        : new Promise((resolve) => {
            expire = resolve;
            signal?.addEventListener('abort', () => resolve());
          }),
  };
  const { payments, told, streams, feed, warnings } = await startFeed(t, { clock });
  const { change } = streams[0]!;
  await until(() => warnings.length === 0 && feed.live());
  let asked = false;
  change.tryNext = () => {
    asked = true;
    return new Promise(() => {});
  };
  await until(() => asked);
  await payments.insertOne(stored('link_a'));
  t.equal(told.length, 0);
  expire();
  await until(() => told.length === 1);
  t.match(warnings, [/cannot be followed/]);
});

t.test('a database that is not there yet is waited for', async (t) => {
  const client = new mongo.MongoClient('mongodb://127.0.0.1:9/', { serverSelectionTimeoutMS: 50 });
  const warnings: string[] = [];
  const feed = createStatusFeed({
    payments: createPaymentChanges(client.db('x').collection<PaymentDoc>('payments')),
    events: null,
    toPagePayment,
    clock: systemClock,
    log: pino({ level: 'warn' }, { write: (line) => void warnings.push(line) }),
  });
  await until(() => warnings.length > 0);
  t.notOk(feed.live());
  const began = Date.now();
  await feed.close();
  t.ok(Date.now() - began < 2000, 'and it closes at once');
  await client.close();
});

t.test(
  '1,000 open pages cost the database nothing, and a payment reaches its page only',
  { timeout: 60_000, ...LONG },
  async (t) => {
    const { uri } = await testDatabase(t, { own: true });
    const client = await mongo.MongoClient.connect(uri, { monitorCommands: true });
    t.teardown(() => client.close());
    const commands: Record<string, number> = {};
    client.on('commandStarted', ({ commandName }) => {
      commands[commandName] = (commands[commandName] ?? 0) + 1;
    });
    const { payments, feed } = await startFeed(t, { client });
    const links = Array.from({ length: 1000 }, (_, index) => pageLink(`p${index}`));
    const { url, router } = await servePages(t, links, { status: feed, maxStreamsPerAddress: 1000 });

    const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
    t.teardown(() => agent.destroy());
    const opened = Date.now();
    const heapBefore = process.memoryUsage().heapUsed;
    const texts: string[] = [];
    await Promise.all(
      links.map(async ({ slug }, index) => {
        const call = request(`${url}/p/${slug}/events?since=${opened}`, { agent }).end();
        call.on('error', () => undefined);
        const [response] = (await once(call, 'response')) as [IncomingMessage];
        texts[index] = '';
        response
          .setEncoding('utf8')
          .on('data', (chunk: string) => (texts[index] += chunk))
          .on('error', () => undefined);
      }),
    );
    await until(() => texts.every((text) => text.includes('"state":"WAITING"')));
    t.equal(router.openStreams(), 1000);
    t.comment(
      `1,000 pages opened in ${Date.now() - opened} ms, ${Math.round((process.memoryUsage().heapUsed - heapBefore) / 1000)} bytes of heap each, client included`,
    );

    const before = { ...commands };
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    const { getMore = 0, ...others } = Object.fromEntries(
      Object.entries(commands).map(([name, times]) => [name, times - (before[name] ?? 0)]),
    );
    t.ok(getMore <= 4, `one change stream for all: ${getMore} getMore in 2.5 s`);
    t.ok(
      Object.values(others).every((times) => times === 0),
      JSON.stringify(others),
    );

    const delays: number[] = [];
    for (let round = 0; round < 20; round++) {
      const page = (round * 47) % 1000;
      const began = performance.now();
      await payments.insertOne(stored(`link_p${page}`));
      await until(() => texts[page]!.includes('"state":"PAID"'));
      delays.push(performance.now() - began);
    }
    const paid = texts.filter((text) => text.includes('"state":"PAID"')).length;
    t.equal(paid, 20, 'each payment turned one page');
    const slowest = Math.max(...delays);
    t.comment(
      `from insert to page: median ${delays.sort((a, b) => a - b)[10]!.toFixed(0)} ms, slowest ${slowest.toFixed(0)} ms`,
    );
    t.ok(slowest < 2_000);
    t.equal((commands.find ?? 0) - (before.find ?? 0), 0, 'nor does telling a payment');

    router.close();
    await until(() => router.openStreams() === 0);
  },
);

/** The queue of e-mails on a real database and a real mail server: who sends, when, how often, and
 *  in whose turn. */
import { pino } from 'pino';
import t, { type Test } from 'tap';
import { parseMailSettings } from '../../src/domain/parsed-settings.js';
import { createOutbox } from '../../src/events/outbox.js';
import { systemClock } from '../../src/kit/clock.js';
import { createTell } from '../../src/mail/bounded.js';
import { createFollowEvents } from '../../src/mail/follow.js';
import type { MailDoc, MailSort } from '../../src/mail/mail-store.js';
import { createMailer, type MailerDeps } from '../../src/mail/mailer.js';
import { createRender } from '../../src/mail/render.js';
import { createMailTransport } from '../../src/mail/transport.js';
import { LONG } from '../helpers/long.js';
import { startMailServer } from '../helpers/mail-server.js';
import { manualClock } from '../helpers/manual-clock.js';
import { eventually } from '../helpers/service.js';
import { newId, openStores } from '../helpers/stores.js';

const FROM = 'pay@service.example';
const PAYMENT = {
  value: { currency: 'EUR', amount: '1.2' },
  ...{ id: 'pay_x', amount: '5', assetCode: 'XLM', sender: 'GSENDER', memo: 'M', network: 'PUBLIC' },
  ...{ name: 'Tee', reference: null, answers: {}, closedAt: '2026-11-21T09:59:55.000Z' },
};

async function setUp(t: Test, { mostOfDay = 1000, maxAttempts = 11 } = {}) {
  const server = await startMailServer();
  t.teardown(() => server.close());
  const { db, stores, transaction } = await openStores(t);
  const { mails, accounts } = stores.system;
  const account = async (name = 'Shop') => {
    const _id = newId('acct');
    await accounts.insert({ _id, name, createdAt: new Date() });
    return _id;
  };
  /** As many e-mails to `to0`, `to1` …. */
  const queue = (accountId: string, to: string, count = 1, sort: MailSort = 'notice') =>
    transaction((session) =>
      mails.insert(
        Array.from({ length: count }, (_, n) => ({
          ...{ _id: newId('mail'), accountId, sort, key: newId('evt'), to: `${to}${n}@shop.example` },
          ...{ kind: 'payment.completed', facts: JSON.stringify(PAYMENT), leftBefore: 0, noneUntil: null },
          createdAt: new Date(0),
        })),
        session,
      ),
    );
  const ended = new AbortController();
  const runs: Promise<unknown>[] = [];
  t.teardown(async () => {
    ended.abort();
    await Promise.all(runs);
  });
  const start = (holder = 'one', deps: Partial<MailerDeps> = {}) => {
    const mailer = createMailer({
      ...{ mails, holder, clock: systemClock, log: pino({ level: 'silent' }) },
      render: createRender({ accounts, forAccount: stores.forAccount, publicUrl: 'https://pay.example' }),
      transport: createMailTransport(parseMailSettings(server.url, FROM)),
      tellOfFailing: async () => undefined,
      settings: { retryBaseMs: 5000, maxAttempts, mostOfDay },
      ...deps,
    });
    runs.push(mailer.run({ enough: ended.signal, ended: ended.signal }));
    return mailer;
  };
  const docs = db.collection<MailDoc>('mails');
  const tell = createTell({ ...stores.system, newId, mostNewOfDay: mostOfDay });
  const until = (status: MailDoc['status'], count: number) =>
    eventually(async () => (await docs.countDocuments({ status })) === count, `${count} are ${status}`);
  return { server, db, docs, stores, transaction, account, queue, tell, start, until };
}

t.test('one of several workers sends each e-mail', async (t) => {
  const { server, account, queue, start, until } = await setUp(t);
  for (let n = 0; n < 6; n += 1) await queue(await account(), `a${n}-`, 10);
  for (const holder of ['one', 'two', 'three']) start(holder);
  await until('SENT', 60);
  t.equal(server.attempts.length, 60);
  t.equal(new Set(server.mails.map(({ to }) => to[0])).size, 60);
  t.match(server.mails[0]!.parsed.text, 'Value: €1.20', 'money as people write it');
});

t.test('thousands of one account do not keep another waiting, nor does a server that hangs for it', LONG, async (t) => {
  const { server, account, queue, start } = await setUp(t);
  server.behave((to) => (to.startsWith('slow') ? 'hang' : null));
  await queue(await account(), 'many', 3000);
  await queue(await account(), 'slow', 50);
  start();
  await server.to('many5@shop.example');
  const before = server.mails.length;
  await queue(await account(), 'other', 2);
  await server.to('other1@shop.example');
  const place = server.mails.findIndex(({ to }) => to[0] === 'other1@shop.example');
  t.ok(place - before < 200, `${place - before} went before`);
  t.ok(server.attempts.filter((to) => to.startsWith('slow')).length <= 8, 'few at a time of an account');
});

t.test('a server that hangs for recipients of many accounts holds up nobody else', LONG, async (t) => {
  const { server, account, queue, start } = await setUp(t);
  server.behave((to) => (to.startsWith('slow') ? 'hang' : null));
  const own = await account();
  for (const accountId of [own, await account(), await account(), await account(), await account()])
    await queue(accountId, 'slow', 2);
  start();
  await eventually(async () => server.attempts.length >= 8, 'every place is held');
  const sinceMs = Date.now();
  await queue(await account(), 'other', 6);
  await queue(own, 'own', 6);
  for (const n of [0, 1, 2, 3, 4, 5]) {
    await server.to(`other${n}@shop.example`);
    await server.to(`own${n}@shop.example`);
  }
  t.ok(Date.now() - sinceMs < 20_000, `${Date.now() - sinceMs} ms`);
});

t.test('a recipient whose server hangs up, or takes no more, holds up nobody else', async (t) => {
  const { server, docs, account, queue, start } = await setUp(t);
  server.behave((to) => (to.startsWith('gone') ? 'leave' : null));
  await queue(await account(), 'gone', 6);
  start();
  await eventually(async () => server.attempts.length >= 6, 'each was tried');
  const sinceMs = Date.now();
  await queue(await account(), 'other', 6);
  for (const n of [0, 1, 2, 3, 4, 5]) await server.to(`other${n}@shop.example`);
  t.ok(Date.now() - sinceMs < 10_000, `${Date.now() - sinceMs} ms`);
  t.match(await docs.findOne({ to: 'gone0@shop.example' }), { status: 'PENDING', lastError: 'mail server hung up' });
});

t.test('beyond the bound of a day no more receipts are sent, and the next day goes on', async (t) => {
  const clock = manualClock();
  const { server, stores, account, queue, start, until } = await setUp(t, { mostOfDay: 4 });
  const render = createRender({ ...stores.system, forAccount: stores.forAccount, publicUrl: 'https://pay.example' });
  const accountId = await account();
  await queue(accountId, 'n', 9, 'receipt');
  await queue(accountId, 'notice', 6);
  await queue(await account(), 'other', 3, 'receipt');
  start('one', { clock, render: (mail) => render({ ...mail, sort: 'notice' }) });
  const moving = setInterval(() => clock.advance(500), 5);
  t.teardown(() => clearInterval(moving));
  await until('SENT', 13);
  await until('DROPPED', 5);
  t.match(await stores.forAccount(accountId).mails.lastFailure(), { lastError: 'more than 4 receipts in a day' });
  clock.advance(24 * 3_600_000);
  await queue(accountId, 'next', 1, 'receipt');
  await server.to('next0@shop.example');
  await until('SENT', 14);
});

const TELLING = { sort: 'notice', kind: 'payment.completed', facts: PAYMENT } as const;

t.test('a stranger’s many payments use up one kind of one account, and the next e-mail counts the rest', async (t) => {
  const { server, db, docs, transaction, account, tell, start, until } = await setUp(t);
  const [accountId, other] = [await account(), await account()];
  const recipients = Array.from({ length: 20 }, (_, n) => `r${n}@shop.example`);
  const payments = Array.from({ length: 60 }, () => ({ ...TELLING, accountId, key: newId('evt'), recipients }));
  await transaction((session) => tell(payments, session));
  t.equal(await docs.countDocuments(), 400, '20 for each recipient are stored, the rest is not');
  const facts = { wallet: { id: 'wallet_x', name: 'Main', address: 'GMAIN', network: 'PUBLIC' }, differences: [] };
  const difference = { ...TELLING, kind: 'wallet.difference', facts, key: 'aud_x', recipients: ['R3@shop.example'] };
  const ofOther = { ...TELLING, accountId: other, key: 'evt_o', recipients: ['r3@shop.example'] };
  await transaction((session) => tell([{ ...difference, accountId }, ofOther], session));
  t.equal(await docs.countDocuments(), 402, 'another kind and another account have bounds of their own');
  await transaction((session) => tell([{ ...payments[0]!, key: 'evt_a' }], session));
  t.equal(await docs.countDocuments(), 402);
  await db.collection('mailsSent').updateMany({}, { $set: { 'hour.from': new Date(Date.now() - 3_600_000) } });
  await transaction((session) => tell([{ ...payments[0]!, key: 'evt_b' }], session));
  t.equal(await docs.countDocuments(), 422);
  await docs.deleteMany({ to: { $ne: 'r3@shop.example' } });
  start();
  await until('SENT', 22);
  const texts = server.mails.filter(({ to }) => to[0] === 'r3@shop.example').map(({ parsed }) => parsed.text ?? '');
  t.equal(texts.filter((text) => /No more of these are sent until \S+ \d\d:\d\d UTC/.test(text)).length, 1);
  t.equal(texts.filter((text) => text.includes('41 more')).length, 1, 'the next one says how many more');
});

t.test('two at once for one address share its bound', async (t) => {
  const { docs, transaction, account, tell } = await setUp(t);
  const accountId = await account();
  const one = () => ({ ...TELLING, accountId, key: newId('evt'), recipients: ['a@shop.example', 'b@shop.example'] });
  await Promise.all(Array.from({ length: 30 }, () => transaction((session) => tell([one()], session))));
  t.equal(await docs.countDocuments({ to: 'a@shop.example' }), 20);
  t.equal(await docs.countDocuments({ to: 'b@shop.example' }), 20);
});

t.test('addresses that change all the time are bounded as strangers, and those told before are told on', async (t) => {
  const { docs, db, transaction, account, tell } = await setUp(t, { mostOfDay: 30 });
  const accountId = await account();
  const to = (...recipients: string[]) =>
    transaction((session) => tell([{ ...TELLING, accountId, key: newId('evt'), recipients }], session));
  await to('owner@shop.example');
  for (let n = 0; n < 3; n += 1) await to(...Array.from({ length: 20 }, (_, each) => `s${n}-${each}@x.example`));
  t.equal(await docs.countDocuments(), 30);
  await to('owner@shop.example');
  t.equal(await docs.countDocuments({ to: 'owner@shop.example' }), 2);
  await db.collection('mailsSent').updateMany({}, { $set: { since: new Date(Date.now() - 86_400_000) } });
  await to('late@shop.example');
  t.equal(await docs.countDocuments({ to: 'late@shop.example' }), 1, 'the next day has room');
});

t.test('a server that is away is asked by the schedule of webhooks, and in the end it is given up', async (t) => {
  const clock = manualClock();
  const { server, docs, account, queue, start } = await setUp(t, { maxAttempts: 4 });
  await server.close();
  await queue(await account(), 'a');
  start('one', { clock });
  for (const [n, waitMs] of [5000, 20_000, 80_000].entries()) {
    const mail = await eventually(
      async () => {
        // The worker may have begun its sleep only now.
        clock.advance(100);
        return docs.findOne({ attemptCount: n + 1, lease: null });
      },
      `attempt ${n + 1}`,
    );
    t.match(mail, { status: 'PENDING', lastError: 'mail server not reachable' });
    const ms = mail.nextAttemptAt!.getTime() - mail.failedAt!.getTime();
    t.ok(ms >= waitMs * 0.9 && ms <= waitMs * 1.1, `${ms} ms after failure ${n + 1}`);
    clock.advance(ms - 2000);
    await new Promise((resolve) => setTimeout(resolve, 50));
    t.equal((await docs.findOne())!.attemptCount, n + 1, 'not before');
    clock.advance(2000);
  }
  const given = await eventually(async () => {
    clock.advance(500);
    return docs.findOne({ status: 'FAILED' });
  }, 'it is given up');
  t.match(given, { attemptCount: 4, nextAttemptAt: null, endedAt: Date });
});

t.test('an e-mail that a dead worker had begun is sent after the end of its lease, once', async (t) => {
  const { server, docs, stores, account, queue, start, until } = await setUp(t);
  const accountId = await account();
  await queue(accountId, 'a');
  const claimed = await stores.system.mails.claim(accountId, new Date(), { holder: 'dead', leaseMs: 1500 });
  t.ok(claimed);
  start();
  start('two');
  await new Promise((resolve) => setTimeout(resolve, 800));
  t.equal(server.attempts.length, 0, 'not while it may be under way');
  await until('SENT', 1);
  t.equal(server.mails.length, 1);
  t.equal((await docs.findOne())!.attemptCount, 2);
  await stores.system.mails.record(claimed!, {
    status: 'PENDING',
    nextAttemptAt: new Date(),
    lastError: 'x',
    at: new Date(),
  });
  t.equal((await docs.findOne())!.status, 'SENT', 'a late result of the dead worker does not count');
});

t.test('gaps and differences of wallets are told in the transaction of their event', async (t) => {
  const { server, stores, transaction, account, tell, start } = await setUp(t);
  const accountId = await account();
  const follow = createFollowEvents({ ...stores.system, tell, newId });
  const outbox = createOutbox({ ...stores.system, newId, follow });
  const kinds = ['wallet.gap' as const, 'wallet.difference' as const];
  await stores.forAccount(accountId).account.setNotifications({ recipients: ['a@shop.example'], kinds });
  const wallet = { id: 'wallet_x', name: 'Main', address: 'GMAIN', network: 'PUBLIC' as const };
  const amounts = { opening: '0', closing: '5', computed: '3', movements: {} as never };
  const assets = [
    { ...amounts, assetCode: 'XLM', assetIssuer: null, difference: '2' },
    { ...amounts, assetCode: 'USDC', assetIssuer: 'GX', difference: '0' },
  ];
  await transaction((session) =>
    outbox.publish(
      [
        { type: 'wallet.gap', accountId, data: { wallet, fromLedger: 7, toLedger: 9 }, occurrence: '7' },
        { type: 'wallet.difference', accountId, data: { wallet, assets }, occurrence: 'aud_x' },
      ],
      session,
    ),
  );
  start();
  const texts = (await server.to('a@shop.example', 2)).map(({ parsed }) => `${parsed.subject} ${parsed.text}`).join();
  t.match(texts, 'Payments to wallet “Main” may be missing');
  t.match(texts, 'Ledgers: 7 to 9');
  t.match(texts, 'Difference: 2 XLM');
  t.notMatch(texts, 'USDC');
});

t.test('what ended is removed, and nothing else', async (t) => {
  const { db, docs, stores, transaction, account, queue, tell } = await setUp(t);
  await queue(await account(), 'a', 3);
  const [old, young] = await docs.find().toArray();
  await docs.updateOne({ _id: old!._id }, { $set: { status: 'SENT', nextAttemptAt: null, endedAt: new Date(1000) } });
  await docs.updateOne(
    { _id: young!._id },
    { $set: { status: 'FAILED', nextAttemptAt: null, endedAt: new Date(3000) } },
  );
  t.same(await stores.system.mails.removeEnded(new Date(2000)), { removed: 1, isLast: true });
  t.equal(await docs.countDocuments(), 2);
  const accountId = await account();
  await transaction((session) =>
    tell([{ ...TELLING, accountId, key: 'evt_x', recipients: ['a@x.example', 'b@x.example'] }], session),
  );
  await db.collection('mailsSent').updateOne({ _id: /:a@/ as never }, { $set: { 'hour.from': new Date(1000) } });
  t.same(await stores.system.mailsSent.removeIdle(new Date(2000)), { removed: 1, isLast: true });
});

t.test('an address in any script is sent to, its domain as punycode, where the server can', async (t) => {
  const send = async (options: Parameters<typeof startMailServer>[0], to: string, replyTo: string | null = null) => {
    const server = await startMailServer({ plain: true, ...options });
    t.teardown(() => server.close());
    const transport = createMailTransport(parseMailSettings(server.url, 'pay@kfz-müller.example'));
    const content = { subject: 'S', text: 'T', html: '<p>T</p>' };
    const result = await transport.send({ id: 'mail_x', to, senderName: '', replyTo, language: 'en', ...content });
    return { result, server, mail: server.mails[0] };
  };
  const german = await send({ ascii: true }, "info+o'x&!#$%*/=?^_`{|}~@kfz-müller.example", 'help@bücher.example');
  t.match(german.result, { error: null });
  // The server's library writes domains out again; with `ascii` it was sent none in another script.
  t.same(german.mail!.to, ["info+o'x&!#$%*/=?^_`{|}~@kfz-müller.example"]);
  t.equal(german.mail!.from, 'pay@kfz-müller.example');
  t.match(german.mail!.raw, /^Reply-To: help@xn--bcher-kva\.example\r$/m);
  t.match(german.mail!.parsed.messageId, '<mail_x@xn--kfz-mller-u9a.example>');
  const japanese = await send({}, '佐藤@例え.jp');
  t.match(japanese.result, { error: null });
  t.same(japanese.mail!.to, ['佐藤@例え.jp']);
  const asciiOnly = await send({ ascii: true }, '佐藤@例え.jp');
  const refused = { error: 'mail server takes no address in this script', isRefused: true, isAway: false };
  t.match(asciiOnly.result, refused);
  t.equal(asciiOnly.server.attempts.length, 0);
});

t.test('TLS and sign-in: what a server asks for is given, and what it refuses is said', async (t) => {
  const user = { name: 'ana@x', password: 'p/w%' };
  const outgoing = {
    ...{ id: 'mail_x', to: 'a@x.example', senderName: '', replyTo: null, language: 'en' },
    ...{ subject: 'S', text: 'T', html: '<p>T</p>' },
  };
  const run = async (options: Parameters<typeof startMailServer>[0], change: object = {}, from = FROM) => {
    const server = await startMailServer(options);
    t.teardown(() => server.close());
    const result = await createMailTransport({ ...parseMailSettings(server.url, from), ...change }).send(outgoing);
    return { result, mail: server.mails[0] };
  };
  const sent = { result: { error: null } };
  t.match(await run({ secure: true, user }), { ...sent, mail: { secure: true, user: 'ana@x' } });
  t.match(await run({ user }), { ...sent, mail: { secure: true, user: 'ana@x' } }, 'STARTTLS where it is offered');
  t.match(await run({ plain: true }), { ...sent, mail: { secure: false } });
  const named = await run({ plain: true }, {}, 'Pay, Inc. <pay@x.example>');
  t.match(named.mail!.parsed.from?.text, /"Pay, Inc\." <pay@x\.example>/);
  t.match(named.mail!.parsed.messageId, '<mail_x@x.example>');
  const wrong = await run({ secure: true, user }, { auth: { user: 'ana@x', pass: 'wrong' } });
  t.match(wrong.result, { error: 'mail server refused the sign-in', isAway: true });
  const away = { isLoopback: false };
  t.match(
    (await run({ plain: true, user }, away)).result.error,
    /encrypted/,
    'no password without encryption elsewhere',
  );
  for (const secure of [true, false])
    t.match((await run({ secure }, away)).result.error, /encrypted|reachable/, 'certificates of others are verified');
});

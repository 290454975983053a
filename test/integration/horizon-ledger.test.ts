/** The reader on a real ledger that it knows nothing of, and the request budget on a
 *  real MongoDB. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  Account,
  Asset,
  BASE_FEE,
  Keypair,
  Memo,
  MuxedAccount,
  Operation,
  TimeoutInfinite,
  TransactionBuilder,
} from '@stellar/stellar-sdk';
import fc from 'fast-check';
import { pino } from 'pino';
import t from 'tap';
import { formatAmount } from '../../src/domain/amount.js';
import { assetName } from '../../src/domain/asset.js';
import { systemClock } from '../../src/kit/clock.js';
import { makeIndexes } from '../../src/kit/collection.js';
import { connectDatabase } from '../../src/kit/database.js';
import type { ParsedPage } from '../../src/ledger/horizon/page.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import { type Credit, cursorAfter } from '../../src/ledger/records.js';
import type { Asker, LedgerBudget } from '../../src/ledger/request.js';
import { BudgetUsedUp, LedgerUnavailable } from '../../src/ledger/source.js';
import type { FaultInput } from '../../src/local-ledger/index.js';
import { createRequestBudgetStore } from '../../src/watching/request-budgets.js';
import { budgetOf } from '../helpers/budget.js';
import { startTestLedger } from '../helpers/ledger.js';
import { LONG } from '../helpers/long.js';
import { manualClock } from '../helpers/manual-clock.js';
import { testDatabase } from '../helpers/mongo.js';

const log = pino({ level: 'silent' });
const keyOf = (credit: Credit): string => `${credit.operationId}:${credit.changeIndex}:${credit.transactionHash}`;
const creditsOf = (records: ParsedPage['records'], receiver: string): Credit[] =>
  records.flatMap(({ outcome }) =>
    outcome.kind === 'credits' ? outcome.credits.filter((credit) => credit.receiver === receiver) : [],
  );

t.test('a ledger of real transactions is read whole and exactly', async (t) => {
  const { uri } = await testDatabase(t);
  const { url, client, ledger } = await startTestLedger(t, { uri, closeMs: 40 });
  const clock = manualClock();
  const horizonOf = (horizonUrls: string[], timeoutMs?: number, budget: LedgerBudget | null = null) => {
    const { passphrase } = ledger;
    const horizon = createLedger({
      network: 'LOCAL',
      horizonUrls,
      rpcUrls: [],
      passphrase,
      budget,
      clock,
      log,
      timeoutMs,
    });
    t.teardown(() => horizon.close());
    return horizon;
  };
  const horizon = horizonOf([url]);
  await horizon.checkNetwork();

  const shop = Keypair.random();
  const start = cursorAfter((await horizon.session({ purpose: 'watching' }).tip()).latestLedger);
  const empty = await horizon.session({ purpose: 'watching' }).accountPayments(shop.publicKey(), start, 200);
  t.strictSame(empty.records, [], 'an account that is not there yet has an empty page');

  const to = shop.publicKey();
  const muxed = new MuxedAccount(new Account(to, '0'), '0').accountId();
  await client.fund(to);
  await client.pay({ to, amount: '10.5', memo: 'hello' });
  await client.pay({ to: muxed, amount: '0.0000001', memo: 'INV\0-1' });
  await client.pay({ to, amount: '2', memo: Memo.id('18446744073709551615') });
  await client.pay({ to, amount: '3', memo: Memo.text(Buffer.from([0x41, 0xff]) as never) });
  const usdc = await client.issue({ code: 'USDC', amount: '7', toSecret: shop.secret() });
  await client.merge({ into: to, memo: 'all of it' });

  const payer = Keypair.fromSecret((await client.fund()).secret);
  const both = Operation.payment({ destination: to, asset: Asset.native(), amount: '1' });
  await client.submit({ from: payer, operations: [both, both], memo: 'twice' });
  const path = { sendAsset: Asset.native(), destination: to, destAsset: Asset.native(), path: [] };
  const receive = Operation.pathPaymentStrictReceive({ ...path, sendMax: '4', destAmount: '4' });
  const send = Operation.pathPaymentStrictSend({ ...path, sendAmount: '5', destMin: '5' });
  await client.submit({ from: payer, operations: [receive, send], memo: '' });
  const account = await client.server.loadAccount(payer.publicKey());
  const inner = new TransactionBuilder(account, {
    fee: BASE_FEE,
    networkPassphrase: ledger.passphrase,
    memo: Memo.text('bumped'),
  })
    .addOperation(Operation.payment({ destination: to, asset: Asset.native(), amount: '6' }))
    .setTimeout(TimeoutInfinite)
    .build();
  inner.sign(payer);
  const bump = TransactionBuilder.buildFeeBumpTransaction(client.root, '400', inner, ledger.passphrase);
  bump.sign(client.root);
  await client.server.submitTransaction(bump);
  await client.submit({
    from: shop,
    operations: [Operation.payment({ destination: to, asset: Asset.native(), amount: '8' })],
  });
  await client.submit({
    from: shop,
    operations: [Operation.payment({ destination: payer.publicKey(), asset: Asset.native(), amount: '9' })],
  });
  const last = Keypair.fromSecret((await client.fund()).secret);
  await client.merge({ into: to, secret: last.secret(), memo: Memo.hash('02'.repeat(32)) });

  const whole = await horizon.session({ purpose: 'watching' }).accountPayments(to, start, 200);
  const expected = [
    ['10000', 'XLM', 'none', null],
    ['10.5', 'XLM', 'text', 'hello'],
    ['0.0000001', 'XLM', 'text', 'INV\0-1'],
    ['2', 'XLM', 'id', '18446744073709551615'],
    ['3', 'XLM', 'text', 'A\u{FFFD}'],
    ['7', `USDC:${usdc.assetIssuer}`, 'none', null],
    ['9999.99999', 'XLM', 'text', 'all of it'],
    ['1', 'XLM', 'text', 'twice'],
    ['1', 'XLM', 'text', 'twice'],
    ['4', 'XLM', 'text', ''],
    ['5', 'XLM', 'text', ''],
    ['6', 'XLM', 'text', 'bumped'],
    ['9999.99999', 'XLM', 'hash', Buffer.alloc(32, 2).toString('base64')],
  ];

  t.test('all money in comes out of an account’s payments, and nothing else', async (t) => {
    const credits = creditsOf(whole.records, to);
    t.strictSame(
      credits.map(({ amount, asset, memo }) => [formatAmount(amount), assetName(asset), memo.type, memo.text]),
      expected,
    );
    t.strictSame(
      whole.records.filter(({ outcome }) => outcome.kind !== 'credits' && outcome.kind !== 'ignored'),
      [],
      'and every record was understood',
    );
    t.equal(new Set(credits.map(keyOf)).size, credits.length);
    const bumped = credits.find(({ memo }) => memo.text === 'bumped');
    t.equal(bumped?.transactionHash, Buffer.from(bump.hash()).toString('hex'), 'a fee bump by its outer hash');
  });

  t.test('the feed of the whole network holds the same', async (t) => {
    const feed = await horizon.session({ purpose: 'watching' }).payments(start, 200);
    t.strictSame(creditsOf(feed.records, to), creditsOf(whole.records, to));
  });

  t.test('the ledger of a credit closed at its time', async (t) => {
    const session = horizon.session({ purpose: 'watching' });
    const [credit] = creditsOf(whole.records, to);
    const found = await session.ledger(credit!.ledger);
    t.strictSame(found && found !== 'gone' && found.closedAt, credit!.closedAt);
    const { latestLedger, latestClosedAt } = await session.tip();
    const newest = await session.ledgerAtOrBefore(new Date(latestClosedAt.getTime() + 3_600_000));
    t.ok(newest && newest.sequence >= latestLedger);
    t.equal(await session.ledgerAtOrBefore(new Date(0)), null);
  });

  t.test('every request of a session is taken from the allowances of its asker', async (t) => {
    const taken: string[] = [];
    const counting: LedgerBudget = {
      allowancesOf: ({ purpose }) => [{ take: async () => taken.push(purpose) && 0, intervalMs: 1000 }],
      othersSpent: () => 0,
    };
    const session = horizonOf([url], undefined, counting).session({ purpose: 'tenants', by: 'acct_1' });
    const [first] = await session.tips();
    await session.on(first!.server).ledgerAtOrBefore(new Date(0));
    t.ok(session.requests > 2, 'a search is several requests');
    t.strictSame(taken, Array(session.requests).fill('tenants'), 'and each of them is of the share');
    const refusing = budgetOf({ take: async () => 60_000 });
    const refused = horizonOf([url], undefined, refusing).session({ purpose: 'tenants', by: 'acct_1' });
    const error = await refused.tips().catch((thrown: unknown) => thrown);
    t.ok(error instanceof BudgetUsedUp, 'no server is taken to be away for it');
  });

  t.test('a budget ends amid a session → its next try waits until the budget grants all requests again', async (t) => {
    const waits = [0, 0, 9000];
    const ending = budgetOf({ take: async () => waits.shift() ?? 9000, intervalMs: 9000 });
    const session = horizonOf([url], undefined, ending).session({ purpose: 'tenants', by: 'acct_1' });
    const asked = [session, session.on(session.server ?? new URL(url).host)];
    for (const each of asked) {
      const error = await each.ledgerAtOrBefore(new Date(0)).catch((thrown: unknown) => thrown);
      t.match(error, { retryAfterMs: 9000 + 2 * 9000 });
    }
  });

  t.test('the same pages read in any overlap give the same credits, each once', async () => {
    const keys = creditsOf(whole.records, to).map(keyOf).sort().join();
    const { records } = whole;
    const reads = fc.array(fc.tuple(fc.nat({ max: records.length }), fc.nat({ max: records.length })));
    fc.assert(
      fc.property(reads, (windows) => {
        const found = new Map<string, Credit>();
        for (const [from, count] of [...windows, [0, records.length] as const]) {
          for (const credit of creditsOf(records.slice(from, from + count), to)) found.set(keyOf(credit), credit);
        }
        return [...found.keys()].sort().join() === keys;
      }),
    );
  });

  /** Reads to the end in pages of three, whatever happens on the way. */
  async function readAll(reader: ReturnType<typeof horizonOf>) {
    const credits: Credit[] = [];
    const reasons = new Set<string>();
    for (let cursor = start; ; ) {
      try {
        const page = await reader.session({ purpose: 'watching' }).accountPayments(to, cursor, 3);
        credits.push(...creditsOf(page.records, to));
        cursor = page.cursor ?? cursor;
        if (!page.full) return { credits, reasons };
      } catch (error) {
        if (!(error instanceof LedgerUnavailable)) throw error;
        reasons.add(error.reason);
        clock.advance(error.retryAfterMs + 1);
      }
    }
  }

  const faults: FaultInput[] = [
    { kind: 'rate_limited', retryAfterSeconds: 30 },
    { kind: 'unavailable' },
    { kind: 'unavailable', retryAfterSeconds: 3600 },
    { kind: 'stale_history' },
    { kind: 'server_error' },
    { kind: 'timeout' },
    { kind: 'timeout', emptyBody: true },
    { kind: 'html' },
    { kind: 'bad_gateway' },
    { kind: 'cut_json' },
    { kind: 'hang' },
    { kind: 'reset_connection' },
    { kind: 'lost_answer' },
    { kind: 'slow', delayMs: 20 },
  ];
  for (const fault of faults) {
    t.test(`recovered without loss: ${JSON.stringify(fault)}`, async (t) => {
      const reader = horizonOf([url], 1_000);
      await client.faults.add({ ...fault, probability: 0.5, method: 'GET' } as FaultInput);
      // Time goes on by itself, so that what hangs is given up.
      const ticking = setInterval(() => clock.advance(100), 5);
      const { credits, reasons } = await readAll(reader).finally(() => clearInterval(ticking));
      await client.faults.clear();
      t.strictSame(credits.map(keyOf), creditsOf(whole.records, to).map(keyOf));
      t.comment([...reasons].join(' | '));
    });
  }

  t.test('with a second base nothing even fails', async (t) => {
    const unreliable = await startUnreliableBase(url);
    t.teardown(unreliable.close);
    const { credits, reasons } = await readAll(horizonOf([unreliable.url, url], 1_000));
    t.strictSame(credits.map(keyOf), creditsOf(whole.records, to).map(keyOf));
    t.strictSame([...reasons], [], 'no question failed');
    t.ok(unreliable.asked() > 1, 'though the first base did');
  });

  t.test('another network is refused', async (t) => {
    await client.faults.add({ kind: 'wrong_passphrase' });
    await t.rejects(horizonOf([url]).checkNetwork(), { name: 'WrongNetwork' });
    await client.faults.clear();
  });
});

/** A base in front of the ledger that answers every second question with an error. */
async function startUnreliableBase(target: string) {
  let asked = 0;
  const server = createServer(async (request, response) => {
    asked += 1;
    if (asked % 2 === 0) return void response.writeHead(503).end();
    const answer = await fetch(new URL(request.url ?? '', target));
    response.writeHead(answer.status, { 'content-type': 'application/hal+json' }).end(await answer.text());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

t.test('several processes share a request budget → together they ask for no more than it has', LONG, async (t) => {
  const { uri } = await testDatabase(t);
  const clock = manualClock();
  const databases = [await connectDatabase(uri), await connectDatabase(uri)];
  t.teardown(() => Promise.all(databases.map((database) => database.close())));
  const stores = databases.map(({ connection }) => createRequestBudgetStore(connection, clock));
  const [store] = stores as [(typeof stores)[number]];
  await makeIndexes(databases[0]!.connection);
  /** What a session of the watcher asks first. */
  const watch = (budget: LedgerBudget) => budget.allowancesOf({ purpose: 'watching' })[0]!.take();

  t.test('grants no more than its burst at once, to all askers together', async (t) => {
    const budgets = stores.map((each) => each.of('TESTNET', 3600));
    const waits = await Promise.all(Array.from({ length: 150 }, (_, i) => watch(budgets[i % 2]!)));
    t.equal(waits.filter((wait) => wait === 0).length, 100);
    t.strictSame([...new Set(waits)].sort(), [0, 1181], 'the others are told when the next one comes');
    clock.advance(1180);
    t.equal(await watch(budgets[0]!), 1);
    clock.advance(1);
    t.strictSame((await Promise.all(budgets.map((each) => watch(each)))).sort(), [0, 1180], 'and it comes once');
  });

  t.test('grants no more than its number in an hour of greed', async (t) => {
    const budgets = stores.map((each) => each.of('PUBLIC', 200));
    const granted: number[] = [];
    for (const start = clock.nowMs(); clock.nowMs() < start + 2 * 3_600_000; clock.advance(7_000)) {
      const waits = await Promise.all(budgets.map((each) => watch(each)));
      for (const wait of waits) if (wait === 0) granted.push(clock.nowMs());
    }
    const worst = Math.max(
      ...granted.map((at) => granted.filter((each) => each >= at && each <= at + 3_600_000).length),
    );
    t.ok(worst <= 175, `${worst} of the 175 that are not the payers’`);
    t.ok(granted.length > 325, `and most of it is there to be used: ${granted.length} in two hours`);
  });

  t.test('one budget does not touch another', async (t) => {
    const [one, other] = [store.of('one', 30), store.of('other', 30)];
    for (let n = 0; n < 3; n++) t.equal(await watch(one), 0);
    t.ok((await watch(one)) > 0);
    t.equal(await watch(other), 0);
  });

  /** Asks like a session. @returns how many of these requests are granted, without waiting
   *  for any */
  const grantedOf = async (budget: LedgerBudget, asker: Asker, requests: number): Promise<number> => {
    let granted = 0;
    for (let n = 0; n < requests; n++) {
      const waits: number[] = [];
      for (const allowance of budget.allowancesOf(asker)) if (!waits.some(Boolean)) waits.push(await allowance.take());
      if (!waits.some(Boolean)) granted += 1;
    }
    return granted;
  };

  t.test('outsiders, tenants and audits get no more than their shares of an hour, in whatever process', async (t) => {
    for (const perHour of [60, 3600]) {
      const budgets = stores.map((each) => each.of(`shares-${perHour}`, perHour));
      const sent = { pages: 0, payers: 0, tenants: 0, audits: 0 };
      for (const start = clock.nowMs(); clock.nowMs() < start + 3_600_000; clock.advance(40_000)) {
        for (const [n, budget] of budgets.entries()) {
          for (const purpose of ['pages', 'payers', 'tenants'] as const)
            for (let who = 0; who < 3; who++)
              sent[purpose] += await grantedOf(budget, { purpose, by: `${who}${n}` }, 2);
          sent.audits += await grantedOf(budget, { purpose: 'audits' }, 4);
        }
      }
      const what = `${perHour}: ${JSON.stringify(sent)}`;
      t.ok(sent.pages + sent.payers <= perHour / 8 && sent.tenants <= perHour / 8 && sent.audits <= perHour / 4, what);
      t.ok(
        sent.pages + sent.payers >= perHour / 16 && sent.audits >= perHour / 8,
        `they are there to be used, ${what}`,
      );
    }
  });

  t.test('one account or address that asks without end leaves room for another', async (t) => {
    for (const perHour of [60, 3600]) {
      for (const purpose of ['pages', 'payers', 'tenants'] as const) {
        const budgets = stores.map((each) => each.of(`turns-${perHour}-${purpose}`, perHour));
        for (const budget of budgets) await grantedOf(budget, { purpose, by: 'greedy' }, 100);
        t.equal(
          await grantedOf(budgets[1]!, { purpose, by: 'greedy' }, 1),
          0,
          `${perHour} ${purpose}: its own is used up`,
        );
        t.ok((await grantedOf(budgets[0]!, { purpose, by: 'other' }, 1)) > 0, 'another is served at once');
      }
    }
  });

  t.test('an account or address that never stops asking keeps another waiting for 10 s at most', async (t) => {
    for (const perHour of [60, 3600]) {
      for (const purpose of ['pages', 'payers', 'tenants'] as const) {
        const budget = store.of(`fair-${perHour}-${purpose}`, perHour);
        await grantedOf(budget, { purpose, by: 'greedy' }, 40);
        for (let second = 0; second < 60; second += 4, clock.advance(4000))
          await grantedOf(budget, { purpose, by: 'greedy' }, 1);
        const sinceMs = clock.nowMs();
        while ((await grantedOf(budget, { purpose, by: 'other' }, 1)) === 0 && clock.nowMs() < sinceMs + 60_000) {
          clock.advance(1000);
          await grantedOf(budget, { purpose, by: 'greedy' }, 1);
        }
        const waitedMs = clock.nowMs() - sinceMs;
        t.ok(waitedMs <= 10_000, `${perHour} ${purpose}: after ${waitedMs} ms`);
      }
    }
  });

  t.test('a look that failed is made good two requests later, though others have used up the budget', async (t) => {
    for (const [perHour, stepMs, mostMs] of [
      [60, 5000, 140_000],
      [3600, 500, 3000],
    ] as const) {
      const budget = store.of(`failed-${perHour}`, perHour);
      const others = async () => {
        for (const purpose of ['pages', 'payers', 'tenants'] as const)
          for (const by of ['one', 'other']) await grantedOf(budget, { purpose, by }, 1);
        await grantedOf(budget, { purpose: 'audits' }, 1);
      };
      for (let round = 0; round < 20; round++, clock.advance(60_000)) await others();
      await grantedOf(budget, { purpose: 'audits' }, perHour / 10);
      const look = () => budget.allowancesOf({ purpose: 'watching' })[0]!;
      const failing = look();
      t.same([await failing.take(), await failing.take()], [0, 0], 'the look that fails');
      const again = look();
      const sinceMs = clock.nowMs();
      for (let granted = 0; granted < 2; ) {
        await others();
        if ((await again.take()) === 0) granted += 1;
        else clock.advance(stepMs);
      }
      const tookMs = clock.nowMs() - sinceMs;
      t.comment(`${perHour} an hour: made good after ${tookMs} ms`);
      t.ok(tookMs <= mostMs, `${perHour} an hour: after ${tookMs} ms`);
    }
  });

  t.test('whatever others ask, a look for a ledger and its reading are granted at once', async (t) => {
    for (const perHour of [30, 60, 3600]) {
      const budget = store.of(`spare-${perHour}`, perHour);
      for (let who = 0; who < 30; who++) {
        for (const purpose of ['pages', 'payers', 'tenants'] as const)
          await grantedOf(budget, { purpose, by: `${who}` }, 10);
        await grantedOf(budget, { purpose: 'audits' }, 10);
      }
      const [watching] = budget.allowancesOf({ purpose: 'watching' });
      t.strictSame([await watching!.take(), await watching!.take()], [0, 0], `${perHour} an hour`);
    }
  });

  t.test('a payer is served from a share of his own, however much the watcher and others ask', async (t) => {
    for (const perHour of [30, 60, 3600]) {
      const budget = store.of(`payers-${perHour}`, perHour);
      const greed = async () => {
        // Refused once, it is refused until the clock moves.
        for (let refused = 0; refused < 3; ) refused += Math.sign(await watch(budget));
        await grantedOf(budget, { purpose: 'audits' }, 10);
      };
      let served = 0;
      for (let second = 0; second < 120; second++, clock.advance(1000)) {
        await greed();
        served += await grantedOf(budget, { purpose: 'payers', by: `${second % 3}` }, 1);
      }
      t.ok(served >= Math.max(3, perHour / 80), `${perHour} an hour: ${served} of 120`);
    }
  });

  t.test('the watcher learns from its own requests how many others have sent', async (t) => {
    const budget = store.of('others', 3600);
    await watch(budget);
    t.equal(await grantedOf(store.of('others', 3600), { purpose: 'audits' }, 7), 7);
    await watch(budget);
    t.equal(Math.round(budget.othersSpent()), 7);
    await watch(budget);
    t.equal(budget.othersSpent(), 0, 'its own are not among them');
  });

  t.test('survives its processes', async (t) => {
    const budget = store.of('kept', 10);
    for (let n = 0; n < 3; n++) t.equal(await watch(budget), 0);
    const reborn = createRequestBudgetStore((await reconnect()).connection, clock).of('kept', 10);
    t.ok((await watch(reborn)) > 0);
    async function reconnect() {
      const database = await connectDatabase(uri);
      t.teardown(() => database.close());
      return database;
    }
  });

  t.test('a request costs one round trip', async (t) => {
    const budget = createRequestBudgetStore(databases[1]!.connection, systemClock).of('speed', 1_000_000_000);
    const startMs = systemClock.nowMs();
    for (let i = 0; i < 200; i++) await watch(budget);
    t.comment(`${(systemClock.nowMs() - startMs) / 200} ms each`);
    t.pass();
  });
});

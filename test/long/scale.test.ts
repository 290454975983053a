/** Long lists: their totals and pages are those of a plain count and sort, whatever was added,
 *  judged, removed or added late in between. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { openCollection } from '../../src/kit/collection.js';
import { createCountSegments } from '../../src/kit/count-segments.js';
import { connectDatabase, insertTogether } from '../../src/kit/database.js';
import { createdAtOf, createIds } from '../../src/kit/ids.js';
import { PAYMENTS, type PaymentDoc } from '../../src/payments/payment-document.js';
import type { CheckoutDoc } from '../../src/selling/checkout-document.js';
import type { CheckoutFilter } from '../../src/selling/checkout-store.js';
import { createStores } from '../../src/stores.js';
import { testDatabase } from '../helpers/mongo.js';

const START_MS = Date.parse('2026-03-01T00:00:00Z');
const STATUSES = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;

const { uri, db } = await testDatabase(t, { own: true });
const { connection, transaction, close } = await connectDatabase(uri);
t.teardown(close);
let nowMs = START_MS;
const clock = { ...systemClock, nowMs: () => nowMs, now: () => new Date(nowMs) };
const newId = createIds(clock);
const open = () => createStores(connection, { clock, newId });
const stores = open();
await stores.ensureIndexes();

let made = 0;
const payment = (accountId: string, ids = newId, _id = ids('pay')): PaymentDoc => ({
  _id,
  accountId,
  walletId: `wallet_${made % 3}`,
  network: 'LOCAL',
  operationId: String(++made),
  changeIndex: 0,
  transactionHash: `${made}`,
  ledger: made,
  ledgerClosedAt: new Date(nowMs),
  receiverAddress: 'G',
  senderAddress: `S${made % 5}`,
  assetCode: made % 4 ? 'XLM' : 'USDC',
  assetIssuer: null,
  amount: '1',
  memo: null,
  memoType: 'none',
  destinationMuxedId: null,
  senderMuxedAddress: null,
  status: STATUSES[(made % 7) % 4]!,
  reason: null,
  expectedAmount: null,
  excessAmount: null,
  shortfallAmount: null,
  paymentLinkId: null,
  checkoutId: null,
  productId: `prod_${made % 2}`,
  needsDecision: made % 3 === 0,
  createdAt: createdAtOf(_id),
});
const hashOf = (text: string) => createHash('sha256').update(text).digest().readUInt32BE();

/** One after the other. */
const payments = (accountId: string, count: number, everyMs: number) =>
  Array.from({ length: count }, () => {
    nowMs += everyMs;
    return payment(accountId);
  });

const insert = (docs: PaymentDoc[]) => transaction((session) => stores.system.payments.insert(docs, session));

interface Question {
  status: (typeof STATUSES)[number][];
  productId?: string;
  walletId?: string;
  assetCode?: string;
  createdFrom?: Date;
  createdTo?: Date;
}

/** Compares one page with what a plain query says. */
async function check(of: typeof stores, accountId: string, filter: Question, share: number): Promise<void> {
  const { status, createdFrom, createdTo, ...equal } = filter;
  const plain: any = { accountId, status: { $in: status }, ...equal };
  if (createdFrom || createdTo)
    plain.createdAt = { ...(createdFrom && { $gte: createdFrom }), ...(createdTo && { $lt: createdTo }) };
  const collection = db.collection<PaymentDoc>('payments');
  const total = await collection.countDocuments(plain);
  const pageSize = 7;
  const page = 1 + Math.floor((share * total) / pageSize);
  const wanted = await collection
    .find(plain)
    .sort({ _id: -1 })
    .skip((page - 1) * pageSize)
    .limit(pageSize)
    .toArray();
  const { items, meta } = await of.forAccount(accountId).payments.list(filter, { page, pageSize });
  const got = { total: meta.total, ids: items.map(({ _id }) => _id) };
  const want = { total, ids: wanted.map(({ _id }) => _id) };
  if (JSON.stringify(got) !== JSON.stringify(want)) {
    throw new Error(
      `page ${page} of ${JSON.stringify(filter)}: ${JSON.stringify(got)} instead of ${JSON.stringify(want)}`,
    );
  }
}

const question: fc.Arbitrary<Question> = fc.record(
  {
    status: fc.subarray([...STATUSES], { minLength: 1 }),
    productId: fc.constantFrom('prod_0', 'prod_1', 'prod_none'),
    walletId: fc.constantFrom('wallet_0', 'wallet_1'),
    assetCode: fc.constantFrom('XLM', 'USDC'),
    createdFrom: fc.nat(40_000_000).map((ms) => new Date(START_MS + ms)),
    createdTo: fc.nat(40_000_000).map((ms) => new Date(START_MS + ms)),
  },
  { requiredKeys: ['status'] },
);

const USUAL: Question[] = [
  { status: ['COMPLETED'] },
  { status: ['UNDERPAID', 'UNMATCHED'] },
  { status: ['COMPLETED'], walletId: 'wallet_1' },
  { status: [...STATUSES] },
];

t.test('totals and pages of a long list are exact after whatever came, was judged or came late', async (t) => {
  const accountId = 'acct_long';
  const other = open();
  for (let n = 0; n < 12; n++) {
    nowMs += 1_000_000;
    await insert(payments(accountId, 1200, 700));
  }
  const late = createIds({ ...clock, nowMs: () => START_MS + 5_000_000 });
  t.ok(
    (await db.collection('countSegments').countDocuments({ list: `payments:${accountId}` })) >= 4,
    'there are countSegments',
  );
  const step = fc.oneof(
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('insert' as const),
        count: fc.integer({ min: 1, max: 400 }),
        late: fc.boolean(),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('judge' as const),
        share: fc.double({ min: 0, max: 0.999, noNaN: true }),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('ask' as const),
        question,
        share: fc.double({ min: 0, max: 1.05, noNaN: true }),
        elsewhere: fc.boolean(),
      }),
    },
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      for (const each of steps) {
        if (each.kind === 'insert') {
          nowMs += 60_000;
          await insert(
            Array.from({ length: each.count }, (_, n) => payment(accountId, each.late && n % 2 ? late : newId)),
          );
        } else if (each.kind === 'judge') {
          const all = db.collection<PaymentDoc>('payments');
          const skip = Math.floor(each.share * 14_000);
          const [found] = await all
            .find({ accountId, status: { $in: ['UNDERPAID', 'UNMATCHED'] } })
            .sort({ _id: 1 })
            .skip(skip % 4000)
            .limit(1)
            .toArray();
          if (found)
            await transaction((session) =>
              stores
                .forAccount(accountId)
                .payments.judge(found._id, ['UNDERPAID', 'UNMATCHED'], { status: 'COMPLETED' }, session),
            );
        } else {
          await check(each.elsewhere ? other : stores, accountId, each.question, each.share);
        }
        // What is remembered of these is what the step may have made wrong.
        for (const [n, usual] of USUAL.entries()) await check(n % 2 ? other : stores, accountId, usual, 0.5);
      }
    }),
    { numRuns: 20, seed: 11 },
  );
});

t.test('a list is cut well in whatever order its ids are added', async (t) => {
  const { countSegments } = stores.system;
  const ids = Array.from({ length: 12_000 }, (_, n) => `id_${String(n).padStart(5, '0')}`);
  const shuffled = ids.toSorted((a, b) => hashOf(a) - hashOf(b));
  for (const [order, added, batch] of [
    ['ascending', ids, 500],
    ['descending', ids.toReversed(), 500],
    ['shuffled', shuffled, 5],
  ] as const) {
    const list = `ordered:${order}`;
    for (let from = 0; from < added.length; from += batch) {
      const some = added.slice(from, from + batch);
      await transaction((session) => countSegments.touch(list, some, some.length, session));
    }
    const found = await db.collection('countSegments').find({ list }).sort({ after: 1 }).toArray();
    const starts = found.map(({ after }) => after as string);
    const sizes = starts.map((after, n) => ids.filter((id) => id > after && id <= (starts[n + 1] ?? '~')).length);
    t.ok(Math.max(...sizes) <= 7500 && sizes.length <= 8, `${order}: ${sizes.join(' ')}`);
    t.comment(`${order}: ${sizes.join(' ')}`);
  }
});

t.test('one list’s filters push out no counts of another', async (t) => {
  const [quiet, busy] = ['acct_quiet', 'acct_busy'];
  for (const accountId of [quiet, busy]) await insert(payments(accountId, 5100, 700));
  const own = createCountSegments(connection);
  const model = openCollection<PaymentDoc>(connection, PAYMENTS);
  const request = { page: 1, pageSize: 5, direction: -1 } as const;
  const total = async (accountId: string, filter: object = {}, ids = {}) =>
    (await own.page(`payments:${accountId}`, model, { accountId, ...filter }, { ...request, ids })).meta.total;
  const counted = async () => {
    await db.command({ profile: 2 });
    t.equal(await total(quiet), 5100);
    await db.command({ profile: 0 });
    const counts = await db
      .collection('system.profile')
      .find({ 'command.aggregate': 'payments', 'command.pipeline.0.$match.accountId': quiet })
      .toArray();
    await db.collection('system.profile').drop();
    return counts;
  };
  const first = await counted();
  t.ok(first.length > 1);
  t.ok(
    first.some(({ command }) => command.readConcern?.level === 'majority'),
    'what is remembered cannot be undone',
  );
  for (let n = 0; n < 320; n++) {
    await total(busy, { amount: { $ne: `0.${n}` } });
    await total(busy, {}, { from: `pay_${n}` });
  }
  t.same(await counted(), [], 'all of it is remembered');
});

t.test('a page that cannot be read fails alone, not the process', async (t) => {
  const accountId = 'acct_failing';
  await insert(payments(accountId, 5100, 700));
  const countSegments = createCountSegments(connection);
  const model = openCollection<PaymentDoc>(connection, PAYMENTS);
  const read = (hint?: Record<string, 1>) =>
    countSegments.page(
      `payments:${accountId}`,
      model,
      { accountId },
      { page: 1, pageSize: 5, direction: -1, ...(hint ? { hint } : {}) },
    );
  t.equal((await read()).meta.total, 5100);
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => void unhandled.push(reason);
  process.prependListener('unhandledRejection', note);
  t.teardown(() => process.off('unhandledRejection', note));
  await t.rejects(read({ noSuchIndex: 1 }));
  await systemClock.sleep(100);
  t.same(unhandled, []);
});

t.test('two writers of one list at once lose no change of a stretch', async (t) => {
  const accountId = 'acct_two';
  for (let n = 0; n < 6; n++) await insert(payments(accountId, 1000, 5));
  const all: Question = { status: [...STATUSES] };
  await check(stores, accountId, all, 0.9);
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let n = 0; n < 5; n++) await insert(Array.from({ length: 150 }, () => payment(accountId)));
    }),
  );
  await check(stores, accountId, all, 0.1);
  await check(stores, accountId, { ...all, walletId: 'wallet_1' }, 0.7);
  const countSegments = await db
    .collection('countSegments')
    .find({ list: `payments:${accountId}` })
    .toArray();
  t.equal(
    countSegments.reduce((sum, { size }) => sum + size, 0),
    12_000,
  );
});

t.test('a transaction that is undone leaves no trace in the totals', async (t) => {
  const accountId = 'acct_two';
  const all: Question = { status: [...STATUSES] };
  await t.rejects(
    transaction(async (session) => {
      await stores.system.payments.insert([payment(accountId)], session);
      throw new Error('undone');
    }),
  );
  await check(stores, accountId, all, 0);
});

t.test('a long list without countSegments is counted and paged exactly', async () => {
  const accountId = 'acct_plain';
  await db.collection<PaymentDoc>('payments').insertMany(payments(accountId, 6000, 5));
  await check(stores, accountId, { status: ['COMPLETED', 'REJECTED', 'UNDERPAID', 'UNMATCHED'] }, 0.95);
  await check(stores, accountId, { status: ['COMPLETED', 'REJECTED', 'UNDERPAID', 'UNMATCHED'] }, 0.1);
});

t.test('links are counted exactly as they are made, switched and deleted with their product', async (t) => {
  const accountId = 'acct_links';
  const link = (n: number) => ({
    _id: newId('link'),
    accountId,
    productId: `prod_${n % 2}`,
    name: null,
    slug: `s${n}`,
    memo: `M${n}`,
    active: true,
    history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
    paymentCount: 0,
    receivedCount: 0,
    ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
    ...{ completedCount: 0, orderCount: 0 },
    createdAt: new Date(nowMs),
  });
  const links = Array.from({ length: 6000 }, (_, n) => link(n));
  await db.collection('paymentLinks').insertMany(links as never[]);
  await transaction((session) =>
    stores.system.countSegments.touchAll(links, () => `paymentLinks:${accountId}`, session),
  );
  const totals = async () => {
    const of = async (filter: object) =>
      (await stores.forAccount(accountId).paymentLinks.list(filter, { page: 1, pageSize: 1 })).meta.total;
    return [await of({}), await of({ active: true }), await of({ productId: 'prod_0' })];
  };
  t.same(await totals(), [6000, 6000, 3000]);
  await transaction((session) =>
    stores.forAccount(accountId).paymentLinks.change(links[10]!, { active: false }, null, session),
  );
  t.same(await totals(), [6000, 5999, 3000]);
  await transaction((session) =>
    insertTogether(stores.forAccount(accountId).paymentLinks.insertsOf([link(6000)]), session),
  );
  t.same(await totals(), [6001, 6000, 3001]);
  await transaction((session) => stores.forAccount(accountId).paymentLinks.removeUnpaid(links[3]!._id, session));
  t.same(await totals(), [6000, 5999, 3001]);
  const removeSome = () =>
    transaction((session) => stores.forAccount(accountId).paymentLinks.removeOfProduct('prod_0', session));
  t.notOk(await removeSome(), 'batch by batch');
  t.same(await totals(), [5000, 4999, 2001]);
  while (!(await removeSome()));
  t.same(await totals(), [2999, 2999, 0]);
});

t.test('checkouts are counted and paged exactly as they are made, paid, expired, accepted and removed', async (t) => {
  const accountId = 'acct_checkouts';
  const { checkouts } = stores.forAccount(accountId);
  const other = open().forAccount(accountId).checkouts;
  const orders = db.collection<CheckoutDoc>('checkouts');
  let drawn = 0;
  const checkout = (): CheckoutDoc => {
    nowMs += 500;
    drawn += 1;
    return {
      _id: newId('chk'),
      accountId,
      productId: `prod_${drawn % 3}`,
      walletId: `wallet_${drawn % 2}`,
      slug: `c${drawn}`,
      memo: `C${drawn}`,
      reference: drawn % 10 ? null : 'often',
      metadata: '{}',
      name: 'Thing',
      description: null,
      assetCode: 'XLM',
      assetIssuer: null,
      amount: '1',
      quantity: null,
      lines: [{ productId: null, name: 'Thing', quantity: 1, price: '1', total: '1', net: '1', tax: '0' }],
      taxIncluded: true,
      tolerancePercent: '0',
      successUrl: null,
      cancelUrl: null,
      status: 'OPEN',
      received: '0',
      paymentCount: 0,
      expiresAt: new Date(nowMs),
      expiryCheckAt: new Date(nowMs),
      cancelledFrom: null,
      acceptedFrom: null,
      gapBefore: null,
      paidAt: null,
      closedAt: null,
      createdAt: new Date(nowMs),
    };
  };
  const make = (count: number) =>
    transaction((session) => insertTogether(checkouts.insertsOf(Array.from({ length: count }, checkout)), session));
  const expire = (ids: string[]) =>
    transaction(async (session) => {
      const open = await stores.system.checkouts.openOf(
        ids.map((_id) => ({ _id, accountId })),
        session,
      );
      const closedAt = clock.now();
      await stores.system.checkouts.update(
        open.map((each) => ({ ...each, status: 'EXPIRED', closedAt })),
        session,
      );
    });
  const some = async (status: CheckoutDoc['status'], share: number, count: number) => {
    const filter = { accountId, status };
    const skip = Math.floor(share * (await orders.countDocuments(filter)));
    return orders.find(filter).sort({ _id: 1 }).skip(skip).limit(count).toArray();
  };
  const change = (found: CheckoutDoc[], status: CheckoutDoc['status']) =>
    transaction((session) =>
      stores.system.checkouts.update(
        found.map((each) => ({ ...each, status, paymentCount: 1 })),
        session,
      ),
    );
  const QUESTIONS: CheckoutFilter[] = [
    ...[{}, { productId: 'prod_1' }, { walletId: 'wallet_1' }, { reference: 'often' }],
    ...(['OPEN', 'PAID', 'EXPIRED', 'CANCELLED'] as const).map((status) => ({ status })),
    { status: 'PAID', productId: 'prod_2' },
    { status: 'EXPIRED', createdFrom: new Date(nowMs + 2_000_000), createdTo: new Date(nowMs + 4_000_000) },
    { createdFrom: new Date(nowMs + 1_000_000) },
  ];
  const compare = async (share: number) => {
    for (const [n, question] of QUESTIONS.entries()) {
      const { createdFrom, createdTo, ...equal } = question;
      const between = { ...(createdFrom && { $gte: createdFrom }), ...(createdTo && { $lt: createdTo }) };
      const plain = { accountId, ...equal, ...(createdFrom || createdTo ? { createdAt: between } : {}) };
      const total = await orders.countDocuments(plain);
      const page = 1 + Math.floor((share * total) / 7);
      const want = await orders
        .find(plain, { projection: { _id: 1 } })
        .sort({ _id: -1 })
        .skip((page - 1) * 7)
        .limit(7)
        .toArray();
      const { items, meta } = await (n % 2 ? other : checkouts).list(question, { page, pageSize: 7 });
      t.same(
        [meta.total, items.map(({ _id }) => _id)],
        [total, want.map(({ _id }) => _id)],
        `page ${page} of ${JSON.stringify(question)}`,
      );
    }
  };
  for (let n = 0; n < 16; n++) {
    await make(1000);
    if (n > 1) await expire((await some('OPEN', 0, 700)).map(({ _id }) => _id));
    if (n > 2) await change(await some('EXPIRED', 0.5, 150), 'PAID');
  }
  const cutOf = (list: string) => db.collection('countSegments').countDocuments({ list: `${list}:${accountId}` });
  t.ok((await cutOf('checkouts')) > 4 && (await cutOf('closedCheckouts')) > 2, 'both lists are long');
  await compare(0.4);
  await change(await some('EXPIRED', 0.1, 3), 'PAID');
  await compare(0.9);
  await change([...(await some('OPEN', 0, 1)), ...(await some('OPEN', 0.9, 1))], 'CANCELLED');
  await compare(0.5);
  await change(await some('CANCELLED', 0, 1), 'PAID');
  await make(20);
  await compare(0.1);
  for (const status of ['OPEN', 'EXPIRED'] as const) {
    const ids = (await some(status, 0.3, 50)).map(({ _id }) => _id);
    await transaction((session) => checkouts.removeUnpaid(ids, session));
    t.equal(await orders.countDocuments({ _id: { $in: ids } }), 0);
    await compare(0.6);
  }
  while (!(await transaction((session) => checkouts.removeOfProduct('prod_0', session))));
  t.equal(await orders.countDocuments({ accountId, productId: 'prod_0', paymentCount: 0 }), 0);
  await compare(0.8);
  const [paid] = await some('PAID', 0.2, 1);
  await transaction((session) => checkouts.update({ ...paid!, status: 'EXPIRED' }, session));
  await compare(1);
  await t.rejects(
    transaction(async (session) => {
      await insertTogether(checkouts.insertsOf([checkout()]), session);
      throw new Error('undone');
    }),
  );
  await compare(0);
});

t.test(
  'a search finds exactly the links whose name, memo, slug or product’s name contains the text, in any case',
  async (t) => {
    const accountId = 'acct_search';
    const request = { page: 1, pageSize: 100 };
    const part = fc.string({ unit: fc.constantFrom('a', 'B', '-', '1'), minLength: 1, maxLength: 6 });
    const names = fc.sample(fc.record({ name: part, slug: part, memo: part }), 60).map(({ name, slug, memo }, n) => ({
      name: n % 4 === 0 ? null : name,
      slug: `${slug.toLowerCase()}-s${n}`,
      memo: `${memo.toUpperCase()}M${n}`,
    }));
    const links = names.map((name, n) => ({
      ...name,
      _id: newId('link'),
      accountId: n % 10 === 9 ? 'acct_other' : accountId,
      productId: `prod_${n % 3}`,
      active: n % 2 === 0,
      history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
      paymentCount: 0,
      receivedCount: 0,
      ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
      ...{ completedCount: 0, orderCount: 0 },
      createdAt: clock.now(),
    }));
    for (const link of links)
      await transaction((session) =>
        insertTogether(stores.forAccount(link.accountId).paymentLinks.insertsOf([link]), session),
      );
    const text = fc.oneof(part, fc.constantFrom('.', '^a', 'a.', '.*', '$', '[', '\\', 's1', 'M2', 'ß'));
    const productIds = fc.subarray(['prod_0', 'prod_1', 'prod_2']);
    const filter = fc.record(
      { productId: fc.constantFrom('prod_0', 'prod_1'), active: fc.boolean() },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(text, productIds, filter, async (text, productIds, filter) => {
        const { items, meta } = await stores
          .forAccount(accountId)
          .paymentLinks.list({ ...filter, search: { text, productIds } }, request);
        const contains = (name: string) => name.toLowerCase().includes(text.toLowerCase());
        const expected = links
          .filter((link) => link.accountId === accountId)
          .filter(
            (link) =>
              contains(link.name ?? '') ||
              contains(link.memo) ||
              contains(link.slug) ||
              productIds.includes(link.productId),
          )
          .filter((link) => filter.productId === undefined || link.productId === filter.productId)
          .filter((link) => filter.active === undefined || link.active === filter.active)
          .map(({ _id }) => _id)
          .reverse();
        t.same(
          [items.map(({ _id }) => _id), meta.total],
          [expected, expected.length],
          JSON.stringify({ text, productIds }),
        );
      }),
      { numRuns: 60 },
    );
    const { paymentLinks } = stores.forAccount(accountId);
    const search = { text: 's0', productIds: ['prod_0'] };
    const ways = {
      byId: await paymentLinks.byId(links[0]!._id),
      listed: (await paymentLinks.list({}, request)).items[0],
      found: (await paymentLinks.list({ search }, request)).items[0],
    };
    for (const [way, link] of Object.entries(ways))
      t.notOk('suffixes' in link!, `what links are found by is not read: ${way}`);
  },
);

t.test('deliveries of each status are counted exactly, as they are opened, attempted and sent again', async (t) => {
  const [accountId, webhookId] = ['acct_deliveries', 'hook_1'];
  const ids = Array.from({ length: 6000 }, () => newId('dlv'));
  const deliveries = ids.map((_id, n) => ({
    _id,
    accountId,
    webhookId,
    eventId: `evt_${n}`,
    eventType: 'payment.received',
    paymentId: `pay_${n}`,
    status: 'PENDING',
    attemptCount: 0,
    attempts: [],
    nextAttemptAt: clock.now(),
    lastResponseStatus: null,
    lastError: null,
    createdAt: clock.now(),
  }));
  await db.collection('deliveries').insertMany(deliveries as never[]);
  await transaction((session) =>
    stores.system.countSegments.touchAll(deliveries, () => `deliveries:${accountId}`, session),
  );
  const totals = () =>
    Promise.all(
      (['DELIVERED', 'PENDING', 'FAILED', 'CANCELLED', undefined] as const).map(async (status) => {
        const { meta } = await stores
          .forAccount(accountId)
          .deliveries.list(webhookId, status ? { status } : {}, request);
        return meta.total;
      }),
    );
  const request = { page: 1, pageSize: 20 };
  t.same(await totals(), [0, 6000, 0, 0, 6000]);
  const attempt = { at: clock.now(), durationMs: 1, responseStatus: 204, error: null };
  const record = (some: readonly string[], status: 'DELIVERED' | 'FAILED') =>
    stores.system.deliveries.record(
      some.map((id) => ({ id, accountId, attemptCount: 0, attempt, status, nextAttemptAt: null })),
    );
  await record(ids.slice(0, 5900), 'DELIVERED');
  await record(ids.slice(5900, 5930), 'FAILED');
  t.same(await totals(), [5900, 70, 30, 0, 6000]);
  await stores.forAccount(accountId).deliveries.redeliver(ids[0]!);
  await stores.system.deliveries.cancelPending([webhookId]);
  t.same(await totals(), [5899, 0, 30, 71, 6000]);
  const { items } = await stores
    .forAccount(accountId)
    .deliveries.list(webhookId, { status: 'DELIVERED' }, { page: 295, pageSize: 20 });
  t.same(
    items.map(({ _id }) => _id),
    ids.slice(1, 20).reverse(),
  );
});

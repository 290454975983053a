/** What of a page is stored when part of it was stored before, and which addresses are watched: the
 *  recorder and the stores on a real MongoDB. */
import type { mongo } from 'mongoose';
import t from 'tap';
import { createMemo } from '../../src/domain/memo.js';
import { monotonicClock, systemClock } from '../../src/kit/clock.js';
import { insertTogether } from '../../src/kit/database.js';
import { type Credit, cursorAfter } from '../../src/ledger/records.js';
import { CursorConflict } from '../../src/payments/recorder.js';
import type { PaymentLinkDoc } from '../../src/selling/link-store.js';
import type { ProductDoc } from '../../src/selling/product-document.js';
import type { CursorDoc } from '../../src/watching/cursors.js';
import type { WalletDoc } from '../../src/watching/wallet-store.js';
import { PAYER, SHOP } from '../helpers/horizon-records.js';
import { credit, newId, openStores, walletDoc } from '../helpers/stores.js';

const wallet = (accountId: string, address: string, more: Partial<WalletDoc> = {}): WalletDoc =>
  walletDoc({
    accountId,
    address,
    windows: [{ from: { at: new Date(0), ledger: 1 }, until: null }],
    watchStarted: true,
    ...more,
  });

/** Stores the memo of a link or checkout that a test makes by itself. */
const name = (db: mongo.Db, memo: string, payableId: string) =>
  db.collection('payableNames').insertOne({ _id: `memo:${memo}` as never, accountId: 'acct_1', payableId });

t.test(
  'of credits of which some are stored already, and one comes twice, the others are stored, once for each wallet',
  async (t) => {
    const { db, stores, recorder } = await openStores(t);
    await stores.forAccount('acct_1').wallets.insert(wallet('acct_1', SHOP));
    const operations = (stored: readonly { operationId: string }[]) => stored.map(({ operationId }) => operationId);
    t.equal((await recorder.record('TESTNET', { credits: [credit(1), credit(2)] }, null)).length, 2);
    const again = await recorder.record('TESTNET', { credits: [credit(2), credit(3), credit(3)] }, null);
    t.same(operations(again), [credit(3).operationId]);
    t.same(await recorder.record('TESTNET', { credits: [credit(1), credit(3)] }, null), []);
    // A second wallet at the same address lacks what the first one has.
    await stores.forAccount('acct_2').wallets.insert(wallet('acct_2', SHOP));
    const others = await recorder.record('TESTNET', { credits: [credit(1), credit(4)] }, null);
    t.same(operations(others).sort(), [credit(1), credit(4), credit(4)].map((each) => each.operationId).sort());
    t.equal(await db.collection('payments').countDocuments(), 6);
    t.equal(await db.collection('wallets').countDocuments({ hasPayments: true }), 2);
  },
);

t.test('watched addresses come each once, in order, whatever the number of wallets at one of them', async (t) => {
  const { stores } = await openStores(t);
  const address = (n: number) => `G${String(n).padStart(55, 'A')}`;
  for (let n = 0; n < 7; n++) await stores.forAccount(`acct_${n}`).wallets.insert(wallet(`acct_${n}`, address(1)));
  for (const n of [3, 2]) await stores.forAccount('acct_1').wallets.insert(wallet('acct_1', address(n)));
  await stores.forAccount('acct_2').wallets.insert(wallet('acct_2', address(3)));
  await stores.forAccount('acct_1').wallets.insert(wallet('acct_1', address(4), { watching: false }));
  await stores.forAccount('acct_1').wallets.insert(wallet('acct_1', address(5), { network: 'PUBLIC' }));
  for (const limit of [1, 2, 3, 4, 100]) {
    t.same(
      await stores.system.wallets.watchedAddresses('TESTNET', { limit }),
      [address(1), address(2), address(3)].slice(0, limit),
    );
  }
  t.same(await stores.system.wallets.watchedAddresses('TESTNET', { limit: 2, after: address(1) }), [
    address(2),
    address(3),
  ]);
  t.same(await stores.system.wallets.watchedAddresses('TESTNET', { limit: 2, after: address(3) }), []);
});

const position = (ledger: number): CursorDoc => ({
  _id: `TESTNET:${SHOP}`,
  network: 'TESTNET',
  address: SHOP,
  cursor: cursorAfter(ledger),
  ledger,
  closedAt: new Date(0),
  readAt: new Date(0),
  shownLedger: ledger,
  shownClosedAt: new Date(0),
  fromLedger: null,
  recordLedger: null,
});

t.test('a reader that was overtaken by another one stores nothing and moves nothing', async (t) => {
  const { db, stores, recorder } = await openStores(t);
  await stores.forAccount('acct_1').wallets.insert(wallet('acct_1', SHOP));
  // Ahead, or back to where a network is after a reset.
  for (const ledger of [1001, 7]) {
    await stores.system.cursors.save([position(ledger)]);
    await t.rejects(
      recorder.record('TESTNET', { credits: [credit(1)] }, { from: position(999), to: position(1000) }),
      CursorConflict,
    );
    t.equal(await stores.system.cursors.advance(position(999), position(1000)), false);
    t.match(await stores.system.cursors.byId(position(ledger)._id), { ledger, cursor: cursorAfter(ledger) });
    t.equal(await db.collection('payments').countDocuments(), 0);
  }
});

t.test('a wallet that was changed since the watcher read it is neither let go nor taken up', async (t) => {
  const { stores } = await openStores(t);
  const first = { from: { at: new Date(0), ledger: 1 }, until: { at: new Date(5), ledger: 5 } };
  const second = { from: { at: new Date(9), ledger: 9 }, until: null };
  const asRead = wallet('acct_1', SHOP, { windows: [first], active: false, watchStarted: false });
  await stores.forAccount('acct_1').wallets.insert({ ...asRead, windows: [first, second], active: true });
  await stores.system.wallets.startWatching([asRead]);
  await stores.system.wallets.stopWatching(asRead._id, { ledger: 5, at: new Date(5), closedAt: null });
  t.match(await stores.forAccount('acct_1').wallets.byId(asRead._id), {
    watching: true,
    readTo: null,
    watchStarted: false,
  });
});

t.test('a payment is matched by the network that its product took payments on when its ledger closed', async (t) => {
  const { stores, recorder, transaction } = await openStores(t);
  const own = stores.forAccount('acct_1');
  const before = wallet('acct_1', SHOP);
  // The product moved to a wallet of another network after the payment's ledger, before it
  // was read.
  const after = wallet('acct_1', SHOP, { _id: newId('wallet'), network: 'PUBLIC' });
  for (const each of [before, after]) await own.wallets.insert(each);
  const terms = {
    active: true,
    assetCode: 'XLM',
    assetIssuer: null,
    priceType: 'FIXED' as const,
    price: '0.000001',
    minAmount: null,
    tolerancePercent: '0',
  };
  const common = { accountId: 'acct_1', createdAt: new Date() };
  const product: ProductDoc = {
    ...common,
    _id: newId('prod'),
    name: 'Shirt',
    nameKey: 'shirt',
    description: null,
    imageUrl: null,
    walletId: after._id,
    ...terms,
    history: [
      { from: null, terms, network: 'TESTNET' },
      { from: { at: new Date(Date.now() + 3_600_000), ledger: null }, terms, network: 'PUBLIC' },
    ],
    stock: null,
    paymentLinkCount: 1,
    plainLinkCount: 1,
    revision: 1,
  };
  const memo = createMemo(systemClock, 'link');
  const link: PaymentLinkDoc = {
    ...common,
    _id: newId('link'),
    productId: product._id,
    name: null,
    slug: 'shirt',
    memo,
    active: true,
    history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
    paymentCount: 0,
    receivedCount: 0,
    ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
    ...{ completedCount: 0, orderCount: 0 },
  };
  await transaction(async (session) => {
    await insertTogether([...own.products.insertsOf([product]), ...own.paymentLinks.insertsOf([link])], session);
  });
  const named = { ...credit(1), memo: { type: 'text' as const, text: memo, valid: true } };
  const [payment] = await recorder.record('TESTNET', { credits: [named] }, null);
  t.match(payment, { status: 'COMPLETED', paymentLinkId: link._id });
  const later = { ...credit(2), memo: named.memo, closedAt: new Date(Date.now() + 7_200_000) };
  const [refused] = await recorder.record('TESTNET', { credits: [later] }, null);
  t.match(refused, { status: 'UNMATCHED', reason: 'unknown_memo' });
  const [there] = await recorder.record('PUBLIC', { credits: [later] }, null);
  t.match(there, { status: 'COMPLETED', paymentLinkId: link._id });
});

t.test('a cursor that came into use is not removed', async (t) => {
  const { stores } = await openStores(t);
  const seen = position(1000);
  await stores.system.cursors.save([seen]);
  await stores.system.cursors.save([{ ...seen, readAt: new Date(1) }]);
  await stores.system.cursors.removeUnchanged([seen]);
  t.ok(await stores.system.cursors.byId(seen._id));
  await stores.system.cursors.removeUnchanged([{ ...seen, readAt: new Date(1) }]);
  t.equal(await stores.system.cursors.byId(seen._id), null);
});

t.test('a gap that waits leaves no half-written state of a network that was never read', async (t) => {
  const { stores } = await openStores(t);
  const { networkStates } = stores.system;
  await networkStates.noteGapWait('TESTNET', new Date(1));
  t.equal(await networkStates.byNetwork('TESTNET'), null);
  const seen = { latestLedger: 5, latestClosedAt: new Date(0), seenAt: new Date(0) };
  await networkStates.save('TESTNET', { ...seen, anchor: null, trouble: null });
  await networkStates.noteGapWait('TESTNET', new Date(1));
  t.match(await networkStates.byNetwork('TESTNET'), { gapWaitsSince: new Date(1) });
});

t.test('money sent back is booked once, at the oldest payment with as much left, whatever is read first', async (t) => {
  const { db, stores, recorder } = await openStores(t);
  const account = stores.forAccount('acct_1');
  const shop = wallet('acct_1', SHOP);
  await account.wallets.insert(shop);
  await stores.forAccount('acct_2').wallets.insert(wallet('acct_2', SHOP));
  await db.collection('products').insertOne({
    ...{
      _id: 'prod_1' as never,
      accountId: 'acct_1',
      name: 'Tea',
      description: null,
      imageUrl: null,
      walletId: shop._id,
    },
    ...{
      active: true,
      assetCode: 'XLM',
      assetIssuer: null,
      priceType: 'CUSTOM',
      price: null,
      minAmount: null,
      tolerancePercent: '0',
    },
    history: [
      {
        from: null,
        terms: {
          active: true,
          assetCode: 'XLM',
          assetIssuer: null,
          priceType: 'CUSTOM',
          price: null,
          minAmount: null,
          tolerancePercent: '0',
        },
        network: shop.network,
      },
    ],
    ...{ paymentLinkCount: 1, plainLinkCount: 1, revision: 0, createdAt: new Date() },
  });
  const memo = createMemo(systemClock, 'link');
  await db.collection('paymentLinks').insertOne({
    ...{ _id: 'link_1' as never, accountId: 'acct_1', productId: 'prod_1', slug: 's', memo, active: true },
    history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
    ...{ paymentCount: 0, receivedCount: 0, completedCount: 0, suffixes: [], createdAt: new Date() },
  });
  await name(db, memo, 'link_1');
  const closedAt = new Date();
  const paid = (nth: number, amount: bigint): Credit => ({
    ...credit(nth),
    closedAt,
    amount,
    memo: { type: 'text', text: memo, valid: true },
  });
  const back = (nth: number, amount: bigint, changes: Partial<Credit> = {}): Credit => ({
    ...paid(nth, amount),
    ...{ sender: SHOP, receiver: PAYER },
    memo: { type: 'text', text: `refund ${memo}`, valid: true },
    ...changes,
  });
  const refundsOf = async () =>
    (await db.collection('payments').find().sort({ operationId: 1 }).toArray())
      .filter(({ accountId }) => accountId === 'acct_1')
      .map(({ refundedAmount, refunds }) => [refundedAmount ?? '0', (refunds ?? []).length]);
  const told = () => db.collection('events').countDocuments({ type: 'payment.refunded' });

  // The second wallet of a shop may be read before the first one: the refund waits for its payment.
  await recorder.record('TESTNET', { credits: [], refunds: [back(9, 30n)] }, null);
  t.equal(await told(), 0);
  await recorder.record('TESTNET', { credits: [paid(1, 20n), paid(2, 100n)] }, null);
  t.same(
    await refundsOf(),
    [
      ['0', 0],
      ['0.000003', 1],
    ],
    'the oldest with as much left',
  );
  t.equal(await told(), 1);

  await recorder.record(
    'TESTNET',
    { credits: [paid(2, 100n)], refunds: [back(9, 30n), back(10, 20n), back(10, 20n)] },
    null,
  );
  t.same(
    await refundsOf(),
    [
      ['0.000002', 1],
      ['0.000003', 1],
    ],
    'read twice, booked once',
  );
  await recorder.record('TESTNET', { credits: [], refunds: [back(11, 500n)] }, null);
  t.same(
    await refundsOf(),
    [
      ['0.000002', 1],
      ['0.000053', 2],
    ],
    'more than is left belongs to what has something left',
  );
  t.equal(await told(), 3);

  const strange = [
    back(12, 1n, { receiver: 'GSOMEBODY' }),
    back(13, 1n, { sender: 'GSOMEBODY' }),
    back(14, 1n, { asset: { code: 'USDC', issuer: SHOP } }),
    back(15, 1n, { closedAt: new Date(0) }),
    back(16, 1n, { memo: { type: 'text', text: memo, valid: true } }),
    back(17, 1n, { memo: { type: 'text', text: 'refund me', valid: true } }),
  ];
  await recorder.record('TESTNET', { credits: [], refunds: strange }, null);
  await recorder.record('PUBLIC', { credits: [], refunds: [back(18, 1n)] }, null);
  t.same(
    await refundsOf(),
    [
      ['0.000002', 1],
      ['0.000053', 2],
    ],
    'to another, from another, in another asset, before it',
  );
  t.equal(await told(), 3);
  const [event] = await db.collection('events').find({ type: 'payment.refunded' }).sort({ _id: -1 }).toArray();
  t.match(JSON.parse(event!.data), { payment: { refundedAmount: '0.000053' }, paymentLink: { id: 'link_1' } });

  const inUsdc = { asset: { code: 'USDC', issuer: SHOP } };
  const OTHER_PAYER = 'GOTHER';
  const neverMatch = Array.from({ length: 120 }, (_, n) => back(100 + n, 1n, inUsdc));
  await recorder.record(
    'TESTNET',
    { credits: [], refunds: [...neverMatch, back(300, 4n, { receiver: OTHER_PAYER })] },
    null,
  );
  await recorder.record('TESTNET', { credits: [{ ...paid(3, 4n), sender: OTHER_PAYER }] }, null);
  t.same((await refundsOf()).at(-1), ['0.0000004', 1], 'a refund that never matches hides no other');
  t.equal(await told(), 4);

  const underAnotherHash = back(9, 30n, { transactionHash: 'f'.repeat(64) });
  await recorder.record('TESTNET', { credits: [], refunds: [underAnotherHash] }, null);
  t.equal(await told(), 4, 'the hash that its transaction goes by makes it no other refund');

  const one = (await db.collection('payments').findOne({ accountId: 'acct_1' }))!;
  const settled = Array.from({ length: 1000 }, (_, n) => ({
    ...one,
    ...{
      _id: `pay_settled_${n}` as never,
      operationId: credit(1000 + n).operationId,
      amount: '1',
      refundedAmount: '1',
    },
  }));
  await db.collection('payments').insertMany(settled);
  await recorder.record('TESTNET', { credits: [paid(3000, 900n)], refunds: [back(3001, 900n)] }, null);
  t.match(
    await db.collection('payments').findOne({ operationId: credit(3000).operationId, accountId: 'acct_1' }),
    { refundedAmount: '0.00009' },
    'however many payments of the payer come before it',
  );

  const before = await told();
  const early = Array.from({ length: 150 }, (_, n) => back(5000 + n, 1n, { receiver: 'GLATE' }));
  await recorder.record('TESTNET', { credits: [], refunds: early }, null);
  await recorder.record('TESTNET', { credits: [{ ...paid(4000, 900n), sender: 'GLATE' }] }, null);
  t.equal((await told()) - before, 100, 'of very many that wait, a payment books the first');
  await recorder.record('TESTNET', { credits: [{ ...paid(4001, 900n), sender: 'GLATE' }] }, null);
  t.equal((await told()) - before, 150, 'and the next one the others');
});

t.test(
  'a part that was sent back before what made its checkout PAID, and is read after it, leaves its rest due to what comes then',
  async (t) => {
    const { db, stores, recorder } = await openStores(t);
    const shop = wallet('acct_1', SHOP);
    await stores.forAccount('acct_1').wallets.insert(shop);
    const [memo, now, end] = [createMemo(systemClock, 'checkout'), new Date(), new Date(Date.now() + 3_600_000)];
    await db.collection('checkouts').insertOne({
      ...{ _id: 'chk_1' as never, accountId: 'acct_1', productId: null, walletId: shop._id, slug: 's', memo },
      ...{ name: 'Order', description: null, assetCode: 'XLM', assetIssuer: null, amount: '0.000001', quantity: null },
      ...{
        reference: null,
        metadata: '{}',
        successUrl: null,
        cancelUrl: null,
        gapBefore: null,
        lines: [],
        taxIncluded: true,
      },
      ...{ status: 'OPEN', received: '0', paymentCount: 0, expiresAt: end, expiryCheckAt: end, tolerancePercent: '0' },
      ...{ cancelledFrom: null, acceptedFrom: null, paidAt: null, closedAt: null, createdAt: now },
    });
    await name(db, memo, 'chk_1');
    const paid = (nth: number, amount: bigint): Credit => ({
      ...credit(nth),
      ...{ closedAt: now, amount, memo: { type: 'text', text: memo, valid: true } },
    });
    const back = (nth: number, amount: bigint): Credit => ({
      ...paid(nth, amount),
      ...{ sender: SHOP, receiver: PAYER, memo: { type: 'text', text: `refund ${memo}`, valid: true } },
    });
    const shows = async () => {
      const { status, received } = (await db.collection('checkouts').findOne({ _id: 'chk_1' as never }))!;
      return `${status} ${received}`;
    };
    const judged = (nth: number) => db.collection('payments').findOne({ operationId: credit(nth).operationId });
    await recorder.record('TESTNET', { credits: [paid(1, 5n), paid(3, 5n)] }, null);
    t.equal(await shows(), 'PAID 10');
    await recorder.record('TESTNET', { credits: [], refunds: [back(2, 5n)] }, null);
    t.equal(await shows(), 'PAID 5', 'PAID is final; what it had by then is less');
    await recorder.record('TESTNET', { credits: [paid(4, 3n)] }, null);
    t.match(await judged(4), { status: 'UNDERPAID', expectedAmount: '0.0000005', shortfallAmount: '0.0000002' });
    await recorder.record('TESTNET', { credits: [], refunds: [back(5, 2n)] }, null);
    t.equal(await shows(), 'PAID 6', 'what is sent back while something is due counts no longer');
    await recorder.record('TESTNET', { credits: [paid(6, 9n)] }, null);
    t.match(await judged(6), { status: 'COMPLETED', expectedAmount: '0.0000004', excessAmount: '0.0000005' });
    await recorder.record('TESTNET', { credits: [], refunds: [back(7, 9n)] }, null);
    t.equal(await shows(), 'PAID 15', 'what is sent back of a complete order changes nothing');
    await recorder.record('TESTNET', { credits: [paid(8, 1n)] }, null);
    t.match(await judged(8), { status: 'REJECTED', reason: 'checkout_paid' });
    t.equal(await db.collection('events').countDocuments({ type: 'checkout.paid' }), 1);
    t.equal(await db.collection('events').countDocuments({ type: 'payment.refunded' }), 3);
  },
);

/** Checkouts of 5 stroops each. @returns their memos */
async function insertCheckouts(db: mongo.Db, shop: WalletDoc, count: number): Promise<string[]> {
  const now = new Date();
  const end = new Date(now.getTime() + 3_600_000);
  const memos = Array.from({ length: count }, () => createMemo(systemClock, 'checkout'));
  for (const [n, memo] of memos.entries()) {
    await db.collection('checkouts').insertOne({
      ...{ _id: `chk_${n}` as never, accountId: shop.accountId, productId: null, walletId: shop._id, slug: `s${n}` },
      ...{ memo, name: 'Order', description: null, assetCode: 'XLM', assetIssuer: null, amount: '0.0000005' },
      ...{ quantity: null, reference: null, metadata: '{}', successUrl: null, cancelUrl: null, gapBefore: null },
      ...{ lines: [], taxIncluded: true, status: 'OPEN', received: '0', paymentCount: 0 },
      ...{ expiresAt: end, expiryCheckAt: end, tolerancePercent: '0' },
      ...{ cancelledFrom: null, acceptedFrom: null, paidAt: null, closedAt: null, createdAt: now },
    });
    await name(db, memo, `chk_${n}`);
  }
  return memos;
}

t.test(
  'what takes too long in one transaction is stored in several, each payment and refund once, and the cursor last',
  async (t) => {
    const { db, stores, recorder } = await openStores(t, { monotonic: monotonicClock, storedWithinMs: -1 });
    const shop = wallet('acct_1', SHOP);
    await stores.forAccount('acct_1').wallets.insert(shop);
    const memos = await insertCheckouts(db, shop, 6);
    const closedAt = new Date();
    const textOf = (text: string) => ({ type: 'text' as const, text, valid: true });
    const paid = memos.map((memo, n) => credit(n + 1, { closedAt, amount: 5n, memo: textOf(memo) }));
    const back = memos.map((memo, n) =>
      credit(n + 50, { closedAt, amount: 2n, sender: SHOP, receiver: PAYER, memo: textOf(`refund ${memo}`) }),
    );
    const page = { credits: paid, refunds: back };
    const count = (type: string) => db.collection('events').countDocuments({ type });

    await stores.system.cursors.save([position(1001)]);
    await t.rejects(recorder.record('TESTNET', page, { from: position(999), to: position(1000) }), CursorConflict);
    t.match(await stores.system.cursors.byId(position(1)._id), { ledger: 1001 });
    t.equal(await count('checkout.paid'), 0, 'a reader that was overtaken stores nothing');

    await stores.system.cursors.save([position(999)]);
    const broken = { ...page, parked: [null as never] };
    await t.rejects(recorder.record('TESTNET', broken, { from: position(999), to: position(1000) }), TypeError);
    t.match(await stores.system.cursors.byId(position(1)._id), { ledger: 999 });
    t.equal(await count('payment.refunded'), 5, 'all but the last, which moves the cursor, are stored');

    await recorder.record('TESTNET', page, { from: position(999), to: position(1000) });
    t.match(await stores.system.cursors.byId(position(1)._id), { ledger: 1000 });
    t.equal(await count('checkout.paid'), 6);
    t.equal(await count('payment.refunded'), 6);
    const stored = await db.collection('payments').find().toArray();
    t.same(
      stored.map(({ status, refundedAmount }) => `${status} ${refundedAmount}`),
      Array.from({ length: 6 }, () => 'COMPLETED 0.0000002'),
    );
    t.same(await recorder.record('TESTNET', page, null), [], 'read again, nothing is new');
    t.equal(await count('payment.refunded'), 6);
  },
);

t.test(
  'a thousand parts of an order were sent back in a hundred shares each → it becomes PAID all the same',
  async (t) => {
    const { db, stores, recorder } = await openStores(t);
    const shop = wallet('acct_1', SHOP);
    await stores.forAccount('acct_1').wallets.insert(shop);
    const [memo] = await insertCheckouts(db, shop, 1);
    const paid = (nth: number, amount: bigint) =>
      credit(nth, { amount, memo: { type: 'text', text: memo!, valid: true } });
    const [first] = await recorder.record('TESTNET', { credits: [paid(1, 1n)] }, null);
    const part = (await db.collection('payments').findOne({ _id: first!._id as never }))!;
    const share = { transactionHash: 'a'.repeat(64), amount: '0.0000001', ledger: 1000, at: new Date() };
    const refunds = Array.from({ length: 100 }, () => share);
    const parts = Array.from({ length: 998 }, (_, n) => ({ ...part, refunds, _id: `pay_${n}` as never }));
    await db
      .collection('payments')
      .insertMany(parts.map((each, n) => ({ ...each, operationId: credit(n + 5000).operationId })));
    await db.collection('checkouts').updateOne({}, { $set: { paymentCount: 999 } });

    await recorder.record('TESTNET', { credits: [paid(2, 5n)] }, null);
    t.match(await db.collection('checkouts').findOne(), { status: 'PAID' });
    const event = (await db.collection('events').findOne({ type: 'checkout.paid' }))!;
    t.ok(event.data.length < 4_000_000, `${event.data.length} characters`);
    const { payments } = JSON.parse(event.data);
    t.same([payments.length, payments[0].refunds.length], [1000, 10]);
  },
);

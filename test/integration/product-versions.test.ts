/** A product's terms at any time are found again, however often they were changed since, and what
 *  its document holds stays small. */
import fc from 'fast-check';
import t from 'tap';
import { createMemo } from '../../src/domain/memo.js';
import { type LedgerStamp, mayBeInForce } from '../../src/domain/terms.js';
import { systemClock } from '../../src/kit/clock.js';
import { insertTogether } from '../../src/kit/database.js';
import type { Credit } from '../../src/ledger/records.js';
import type { ProductDoc, ProductVersion, StoredTerms } from '../../src/selling/product-document.js';
import { createProductStore } from '../../src/selling/product-store.js';
import { SHOP } from '../helpers/horizon-records.js';
import { startTestService } from '../helpers/service.js';
import { credit, newId, openStores, walletDoc } from '../helpers/stores.js';

const MINUTE_MS = 60_000;
const BEGIN_MS = Date.parse('2026-03-01T00:00:00Z');

const termsOf = (price: number): StoredTerms => ({
  active: true,
  assetCode: 'XLM',
  assetIssuer: null,
  priceType: 'FIXED',
  price: String(price),
  minAmount: null,
  tolerancePercent: '0',
});
const { uri, stores, transaction, recorder, connection, db } = await openStores(t);
const service = await startTestService(t, { database: { uri }, role: 'api' });
const ACCOUNT = service.accountId;

const productDoc = (walletId: string): ProductDoc => ({
  _id: newId('prod'),
  accountId: ACCOUNT,
  name: 'Tea',
  nameKey: 'tea',
  description: null,
  imageUrl: null,
  walletId,
  ...termsOf(1),
  history: [{ from: null, terms: termsOf(1), network: 'TESTNET' }],
  stock: null,
  paymentLinkCount: 1,
  plainLinkCount: 1,
  revision: 0,
  createdAt: new Date(BEGIN_MS),
});

const own = stores.forAccount(ACCOUNT);

/** The version after so many others. */
const versionFrom = (from: LedgerStamp, nth: number): ProductVersion => ({
  from,
  terms: termsOf(nth + 2),
  network: 'TESTNET',
});

t.test('what is in force at any time is the same as by a history that has everything', async (t) => {
  let checked = 0;
  const property = fc.asyncProperty(
    fc.integer({ min: 1, max: 4 }),
    // Clocks of several processes: a change may seem to be earlier than the one before.
    fc.array(fc.integer({ min: -4000, max: 200_000 }), { minLength: 1, maxLength: 14 }),
    fc.array(fc.integer({ min: -300_000, max: 2_000_000 }), { minLength: 1, maxLength: 6 }),
    async (versionsKept, steps, times) => {
      const products = createProductStore(connection, versionsKept);
      const { change, withVersionsAt } = products.forAccount(ACCOUNT);
      let product = productDoc('wallet_1');
      const whole = [...product.history];
      await transaction((session) => insertTogether(products.forAccount(ACCOUNT).insertsOf([product]), session));
      let atMs = BEGIN_MS;
      for (const [nth, step] of steps.entries()) {
        atMs += step;
        const version = versionFrom({ at: new Date(atMs), ledger: null }, nth);
        whole.push(version);
        product = (await transaction((session) => change(product, version.terms, version, session)))!;
      }
      t.ok(product.history.length <= versionsKept, `${product.history.length} in the document`);
      const closes = times.map((ms) => ({ ledger: 1, closedAt: new Date(BEGIN_MS + Math.floor(ms / 1000) * 1000) }));
      const found = await transaction((session) => withVersionsAt(product, closes, session));
      for (const close of closes) {
        const [got, want] = [found.history, whole].map((history) =>
          mayBeInForce(history, close).map((terms) => terms.price),
        );
        if (`${got}` !== `${want}`) throw new Error(`${close.closedAt.toISOString()}: ${got}, not ${want}`);
        checked += 1;
      }
    },
  );
  await fc.assert(property, { numRuns: 60 });
  t.ok(checked > 60);
});

t.test('a payment that is read or assigned late is judged by the terms of its time, after 200 changes', async (t) => {
  const wallet = walletDoc({
    accountId: ACCOUNT,
    address: SHOP,
    windows: [{ from: { at: new Date(0), ledger: 1 }, until: null }],
    watchStarted: true,
  });
  await own.wallets.insert(wallet);
  let product = productDoc(wallet._id);
  const link = {
    _id: newId('link'),
    accountId: ACCOUNT,
    productId: product._id,
    name: null,
    slug: 'tea',
    memo: createMemo(systemClock, 'link'),
    active: true,
    history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }],
    paymentCount: 0,
    receivedCount: 0,
    ...{ order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null },
    ...{ completedCount: 0, orderCount: 0 },
    createdAt: new Date(BEGIN_MS),
  };
  await transaction(async (session) => {
    await insertTogether([...own.products.insertsOf([product]), ...own.paymentLinks.insertsOf([link])], session);
  });
  for (let nth = 0; nth < 200; nth++) {
    const version = versionFrom({ at: new Date(BEGIN_MS + nth * MINUTE_MS), ledger: null }, nth);
    product = (await transaction((session) => own.products.change(product, version.terms, version, session)))!;
  }
  const stored = await own.products.byId(product._id);
  t.equal(stored!.history.length, 50);
  t.equal(await db.collection('productVersions').countDocuments({ productId: product._id }), 151);
  const paid = (nth: number, minutes: number, price: number, fields: Partial<Credit> = {}): Credit =>
    credit(nth, {
      closedAt: new Date(BEGIN_MS + minutes * MINUTE_MS),
      amount: BigInt(price) * 10_000_000n,
      memo: { type: 'text', text: link.memo, valid: true },
      ...fields,
    });
  // After the version from minute n on the price is n + 2.
  const credits = [paid(1, -5, 1), paid(2, 0.5, 2), paid(3, 77.5, 79), paid(4, 149.5, 151), paid(5, 500, 201)];
  const recorded = await recorder.record('TESTNET', { credits }, null);
  t.same(
    recorded.map(({ status, expectedAmount }) => `${status} ${expectedAmount}`),
    ['COMPLETED 1', 'COMPLETED 2', 'COMPLETED 79', 'COMPLETED 151', 'COMPLETED 201'],
  );
  const [late] = await recorder.record('TESTNET', { credits: [paid(6, 20.5, 21)] }, null);
  t.match(late, { status: 'UNDERPAID', expectedAmount: '22' });
  const unnamed = paid(7, 30.5, 32, { memo: { type: 'none', text: null } });
  const [unmatched] = await recorder.record('TESTNET', { credits: [unnamed] }, null);
  const assigned = await service.api('POST', `/payments/${unmatched!._id}/assign`, { paymentLinkId: link._id });
  t.match(assigned.data, { status: 'COMPLETED', expectedAmount: '32' });

  await stores.system.products.forgetLedgers([wallet._id]);
  while (!(await transaction((session) => own.products.removeVersions(product._id, session))));
  t.equal(await db.collection('productVersions').countDocuments({ productId: product._id }), 0);
});

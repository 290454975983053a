/** Products that several change at once, and their deletion: with all that belongs to them, however
 *  much that is, and never once anybody has paid. */
import t from 'tap';
import { type Caller, withDoing } from '../../src/kit/caller.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { createCheckoutCreation } from '../../src/selling/checkout-creation.js';
import { createPaymentLinkService } from '../../src/selling/links.js';
import { createProductService } from '../../src/selling/products.js';
import { createQuotes } from '../../src/selling/quotes.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';
import { credit, openStoresOn } from '../helpers/stores.js';

const { uri, db } = await testDatabase(t);
const service = await startTestService(t, { database: { uri } });
const { recorder, stores, commit } = await openStoresOn(t, uri);
const { wallet } = await startSelling(service);
const newId = createIds(systemClock);

const makeProduct = async () =>
  (
    await service.api('POST', '/products', {
      ...{ name: 'Tea', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' },
    })
  ).data;
const ORDER_FORM = { fields: [], coupons: false };
const makeLink = async (productId: string) => (await service.api('POST', '/payment-links', { productId })).data;

let payments = 0;
const pay = async (text: string) => {
  // A ledger that closes quickly has times ahead of the clock, and the wallet counts from such
  // a time.
  const closedAt = new Date(Date.now() + 600_000);
  const paid = credit(++payments, {
    ...{ ledger: 1_000_000, closedAt, receiver: wallet.address, amount: 10_000_000n },
    memo: { type: 'text', text, valid: true },
  });
  return (await recorder.record('LOCAL', { credits: [paid] }, null))[0]!;
};

t.test('a product with thousands of links and checkouts is gone at once, and they are removed', LONG, async (t) => {
  const product = await makeProduct();
  const { id: linkId } = await makeLink(product.id);
  const { data: checkout } = await service.api('POST', '/checkouts', { productId: product.id });
  for (const [name, prefix, id] of [
    ['paymentLinks', 'link', linkId],
    ['checkouts', 'chk', checkout.id],
  ] as const) {
    const one = (await db.collection(name).findOne({ _id: id }))!;
    const copies = Array.from({ length: 2300 }, (_, n) => ({
      ...one,
      _id: newId(prefix) as never,
      memo: `${one.memo}${n}`,
      slug: `${one.slug}${n}`,
    }));
    await db.collection(name).insertMany(copies);
  }
  t.equal((await service.api('DELETE', `/products/${product.id}`)).status, 200);
  t.equal((await service.api('GET', `/payment-links/${linkId}`)).status, 404);
  t.equal((await service.api('GET', `/checkouts/${checkout.id}`)).status, 404);
  t.same((await service.api('GET', `/payment-links?productId=${product.id}`)).data, []);
  t.equal((await pay(`${checkout.memo}1`)).status, 'UNMATCHED');
  const isEmpty = async () => {
    const counts = ['paymentLinks', 'checkouts'].map((name) =>
      db.collection(name).countDocuments({ productId: product.id }),
    );
    const left = [...(await Promise.all(counts)), await db.collection('deletedProducts').countDocuments()];
    return left.every((count) => count === 0);
  };
  await eventually(isEmpty, 'nothing is left');
});

t.test('one of a payment and a deletion at once wins, and the other sees it', LONG, async (t) => {
  const outcomes = new Set<string>();
  for (let round = 0; round < 30; round++) {
    const product = await makeProduct();
    const link = await makeLink(product.id);
    const [payment, deleted] = await Promise.all([
      systemClock.sleep(round % 6).then(() => pay(link.memo)),
      systemClock.sleep(round % 5).then(() => service.api('DELETE', `/products/${product.id}`)),
    ]);
    const left = (await service.api('GET', `/products/${product.id}`)).status;
    const outcome = `${payment.status} ${deleted.status} ${left}`;
    outcomes.add(outcome);
    t.ok(['COMPLETED 409 200', 'UNMATCHED 200 404'].includes(outcome), outcome);
  }
  t.comment([...outcomes].join(', '));
});

t.test('a product with payments is not deleted, and keeps all of its links', async (t) => {
  const product = await makeProduct();
  const [paid, unpaid] = [await makeLink(product.id), await makeLink(product.id)];
  t.equal((await pay(paid.memo)).status, 'COMPLETED');
  t.match((await service.api('DELETE', `/products/${product.id}`)).error, { code: 'conflict', message: /payments/ });
  t.equal((await service.api('GET', `/payment-links/${unpaid.id}`)).status, 200);

  const other = await makeProduct();
  const link = await makeLink(other.id);
  const { _id: id } = await pay('NOBODY');
  t.equal((await service.api('POST', `/payments/${id}/assign`, { paymentLinkId: link.id })).status, 200);
  t.equal((await service.api('DELETE', `/products/${other.id}`)).status, 409, 'assigned to it by hand');
});

t.test('a wallet counts its products, however many changes move one at once', async (t) => {
  const { address } = await service.context.localLedger!.client.fund();
  const second = (await service.api('POST', '/wallets', { name: 'Second', address, network: 'LOCAL' })).data;
  const product = await makeProduct();
  for (let round = 0; round < 5; round++) {
    const walletIds = [second.id, wallet.id, second.id, wallet.id, second.id, wallet.id];
    const answers = await Promise.all(
      walletIds.map((walletId) => service.api('PATCH', `/products/${product.id}`, { walletId })),
    );
    t.ok(answers.every(({ status }) => status === 200));
  }
  for (const { id } of [wallet, second]) {
    const { productCount } = (await db.collection('wallets').findOne({ _id: id }))!;
    t.equal(productCount, await db.collection('products').countDocuments({ walletId: id }));
  }
});

t.test(
  'a product is listed with its wallet, also when it moves and the old wallet is deleted during the read',
  async (t) => {
    const fund = async () => (await service.context.localLedger!.client.fund()).address;
    const makeWallet = async (name: string) =>
      (await service.api('POST', '/wallets', { name, address: await fund(), network: 'LOCAL' })).data;
    const [old, next] = [await makeWallet('Old'), await makeWallet('Next')];
    const [moved, deleted, stays] = [await makeProduct(), await makeProduct(), await makeProduct()];
    for (const { id } of [moved, deleted]) await service.api('PATCH', `/products/${id}`, { walletId: old.id });

    let between = async () => {};
    const forAccount = (accountId: string) => {
      const { account, products, wallets } = stores.forAccount(accountId);
      const then = async <T>(result: T) => {
        await between();
        between = async () => {};
        return result;
      };
      const list: typeof products.list = async (...args) => then(await products.list(...args));
      const byId: typeof products.byId = async (...args) => then(await products.byId(...args));
      return { account, products: { ...products, list, byId }, wallets };
    };
    const common = { forAccount, wallets: stores.system.wallets, commit, clock: systemClock, newId };
    const products = createProductService({
      ...common,
      stamper: { stamp: async () => ({ at: new Date(), ledger: null }) },
      removeLeftovers: async () => {},
      quotes: createQuotes({ rateBook: { current: async () => null } }),
      rateNeeds: { ofPriced: async () => true },
    });
    const { accountId } = (await db.collection('wallets').findOne({ _id: old.id }))!;
    const caller: Caller = { accountId, keyId: 'key', scope: 'FULL' };

    between = async () => {
      t.equal((await service.api('PATCH', `/products/${moved.id}`, { walletId: next.id })).status, 200);
      t.equal((await service.api('DELETE', `/products/${deleted.id}`)).status, 200);
      t.equal((await service.api('DELETE', `/wallets/${old.id}`)).status, 200);
    };
    const { items } = await products.list(caller, { page: 1, pageSize: 100, sortOrder: 'desc', sortBy: 'createdAt' });
    const ids = items.map(({ id }) => id);
    t.notOk(ids.includes(deleted.id));
    t.same(ids.slice(0, 2), [stays.id, moved.id], 'in the same order');
    t.equal(items.find(({ id }) => id === moved.id)?.wallet.id, next.id);

    const last = await makeWallet('Last');
    between = async () => {
      t.equal((await service.api('PATCH', `/products/${moved.id}`, { walletId: last.id })).status, 200);
      t.equal((await service.api('DELETE', `/wallets/${next.id}`)).status, 200);
    };
    t.equal((await products.get(caller, { id: moved.id })).wallet.id, last.id);
    await db.collection('products').updateOne({ _id: moved.id }, { $set: { walletId: old.id } });
    await t.rejects(
      products.get(caller, { id: moved.id }),
      /has no wallet/,
      'and a product without one is an error, not a loop',
    );
    await db.collection('products').updateOne({ _id: moved.id }, { $set: { walletId: last.id } });
  },
);

t.test('a link changes its form while its product is deleted → it is not found', async (t) => {
  const product = await makeProduct();
  const { id } = await makeLink(product.id);
  const { accountId } = (await db.collection('products').findOne({ _id: product.id }))!;
  const links = createPaymentLinkService({
    ...{ forAccount: stores.forAccount, products: stores.system.products, commit, clock: systemClock, newId },
    stamper: {
      // Its links follow it in transactions of their own.
      async stamp() {
        await db.collection('products').deleteOne({ _id: product.id });
        return { at: new Date(), ledger: null };
      },
    },
    quotes: createQuotes({ rateBook: { current: async () => null } }),
    publicUrl: 'https://pay.example',
    payUri: () => '',
  });
  const caller: Caller = { accountId, keyId: 'key', scope: 'FULL' };
  const changed = withDoing('paymentLinks', links).update(caller, { id, order: ORDER_FORM });
  await t.rejects(changed, { code: 'not_found' });
});

t.test('of a checkout and the end of its wallet at once one wins, and the other sees it', async (t) => {
  const { accountId } = (await db.collection('wallets').findOne({ _id: wallet.id }))!;
  const ends = {
    off: (id: string) => service.api('PATCH', `/wallets/${id}`, { active: false }),
    deleted: (id: string) => service.api('DELETE', `/wallets/${id}`),
  };
  for (const end of [ends.off, ends.deleted]) {
    for (const isCheckoutFirst of [true, false]) {
      const { address } = await service.context.localLedger!.client.fund();
      const own = (await service.api('POST', '/wallets', { name: 'Own', address, network: 'LOCAL' })).data;
      let ending: ReturnType<typeof end> | undefined;
      const { products, wallets } = stores.system;
      const countCheckouts: typeof wallets.countCheckouts = async (...asked) => {
        if (!isCheckoutFirst) {
          ending ??= end(own.id);
          await ending;
        }
        const counted = await wallets.countCheckouts(...asked);
        ending ??= end(own.id);
        await systemClock.sleep(100);
        return counted;
      };
      const create = createCheckoutCreation({
        ...{ forAccount: stores.forAccount, products, wallets: { countCheckouts } },
        ...{ commit, newId, clock: systemClock, publicUrl: 'https://pay.example' },
        quotes: createQuotes({ rateBook: { current: async () => null } }),
        rateNeeds: { ofPriced: async () => true },
      });
      const input = { walletId: own.id, name: 'Tea', amount: '1', assetCode: 'XLM' };
      const doing = { operation: 'checkouts_create', effect: 'adds', input } as const;
      const made = create({ accountId, keyId: 'key', scope: 'FULL', doing }, input);
      if (isCheckoutFirst) t.match(await made, { status: 'OPEN', wallet: { id: own.id } });
      else await t.rejects(made, /wallet/);
      t.equal((await ending)?.status, isCheckoutFirst ? 409 : 200);
      t.equal(await db.collection('checkouts').countDocuments({ walletId: own.id }), isCheckoutFirst ? 1 : 0);
    }
  }
});

t.test('the history of a link or wallet that is switched again and again has a bound', async (t) => {
  const product = await makeProduct();
  const link = await makeLink(product.id);
  const switches = Array.from({ length: 1001 }, () => ({ from: null, terms: { active: true } }));
  await db.collection('paymentLinks').updateOne({ _id: link.id }, { $set: { history: switches } });
  t.match((await service.api('PATCH', `/payment-links/${link.id}`, { active: false })).error, { code: 'conflict' });

  const { address } = await service.context.localLedger!.client.fund();
  const own = (await service.api('POST', '/wallets', { name: 'Own', address, network: 'LOCAL' })).data;
  await service.api('PATCH', `/wallets/${own.id}`, { active: false });
  const { windows } = (await db.collection('wallets').findOne({ _id: own.id }))!;
  await db
    .collection('wallets')
    .updateOne({ _id: own.id }, { $set: { windows: Array.from({ length: 1000 }, () => windows[0]) } });
  t.match((await service.api('PATCH', `/wallets/${own.id}`, { active: true })).error, { code: 'conflict' });
});

t.test('a product that was stored by rules of before is still renamed and switched off', async (t) => {
  const { id } = await makeProduct();
  await db.collection('products').updateOne({ _id: id as never }, { $set: { currency: 'JPY', price: '9.5' } });
  const changed = await service.api('PATCH', `/products/${id}`, { name: 'Green tea', active: false });
  t.equal(changed.status, 200);
  t.match(changed.data, { name: 'Green tea', active: false, price: '9.5' });
  const refused = await service.api('PATCH', `/products/${id}`, { price: '9.6' });
  t.equal(refused.status, 422, 'a new price is checked');
});

t.test('another program holds an account’s wallet: creations of other accounts do not wait for it', async (t) => {
  const accounts = [await service.openAccount(), await service.openAccount()] as const;
  const [held, other] = await Promise.all(
    accounts.map(async ({ accountId, apiKey }) => {
      const api: typeof service.api = (method, path, body) => service.api(method, path, body, apiKey);
      const { product, wallet } = await startSelling({ ...service, api });
      const create = async () => {
        const terms = { name: 'Tea', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };
        const answers = await Promise.all([
          api('POST', '/products', terms),
          api('POST', '/payment-links', { productId: product.id }),
          api('POST', '/checkouts', { productId: product.id }),
        ]);
        return answers.map(({ status }) => status);
      };
      return { accountId, create };
    }),
  );
  const session = db.client.startSession();
  t.teardown(() => session.endSession());
  session.startTransaction();
  for (const name of ['wallets', 'products', 'countSegments'])
    await db.collection(name).updateMany({ accountId: held!.accountId }, { $set: { held: true } }, { session });
  const hanging = Promise.all(Array.from({ length: 5 }, held!.create));
  const made = await Promise.all(Array.from({ length: 5 }, other!.create));
  t.ok(made.flat().every((status) => status === 201));
  t.equal(await Promise.race([hanging, other!.create().then(() => 'hangs')]), 'hangs', 'the held one waits');
  await session.abortTransaction();
  t.ok((await hanging).flat().every((status) => status === 201));
});

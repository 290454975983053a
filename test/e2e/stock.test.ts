/** Stock: what orders take of it, and that taken and left add up, whatever comes at once. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { request } from '../helpers/api.js';
import { LONG } from '../helpers/long.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const service = await startTestService(t, { clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
const other = await service.join('api');
const { wallet } = await startSelling(service);
const ledger = service.context.localLedger!.client;

const mug = { name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '10' };
const stocked = async (stock: number | null, fields: object = {}): Promise<string> =>
  (await service.api('POST', '/products', { ...mug, stock, ...fields })).data.id;
const left = async (id: string) => (await service.api('GET', `/products/${id}`)).data.stock;
const order = (productId: string, quantity: number, fields: object = {}) =>
  service.api('POST', '/checkouts', { productId, quantity, ...fields });
const change = (id: string, fields: object) => service.api('PATCH', `/products/${id}`, fields);
const statusIs = (id: string, status: string) =>
  eventually(async () => (await service.api('GET', `/checkouts/${id}`)).data.status === status, `it is ${status}`);
const leftIs = (id: string, stock: number) => eventually(async () => (await left(id)) === stock, `${stock} are left`);

t.test('an order takes its pieces when it is made, all lines or none', async (t) => {
  const [mugs, cups] = [await stocked(5), await stocked(1, { name: 'Cup' })];
  t.equal((await order(mugs, 2)).status, 201);
  t.equal(await left(mugs), 3);
  const basket = (lines: object[]) =>
    service.api('POST', '/checkouts', { walletId: wallet.id, assetCode: 'XLM', lines });
  const refused = await basket([
    { productId: mugs, quantity: 3 },
    { productId: cups, quantity: 2 },
  ]);
  t.match([refused.status, refused.error], [409, { code: 'conflict', message: /“Cup”/ }]);
  const twice = await basket([
    { productId: mugs, quantity: 2 },
    { productId: mugs, quantity: 2 },
  ]);
  t.match([twice.status, twice.error], [409, { message: /“Mug”/ }], 'lines of one product count together');
  t.same([await left(mugs), await left(cups)], [3, 1]);
  t.equal((await basket([{ productId: mugs, quantity: 3 }, { productId: cups }])).status, 201);
  t.same([await left(mugs), await left(cups)], [0, 0]);
});

t.test('an order that the coupon is refused to takes no pieces', async (t) => {
  const mugs = await stocked(5);
  await service.api('POST', '/coupons', { code: 'ONCE', percentOff: '10', maxRedemptions: 1 });
  const all = await Promise.all([1, 2, 3].map(() => order(mugs, 1, { couponCode: 'ONCE' })));
  t.same(all.map(({ status }) => status).sort(), [201, 422, 422]);
  t.equal(await left(mugs), 4);
});

t.test('the stock is set, and changed by a number', async (t) => {
  const mugs = await stocked(null);
  t.match(await change(mugs, { stockChange: '1' }), { status: 409 });
  t.match(await change(mugs, { stock: 10 }), { data: { stock: 10 } });
  t.match(await change(mugs, { stockChange: '-3' }), { data: { stock: 7 } });
  t.match(await change(mugs, { stockChange: '+5' }), { data: { stock: 12 } });
  t.equal((await change(mugs, { stockChange: '-13' })).status, 409);
  t.equal((await change(mugs, { stockChange: '999989' })).status, 409);
  for (const fields of [
    { stock: -1 },
    { stock: 1_000_001 },
    { stock: 1.5 },
    { stockChange: '1.5' },
    { stockChange: 3 },
  ])
    t.equal((await change(mugs, fields)).status, 422, JSON.stringify(fields));
  t.equal((await change(mugs, { stock: 1, stockChange: '1' })).status, 422);
  t.equal(await left(mugs), 12);
  t.match(await change(mugs, { stock: null }), { data: { stock: null } });
  t.equal((await order(mugs, 100)).status, 201);
});

t.test('a product with a stock and one with plain links exclude each other', async (t) => {
  const mugs = await stocked(1);
  t.match(await service.api('POST', '/payment-links', { productId: mugs }), {
    ...{ status: 422, error: { details: [{ path: 'productId', code: 'not_allowed' }] } },
  });
  const cups = await stocked(null);
  await service.api('POST', '/payment-links', { productId: cups });
  t.equal((await change(cups, { stock: 1 })).status, 409);
  t.equal(await left(cups), null);
});

t.test('40 orders at once for 10 pieces, through two processes → ten get one', async (t) => {
  const mugs = await stocked(10);
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      request(index % 2 ? service.url : other.url, 'POST', '/checkouts', {
        headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ productId: mugs }),
      }),
    ),
  );
  t.same(answers.map(({ status }) => status).sort(), [...Array(10).fill(201), ...Array(30).fill(409)]);
  t.equal(await left(mugs), 0);
});

t.test(
  'pieces come back once it is proven that the order was not paid, and an acceptance takes them again',
  async (t) => {
    const mugs = await stocked(6);
    const part = async (checkout: any) => {
      await ledger.pay({ to: wallet.address, amount: '1', memo: checkout.memo });
      await eventually(
        async () => (await service.api('GET', `/payments?checkoutId=${checkout.id}`)).data.length === 1,
        'a part',
      );
    };
    const expiresAt = new Date(nowMs() + 61_000).toISOString();
    const expiring = (await order(mugs, 3, { expiresAt })).data;
    const paid = (await order(mugs, 1)).data;
    const cancelled = (await order(mugs, 2)).data;
    await part(expiring);
    await ledger.pay({ to: wallet.address, amount: '10', memo: paid.memo });
    await statusIs(paid.id, 'PAID');
    await service.api('POST', `/checkouts/${cancelled.id}/cancel`);
    await leftIs(mugs, 2);
    aheadMs += 62_000;
    await statusIs(expiring.id, 'EXPIRED');
    t.equal(await left(mugs), 5);
    await change(mugs, { stock: 2 });
    const refused = await service.api('POST', `/checkouts/${expiring.id}/accept`);
    t.match([refused.status, refused.error], [409, { message: /raise the stock first/ }]);
    t.equal(await left(mugs), 2);
    await change(mugs, { stockChange: '2' });
    t.match(await service.api('POST', `/checkouts/${expiring.id}/accept`), { data: { status: 'PAID' } });
    t.equal(await left(mugs), 1);
  },
);

t.test('a piece of a cancelled order that money came for stays with it until the money is sent back', async (t) => {
  const mugs = await stocked(1);
  const checkout = (await order(mugs, 1)).data;
  await ledger.pay({ to: wallet.address, amount: '1', memo: checkout.memo });
  await eventually(
    async () => (await service.api('GET', `/payments?checkoutId=${checkout.id}`)).data.length === 1,
    'a part',
  );
  await service.api('POST', `/checkouts/${checkout.id}/cancel`);
  const another = await stocked(1);
  const unpaid = (await order(another, 1)).data;
  await service.api('POST', `/checkouts/${unpaid.id}/cancel`);
  await leftIs(another, 1);
  t.equal(await left(mugs), 0);
  t.match(await service.api('POST', `/checkouts/${checkout.id}/accept`), { data: { status: 'PAID' } });
  t.equal(await left(mugs), 0);
});

t.test('what an order holds comes back once, whenever it is paid, cancelled or ended', LONG, async (t) => {
  const [shop, payer] = await Promise.all([ledger.fund(), ledger.fund()]);
  const till = (await service.api('POST', '/wallets', { name: 'Till', address: shop.address, network: 'LOCAL' })).data;
  const mugs = await stocked(10, { walletId: till.id });
  const coupon = (await service.api('POST', '/coupons', { code: 'HELD', percentOff: '10' })).data;
  const held = async () => [
    10 - (await left(mugs)),
    (await service.api('GET', `/coupons/${coupon.id}`)).data.redemptions,
  ];
  const holds = (count: number, what: string) =>
    eventually(async () => String(await held()) === `${count},${count}`, `${count} are held once ${what}`);
  const made = async (fields: object = {}) => (await order(mugs, 1, { couponCode: 'HELD', ...fields })).data;
  const pay = async ({ id, memo }: any, amount: string) => {
    await ledger.pay({ to: shop.address, amount, memo, fromSecret: payer.secret });
    return eventually(async () => (await service.api('GET', `/payments?checkoutId=${id}`)).data[0], 'the payment');
  };
  const giveBack = ({ memo }: any, amount: string) =>
    ledger.pay({ to: payer.address, amount, memo: `refund ${memo}`, fromSecret: shop.secret });
  const act = (checkout: any, what: string) => service.api('POST', `/checkouts/${checkout.id}/${what}`);

  const sold = await made();
  await pay(sold, '9');
  await statusIs(sold.id, 'PAID');
  await giveBack(sold, '9');
  const cancelled = await made();
  await act(cancelled, 'cancel');
  await holds(1, 'an order is cancelled');
  t.match(await pay(cancelled, '9'), { status: 'REJECTED', reason: 'checkout_cancelled' });
  const parted = await made();
  await pay(parted, '1');
  await act(parted, 'cancel');
  await act(await made(), 'cancel');
  await holds(2, 'one with money is cancelled, and another without');
  await giveBack(parted, '1');
  await holds(1, 'its money was sent back');

  const ends = { expiresAt: new Date(nowMs() + 120_000).toISOString() };
  const [late, short] = [await made(ends), await made(ends)];
  await pay(short, '2');
  await holds(3, 'two more are made');
  aheadMs += 121_000;
  await statusIs(late.id, 'EXPIRED');
  await statusIs(short.id, 'EXPIRED');
  await holds(1, 'both have ended');
  t.match(await pay(late, '9'), { status: 'REJECTED', reason: 'checkout_expired' });
  await change(mugs, { stock: 0 });
  t.equal((await act(short, 'accept')).status, 409);
  t.same((await held())[1], 1, 'what is refused redeems no coupon');
  await change(mugs, { stock: 9 });
  for (const each of [late, short, cancelled]) t.match(await act(each, 'accept'), { data: { status: 'PAID' } });
  t.same(await held(), [4, 4]);
});

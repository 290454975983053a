/** Coupons: what they give to which orders, and that no redemption is one too many or lost,
 *  whatever comes at once. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { request } from '../helpers/api.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const service = await startTestService(t, { clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
const other = await service.join('api');
const { wallet, product } = await startSelling(service);
const ledger = service.context.localLedger!.client;

const post = (path: string, body: unknown) => service.api('POST', path, body);
const made = async (path: string, body: unknown): Promise<any> => {
  const { data, error } = await post(path, body);
  if (error) throw new Error(JSON.stringify(error));
  return data;
};
const LINES = [
  { productId: product.id, quantity: 2 },
  { name: 'Tea', price: '10' },
];
/** 60 XLM: two shirts and a tea. */
const order = (fields: object) =>
  post('/checkouts', { walletId: wallet.id, assetCode: 'XLM', lines: LINES, ...fields });
const redemptions = async (id: string) => (await service.api('GET', `/coupons/${id}`)).data.redemptions;
const reaches = (id: string, count: number) =>
  eventually(async () => (await redemptions(id)) === count, `${count} redemptions`);
const statusOf = async (id: string) => (await service.api('GET', `/checkouts/${id}`)).data.status;

t.test('a coupon has exactly the documented fields, and is found, changed and deleted', async (t) => {
  const { id, createdAt, ...coupon } = await made('/coupons', { code: 'spring-10', percentOff: '10.50' });
  t.match(id, /^coup_[0-7][0-9a-hjkmnp-tv-z]{25}$/);
  t.ok(Date.parse(createdAt));
  t.strictSame(coupon, {
    ...{ code: 'SPRING-10', percentOff: '10.5', amountOff: null, currency: null, assetCode: null, assetIssuer: null },
    ...{ productIds: null, minSubtotal: null, startsAt: null, endsAt: null, maxRedemptions: null },
    ...{ redemptions: 0, active: true },
  });
  t.equal((await post('/coupons', { code: 'Spring-10', percentOff: '1' })).status, 409);
  t.same(
    (await service.api('GET', '/coupons?code=spring-10')).data.map((each: any) => each.id),
    [id],
  );
  t.match(await service.api('PATCH', `/coupons/${id}`, { percentOff: null, amountOff: '5', currency: 'EUR' }), {
    data: { percentOff: null, amountOff: '5', currency: 'EUR' },
  });
  t.match(await service.api('PATCH', `/coupons/${id}`, { amountOff: '5.001' }), {
    ...{ status: 422, error: { details: [{ path: 'amountOff', code: 'invalid_format' }] } },
  });
  const another = await made('/coupons', { code: 'ANOTHER', percentOff: '1' });
  t.equal((await service.api('PATCH', `/coupons/${another.id}`, { code: 'SPRING-10' })).status, 409);
  t.match(await service.api('DELETE', `/coupons/${id}`), { data: { id, deleted: true } });
  t.equal((await service.api('GET', `/coupons/${id}`)).status, 404);
});

t.test('faults of a coupon are told at their fields', async (t) => {
  const cases: [body: object, ...faults: [path: string, code: string][]][] = [
    [{ code: 'ab', percentOff: '1' }, ['code', 'invalid_format']],
    [{ code: 'A B C', percentOff: '1' }, ['code', 'invalid_format']],
    [{ code: 'NONE' }, ['percentOff', 'required']],
    [{ code: 'BOTH', percentOff: '1', amountOff: '1', assetCode: 'XLM' }, ['amountOff', 'not_allowed']],
    [{ code: 'UNIT', amountOff: '1' }, ['currency', 'required']],
    [{ code: 'UNITS', amountOff: '1', currency: 'EUR', assetCode: 'XLM' }, ['assetCode', 'not_allowed']],
    [{ code: 'ISSUER', amountOff: '1', assetCode: 'USDC' }, ['assetIssuer', 'required']],
    [{ code: 'MUCH', percentOff: '100.01' }, ['percentOff', 'invalid_format']],
    [{ code: 'FINE', percentOff: '1.234' }, ['percentOff', 'invalid_format']],
    [{ code: 'LATE', percentOff: '1', startsAt: '2026-12-02', endsAt: '2026-12-01' }, ['endsAt', 'too_small']],
    [{ code: 'FEW', percentOff: '1', maxRedemptions: 0 }, ['maxRedemptions', 'too_small']],
    [
      { code: 'GONE', percentOff: '1', productIds: [product.id, 'prod_01jd3k5v9ye6rbh2x7q0w4tznc'] },
      ['productIds.1', 'not_found'],
    ],
  ];
  for (const [body, ...faults] of cases) {
    const { status, error } = await post('/coupons', body);
    t.equal(status, 422, JSON.stringify(body));
    t.same(
      error?.details?.map(({ path, code }) => [path, code]),
      faults,
    );
  }
});

t.test('a coupon takes from its own lines, and its code is the name of the discount', async (t) => {
  await made('/coupons', { code: 'SHIRTS', percentOff: '50', productIds: [product.id] });
  const { data } = await order({ couponCode: 'shirts', tip: '1' });
  t.match(data, { subtotal: '60', discountAmount: '25', discountName: 'SHIRTS', tipAmount: '1', total: '36' });
  await made('/coupons', { code: 'FIVE', amountOff: '5', assetCode: 'XLM' });
  t.match((await post('/checkouts', { productId: product.id, couponCode: 'FIVE' })).data, {
    total: '20',
    amount: '20',
  });
  t.match(await order({ couponCode: 'FIVE', discount: { percent: '1' } }), {
    ...{ status: 422, error: { details: [{ path: 'couponCode', code: 'not_allowed' }] } },
  });
});

t.test('a coupon that gives nothing is refused with the reason', async (t) => {
  const cases: [coupon: object, sentence: RegExp][] = [
    [{ active: false }, /inactive/],
    [{ startsAt: new Date(nowMs() + 60_000).toISOString() }, /taken from .* on/],
    [{ endsAt: new Date(nowMs()).toISOString() }, /ended/],
    [{ percentOff: null, amountOff: '1', currency: 'EUR' }, /prices in EUR/],
    [{ minSubtotal: '60.0000001' }, /at least 60.0000001 XLM/],
    [{ productIds: [(await made('/products', { ...shirt(), name: 'Other' })).id] }, /No line/],
  ];
  for (const [index, [changes, sentence]] of cases.entries()) {
    const { id } = await made('/coupons', { code: `NO-${index}`, percentOff: '1', ...changes });
    const { status, error } = await order({ couponCode: `NO-${index}` });
    t.match([status, error?.details?.[0]], [422, { path: 'couponCode', message: sentence }]);
    t.equal(await redemptions(id), 0);
  }
  t.match(await order({ couponCode: 'UNKNOWN' }), {
    ...{ status: 422, error: { details: [{ path: 'couponCode', code: 'not_found' }] } },
  });
});
const shirt = () => ({ walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: product.price, name: 'x' });

t.test('40 orders at once, through two processes → as many get the coupon as it is for', async (t) => {
  const coupon = await made('/coupons', { code: 'TEN', percentOff: '10', maxRedemptions: 10 });
  const body = { walletId: wallet.id, name: 'x', assetCode: 'XLM', amount: '5', couponCode: 'TEN' };
  const orders = Array.from({ length: 40 }, (_, index) => {
    const url = index % 2 ? service.url : other.url;
    return request(url, 'POST', '/checkouts', {
      headers: { authorization: `Bearer ${service.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    } as never);
  });
  const answers = await Promise.all(orders);
  const statuses = answers.map(({ status }) => status).sort();
  t.same(statuses, [...Array(10).fill(201), ...Array(30).fill(422)]);
  t.equal(await redemptions(coupon.id), 10);
  t.equal((await service.api('PATCH', `/coupons/${coupon.id}`, { maxRedemptions: 9 })).status, 409);
  t.equal((await service.api('DELETE', `/coupons/${coupon.id}`)).status, 409);
});

t.test('a redemption is given back once it is proven that the order was not paid', async (t) => {
  const coupon = await made('/coupons', { code: 'BACK', percentOff: '10', maxRedemptions: 2 });
  const cancelled = (await order({ couponCode: 'BACK' })).data;
  const partly = (await order({ couponCode: 'BACK' })).data;
  t.equal((await order({ couponCode: 'BACK' })).status, 422);
  await ledger.pay({ to: wallet.address, amount: '1', memo: partly.memo });
  await eventually(
    async () => (await service.api('GET', `/payments?checkoutId=${partly.id}`)).data.length === 1,
    'a part',
  );
  for (const { id } of [cancelled, partly]) await service.api('POST', `/checkouts/${id}/cancel`);
  await reaches(coupon.id, 1);

  const expiring = (await order({ couponCode: 'BACK', expiresAt: new Date(nowMs() + 61_000).toISOString() })).data;
  t.equal(await redemptions(coupon.id), 2, 'money came for the one that was cancelled');
  aheadMs += 62_000;
  await eventually(async () => (await statusOf(expiring.id)) === 'EXPIRED', 'it is EXPIRED');
  t.equal(await redemptions(coupon.id), 1);
  await service.api('POST', `/checkouts/${partly.id}/accept`);
  t.equal(await redemptions(coupon.id), 1, 'an accepted order keeps its own');
});

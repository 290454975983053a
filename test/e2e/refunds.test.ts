/** Money that goes back to its payer is seen on the ledger and booked at its payment, once for
 *  every operation. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import t from 'tap';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const ledger = service.context.localLedger!.client;
const shop = await ledger.fund();
const payer = await ledger.fund();
const [wallet, till] = await Promise.all(
  [shop, await ledger.fund()].map(async ({ address, secret }) => ({
    ...(await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data,
    secret,
  })),
);
const product = (
  await service.api('POST', '/products', {
    ...{ name: 'Gift', walletId: wallet.id, assetCode: 'XLM', priceType: 'CUSTOM' },
  })
).data;
const link = (await service.api('POST', '/payment-links', { productId: product.id })).data;

const get = async (id: string) => (await service.api('GET', `/payments/${id}`)).data;
async function paid(amount: string, memo: string | null = link.memo) {
  const { hash } = await ledger.pay({ to: wallet.address, amount, memo, fromSecret: payer.secret });
  const path = `/payments?transactionHash=${hash}&status=COMPLETED&status=UNMATCHED`;
  return eventually(async () => (await service.api('GET', path)).data[0], 'the payment');
}
const giveBack = (amount: string, from = wallet, memo: string | null = `refund ${link.memo}`, to = payer.address) =>
  ledger.pay({ to, amount, memo, fromSecret: from.secret });
const shows = (id: string, refundedAmount: string) =>
  eventually(async () => {
    const payment = await get(id);
    return payment.refundedAmount === refundedAmount && payment;
  }, `${refundedAmount} of ${id} went back`);
const name = (id: string, transactionHash: string) =>
  service.api('POST', `/payments/${id}/refunds`, { transactionHash });
const eventsOf = async (id: string) =>
  (await service.api('GET', '/events?type=payment.refunded&order=asc&pageSize=100')).data.filter(
    ({ data }: any) => data.payment.id === id,
  );

t.test('by its memo, from any wallet of the account, in as many parts as it was sent', async (t) => {
  const payment = await paid('25');
  t.match(payment, { refundedAmount: '0', refunds: [] });
  const first = await giveBack('10');
  const one = await shows(payment.id, '10');
  t.match(one.refunds, [{ transactionHash: first.hash, amount: '10', ledger: Number }]);
  const request = () => service.api('GET', `/payments/${payment.id}/refund`);
  const rest = (await request()).data;
  t.match(rest, { amount: '15', uri: /[?&]amount=15&/ }, 'the request is about what is left');
  await giveBack('15', till);
  await shows(payment.id, '25');
  t.match(await request(), { status: 409, error: { code: 'conflict' } }, 'nothing is sent back twice');
  const events = await eventually(async () => {
    const found = await eventsOf(payment.id);
    return found.length >= 2 && found;
  }, 'an event for each');
  t.same(
    events.map(({ data }: any) => [data.payment.refundedAmount, data.paymentLink.id, data.product.id, data.checkout]),
    [
      ['10', link.id, product.id, null],
      ['25', link.id, product.id, null],
    ],
  );
  t.equal((await get(payment.id)).status, 'COMPLETED');
  const [row] = (await service.api('GET', `/reports/summary?groupBy=paymentLink`)).data;
  t.match(row, { key: link.id, count: 1, amount: '25', refundedAmount: '25' });
});

t.test('two operations of one transaction are two refunds', async (t) => {
  const payment = await paid('7');
  const operations = ['3', '4'].map((amount) =>
    Operation.payment({ destination: payer.address, asset: Asset.native(), amount }),
  );
  await ledger.submit({ from: Keypair.fromSecret(wallet.secret), operations, memo: `refund ${link.memo}` });
  const after = await shows(payment.id, '7');
  t.same(
    after.refunds.map(({ amount }: any) => amount),
    ['3', '4'],
  );
});

t.test('what was sent back before its payment is assigned completes nothing', async (t) => {
  for (const path of ['payment-links', 'checkouts'] as const) {
    const target = (
      await service.api('POST', `/${path}`, { productId: product.id, ...(path === 'checkouts' ? { amount: '8' } : {}) })
    ).data;
    const payment = await paid('8', 'no memo of ours');
    const { hash } = await giveBack('3', wallet, `refund ${target.memo}`);
    const waits = (transactionHash: string) => () =>
      database.db.collection('refunds').findOne({ transactionHash, paymentId: null });
    await eventually(waits(hash), 'the refund is read');
    const body = path === 'checkouts' ? { checkoutId: target.id } : { paymentLinkId: target.id };
    const assign = (id: string) => service.api('POST', `/payments/${id}/assign`, body);
    const isOrder = path === 'checkouts';
    t.match((await assign(payment.id)).data, {
      ...{ status: isOrder ? 'UNDERPAID' : 'COMPLETED', refundedAmount: '3', refunds: [{ transactionHash: hash }] },
      shortfallAmount: isOrder ? '3' : null,
    });
    const events = await eventually(async () => {
      const found = await eventsOf(payment.id);
      return found.length > 0 && found;
    }, 'the event');
    t.equal(events.length, 1);
    if (!isOrder) continue;
    const receivedIs = async (amount: string) =>
      t.equal((await service.api('GET', `/checkouts/${target.id}`)).data.receivedAmount, amount);
    await receivedIs('5');
    const other = await paid('3', 'no memo of ours');
    const back = await giveBack('3', wallet, null);
    t.equal((await name(other.id, back.hash)).status, 200);
    t.match(await assign(other.id), { status: 409, error: { message: /already sent back/ } });
    t.match([(await get(other.id)).status, (await get(other.id)).checkoutId], ['UNMATCHED', null]);
    await receivedIs('5');
  }
});

/** A payer, and a link of a price of its own. */
async function sellAt(price: string) {
  const { data: sold } = await service.api('POST', '/products', {
    ...{ name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price },
  });
  const own = (await service.api('POST', '/payment-links', { productId: sold.id })).data;
  const customer = await ledger.fund();
  const pay = async (amount: string, memo = own.memo) => {
    const { hash } = await ledger.pay({ to: wallet.address, amount, memo, fromSecret: customer.secret });
    const statuses = 'status=COMPLETED&status=UNDERPAID&status=REJECTED';
    const path = `/payments?transactionHash=${hash}&${statuses}`;
    return eventually(async () => (await service.api('GET', path)).data[0], 'the payment');
  };
  const sendBack = (amount: string, memo: string | null = `refund ${own.memo}`) =>
    giveBack(amount, wallet, memo, customer.address);
  return { own, customer, pay, sendBack };
}
const sentBackOf = async (payments: readonly { id: string }[]) =>
  (await Promise.all(payments.map(({ id }) => get(id)))).map(({ refundedAmount }) => refundedAmount).join();
const isSentBack = (payments: readonly { id: string }[], amounts: string) =>
  eventually(async () => (await sentBackOf(payments)) === amounts, `${amounts} went back`);

t.test('a merchant who sends back the second payment of an order finds it at that one', async (t) => {
  const { pay, customer } = await sellAt('20');
  const { data: order } = await service.api('POST', '/checkouts', { productId: product.id, amount: '12' });
  const [first, second] = [await pay('12', order.memo), await pay('12', order.memo)];
  t.match([first.status, second.status, second.reason], ['COMPLETED', 'REJECTED', 'checkout_paid']);
  const { data: request } = await service.api('GET', `/payments/${second.id}/refund`);
  t.equal(request.destination, customer.address);
  await giveBack(request.amount, wallet, request.memo, request.destination);
  await isSentBack([first, second], '0,12');
  t.equal((await get(second.id)).needsDecision, false);
  t.match(await service.api('GET', `/payments/${second.id}/refund`), { status: 409 });
});

t.test(
  'a refund by memo goes to what is to be decided, then to what was too much, then to the oldest',
  LONG,
  async (t) => {
    const { own, pay, sendBack } = await sellAt('20');
    const whole = [await pay('20'), await pay('20')];
    const over = [await pay('23'), await pay('25'), await pay('24')];
    const short = [await pay('3'), await pay('7'), await pay('4')];
    const all = [...whole, ...over, ...short];
    const sent: readonly (readonly [amount: string, after: string])[] = [
      ['7', '0,0,0,0,0,0,7,0'],
      ['2', '0,0,0,0,0,0,7,2'],
      ['3', '0,0,0,0,0,3,7,2'],
      ['2', '0,0,0,0,0,3,7,4'],
      ['5', '0,0,0,5,0,3,7,4'],
      ['1', '0,0,0,5,1,3,7,4'],
      ['3', '0,0,0,5,4,3,7,4'],
      ['20', '0,0,20,5,4,3,7,4'],
      ['20', '20,0,20,5,4,3,7,4'],
      // No single one has that much left.
      ['30', '20,20,23,12,4,3,7,4'],
    ];
    for (const [amount, after] of sent) {
      await sendBack(amount);
      await isSentBack(all, after);
    }
    await service.api('PATCH', `/payment-links/${own.id}`, { active: false });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    const late = await pay('20');
    t.equal(late.reason, 'link_inactive');
    await sendBack('20');
    await isSentBack([late], '20');
  },
);

t.test('a refund that its memo booked elsewhere moves to the payment that the merchant names', async (t) => {
  const { pay, sendBack } = await sellAt('20');
  const [first, second] = [await pay('20'), await pay('20')];
  const { hash } = await sendBack('20');
  await isSentBack([first, second], '20,0');
  t.match(await name(second.id, hash), {
    status: 200,
    data: { refundedAmount: '20', refunds: [{ transactionHash: hash, amount: '20' }] },
  });
  t.match(await get(first.id), { refundedAmount: '0', refunds: [] });
  const told = await eventually(async () => {
    const found = [...(await eventsOf(first.id)), ...(await eventsOf(second.id))];
    return found.length === 3 && found;
  }, 'the events');
  t.same(
    told.map(({ data }: any) => data.payment.refundedAmount),
    ['20', '0', '20'],
  );
  const activity = (await service.api('GET', `/activity?subjectId=${second.id}`)).data;
  t.match(activity, [{ operation: 'payments_addRefund', changes: [{ to: hash }] }]);
  t.equal((await name(second.id, hash)).status, 200, 'the same again');
  t.match(await name(first.id, hash), { status: 409, error: { message: /another payment/ } }, 'what was named stays');
  await isSentBack([first, second], '0,20');

  const small = await pay('5');
  const more = await sendBack('8');
  await isSentBack([first, small], '8,0');
  t.equal((await name(small.id, more.hash)).data.refundedAmount, '5', 'as far as it fits');
  await isSentBack([first, second, small], '3,20,5');
  t.match((await get(first.id)).refunds, [{ transactionHash: more.hash, amount: '3' }]);
});

t.test('a payment of which nothing is left takes no refund, and none is booked elsewhere', async (t) => {
  const { pay, sendBack } = await sellAt('20');
  const [first, second] = [await pay('20'), await pay('20')];
  const back = await sendBack('20', null);
  t.equal((await name(first.id, back.hash)).status, 200);
  const again = await sendBack('20', null);
  t.match(await name(first.id, again.hash), { status: 409, error: { message: /already sent back/ } });
  t.equal(await sentBackOf([first, second]), '20,0');
  const third = await pay('6');
  t.match(await name(third.id, again.hash), { status: 409 }, 'the other one has as much left');
  t.equal(await sentBackOf([first, second, third]), '20,0,0');
  t.equal((await name(second.id, again.hash)).status, 200);
  t.equal(await sentBackOf([first, second, third]), '20,20,0');
});

t.test('a payment that was sent back is not accepted', async (t) => {
  const { pay, sendBack } = await sellAt('20');
  const short = await pay('15');
  await sendBack('15');
  await isSentBack([short], '15');
  t.match(await service.api('POST', `/payments/${short.id}/accept`), { status: 409, error: { message: /sent back/ } });
  t.match(await get(short.id), { status: 'UNDERPAID' });
  const { data: order } = await service.api('POST', '/checkouts', { productId: product.id, amount: '12' });
  const part = await pay('5', order.memo);
  await sendBack('5', `refund ${order.memo}`);
  await isSentBack([part], '5');
  t.match(await service.api('POST', `/checkouts/${order.id}/accept`), { status: 409 });
  t.equal((await service.api('GET', `/checkouts/${order.id}`)).data.status, 'OPEN');
});

t.test('a merchant names a refund → by the hash of its transaction, and by nothing else', async (t) => {
  const payment = await paid('5', 'no memo of ours');
  const other = await paid('6', 'no memo of ours');
  const { hash } = await giveBack('5', wallet, null);
  const booked = await name(payment.id, hash);
  t.equal(booked.status, 200);
  t.match(booked.data, { id: payment.id, refundedAmount: '5', refunds: [{ transactionHash: hash, amount: '5' }] });
  const [event] = await eventually(async () => {
    const found = await eventsOf(payment.id);
    return found.length > 0 && found;
  }, 'the event');
  t.match(event.data, { paymentLink: null, checkout: null, product: null });
  const again = await name(payment.id, hash.toUpperCase());
  t.same([again.status, again.data], [200, booked.data], 'the same again changes nothing');
  t.match((await name(other.id, hash)).error, { code: 'conflict', message: /another payment/ });
  t.match((await name(other.id, 'ab'.repeat(32))).error, { code: 'conflict', message: /not on the ledger/ });
  const toOther = await giveBack('6', wallet, null, (await ledger.fund()).address);
  t.match((await name(other.id, toOther.hash)).error, { code: 'conflict', message: /is no refund/ });
  const byOther = await ledger.pay({ to: payer.address, amount: '6' });
  t.match((await name(other.id, byOther.hash)).error, { code: 'conflict', message: /is no refund/ });
  t.match((await name(other.id, 'abc')).error, { code: 'validation_error', details: [{ path: 'transactionHash' }] });
  const stranger = await service.openAccount();
  const path = `/payments/${payment.id}/refunds`;
  t.equal((await service.api('POST', path, { transactionHash: hash }, stranger.apiKey)).status, 404);
  t.equal((await get(other.id)).refundedAmount, '0');
  const answers = [];
  for (let n = 0; n < 12; n++) answers.push((await name(other.id, n.toString(16).padStart(64, '0'))).status);
  t.notOk(answers.includes(429), 'a network without a budget has no limit');
  t.equal((await name(payment.id, hash)).status, 200);
});

t.test('a request is for all that is left, a part of it, or what was paid too much', async (t) => {
  const fixed = (
    await service.api('POST', '/products', {
      ...{ name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '20' },
    })
  ).data;
  const own = (await service.api('POST', '/payment-links', { productId: fixed.id })).data;
  const other = await ledger.fund();
  const { hash } = await ledger.pay({ to: wallet.address, amount: '25', memo: own.memo, fromSecret: other.secret });
  const { id } = await eventually(
    async () => (await service.api('GET', `/payments?transactionHash=${hash}`)).data[0],
    'the payment',
  );
  const ask = (query = '') => service.api('GET', `/payments/${id}/refund${query}`);
  t.match((await ask()).data, {
    ...{ amount: '25', uri: /[?&]amount=25&/ },
    ...{ excessAmount: '5', excessUri: new RegExp(`^web.stellar:pay.destination=${other.address}&amount=5&`) },
  });
  t.match((await ask('?amount=7.50')).data, {
    ...{ amount: '7.5', uri: /[?&]amount=7\.5&/ },
    ...{ excessAmount: null, excessUri: null },
  });
  t.match((await ask('?amount=25')).data, { amount: '25' });
  for (const bad of ['25.0000001', '0', '-1', 'seven', '', '1e3', '1.00000001'])
    t.match(await ask(`?amount=${bad}`), { status: 400, error: { code: 'bad_request' } }, bad);

  const back = (amount: string) => giveBack(amount, wallet, `refund ${own.memo}`, other.address);
  await back('2');
  await shows(id, '2');
  t.match((await ask()).data, { amount: '23', excessAmount: '3', excessUri: /[?&]amount=3&/ });
  t.equal((await ask('?amount=24')).status, 400);
  await back('3');
  await shows(id, '5');
  t.match((await ask()).data, { amount: '20', excessAmount: null, excessUri: null });
});

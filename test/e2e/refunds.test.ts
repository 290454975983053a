/** Money that goes back to its payer is seen on the ledger and booked at its payment, once for every operation. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import t from 'tap';
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

t.test('one that was sent before its payment was assigned is booked with that', async (t) => {
  for (const path of ['payment-links', 'checkouts'] as const) {
    const target = (
      await service.api('POST', `/${path}`, { productId: product.id, ...(path === 'checkouts' ? { amount: '8' } : {}) })
    ).data;
    const payment = await paid('8', 'no memo of ours');
    const { hash } = await giveBack('8', wallet, `refund ${target.memo}`);
    const waits = () => database.db.collection('refunds').findOne({ transactionHash: hash, paymentId: null });
    await eventually(waits, 'the refund is read');
    const body = path === 'checkouts' ? { checkoutId: target.id } : { paymentLinkId: target.id };
    const assigned = await service.api('POST', `/payments/${payment.id}/assign`, body);
    t.match(assigned.data, { status: 'COMPLETED', refundedAmount: '8', refunds: [{ transactionHash: hash }] });
    const events = await eventually(async () => {
      const found = await eventsOf(payment.id);
      return found.length > 0 && found;
    }, 'the event');
    t.equal(events.length, 1);
  }
});

t.test('by the hash of its transaction, and nothing else', async (t) => {
  const payment = await paid('5', 'no memo of ours');
  const other = await paid('6', 'no memo of ours');
  const { hash } = await giveBack('5', wallet, null);
  const book = (id: string, transactionHash: string) =>
    service.api('POST', `/payments/${id}/refunds`, { transactionHash });
  const booked = await book(payment.id, hash);
  t.equal(booked.status, 200);
  t.match(booked.data, { id: payment.id, refundedAmount: '5', refunds: [{ transactionHash: hash, amount: '5' }] });
  const [event] = await eventually(async () => {
    const found = await eventsOf(payment.id);
    return found.length > 0 && found;
  }, 'the event');
  t.match(event.data, { paymentLink: null, checkout: null, product: null });
  const again = await book(payment.id, hash.toUpperCase());
  t.same([again.status, again.data], [200, booked.data], 'the same again changes nothing');
  t.match((await book(other.id, hash)).error, { code: 'conflict', message: /another payment/ });
  t.match((await book(other.id, 'ab'.repeat(32))).error, { code: 'conflict', message: /not on the ledger/ });
  const toOther = await giveBack('6', wallet, null, (await ledger.fund()).address);
  t.match((await book(other.id, toOther.hash)).error, { code: 'conflict', message: /is no refund/ });
  const byOther = await ledger.pay({ to: payer.address, amount: '6' });
  t.match((await book(other.id, byOther.hash)).error, { code: 'conflict', message: /is no refund/ });
  t.match((await book(other.id, 'abc')).error, { code: 'validation_error', details: [{ path: 'transactionHash' }] });
  const stranger = await service.openAccount();
  const path = `/payments/${payment.id}/refunds`;
  t.equal((await service.api('POST', path, { transactionHash: hash }, stranger.apiKey)).status, 404);
  t.equal((await get(other.id)).refundedAmount, '0');
  const answers = [];
  for (let n = 0; n < 12; n++) answers.push((await book(other.id, n.toString(16).padStart(64, '0'))).status);
  t.notOk(answers.includes(429), 'a network without a budget has no limit');
  t.equal((await book(payment.id, hash)).status, 200);
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

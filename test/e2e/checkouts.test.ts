/** Checkouts with real payments on the local ledger: parts that add up, ends, late and double
 *  payments, and what the merchant decides. */
import { Asset, Keypair, Memo, Operation } from '@stellar/stellar-sdk';
import t from 'tap';
import { formatAmount } from '../../src/domain/amount.js';
import { createOutbox } from '../../src/events/outbox.js';
import { monotonicClock, systemClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import type { Credit } from '../../src/ledger/records.js';
import { createPayments } from '../../src/payments/compose.js';
import { createStores } from '../../src/stores.js';
import { LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';
import { rateBookOf } from '../helpers/stores.js';

let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const database = await testDatabase(t);
const service = await startTestService(t, { database, clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) } });
const ledger = service.context.localLedger!.client;
const { wallet, product } = await startSelling(service);
const receiver = await startReceiver();
t.teardown(() => receiver.close());
await service.api('POST', '/webhooks', {
  name: 'shop',
  url: `${receiver.origin}/hook`,
  events: ['payment.received', 'payment.completed', 'checkout.paid', 'checkout.expired'],
});

const MINUTE_MS = 60_000;
/** A checkout over 50 XLM, for two shirts. */
async function order(fields: Record<string, unknown> = {}) {
  const { data, error } = await service.api('POST', '/checkouts', { productId: product.id, quantity: 2, ...fields });
  if (error) throw new Error(JSON.stringify(error));
  return data;
}
const endsIn = (ms: number) => ({ expiresAt: new Date(nowMs() + ms).toISOString() });
const get = async (id: string) => (await service.api('GET', `/checkouts/${id}`)).data;
const reaches = (id: string, status: string) =>
  eventually(async () => {
    const checkout = await get(id);
    return checkout.status === status && checkout;
  }, `${id} is ${status}`);
const pay = (memo: string, amount: string) => ledger.pay({ to: wallet.address, amount, memo });
const paymentsOf = async (id: string) => (await service.api('GET', `/payments?checkoutId=${id}&pageSize=100`)).data;
const cameFor = (id: string, count: number) =>
  eventually(async () => {
    const found = await paymentsOf(id);
    return found.length === count && found;
  }, `${count} payments of ${id}`);
/** The events about a checkout and its payments, but decisions, in the order in which they
 *  were made. */
const shownEventsOf = async (id: string): Promise<string[]> =>
  (await service.api('GET', '/events?order=desc&pageSize=100')).data
    .reverse()
    .filter(({ type, data }: any) => data.checkout?.id === id && type !== 'payment.decision')
    .map(({ type }: any) => type);
/** An event is shown once it has its number, soon after what happened. */
const eventsOf = (id: string, count: number) =>
  eventually(async () => {
    const shown = await shownEventsOf(id);
    return shown.length >= count && shown;
  }, `${count} events of ${id}`);
const until = async (checkout: { expiresAt: string }) => {
  aheadMs += Date.parse(checkout.expiresAt) - nowMs() + 1000;
};

t.test('the exact amount pays: events once, the checkout as it was, the payments of it', async (t) => {
  const checkout = await order({ reference: 'order-1', metadata: { 'cart.id': 'c1' } });
  await pay(checkout.memo, '50');
  const paid = await reaches(checkout.id, 'PAID');
  t.match(paid, { receivedAmount: '50', remainingAmount: '0', excessAmount: null, metadata: { 'cart.id': 'c1' } });
  const [payment] = await paymentsOf(checkout.id);
  t.match(payment, { status: 'COMPLETED', reason: null, expectedAmount: '50', checkoutId: checkout.id });
  t.match(payment, { paymentLinkId: null, product: { id: product.id } });
  t.equal(paid.paidAt, payment.ledgerClosedAt);
  t.ok(paid.closedAt);
  t.same(await eventsOf(checkout.id, 3), ['payment.received', 'payment.completed', 'checkout.paid']);
  await receiver.until(() => receiver.requests.some(({ body }) => body.includes('"checkout.paid"')));
  const told = receiver.requests.map(({ body }) => JSON.parse(body)).filter(({ type }) => type === 'checkout.paid');
  t.equal(told.length, 1);
  t.same(told[0].data, { checkout: paid, payments: [payment] });

  await pay(checkout.memo, '50');
  const [second] = await cameFor(checkout.id, 2);
  t.match(second, { status: 'REJECTED', reason: 'checkout_paid', expectedAmount: '0' });
  t.match(await get(checkout.id), { receivedAmount: '50', status: 'PAID' });
  t.match((await service.api('POST', `/payments/${second.id}/accept`)).error, {
    code: 'conflict',
    message: /accept the/,
  });
});

t.test('parts add up, by memo, memo id and muxed address; the last one overpays', async (t) => {
  const checkout = await order();
  await pay(checkout.memo, '20');
  const [first] = await cameFor(checkout.id, 1);
  t.match(first, { status: 'UNDERPAID', reason: 'partial', expectedAmount: '50', shortfallAmount: '30' });
  t.match(await get(checkout.id), { status: 'OPEN', receivedAmount: '20', remainingAmount: '30' });
  const { data: how } = await service.api('GET', `/checkouts/${checkout.id}/instructions`);
  t.match(how, { amount: '30', memo: checkout.memo, memoId: checkout.memoId, pageUrl: checkout.url });
  await ledger.pay({ to: wallet.address, amount: '10', memoId: checkout.memoId });
  await cameFor(checkout.id, 2);
  await ledger.pay({ to: wallet.address, amount: '31', muxedId: checkout.memoId });
  const paid = await reaches(checkout.id, 'PAID');
  t.match(paid, { receivedAmount: '61', remainingAmount: '0', excessAmount: '11' });
  const [last] = await paymentsOf(checkout.id);
  t.match(last, { status: 'COMPLETED', reason: 'overpaid', expectedAmount: '20', excessAmount: '11' });
  t.equal((await paymentsOf(checkout.id)).at(-1).status, 'UNDERPAID', 'the first part stays as it was judged');
  t.equal((await eventsOf(checkout.id, 5)).filter((type) => type === 'checkout.paid').length, 1);
});

t.test('two parts in one transaction add up, and what comes after them in it is too late', async (t) => {
  const checkout = await order();
  const payer = await ledger.fund();
  const operation = (amount: string) =>
    Operation.payment({ destination: wallet.address, asset: Asset.native(), amount });
  await ledger.submit({
    from: Keypair.fromSecret(payer.secret),
    operations: [operation('20'), operation('30'), operation('1')],
    memo: Memo.text(checkout.memo),
  });
  const [late, second, first] = await cameFor(checkout.id, 3);
  t.match(first, { status: 'UNDERPAID', reason: 'partial' });
  t.match(second, { status: 'COMPLETED', reason: null, expectedAmount: '30' });
  t.match(late, { status: 'REJECTED', reason: 'checkout_paid' });
  t.match(await get(checkout.id), { status: 'PAID', receivedAmount: '50' });
  const event = await eventually(
    async () =>
      (await service.api('GET', '/events?type=checkout.paid')).data.find(
        ({ data }: any) => data.checkout.id === checkout.id,
      ),
    'the event',
  );
  t.same(
    event.data.payments.map(({ id }: any) => id),
    [first.id, second.id],
  );
});

t.test('the receipt shows what paid, however much dust came before and after it', async (t) => {
  const checkout = await order();
  const payer = await ledger.fund();
  const dust = Operation.payment({ destination: wallet.address, asset: Asset.native(), amount: '0.0000001' });
  const sprinkle = () =>
    ledger.submit({
      from: Keypair.fromSecret(payer.secret),
      operations: Array.from({ length: 21 }, () => dust),
      memo: Memo.text(checkout.memo),
    });
  await sprinkle();
  await cameFor(checkout.id, 21);
  await pay(checkout.memo, '49.9999');
  await pay(checkout.memo, '0.0000979');
  await reaches(checkout.id, 'PAID');
  const [last, most] = await paymentsOf(checkout.id);
  t.match([last, most], [{ status: 'COMPLETED' }, { amount: '49.9999', status: 'UNDERPAID' }]);
  await sprinkle();
  await cameFor(checkout.id, 44);
  const receipt = await (await fetch(`${checkout.url}/receipt`)).text();
  for (const { transactionHash } of [last, most]) t.match(receipt, transactionHash);
  t.match(receipt, '23 payments');
  t.match(receipt, 'The largest 8 payments');
});

t.test('nothing came: EXPIRED once, and only when the ledger was read beyond the end', LONG, async (t) => {
  const checkout = await order(endsIn(2 * MINUTE_MS));
  const paths = ['/payments', `/accounts/${wallet.address}/payments`];
  for (const path of paths) await ledger.faults.add({ kind: 'unavailable', path });
  await pay(checkout.memo, '20');
  await until(checkout);
  t.match((await service.api('GET', `/checkouts/${checkout.id}/instructions`)).error, { code: 'conflict' });
  await new Promise((resolve) => setTimeout(resolve, 2500));
  t.equal((await get(checkout.id)).status, 'OPEN', 'while a payment in time could still turn up');
  await ledger.faults.clear();
  const expired = await reaches(checkout.id, 'EXPIRED');
  t.match(expired, { receivedAmount: '20', remainingAmount: '30', paidAt: null });
  t.ok(expired.closedAt);
  t.same(await eventsOf(checkout.id, 2), ['payment.received', 'checkout.expired']);

  t.test('later payments are REJECTED, and the merchant may accept all of them', async (t) => {
    await pay(checkout.memo, '5');
    const [late] = await cameFor(checkout.id, 2);
    t.match(late, { status: 'REJECTED', reason: 'checkout_expired', expectedAmount: '30' });
    const { data } = await service.api('POST', `/checkouts/${checkout.id}/accept`);
    t.match(data, { status: 'PAID', receivedAmount: '25', remainingAmount: '0', excessAmount: null });
    t.equal(data.closedAt, expired.closedAt);
    for (const payment of await paymentsOf(checkout.id)) t.match(payment, { status: 'COMPLETED', reason: null });
    t.same((await eventsOf(checkout.id, 6)).slice(2), [
      'payment.received',
      'payment.completed',
      'payment.completed',
      'checkout.paid',
    ]);
    t.match((await service.api('POST', `/checkouts/${checkout.id}/accept`)).error, { code: 'conflict' });
  });

  t.test('what comes after the end and after that can be accepted by itself, once', async (t) => {
    await pay(checkout.memo, '7');
    const late = (await cameFor(checkout.id, 3)).find(({ amount }: { amount: string }) => amount === '7')!;
    t.match(late, { status: 'REJECTED', reason: 'checkout_expired', expectedAmount: '0' });
    const { data } = await service.api('POST', `/payments/${late.id}/accept`);
    t.match(data, { status: 'COMPLETED', reason: null });
    t.match((await service.api('POST', `/payments/${late.id}/accept`)).error, { code: 'conflict' });
    t.match(await get(checkout.id), { status: 'PAID', receivedAmount: '32', remainingAmount: '0' });
    t.same((await eventsOf(checkout.id, 8)).slice(6), ['payment.received', 'payment.completed']);
  });
});

t.test('Horizon is away at the end: a payment in time that is read after it counts', async (t) => {
  const checkout = await order(endsIn(2 * MINUTE_MS));
  const paths = ['/payments', `/accounts/${wallet.address}/payments`];
  for (const path of paths) await ledger.faults.add({ kind: 'unavailable', path });
  await pay(checkout.memo, '50');
  await until(checkout);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await ledger.faults.clear();
  t.match(await reaches(checkout.id, 'PAID'), { receivedAmount: '50' });
  t.notOk((await eventsOf(checkout.id, 3)).includes('checkout.expired'));
});

t.test(
  'cancelled: a payment from before it counts although it is read later, one from after it is REJECTED',
  async (t) => {
    const [before, after] = [await order(), await order()];
    const paths = ['/payments', `/accounts/${wallet.address}/payments`];
    for (const path of paths) await ledger.faults.add({ kind: 'unavailable', path });
    await pay(before.memo, '50');
    // Close times have whole seconds, and the newest ledger is unknown while Horizon is away: only
    // another second is surely later.
    aheadMs += 2000;
    for (const { id } of [before, after]) {
      t.match((await service.api('POST', `/checkouts/${id}/cancel`)).data, { status: 'CANCELLED' });
    }
    await ledger.faults.clear();
    t.match(await reaches(before.id, 'PAID'), { receivedAmount: '50' });
    aheadMs += 2000;
    await pay(after.memo, '50');
    const [late] = await cameFor(after.id, 1);
    t.match(late, { status: 'REJECTED', reason: 'checkout_cancelled' });
    const again = await service.api('POST', `/checkouts/${after.id}/cancel`);
    t.same([again.status, again.data.status], [200, 'CANCELLED']);
    t.match((await service.api('POST', `/checkouts/${before.id}/cancel`)).error, { code: 'conflict' });
    t.match((await service.api('GET', `/checkouts/${after.id}/instructions`)).error, { code: 'conflict' });
  },
);

t.test('an UNMATCHED payment is assigned to a checkout, judged as of its ledger', async (t) => {
  const unmatched = async (amount: string) => {
    const { hash } = await ledger.pay({ to: wallet.address, amount, memo: 'forgotten' });
    return eventually(
      async () => (await service.api('GET', `/payments?status=UNMATCHED&transactionHash=${hash}`)).data[0],
      'an unmatched payment',
    );
  };
  const checkout = await order(endsIn(2 * MINUTE_MS));
  const inTime = await unmatched('50');
  await until(checkout);
  await reaches(checkout.id, 'EXPIRED');
  const late = await unmatched('50');
  const assign = (id: string, body: object) => service.api('POST', `/payments/${id}/assign`, body);
  t.match((await assign(late.id, { checkoutId: checkout.id })).data, { reason: 'checkout_expired' });
  t.match((await assign(inTime.id, { checkoutId: checkout.id })).data, {
    status: 'COMPLETED',
    checkoutId: checkout.id,
  });
  t.match(await get(checkout.id), { status: 'PAID', paidAt: inTime.ledgerClosedAt });
  t.match((await service.api('GET', `/payments/${inTime.id}/refund`)).data, { memo: `refund ${checkout.memo}` });
  t.same((await eventsOf(checkout.id, 5)).slice(1), [
    'payment.received',
    'payment.received',
    'payment.completed',
    'checkout.paid',
  ]);
});

t.test(
  'a wallet with an OPEN checkout stays active; one with any checkout stays; a product goes unless it was paid',
  async (t) => {
    const { address } = await ledger.fund();
    const own = (await service.api('POST', '/wallets', { name: 'Own', address, network: 'LOCAL' })).data;
    const { data: checkout } = await service.api('POST', '/checkouts', {
      walletId: own.id,
      name: 'Order',
      assetCode: 'XLM',
      amount: '1.50',
    });
    t.match(checkout, { amount: '1.5', product: null, quantity: null, wallet: { id: own.id } });
    t.match((await service.api('PATCH', `/wallets/${own.id}`, { active: false })).error, { code: 'conflict' });
    t.equal((await service.api('GET', `/wallets/${own.id}`)).data.active, true);
    await service.api('POST', `/checkouts/${checkout.id}/cancel`);
    t.equal((await service.api('PATCH', `/wallets/${own.id}`, { active: false })).data.active, false);
    t.match((await service.api('DELETE', `/wallets/${own.id}`)).error, { code: 'conflict', message: /checkout/ });
    const refused = await service.api('POST', '/checkouts', {
      walletId: own.id,
      name: 'O',
      assetCode: 'XLM',
      amount: '1',
    });
    t.match(refused.error, { code: 'conflict' });

    const fields = { name: 'P', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '5' };
    const doomed = (await service.api('POST', '/products', fields)).data;
    const unpaid = await order({ productId: doomed.id, quantity: 1 });
    t.equal((await service.api('DELETE', `/products/${doomed.id}`)).status, 200);
    t.equal((await service.api('GET', `/checkouts/${unpaid.id}`)).status, 404);
    t.equal((await service.api('GET', `/checkouts?productId=${doomed.id}`)).meta!.total, 0);
    const { hash } = await pay(unpaid.memo, '5');
    await eventually(
      async () =>
        (await service.api('GET', `/payments?status=UNMATCHED&transactionHash=${hash}`)).data[0]?.reason ===
        'unknown_memo',
      'the memo of a deleted checkout is unknown',
    );
    const kept = (await service.api('POST', '/products', fields)).data;
    const paid = await order({ productId: kept.id, quantity: 1 });
    await pay(paid.memo, '1');
    await cameFor(paid.id, 1);
    t.match((await service.api('DELETE', `/products/${kept.id}`)).error, { code: 'conflict' });
  },
);

t.test('accepted, a payment from before it that is read later is accepted with the others', async (t) => {
  const checkout = await order();
  await pay(checkout.memo, '20');
  await cameFor(checkout.id, 1);
  const paths = ['/payments', `/accounts/${wallet.address}/payments`];
  for (const path of paths) await ledger.faults.add({ kind: 'unavailable', path });
  await pay(checkout.memo, '10');
  // Close times have whole seconds, and the newest ledger is unknown while Horizon is away: only
  // another second is surely later.
  aheadMs += 2000;
  const accepted = (await service.api('POST', `/checkouts/${checkout.id}/accept`)).data;
  t.match(accepted, { status: 'PAID', receivedAmount: '20', remainingAmount: '0' });
  await ledger.faults.clear();
  const [late] = await cameFor(checkout.id, 2);
  t.match(late, { status: 'COMPLETED', reason: null, expectedAmount: '30', shortfallAmount: '20' });
  t.match(await get(checkout.id), { status: 'PAID', receivedAmount: '30', paidAt: accepted.paidAt });
  await pay(checkout.memo, '1');
  const [after] = await cameFor(checkout.id, 3);
  t.match(after, { status: 'REJECTED', reason: 'checkout_paid', expectedAmount: '0' });
  const told = await eventsOf(checkout.id, 6);
  t.equal(told.filter((type) => type === 'checkout.paid').length, 1);
});

interface Dust {
  to: string;
  from: string;
  count: number;
  ledger: number;
  closedMs: number;
}

let transactions = 0;
/** What the watcher would read of so many payments of one stroop, a hundred in a transaction. */
const dustFor = (memo: string, { to, from, count, ledger: sequence, closedMs }: Dust): Credit[] =>
  Array.from({ length: count }, (_, n) => {
    if (n % 100 === 0) transactions += 1;
    const order = transactions;
    return {
      operationId: ((BigInt(sequence) << 32n) | (BigInt(order) << 12n) | BigInt((n % 100) + 1)).toString(),
      changeIndex: 0,
      transactionHash: `${sequence}`.padStart(60, '0') + order.toString(16).padStart(4, '0'),
      ledger: sequence,
      closedAt: new Date(closedMs),
      receiver: to,
      sender: from,
      asset: { code: 'XLM', issuer: null },
      amount: 1n,
      memo: { type: 'text', text: memo, valid: true },
      destinationMuxedId: null,
      senderMuxedAddress: null,
    };
  });

t.test('1,200 parts of the smallest amount: everything stays right, and bounded', LONG, async (t) => {
  // An account of its own, without a webhook that would be called for each of them.
  const { apiKey, accountId } = await service.openAccount();
  const api = (method: string, path: string, body?: object) => service.api(method, path, body, apiKey);
  const { address, secret } = await ledger.fund();
  const { id: walletId } = (await api('POST', '/wallets', { name: 'Own', address, network: 'LOCAL' })).data;
  const make = async (fields: object = {}) =>
    (await api('POST', '/checkouts', { walletId, name: 'Order', assetCode: 'XLM', amount: '50', ...fields })).data;
  const shown = async (id: string) => (await api('GET', `/checkouts/${id}`)).data;
  // The clock of the process that records the small payments is ahead of the one that accepts.
  const newId = createIds({ ...systemClock, nowMs: () => nowMs() + 5000 });
  const { connection, transaction, close } = await connectDatabase(database.uri);
  t.teardown(close);
  const { system } = createStores(connection, { clock: systemClock, newId });
  const outbox = createOutbox({ ...system, newId });
  const { recorder } = createPayments({
    ...{ system, outbox, transaction, newId, monotonic: monotonicClock },
    rateBook: rateBookOf(system),
    publicUrl: service.url,
  });
  const payer = await ledger.fund();
  const { db } = database;
  const dust = async (memo: string, count: number) => {
    const { sequence } = await ledger.status();
    // The wallet is watched from the ledger after the one that was newest when it was added, whose
    // time may be ahead of the clock.
    const stored = await db
      .collection<{ _id: string; windows: { from: { at: Date } }[] }>('wallets')
      .findOne({ _id: walletId });
    const closedMs = Math.max(nowMs(), stored!.windows[0]!.from.at.getTime());
    const credits = dustFor(memo, { to: address, from: payer.address, count, ledger: sequence + 1, closedMs });
    t.equal((await recorder.record('LOCAL', { credits }, null)).length, count);
    return credits;
  };
  const countEvents = (type: string) => db.collection('events').countDocuments({ accountId, type });
  const told = async (type: string) => {
    const { data } = (await db.collection('events').findOne({ accountId, type }))!;
    t.ok(data.length < 2_000_000, `${type} has ${data.length} characters`);
    return JSON.parse(data);
  };
  const withStatus = async (id: string, status: string) =>
    (await api('GET', `/payments?checkoutId=${id}&status=${status}&pageSize=1`)).meta!.total;

  const [paid, expired] = [await make(), await make(endsIn(10 * MINUTE_MS))];
  await dust(paid.memo, 1200);
  t.match(await shown(paid.id), { receivedAmount: '0.00012', remainingAmount: '49.99988', status: 'OPEN' });
  t.equal(await withStatus(paid.id, 'UNDERPAID'), 1200);
  const page = await (await fetch(paid.url)).text();
  t.ok(page.length < 100_000, `the page has ${page.length} characters`);
  t.match(page, /The newest 20 payments/);
  await ledger.pay({ to: address, amount: '50', memo: paid.memo, fromSecret: payer.secret });
  await eventually(async () => (await shown(paid.id)).status === 'PAID', 'it is PAID');
  t.match(await shown(paid.id), { receivedAmount: '50.00012', excessAmount: '0.00012' });
  const { payments, checkout } = await told('checkout.paid');
  t.match([payments.length, payments.at(-1).amount, checkout.receivedAmount], [1000, '50', '50.00012']);
  t.notOk(payments.some(({ needsDecision }: any) => needsDecision));
  const toDecide = async (id: string) =>
    (await api('GET', `/payments?checkoutId=${id}&needsDecision=true&pageSize=1`)).meta!.total;
  await eventually(async () => (await toDecide(paid.id)) === 0, 'no part of it needs a decision');
  const { hash } = await ledger.pay({ to: payer.address, amount: '50', fromSecret: secret });
  const { id: completing } = payments.at(-1);
  const refund = await api('POST', `/payments/${completing}/refunds`, { transactionHash: hash });
  t.match(refund.data, { refundedAmount: '50' });
  await ledger.pay({ to: payer.address, amount: '0.0000001', memo: `refund ${paid.memo}`, fromSecret: secret });
  await eventually(async () => (await countEvents('payment.refunded')) === 2, 'the other refund is booked');

  await dust(expired.memo, 1200);
  await until(expired);
  await eventually(async () => (await shown(expired.id)).status === 'EXPIRED', 'it is EXPIRED');
  t.equal((await told('checkout.expired')).payments.length, 1000);
  t.equal((await dust(expired.memo, 3)).length, 3);
  const late = (await api('GET', `/payments?checkoutId=${expired.id}&status=REJECTED`)).data;
  // What comes while the rest of an acceptance is under way is none of it.
  const [accepted] = await Promise.all([api('POST', `/checkouts/${expired.id}/accept`), dust(expired.memo, 5)]);
  t.match(accepted.data, { status: 'PAID', remainingAmount: '0' });
  // Counted already: what accepts them by themselves counts them no second time.
  await Promise.all(late.map(({ id }: { id: string }) => api('POST', `/payments/${id}/accept`)));
  const isDone = async () => (await withStatus(expired.id, 'COMPLETED')) >= 1203;
  await eventually(isDone, 'all that had come is COMPLETED');
  await dust(expired.memo, 7);
  const completed = await withStatus(expired.id, 'COMPLETED');
  t.equal(formatAmount(BigInt(completed)), (await shown(expired.id)).receivedAmount);
  t.equal(await withStatus(expired.id, 'REJECTED'), 1215 - completed);
  t.equal(await toDecide(expired.id), 1215 - completed);
  t.equal(await countEvents('payment.completed'), 1 + completed);
  t.equal(await db.collection('checkouts').countDocuments({ completedUpTo: { $exists: true } }), 0);
  const isDecided = async () => (await db.collection('checkouts').countDocuments({ partsLeft: true })) === 0;
  await eventually(isDecided, 'no part is left to decide');
});

t.test('creations and the end of their product or wallet at once leave no checkout without them', async (t) => {
  for (let round = 0; round < 5; round++) {
    const { address } = await ledger.fund();
    const own = (await service.api('POST', '/wallets', { name: 'Own', address, network: 'LOCAL' })).data;
    const fields = { name: 'P', walletId: own.id, assetCode: 'XLM', priceType: 'FIXED', price: '5' };
    const sold = (await service.api('POST', '/products', fields)).data;
    const [made, ended] = await Promise.all([
      Promise.all(Array.from({ length: 8 }, () => service.api('POST', '/checkouts', { productId: sold.id }))),
      round % 2 === 0
        ? service.api('DELETE', `/products/${sold.id}`)
        : service.api('PATCH', `/wallets/${own.id}`, { active: false }),
    ]);
    t.ok(made.every(({ status }) => [201, 409, 422].includes(status)));
    const { data: left } = await service.api('GET', `/checkouts?walletId=${own.id}&status=OPEN`);
    const active = (await service.api('GET', `/wallets/${own.id}`)).data.active;
    if (round % 2 === 0) t.same([ended.status, left.length], [200, 0]);
    else t.equal(active, left.length > 0, 'inactive without, or active with OPEN checkouts');
  }
});

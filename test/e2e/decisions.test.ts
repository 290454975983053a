/** A merchant sees which payments wait for a decision, whatever came of them, and no others. */
import t from 'tap';
import { testDatabase } from '../helpers/mongo.js';
import { allNumbered, eventually, startSelling, startTestService } from '../helpers/service.js';

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const ledger = service.context.localLedger!.client;
const shop = await ledger.fund();
const wallet = (await service.api('POST', '/wallets', { name: 'Till', address: shop.address, network: 'LOCAL' })).data;
const payer = await ledger.fund();
const { link } = await startSelling(service, { walletId: wallet.id });

const ALL = 'status=COMPLETED&status=UNDERPAID&status=REJECTED&status=UNMATCHED';
const get = async (id: string) => (await service.api('GET', `/payments/${id}`)).data;
async function paid(amount: string, memo: string = link.memo, from = payer) {
  const { hash } = await ledger.pay({ to: shop.address, amount, memo, fromSecret: from.secret });
  return eventually(
    async () => (await service.api('GET', `/payments?transactionHash=${hash}&${ALL}`)).data[0],
    'the payment',
  );
}
const giveBack = (to: string, amount: string) =>
  ledger.pay({ to, amount, memo: `refund ${link.memo}`, fromSecret: shop.secret });
const dismiss = (id: string, body?: object) => service.api('POST', `/payments/${id}/dismiss`, body);
const toDecide = async (): Promise<string[]> =>
  (await service.api('GET', '/payments?needsDecision=true')).data.map(({ id }: any) => id);
const order = async (amount: string) =>
  (await service.api('POST', '/checkouts', { walletId: wallet.id, name: 'Order', assetCode: 'XLM', amount })).data;
const isPaid = (id: string) =>
  eventually(async () => (await service.api('GET', `/checkouts/${id}`)).data.status === 'PAID', 'it is PAID');

/** What told that a payment needs a decision, oldest first. */
const toldOf = (id: string, statuses: string) =>
  eventually(async () => {
    const { data } = await service.api('GET', `/events?type=payment.decision&paymentId=${id}&order=asc`);
    return data.map((event: any) => event.data.payment.status).join() === statuses;
  }, `${statuses} of ${id} told`);

t.test('until it is accepted', async (t) => {
  const payment = await paid('24');
  await toldOf(payment.id, 'UNDERPAID');
  t.match([payment.needsDecision, payment.decisionNote, await toDecide()], [true, null, [payment.id]]);
  const { data } = await service.api('POST', `/payments/${payment.id}/accept`);
  t.match([data.needsDecision, await toDecide()], [false, []]);
  t.match(await dismiss(payment.id), { status: 409, error: { code: 'conflict' } });
});

t.test('until it is refunded in full', async (t) => {
  // Refunds go to the oldest payment of their payer.
  const other = await ledger.fund();
  const { id } = await paid('10', link.memo, other);
  await giveBack(other.address, '4');
  await eventually(async () => (await get(id)).refundedAmount === '4', 'a part went back');
  t.same(await toDecide(), [id]);
  await giveBack(other.address, '6');
  await eventually(async () => (await get(id)).refundedAmount === '10', 'the rest went back');
  t.match([await toDecide(), (await get(id)).needsDecision], [[], false]);
  t.match(await dismiss(id), { status: 409 }, 'there is nothing to decide');
});

t.test('until it is dismissed, once', async (t) => {
  const { id } = await paid('1', 'NOBODY');
  t.same(await toDecide(), [id]);
  t.match(await dismiss(id, { note: 'A tip' }), {
    status: 200,
    data: { status: 'UNMATCHED', needsDecision: false, decisionNote: 'A tip' },
  });
  t.match(await dismiss(id), { status: 200, data: { decisionNote: 'A tip' } });
  t.same(await toDecide(), []);

  const assigned = (await service.api('POST', `/payments/${id}/assign`, { paymentLinkId: link.id })).data;
  t.match(assigned, { status: 'UNDERPAID', needsDecision: true, decisionNote: null });
  t.same(await toDecide(), [id], 'what an assignment leaves UNDERPAID is to be decided again');
  await toldOf(id, 'UNMATCHED,UNDERPAID');
  t.match(await dismiss(id), { status: 200, data: { needsDecision: false, decisionNote: null } });
});

t.test('until it is assigned and enough', async (t) => {
  const { id } = await paid('25', 'NOBODY');
  t.same(await toDecide(), [id]);
  const assigned = (await service.api('POST', `/payments/${id}/assign`, { paymentLinkId: link.id })).data;
  t.match([assigned.status, assigned.needsDecision, await toDecide()], ['COMPLETED', false, []]);
});

t.test('until it is part of a checkout that became PAID', async (t) => {
  const whole = await order('20');
  const first = await paid('5', whole.memo);
  t.match([first.status, await toDecide()], ['UNDERPAID', [first.id]]);
  await paid('15', whole.memo);
  await isPaid(whole.id);
  t.match([(await get(first.id)).needsDecision, await toDecide()], [false, []]);
  t.equal((await dismiss(first.id)).status, 409);

  const twice = await paid('20', whole.memo);
  t.match([twice.reason, await toDecide()], ['checkout_paid', [twice.id]], 'a second payment is no part of it');
  await toldOf(twice.id, 'REJECTED');
  await dismiss(twice.id);
});

t.test('parts that are read together with what completes them never need one', async (t) => {
  const whole = await order('20');
  const parts = ['5', '6', '9'];
  // The parts may come in different ledgers: nothing is read before the last is there.
  const { id: fault } = await ledger.faults.add({ kind: 'unavailable', path: `/accounts/${shop.address}/payments` });
  await Promise.all(
    (await Promise.all(parts.map(() => ledger.fund()))).map(({ secret }, n) =>
      ledger.pay({ to: shop.address, amount: parts[n]!, memo: whole.memo, fromSecret: secret }),
    ),
  );
  await ledger.faults.remove(fault);
  await isPaid(whole.id);
  t.same(await toDecide(), []);
  await allNumbered(service);
  const { data: events } = await service.api('GET', '/events?type=checkout.paid&pageSize=1');
  t.equal(events[0].data.checkout.id, whole.id);
  t.notOk(events[0].data.payments.some(({ needsDecision }: any) => needsDecision));
  for (const { id } of events[0].data.payments) await toldOf(id, '');
});

t.test('an accepted checkout leaves what came in another asset', async (t) => {
  const whole = await order('20');
  const part = await paid('5', whole.memo);
  const { assetIssuer } = await ledger.issue({ code: 'EUR', amount: '9', toSecret: payer.secret });
  await ledger.trust({ secret: shop.secret, assetCode: 'EUR', assetIssuer });
  await ledger.pay({
    ...{ to: shop.address, amount: '9', memo: whole.memo, fromSecret: payer.secret },
    ...{ assetCode: 'EUR', assetIssuer },
  });
  const other = await eventually(
    async () => (await service.api('GET', `/payments?assetCode=EUR&status=REJECTED`)).data[0],
    'the payment in EUR',
  );
  t.same((await toDecide()).sort(), [part.id, other.id].sort());
  await service.api('POST', `/checkouts/${whole.id}/accept`);
  t.same(await toDecide(), [other.id]);
});

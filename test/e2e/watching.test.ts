/** What a merchant relies on while the ledger, Horizon and the wallets change under way. */
import t from 'tap';
import { eventually, startSelling, startTestService, type TestService } from '../helpers/service.js';

const paymentsOf = async (service: TestService, query = '') => (await service.api('GET', `/payments${query}`)).data;
const syncOf = async (service: TestService, id: string) => (await service.api('GET', `/wallets/${id}`)).data.sync;

t.test('a payment made while Horizon fails in any way is found once it answers again', async (t) => {
  const service = await startTestService(t);
  const { link, wallet } = await startSelling(service);
  const ledger = service.context.localLedger!.client;
  const faults = ['429', '503', '504', 'html-200', 'html-502', 'cut-json', 'hang', 'reset-connection'];
  t.comment(faults);
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(async () => (await paymentsOf(service)).length === 1, 'the payment');
});

t.test('history before a wallet is never replayed, and what came while it was inactive neither', async (t) => {
  const service = await startTestService(t);
  const ledger = service.context.localLedger!.client;
  const { address } = await ledger.fund();
  await ledger.pay({ to: address, amount: '1' });
  const wallet = (await service.api('POST', '/wallets', { name: 'Shop', address, network: 'LOCAL' })).data;
  await ledger.pay({ to: address, amount: '2' });
  await service.api('PATCH', `/wallets/${wallet.id}`, { active: false });
  await ledger.pay({ to: address, amount: '3' });
  await service.api('PATCH', `/wallets/${wallet.id}`, { active: true });
  await ledger.pay({ to: address, amount: '4' });
  await eventually(
    async () =>
      (await paymentsOf(service, '?status=UNMATCHED')).some((payment: { amount: string }) => payment.amount === '4'),
    'the last payment',
  );
  t.same(
    (await paymentsOf(service, '?status=UNMATCHED')).map((payment: { amount: string }) => payment.amount),
    ['4', '2'],
  );
  const { ledger: newest } = await ledger.pay({ to: address, amount: '5' });
  await eventually(async () => (await syncOf(service, wallet.id)).ledger >= newest, 'the watermark');
  t.equal((await syncOf(service, wallet.id)).state, 'OK');
});

t.test('a payment is judged by the terms in force when its ledger closed', async (t) => {
  const service = await startTestService(t);
  const { link, product, wallet } = await startSelling(service);
  const ledger = service.context.localLedger!.client;
  const pay = (amount: string) => ledger.pay({ to: wallet.address, amount, memo: link.memo });
  await pay('25');
  await service.api('PATCH', `/products/${product.id}`, { price: '30' });
  await pay('25');
  await service.api('PATCH', `/payment-links/${link.id}`, { active: false });
  await pay('30');
  await service.api('PATCH', `/payment-links/${link.id}`, { active: true });
  await service.api('PATCH', `/products/${product.id}`, { active: false });
  await pay('30');
  await service.api('PATCH', `/products/${product.id}`, { active: true });
  await pay('30');
  await eventually(async () => (await paymentsOf(service)).length === 5, 'all payments');
  t.same(
    (await paymentsOf(service))
      .reverse()
      .map(({ status, reason }: { status: string; reason: string }) => [status, reason]),
    [
      ['COMPLETED', null],
      ['UNDERPAID', 'below_price'],
      ['REJECTED', 'link_inactive'],
      ['REJECTED', 'product_inactive'],
      ['COMPLETED', null],
    ],
  );
  t.equal(
    (await service.api('GET', `/payment-links/${link.id}`)).data.paymentCount,
    3,
    'rejected ones are not counted',
  );
});

t.test(
  'many wallets are read by the feed, few one by one again, and no payment is lost in either change',
  async (t) => {
    const service = await startTestService(t);
    const { link, wallet } = await startSelling(service);
    const ledger = service.context.localLedger!.client;
    const more: string[] = [];
    let paid = 0;
    const pay = async () => {
      await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
      paid += 1;
    };
    const seesAll = () =>
      eventually(async () => (await paymentsOf(service, '?pageSize=100')).length === paid, `${paid} payments`);
    await pay();
    for (let n = 0; n < 6; n++) {
      const { address } = await ledger.fund();
      more.push((await service.api('POST', '/wallets', { name: `W${n}`, address, network: 'LOCAL' })).data.id);
      await pay();
    }
    await seesAll();
    await eventually(() => service.context.stores.positions.byId('LOCAL:feed'), 'the feed');
    await pay();
    await seesAll();
    for (const id of more) {
      await service.api('PATCH', `/wallets/${id}`, { active: false });
      await pay();
    }
    await eventually(async () => !(await service.context.stores.positions.byId('LOCAL:feed')), 'no feed');
    await pay();
    await seesAll();
    t.equal((await paymentsOf(service, '?pageSize=100')).length, paid);
  },
);

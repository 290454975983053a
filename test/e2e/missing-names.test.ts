/** Links and checkouts without names: an older release makes them that goes on beside an upgraded database. */
import t from 'tap';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

t.test('a payment to a link or checkout whose memo has no name is found, and stores the name', async (t) => {
  const database = await testDatabase(t);
  const service = await startTestService(t, { database });
  const ledger = service.context.localLedger!.client;
  const { link, product, wallet } = await startSelling(service);
  const { data: order } = await service.api('POST', '/checkouts', { productId: product.id });
  const other = await startSelling(service);
  const names = database.db.collection<{ _id: string }>('payableNames');
  const payer = await ledger.fund();
  const memos = [link.memo, order.memo, other.link.memo].map((memo) => `memo:${memo}`);
  const slugs = [link, order, other.link].map(({ slug }) => `slug:${slug}`);
  await names.deleteMany({ _id: { $in: [...memos, ...slugs] } });
  t.equal((await fetch(link.url)).status, 404, 'its page cannot be found');

  const pay = async (to: string, memo: string) => {
    const { hash } = await ledger.pay({ to, amount: '25', memo, fromSecret: payer.secret });
    const path = `/payments?transactionHash=${hash}&status=COMPLETED&status=UNMATCHED&status=REJECTED`;
    return eventually(async () => (await service.api('GET', path)).data[0], 'the payment');
  };
  t.match(await pay(wallet.address, link.memo), { status: 'COMPLETED', paymentLinkId: link.id });
  t.match(await pay(wallet.address, order.memo), { status: 'COMPLETED', checkoutId: order.id });
  t.equal((await service.api('GET', `/checkouts/${order.id}`)).data.status, 'PAID');
  t.equal((await fetch(link.url)).status, 200, 'its page is there again');
  const named = (await names.find({ _id: { $in: [...memos, ...slugs] } }).toArray()).map(({ _id }) => _id);
  t.same(named.sort(), [...memos.slice(0, 2), ...slugs.slice(0, 2)].sort());

  const stranger = await service.openAccount();
  const theirs = (
    await service.api(
      ...(['POST', '/wallets'] as const),
      { name: 'Theirs', address: (await ledger.fund()).address, network: 'LOCAL' },
      stranger.apiKey,
    )
  ).data;
  await ledger.pay({ to: theirs.address, amount: '25', memo: other.link.memo });
  const lost = await eventually(
    async () => (await service.api('GET', '/payments?status=UNMATCHED', undefined, stranger.apiKey)).data[0],
    'the payment of a stranger',
  );
  t.match(lost, { status: 'UNMATCHED', reason: 'unknown_memo' }, 'a memo of another account means nothing');
});

/** Payments, checkouts and links are found again by the beginnings of words, whatever their case
 *  and marks. */
import t from 'tap';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const database = await testDatabase(t);
const service = await startTestService(t, { database });
const ledger = service.context.localLedger!.client;
const { wallet, product, link } = await startSelling(service, { name: 'Café Größe M' });
const other = (await service.api('POST', '/payment-links', { productId: product.id })).data;
await service.api('PATCH', `/payment-links/${other.id}`, { name: 'Christmas market' });
const order = (
  await service.api('POST', '/checkouts', {
    ...{ walletId: wallet.id, name: 'Two mugs', assetCode: 'XLM', amount: '5', reference: 'ORDER-1042/b' },
    metadata: { cart: 'c-77 (blue)', mail: 'ana@shop.example' },
  })
).data;
const pay = async (memo: string | null, amount = '25') => (await ledger.pay({ to: wallet.address, amount, memo })).hash;
const hashes = [await pay(link.memo), await pay(other.memo), await pay(order.memo, '5'), await pay('Mr. Nöbödy')];
const ALL = 'status=COMPLETED&status=UNMATCHED';
const paid = await eventually(async () => {
  const { data } = await service.api('GET', `/payments?${ALL}`);
  return data.length === 4 && hashes.map((hash) => data.find((each: any) => each.transactionHash === hash));
}, 'four payments');
const [ofLink, ofOther, ofOrder, ofNobody] = paid as any[];

const idsOf = async (list: string, search: string, more = ''): Promise<string[]> => {
  const { status, data, meta } = await service.api('GET', `/${list}?search=${encodeURIComponent(search)}${more}`);
  t.equal(status, 200, search);
  t.equal(meta!.total, data.length, search);
  return data.map(({ id }: any) => id);
};

t.test('payments by memo, names, reference, metadata, hash and id', async (t) => {
  const cases: [search: string, found: any[]][] = [
    [link.memo, [ofLink]],
    [link.memo.toLowerCase().slice(0, 5), [ofLink]],
    ['cafe', [ofOther, ofLink]],
    ['GRÖSSE', [ofOther, ofLink]],
    ['m caf grosse', [ofOther, ofLink]],
    ['christmas', [ofOther]],
    ['market caf', [ofOther]],
    ['order-1042', [ofOrder]],
    ['1042', [ofOrder]],
    ['1042/B', [ofOrder]],
    ['mugs two', [ofOrder]],
    ['blue', [ofOrder]],
    ['c-77', [ofOrder]],
    ['ana@shop', [ofOrder]],
    ['shop.example', [ofOrder]],
    ['nobody', [ofNobody]],
    ['mr nob', [ofNobody]],
    [ofOther.transactionHash, [ofOther]],
    [ofOther.transactionHash.slice(0, 16).toUpperCase(), [ofOther]],
    [ofNobody.id, [ofNobody]],
    [`nobody ${ofNobody.transactionHash.slice(0, 20)}`, [ofNobody]],
    ['arket', []],
    ['nobody cafe', []],
    ['.*', []],
    ['-', []],
    ['\u0301', []],
  ];
  for (const [search, found] of cases)
    t.same(
      await idsOf('payments', search, `&${ALL}`),
      found.map(({ id }) => id),
      search,
    );
  t.same(await idsOf('payments', 'nobody'), [], 'UNMATCHED ones only when asked for');
  t.same(await idsOf('payments', 'cafe', `&walletId=wallet_x`), [], 'with the other filters');
  t.same(await idsOf('payments', 'nobody', '&needsDecision=true'), [ofNobody.id]);
});

t.test('an assigned payment is found by its link or checkout', async (t) => {
  await service.api('POST', `/payments/${ofNobody.id}/assign`, { paymentLinkId: other.id });
  t.same(await idsOf('payments', 'christmas nobody'), [ofNobody.id]);
});

t.test('checkouts by reference, memo, name, metadata and id', async (t) => {
  for (const search of ['order 1042', '1042', order.memo, 'mug', 'ANA@', 'blue two', order.id])
    t.same(await idsOf('checkouts', search === 'order 1042' ? 'order-1042' : search), [order.id], search);
  for (const search of ['rder', '042', 'example2', 'chk_x']) t.same(await idsOf('checkouts', search), [], search);
  t.same(await idsOf('checkouts', 'mug', '&status=OPEN'), []);
  t.same(await idsOf('checkouts', 'mug', '&status=PAID'), [order.id]);
});

t.test('links by words in any order, beside what they contain', async (t) => {
  t.same(await idsOf('payment-links', 'market christ'), [other.id]);
  t.same(await idsOf('payment-links', 'hristmas'), [other.id]);
  t.same(await idsOf('payment-links', link.id), [link.id]);
});

t.test('a reference is found as people write it, with signs around it', async (t) => {
  for (const search of ['#1042', '(1042)', '№1042', '1042/b,', '"order-1042/b"']) {
    t.same(await idsOf('checkouts', search), [order.id], search);
    t.same(await idsOf('payments', search, `&${ALL}`), [ofOrder.id], search);
  }
  t.same(await idsOf('payment-links', '(Christmas),'), [other.id]);
  t.same(await idsOf('payment-links', '#'), []);
});

t.test('another account finds nothing', async (t) => {
  const { apiKey } = await service.openAccount();
  for (const [list, search] of [
    ['payments', 'cafe'],
    ['payments', ofLink.transactionHash],
    ['payments', ofLink.id],
    ['checkouts', order.id],
    ['payment-links', link.id],
  ] as const)
    t.same((await service.api('GET', `/${list}?search=${search}`, undefined, apiKey)).data, [], `${list} ${search}`);
});

t.test('a search is text of 1 to 200 characters', async (t) => {
  for (const search of ['', ' ', 'x'.repeat(201)])
    t.equal((await service.api('GET', `/payments?search=${search}`)).status, 400, search.slice(0, 5));
});

/** Orders of several lines, from the API to the payer's page, receipt and e-mail, the books and
 *  the events. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { startMailServer } from '../helpers/mail-server.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const server = await startMailServer();
t.teardown(() => server.close());
const service = await startTestService(t, {
  clock: systemClock,
  env: { SMTP_URL: server.url, MAIL_FROM: 'pay@shop.example' },
});
const { wallet, product } = await startSelling(service);
const ledger = service.context.localLedger!.client;

const LINES = [
  { name: 'Espresso', price: '2.50', quantity: 2, taxPercent: '19' },
  { name: 'Brötchen <süß>', price: '1.20', quantity: 3, taxPercent: '7' },
  { name: 'Becher', price: '10' },
];
/** 18.60 less 10 % is 16.74; tax on top: 0.86 of 4.50, 0.23 of 3.24; with the tip 18.83. */
const ORDER = {
  ...{ assetCode: 'XLM', currency: 'EUR', lines: LINES, taxIncluded: false },
  ...{ discount: { name: 'Stammgäste', percent: '10' }, tip: '1' },
};

async function order(fields: Record<string, unknown> = {}): Promise<any> {
  const { data, error } = await service.api('POST', '/checkouts', { walletId: wallet.id, ...fields });
  if (error) throw new Error(JSON.stringify(error));
  return data;
}
const get = async (id: string) => (await service.api('GET', `/checkouts/${id}`)).data;
const paid = async (checkout: any, amount: string) => {
  await ledger.pay({ to: wallet.address, amount, memo: checkout.memo });
  return eventually(async () => {
    const found = await get(checkout.id);
    return found.status === 'PAID' && found;
  }, 'it is paid');
};
const html = async (url: string, language: string) =>
  (await (await fetch(url, { headers: { 'accept-language': language } })).text()).replace(/\s+/g, ' ');
/** The rows of an order on a page: names and amounts. */
const rowsOf = (page: string) =>
  [...page.matchAll(/<div class="(?:line|part|total|within)"><dt><bdi>(.*?)<\/bdi><\/dt><dd>(.*?)<\/dd>/g)].map(
    ([, name, amount]) =>
      `${name}: ${amount!
        .replace(/<[^>]+>/g, '')
        .replace(/\u00a0/g, ' ')
        .trim()}`,
  );

await service.api('PUT', '/rates', { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL', rate: '0.5' });

t.test('an order in a currency is asked for as a whole, paid, and shown with all its parts', async (t) => {
  const checkout = await order({ ...ORDER, customerEmail: 'ana@payer.example', language: 'de' });
  t.match(checkout, {
    ...{ subtotal: '18.6', discountAmount: '1.86', discountName: 'Stammgäste', taxAmount: '1.09', tipAmount: '1' },
    ...{ total: '18.83', price: '18.83', amount: null, remainingValue: '18.83', quote: { amount: '37.66' } },
  });
  const rows = [
    'Espresso × 2: 5,00 €',
    'Brötchen &lt;süß&gt; × 3: 3,60 €',
    'Becher: 10,00 €',
    'Zwischensumme: 18,60 €',
    'Rabatt, Stammgäste: -1,86 €',
    'Steuer, 19 %: 0,86 €',
    'Steuer, 7 %: 0,23 €',
    'Trinkgeld: 1,00 €',
    'Gesamt: 18,83 €',
  ].map((row) => row.replace(/\u00a0/g, ' '));
  t.same(rowsOf(await html(checkout.url, 'de')), rows);
  const after = await paid(checkout, '37.66');
  t.match(after, { receivedValue: '18.83', remainingAmount: '0', excessAmount: null, taxAmount: '1.09' });
  t.same(rowsOf(await html(`${checkout.url}/receipt`, 'de')), rows);
  t.ok(rowsOf(await html(`${checkout.url}/receipt`, 'ar')).some((row) => row.startsWith('الإجمالي: ')));

  const [mail] = await server.to('ana@payer.example');
  const text = mail!.parsed.text!.replace(/\u00a0/g, ' ');
  for (const part of [
    'Espresso × 2',
    '5,00 €',
    'Rabatt, Stammgäste',
    '-1,86 €',
    'Steuer, 19 %',
    'Trinkgeld',
    '18,83 €',
  ])
    t.match(text, part);

  const events = (await service.api('GET', '/events?pageSize=100')).data;
  const told = events.filter(({ data }: any) => data.checkout?.id === checkout.id);
  t.ok(told.length >= 3);
  for (const { data } of told) t.match(data.checkout, { total: '18.83', lines: [{ name: 'Espresso' }, {}, {}] });
});

t.test('prices that contain the tax say what of it they contain', async () => {
  const checkout = await order({ assetCode: 'XLM', lines: [{ name: 'Cup', price: '11.9', taxPercent: '19' }] });
  t.match(checkout, { total: '11.9', taxAmount: '1.9' });
  t.same(rowsOf(await html(checkout.url, 'en')), ['Cup: 11.9 XLM', 'Total: 11.9 XLM', 'Contains tax, 19%: 1.9 XLM']);
});

t.test('one thing at one price has no rows of its own', async () => {
  const checkout = await order({ name: 'Tee', assetCode: 'XLM', amount: '5' });
  t.same(rowsOf(await html(checkout.url, 'en')), []);
});

t.test('the line of a product stays as it was sold, whatever becomes of the product', async (t) => {
  const made = (await service.api('POST', '/products', { ...shirt(), name: 'Old', price: '3' })).data;
  const checkout = await order({ assetCode: 'XLM', lines: [{ productId: made.id }, { name: 'x', price: '1' }] });
  await service.api('PATCH', `/products/${made.id}`, { name: 'New', price: '9', active: false });
  t.match(await get(checkout.id), { lines: [{ productId: made.id, name: 'Old', price: '3' }, {}], total: '4' });
  await service.api('DELETE', `/products/${made.id}`);
  t.match(await paid(checkout, '4'), { status: 'PAID', lines: [{ productId: made.id, name: 'Old' }, {}] });
});

const shirt = () => ({ walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: product.price, name: 'x' });

t.test('an export has a column for each part of the sum', async (t) => {
  const answer = await fetch(`${service.url}/api/v1/checkouts/export?search=Espresso`, {
    headers: { authorization: `Bearer ${service.apiKey}` },
  });
  const [header, line] = (await answer.text()).split('\r\n').map((text) => text.split(','));
  const cells = Object.fromEntries(header!.map((name, index) => [name, line!.at(index - header!.length)]));
  t.match(cells, { subtotal: '18.6', discount: '1.86', tax: '1.09', tip: '1', total: '18.83' });
  t.same(header!.slice(-10, -5), ['subtotal', 'discount', 'tax', 'tip', 'total']);
});

t.test('a summary has the taxes of what was paid, by rate and currency', async (t) => {
  const asset = await order({ assetCode: 'XLM', lines: [{ name: 'Cup', price: '11.9', taxPercent: '19' }] });
  await paid(asset, '11.9');
  for (const groupBy of ['day', 'month']) {
    const { data } = await service.api('GET', `/reports/summary?taxes=true&groupBy=${groupBy}`);
    t.equal(data.length, 1);
    t.match(data[0], { key: new Date().toISOString().slice(0, groupBy === 'day' ? 10 : 7), assetCode: 'XLM' });
    t.same(data[0].taxes, [
      { taxPercent: '19', net: '10', tax: '1.9' },
      { currency: 'EUR', taxPercent: '7', net: '3.24', tax: '0.23' },
      { currency: 'EUR', taxPercent: '19', net: '4.5', tax: '0.86' },
    ]);
  }
  const { data } = await service.api('GET', '/reports/summary?taxes=true&to=2020-01-01');
  t.same(data, []);
  t.notOk('taxes' in (await service.api('GET', '/reports/summary')).data[0]);
  t.equal((await service.api('GET', '/reports/summary?taxes=true&groupBy=product')).status, 400);
});

t.test('a little less is enough where the tolerance says so, and its page says that it is paid', async (t) => {
  const order49 = await order({ name: 'Tee', assetCode: 'XLM', amount: '50', tolerancePercent: '2' });
  t.match(await html(order49.url, 'en'), '>50<', 'the page asks for the whole');
  const first = await paid(order49, '49');
  t.match(first, { status: 'PAID', receivedAmount: '49', remainingAmount: '0', excessAmount: null, total: '50' });
  const [payment] = (await service.api('GET', `/payments?checkoutId=${order49.id}`)).data;
  t.match(payment, { status: 'COMPLETED', reason: 'within_tolerance', expectedAmount: '50', shortfallAmount: '1' });
  const page = await html(order49.url, 'en');
  t.match(page, 'The payment has arrived and is complete.');
  t.notMatch(page, 'The merchant has accepted your payment as it came.');

  await service.api('PATCH', '/account', { tolerancePercent: '4' });
  const made = (await service.api('POST', '/products', shirt())).data;
  t.equal(made.tolerancePercent, '4');
  await service.api('PATCH', '/account', { tolerancePercent: '0' });
  const link = (await service.api('POST', '/payment-links', { productId: made.id })).data;
  const payLink = async (amount: string) => {
    const { hash } = await ledger.pay({ to: wallet.address, amount, memo: link.memo });
    return eventually(async () => {
      const { data } = await service.api('GET', `/payments?search=${link.memo}`);
      return data.find((each: any) => each.transactionHash === hash);
    }, `a payment of ${amount}`);
  };
  t.match(await payLink('24'), { status: 'COMPLETED', reason: 'within_tolerance', shortfallAmount: '1' });
  t.match(await payLink('23.9999999'), { status: 'UNDERPAID', reason: 'below_price' });
  await service.api('PATCH', `/products/${made.id}`, { tolerancePercent: '0' });
  t.match(await payLink('24'), { status: 'UNDERPAID', reason: 'below_price' }, 'by the terms of its ledger');
});

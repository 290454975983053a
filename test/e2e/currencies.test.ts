/** Prices in a currency, with real payments on the local ledger: what a payer was shown holds. */
import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import { LONG } from '../helpers/long.js';
import { startRateServers } from '../helpers/rate-servers.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const ledger = service.context.localLedger!.client;
// The demo source says that an XLM is worth 0.25 EUR.
const { wallet, product, link } = await startSelling(service, { currency: 'EUR', price: '10' });

type Service = typeof service;
const XLM_EUR = { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL' };
const pageOf = async (url: string, path = '') => {
  const answer = await fetch(`${url}${path}`);
  return { status: answer.status, text: await answer.text() };
};
const payments = async (query: string, { api }: Service = service) => (await api('GET', `/payments?${query}`)).data;
const came = (query: string, count: number, at: Service = service) =>
  eventually(async () => {
    const found = await payments(query, at);
    return found.length >= count && found[0];
  }, `${count} payments`);
const pay = (memo: string, amount: string) => ledger.pay({ to: wallet.address, amount, memo });
let paid = 0;
const payLink = async (amount: string) => {
  await pay(link.memo, amount);
  paid += 1;
  return came(`paymentLinkId=${link.id}`, paid);
};
const order = async (fields: Record<string, unknown>) => service.api('POST', '/checkouts', fields);
const inEuro = { walletId: wallet.id, name: 'Beans', assetCode: 'XLM', currency: 'EUR' };

t.test('a product in a currency shows what is asked now, and its page both', async (t) => {
  t.match(product, { currency: 'EUR', price: '10', quote: { amount: '40', rate: '0.25', source: 'demo' } });
  t.ok(Date.parse(product.quote.validUntil) > Date.now());
  t.match((await service.api('GET', `/payment-links/${link.id}`)).data.product, { quote: { amount: '40' } });
  const page = await pageOf(link.url);
  t.match(page.text, /40<\/span>|40 XLM|>40</);
  t.match(page.text, /id="worth"/);
  t.match(page.text, '€10.00');
  const { data: instructions } = await service.api('GET', `/payment-links/${link.id}/instructions`);
  t.equal(instructions.amount, '40');
});

t.test('a payment counts for the price, whichever of the shown rates it was paid by', async (t) => {
  t.match(await payLink('40'), {
    ...{ status: 'COMPLETED', reason: null, expectedAmount: '40' },
    value: { currency: 'EUR', amount: '10', rate: '0.25', source: 'demo' },
  });
  const set = await service.api('PUT', '/rates', { ...XLM_EUR, rate: '0.5' });
  t.match(set, { status: 200, data: { rate: '0.5', source: 'own', stale: false } });
  t.match((await service.api('GET', `/products/${product.id}`)).data.quote, { amount: '20', source: 'own' });
  t.match(await payLink('20'), {
    status: 'COMPLETED',
    reason: null,
    value: { amount: '10', rate: '0.5', source: 'own' },
  });
  t.match(await payLink('40'), { status: 'COMPLETED', reason: null, value: { amount: '10', rate: '0.25' } });
  t.match(await payLink('19.9999999'), {
    ...{ status: 'UNDERPAID', reason: 'below_price', expectedAmount: '20', shortfallAmount: '0.0000001' },
    value: { amount: '9.99', rate: '0.5' },
  });
  t.match(await payLink('50'), {
    status: 'COMPLETED',
    reason: 'overpaid',
    excessAmount: '10',
    value: { amount: '12.5' },
  });
});

t.test('a checkout in a currency is paid in parts, each by its value', async (t) => {
  const { status, data: checkout } = await order({ ...inEuro, price: '12.50' });
  t.equal(status, 201);
  t.match(checkout, {
    ...{ amount: null, currency: 'EUR', price: '12.5', receivedValue: '0', remainingValue: '12.5' },
    ...{ receivedAmount: '0', remainingAmount: '25', quote: { amount: '25', rate: '0.5' } },
  });
  await pay(checkout.memo, '10');
  const part = await came(`checkoutId=${checkout.id}`, 1);
  t.match(part, { status: 'UNDERPAID', reason: 'partial', value: { amount: '5' }, shortfallAmount: '15' });
  const rest = (await service.api('GET', `/checkouts/${checkout.id}`)).data;
  t.match(rest, { receivedAmount: '10', receivedValue: '5', remainingValue: '7.5', remainingAmount: '15' });
  const page = await pageOf(rest.url);
  t.match(page.text, /€7\.50 still to pay/);
  await pay(checkout.memo, rest.quote.amount);
  const last = await came(`checkoutId=${checkout.id}`, 2);
  t.match(last, { status: 'COMPLETED', reason: null, value: { amount: '7.5' } });
  const whole = (await service.api('GET', `/checkouts/${checkout.id}`)).data;
  t.match(whole, { status: 'PAID', receivedValue: '12.5', remainingValue: '0', remainingAmount: '0', quote: null });
  t.match(whole, { receivedAmount: '25', excessAmount: null });
});

t.test('accepting takes the value of what came, and a refund may be asked for by value', async (t) => {
  const { data: checkout } = await order({ ...inEuro, price: '100' });
  await pay(checkout.memo, '30');
  const part = await came(`checkoutId=${checkout.id}`, 1);
  t.equal(part.value.amount, '15');
  const { data: accepted } = await service.api('POST', `/checkouts/${checkout.id}/accept`);
  t.match(accepted, { status: 'PAID' });
  t.equal(Number(accepted.receivedValue), Number(accepted.receivedAmount) / 2);
  const worth = await service.api('GET', `/payments/${part.id}/refund?value=5`);
  t.match(worth, { status: 200, data: { amount: '10' } });
  t.match(await service.api('GET', `/payments/${part.id}/refund?value=500`), {
    status: 400,
    error: { code: 'bad_request', message: 'value: Only 30 XLM is left of this payment.' },
  });
  t.match(await service.api('GET', `/payments/${part.id}/refund?amount=31`), {
    status: 400,
    error: { message: 'amount: Only 30 XLM is left of this payment.' },
  });
  t.match(await service.api('GET', `/payments/${part.id}/refund?value=5&amount=1`), { status: 400 });
});

t.test('rates are listed, quoted and ended', async (t) => {
  const list = (await service.api('GET', '/rates')).data;
  t.match(list, [{ ...XLM_EUR, assetIssuer: null, rate: '0.5', source: 'own', stale: false }]);
  const quote = (of: string) => service.api('GET', `/rates/quote?${of}`);
  t.match(await quote('currency=EUR&price=10&assetCode=XLM&network=LOCAL'), { status: 200, data: { amount: '20' } });
  t.match(await quote('currency=USD&price=2.80&assetCode=XLM&network=LOCAL'), {
    data: { amount: '10', source: 'demo' },
  });
  t.match(await quote('currency=JPY&price=2.80&assetCode=XLM&network=LOCAL'), { status: 400 });
  t.match(await service.api('PATCH', '/account', { rateMarkupPercent: '20' }), { data: { rateMarkupPercent: '20' } });
  t.match(
    await quote('currency=EUR&price=10&assetCode=XLM&network=LOCAL'),
    { data: { amount: '20' } },
    'its own stays',
  );
  const end = () => service.api('DELETE', '/rates?currency=EUR&assetCode=XLM&network=LOCAL');
  t.match(await end(), { status: 200, data: { deleted: true } });
  t.match(await end(), { status: 404 });
  t.match(await quote('currency=EUR&price=10&assetCode=XLM&network=LOCAL'), { data: { amount: '50', rate: '0.2' } });
  t.match(await service.api('PATCH', '/account', { rateMarkupPercent: '20.1' }), { status: 422 });
  await service.api('PATCH', '/account', { rateMarkupPercent: '0' });
});

t.test('what is wrong with a price in a currency is told at its field', async (t) => {
  const base = { name: 'x', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '1' };
  const faultsOf = async (path: string, body: object) =>
    ((await service.api('POST', path, body)).error?.details ?? []).map((each: any) => `${each.path} ${each.code}`);
  t.same(await faultsOf('/products', { ...base, currency: 'EUR', price: '1.001' }), ['price invalid_format']);
  t.same(await faultsOf('/products', { ...base, currency: 'JPY', price: '1.5' }), ['price invalid_format']);
  t.same(await faultsOf('/products', { ...base, currency: 'euro' }), ['currency invalid_format']);
  t.same(await faultsOf('/products', { ...base, currency: 'KWD', price: '1.001' }), []);
  t.same(await faultsOf('/checkouts', { ...inEuro, price: '1', amount: '1' }), ['amount not_allowed']);
  t.same(await faultsOf('/checkouts', inEuro), ['price required']);
  t.same(await faultsOf('/checkouts', { ...inEuro, currency: undefined, price: '1' }), ['currency required']);
  t.same(await faultsOf('/checkouts', { ...inEuro, currency: undefined }), ['amount required']);
  t.same(await faultsOf('/checkouts', { productId: product.id, currency: 'EUR' }), ['currency not_allowed']);
  t.same(await faultsOf('/checkouts', { productId: product.id, price: '5' }), ['price not_allowed']);
  const put = async (body: object) =>
    ((await service.api('PUT', '/rates', { ...XLM_EUR, rate: '1', ...body })).error?.details ?? []).map(
      (each: any) => each.path,
    );
  for (const rate of ['0', '-1', '1e3', '0.1234567890123', 1]) t.same(await put({ rate }), ['rate'], String(rate));
  t.same(await put({ expiresAt: '2020-01-01' }), ['expiresAt']);
  t.same(await put({ network: 'PUBLIC' }), ['network']);
});

t.test('a payer chooses an amount of the currency, and the page asks for what that is', async (t) => {
  const made = await service.api('POST', '/products', {
    ...{ name: 'Tip', walletId: wallet.id, assetCode: 'XLM', priceType: 'CUSTOM', currency: 'EUR', minAmount: '2' },
  });
  t.match(made, { status: 201, data: { quote: { amount: '8' } } });
  const tip = (await service.api('POST', '/payment-links', { productId: made.data.id })).data;
  t.match((await pageOf(tip.url, '?amount=5')).text, /amount=20&|amount=20&amp;/);
  t.match(await pageOf(tip.url, '?amount=1'), { status: 422 });
  t.match(await pageOf(tip.url, '?amount=5.001'), { status: 422, text: /at most 2 decimals/ });
  const instructions = (amount: string) => service.api('GET', `/payment-links/${tip.id}/instructions?amount=${amount}`);
  t.match(await instructions('5.01'), { status: 200, data: { amount: '20.04' } });
  t.match(await instructions('5.001'), { status: 400, error: { message: 'amount: EUR has at most 2 decimals.' } });
  t.match(await order({ productId: made.data.id, amount: '5' }), { status: 422 });
  t.match(await order({ productId: made.data.id, price: '5' }), { status: 201, data: { price: '5' } });
});

t.test('without a rate there is no price: the page says so, and what comes is kept for the merchant', async (t) => {
  const shop = await startTestService(t, { env: { RATE_SOURCES: 'custom@http://127.0.0.1:9/rates' } });
  const sold = await startSelling(shop, { currency: 'EUR', price: '10' });
  t.equal(sold.product.quote, null);
  const page = await pageOf(sold.link.url);
  t.match(page.text, /No price at the moment/);
  t.notMatch(page.text, /web\+stellar/);
  t.notMatch(page.text, new RegExp(sold.wallet.address));
  t.match(await shop.api('POST', '/checkouts', { productId: sold.product.id }), {
    status: 409,
    error: { code: 'conflict' },
  });
  t.match(await shop.api('GET', '/rates/quote?currency=EUR&price=1&assetCode=XLM&network=LOCAL'), { status: 409 });
  await shop.context.localLedger!.client.pay({ to: sold.wallet.address, amount: '40', memo: sold.link.memo });
  const payment = await came(`paymentLinkId=${sold.link.id}`, 1, shop);
  t.match(payment, { status: 'UNDERPAID', reason: 'no_rate', expectedAmount: null, value: null });
  t.match(await shop.api('POST', `/payments/${payment.id}/accept`), { data: { status: 'COMPLETED', value: null } });
  await shop.api('PUT', '/rates', { ...XLM_EUR, rate: '0.25' });
  t.match((await pageOf(sold.link.url)).text, /web\+stellar:pay\?[^"]*amount=40/);
  t.match(await shop.api('POST', '/checkouts', { productId: sold.product.id }), { status: 201 });
});

t.test('health and metrics tell of sources that fail or differ', async (t) => {
  const servers = await startRateServers(t, { EUR: '0.25' }, new Date());
  const env = { RATE_SOURCES: servers.sources('kraken', 'coinbase'), RATE_INTERVAL_SECONDS: '1' };
  const shop = await startTestService(t, { env });
  const quote = () => shop.api('GET', '/rates/quote?currency=EUR&price=10&assetCode=XLM&network=LOCAL');
  t.match(await quote(), { data: { amount: '40', source: 'kraken,coinbase' } });
  const textOf = async (path: string) => (await fetch(`${shop.url}${path}`)).text();
  t.match(JSON.parse(await textOf('/health/ready')), { warnings: [] });
  servers.trouble.coinbase = { body: '{"data":{"amount":"0.5","base":"XLM","currency":"EUR"}}' };
  await eventually(
    async () => /no sample of the rate LOCAL EUR XLM since .*: two sources differ/.test(await textOf('/health/ready')),
    'a warning',
  );
  t.match(await textOf('/metrics'), /^collect_rate_disagreements_total [1-9]/m);
  servers.trouble.kraken = { status: 500, body: '' };
  servers.trouble.coinbase = { body: '<html>' };
  await eventually(async () => /no source gives a usable answer/.test(await textOf('/health/ready')), 'another one');
  t.match(await textOf('/metrics'), /^collect_rate_sources_left_out_total\{source="kraken"\} [1-9]/m);
  t.match(await quote(), { data: { amount: '40' } }, 'the last sample is shown until it is too old');
  servers.trouble = {};
  await eventually(async () => JSON.parse(await textOf('/health/ready')).warnings.length === 0, 'all is well again');
});

t.test("the built-in ledger's market is a source", async (t) => {
  const key = Keypair.random();
  const issuer = key.publicKey();
  const shop = await startTestService(t, { env: { RATE_SOURCES: 'ledger', RATE_PEGS: `EURX:${issuer}=EUR` } });
  const { fund, offer } = shop.context.localLedger!.client;
  await fund(issuer);
  const selling = { code: 'EURX', issuer };
  await offer({ secret: key.secret(), selling, buying: null, amount: '1000', price: '4' });
  const quote = await shop.api('GET', '/rates/quote?currency=EUR&price=10&assetCode=XLM&network=LOCAL');
  t.match(quote, { status: 200, data: { amount: '40', rate: '0.25', source: 'ledger' } });
});

t.test('books in a currency give every later payment a value, unless its price gives it one', LONG, async (t) => {
  const shop = await startTestService(t);
  const sold = await startSelling(shop, { price: '40' });
  const fund = shop.context.localLedger!.client;
  const send = async (memo: string | undefined, amount: string) =>
    fund.pay({ to: sold.wallet.address, amount, ...(memo === undefined ? {} : { memo }) });
  const account = (changes: object) => shop.api('PATCH', '/account', changes);
  await send(sold.link.memo, '40');
  t.equal((await came(`paymentLinkId=${sold.link.id}`, 1, shop)).value, null, 'no books, no value');
  t.match(await account({ booksCurrency: 'euro' }), { status: 422 });
  t.match(await account({ booksCurrency: 'EUR' }), { status: 200, data: { booksCurrency: 'EUR' } });
  t.match(await shop.api('GET', '/rates'), { data: [{ ...XLM_EUR, rate: '0.25', source: 'demo' }] });

  await account({ rateMarkupPercent: '10' });
  await send(sold.link.memo, '40.0399999');
  t.match(await came(`paymentLinkId=${sold.link.id}`, 2, shop), {
    status: 'COMPLETED',
    reason: 'overpaid',
    value: { currency: 'EUR', amount: '10', rate: '0.25', source: 'demo' },
  });
  await send(undefined, '8');
  t.match(await came('status=UNMATCHED', 1, shop), { value: { currency: 'EUR', amount: '2' } });
  await shop.api('PATCH', `/payment-links/${sold.link.id}`, { active: false });
  await send(sold.link.memo, '40');
  const rejected = await came('status=REJECTED', 1, shop);
  t.equal(rejected.value, null);
  const inDollars = await shop.api('POST', '/checkouts', {
    ...{ walletId: sold.wallet.id, name: 'In dollars', assetCode: 'XLM', currency: 'USD', price: '2.80' },
  });
  await send(inDollars.data.memo, inDollars.data.quote.amount);
  t.match(await came(`checkoutId=${inDollars.data.id}`, 1, shop), { value: { currency: 'USD', amount: '2.8' } });

  const report = async (query: string) => (await shop.api('GET', `/reports/summary?groupBy=asset&${query}`)).data;
  t.match(await report('currency=EUR'), [{ count: 4, value: '10', valued: 1 }], 'a REJECTED one counts for nothing');
  t.match(await report('currency=USD'), [{ count: 4, value: '2.8', valued: 1 }]);
  t.match(await report('currency=EUR&status=UNMATCHED'), [{ count: 1, value: '2', valued: 1 }]);
  t.match(await report('currency=JPY'), [{ count: 4, value: '0', valued: 0 }]);
  t.equal((await report(''))[0].valued, undefined, 'only when asked for');
  t.match(await shop.api('GET', '/reports/summary?currency=XLM'), { status: 400 });
  const accepted = await shop.api('POST', `/payments/${rejected.id}/accept`);
  t.match(accepted, { data: { status: 'COMPLETED', value: { amount: '10' } } }, 'as of its ledger');
  t.match(await report('currency=EUR'), [{ value: '20', valued: 2 }]);
  t.match(await shop.api('GET', '/reports/summary?currency=EUR&groupBy=day'), { data: [{ value: '20', valued: 2 }] });

  const csv = async (path: string) => {
    const answer = await fetch(`${shop.url}/api/v1${path}`, { headers: { authorization: `Bearer ${shop.apiKey}` } });
    return (await answer.text()).trim().split('\r\n');
  };
  const [header, ...lines] = await csv('/payments/export?format=csv&status=COMPLETED');
  t.match(header, /,currency,value,rate,/);
  t.ok(lines.some((line) => line.includes(',EUR,10,0.25,')) && lines.some((line) => line.includes(',USD,2.8,0.252,')));
  const from = new Date(Date.now() - 3_600_000).toISOString();
  const [columns, ...rows] = await csv(
    `/wallets/${sold.wallet.id}/statement?from=${from}&to=${from.slice(0, 4)}-12-31&format=csv`,
  );
  t.match(columns, /,paymentId,currency,value,rate$/);
  t.match(rows.join('\n'), /,EUR,2,0\.25$/m);

  await account({ booksCurrency: null });
  const memo = (await shop.api('POST', '/payment-links', { productId: sold.product.id })).data.memo;
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await send(memo, '40');
  const after = await eventually(
    async () => (await payments('', shop)).find((each: any) => each.memo === memo),
    'the last payment',
  );
  t.equal(after.value, null, 'no books any more');
});

t.test('a price that no payment could pay has no amount, and makes no checkout', async (t) => {
  const tiny = { ...XLM_EUR, currency: 'CHF' };
  await service.api('PUT', '/rates', { ...tiny, rate: '0.0000001' });
  const dear = await startSelling(service, { currency: 'CHF', price: '1000000' });
  t.equal(dear.product.quote, null);
  t.equal((await service.api('GET', `/payment-links/${dear.link.id}/instructions`)).data?.amount ?? null, null);
  const sentence = /No payment could pay this price/;
  const quote = '/rates/quote?currency=CHF&price=1000000&assetCode=XLM&network=LOCAL';
  t.match(await service.api('GET', quote), { status: 409, error: { code: 'conflict', message: sentence } });
  const before = (await service.api('GET', '/checkouts')).meta!.total;
  const refused = await order({ productId: dear.product.id });
  t.match(refused, { status: 409, error: { code: 'conflict', message: sentence } });
  t.equal((await service.api('GET', '/checkouts')).meta!.total, before, 'nothing was made');
  const page = await pageOf(dear.link.url);
  t.equal(page.status, 200);
  const asked = await fetch(`${dear.link.url}/transaction`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ account: Keypair.random().publicKey() }),
  });
  t.equal(asked.status, 409);
});

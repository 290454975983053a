/** Order links: each payer fills in a form and gets a checkout of his own; and the ends and limits
 *  that every link may have. */
import t from 'tap';
import { systemClock } from '../../src/kit/clock.js';
import { LONG } from '../helpers/long.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

let aheadMs = 0;
const nowMs = () => Date.now() + aheadMs;
const service = await startTestService(t, {
  clock: { ...systemClock, nowMs, now: () => new Date(nowMs()) },
  env: { TRUST_PROXY: '1' },
});
const other = await service.join('api');
const { wallet, product } = await startSelling(service);
const ledger = service.context.localLedger!.client;

const FIELDS = [
  { key: 'name', label: 'Your name', type: 'text', required: true },
  { key: 'mail', label: 'E-mail', type: 'email', required: true },
  { key: 'mobile', label: 'Phone', type: 'phone' },
  { key: 'ship', label: 'Ship to', type: 'address' },
  { key: 'size', label: 'Size', type: 'select', required: true, options: ['S', 'M', 'L'] },
  { key: 'terms', label: 'I agree', type: 'checkbox', required: true },
];
const FORM = 'application/x-www-form-urlencoded';
const ANSWERS = { f_name: ' Ana ', f_mail: 'ana@shop.example', f_size: 'M', f_terms: 'on' };

const made = async (path: string, body: unknown): Promise<any> => {
  const { data, error } = await service.api('POST', path, body);
  if (error) throw new Error(JSON.stringify(error));
  return data;
};
const get = async (path: string) => (await service.api('GET', path)).data;
const selling = (fields: object) =>
  made('/products', { name: 'Mug', walletId: wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '10', ...fields });
const linkOf = (productId: string, order: object = { fields: [] }, fields: object = {}) =>
  made('/payment-links', { productId, order, ...fields });

let visitors = 0;
/** An address that has no order yet. */
const fresh = () => `198.51.${Math.floor(visitors / 250)}.${visitors++ % 250}`;
async function order(slug: string, body: object, { from = fresh(), url = service.url } = {}) {
  const response = await fetch(`${url}/p/${slug}/orders`, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', 'x-forwarded-for': from },
    body: JSON.stringify(body),
  });
  const { data, error } = (await response.json()) as any;
  return { status: response.status, data, error, faults: error?.details?.map(({ path }: any) => path) };
}
/** As a browser without scripts sends it. */
const submit = (slug: string, fields: Record<string, string>, language = 'en') =>
  fetch(`${service.url}/p/${slug}/orders`, {
    method: 'POST',
    redirect: 'manual',
    headers: { 'accept-language': language, accept: 'text/html', 'x-forwarded-for': fresh() },
    body: new URLSearchParams(fields),
  });
const page = async (path: string, language = 'en') =>
  (await fetch(service.url + path, { headers: { 'accept-language': language } })).text();
const statusIs = (id: string, status: string) =>
  eventually(async () => (await get(`/checkouts/${id}`)).status === status, `it is ${status}`);
const payment = (linkId: string) =>
  eventually(async () => (await get(`/payments?paymentLinkId=${linkId}`))[0], 'the payment');

t.test('a link shows its form with all defaults, and its limits; PATCH replaces them', async (t) => {
  const plain = await made('/payment-links', { productId: product.id });
  t.match(plain, { order: null, endsAt: null, inactiveText: null, afterPayment: null, maxPayments: null });
  const link = await linkOf(product.id, { fields: FIELDS.slice(0, 1), tipPercents: ['5.0'] });
  t.strictSame(link.order, {
    fields: [{ ...FIELDS[0], options: null }],
    ...{ quantity: null, suggestedAmounts: [], tipPercents: ['5'], coupons: false, minutes: 60 },
  });
  const changes = {
    order: null,
    endsAt: '2030-01-01T00:00:00.000Z',
    inactiveText: 'See you next year',
    afterPayment: { message: 'Thanks', url: 'https://shop.example/thanks' },
    maxPayments: 7,
  };
  t.match((await service.api('PATCH', `/payment-links/${link.id}`, changes)).data, changes);
  t.match(await get(`/payment-links/${link.id}`), changes);
  const [activity] = await get(`/activity?subjectId=${link.id}`);
  t.same(
    activity.changes
      .map(({ field }: any) => field)
      .filter((field: string) => !field.startsWith('order.'))
      .sort(),
    ['afterPayment.message', 'afterPayment.url', 'endsAt', 'inactiveText', 'maxPayments'],
  );
});

t.test('faults of a form are told at their fields', async (t) => {
  const custom = await selling({ priceType: 'CUSTOM', price: undefined, minAmount: '5' });
  const field = (changes: object) => ({ key: 'a', label: 'A', type: 'text', ...changes });
  const cases: [order: object, productId: string, ...faults: string[]][] = [
    [{}, product.id, 'order.fields'],
    [{ fields: [field({}), field({})] }, product.id, 'order.fields.1.key'],
    [{ fields: [field({ key: 'a b' })] }, product.id, 'order.fields.0.key'],
    [{ fields: [field({ type: 'color' })] }, product.id, 'order.fields.0.type'],
    [{ fields: [field({ type: 'select' })] }, product.id, 'order.fields.0.options'],
    [{ fields: [field({ options: ['x'] })] }, product.id, 'order.fields.0.options'],
    [{ fields: Array.from({ length: 11 }, (_, n) => field({ key: `k${n}` })) }, product.id, 'order.fields'],
    [{ fields: [], quantity: { min: 3, max: 2 } }, product.id, 'order.quantity.max'],
    [{ fields: [], minutes: 4 }, product.id, 'order.minutes'],
    [{ fields: [], tipPercents: ['0'] }, product.id, 'order.tipPercents.0'],
    [{ fields: [], suggestedAmounts: ['5'] }, product.id, 'order.suggestedAmounts'],
    [{ fields: [], suggestedAmounts: ['4'] }, custom.id, 'order.suggestedAmounts.0'],
    [{ fields: [], quantity: { min: 1, max: 2 } }, custom.id, 'order.quantity'],
  ];
  for (const [form, productId, ...faults] of cases) {
    const { status, error } = await service.api('POST', '/payment-links', { productId, order: form });
    t.same([status, error?.details?.map(({ path }) => path)], [422, faults], JSON.stringify(form));
  }
});

t.test('an order makes a checkout with what the payer told, and pays as any other', async (t) => {
  const mugs = await selling({ stock: 5 });
  const link = await linkOf(
    mugs.id,
    { fields: FIELDS, quantity: { min: 1, max: 3 }, tipPercents: ['10'], coupons: true, minutes: 30 },
    { afterPayment: { message: 'Thank you!', url: 'https://shop.example/thanks?a=b' } },
  );
  await made('/coupons', { code: 'HALF', percentOff: '50' });
  const body = { ...ANSWERS, f_ship: 'Street 1\r\nTown', quantity: 2, tipPercent: '10', couponCode: 'half' };
  const { status, data } = await order(link.slug, body);
  t.equal(status, 201);
  const checkout = await get(`/checkouts/${data.id}`);
  t.match(checkout, {
    ...{ paymentLinkId: link.id, status: 'OPEN', url: data.url, quantity: 2, customerEmail: 'ana@shop.example' },
    customer: { name: 'Ana', email: 'ana@shop.example', phone: null, address: 'Street 1\nTown' },
    answers: { name: 'Ana', mail: 'ana@shop.example', ship: 'Street 1\nTown', size: 'M', terms: 'on' },
    ...{ subtotal: '20', discountAmount: '10', discountName: 'HALF', tipAmount: '1', total: '11' },
    ...{ language: 'en', successUrl: 'https://shop.example/thanks?a=b' },
  });
  t.notOk('mobile' in checkout.answers, 'what was not answered is not there');
  t.equal(Date.parse(checkout.expiresAt) - Date.parse(checkout.createdAt), 30 * 60_000);
  t.equal((await get(`/products/${mugs.id}`)).stock, 3);
  t.same(
    (await get('/checkouts?search=Ana')).map(({ id }: any) => id),
    [checkout.id],
  );
  t.equal((await service.api('DELETE', `/payment-links/${link.id}`)).status, 409);

  await ledger.pay({ to: wallet.address, amount: '11', memo: checkout.memo });
  await statusIs(checkout.id, 'PAID');
  const paid = await eventually(async () => (await get(`/payments?checkoutId=${checkout.id}`))[0], 'its payment');
  const shown = await page(`/c/${checkout.slug}`);
  t.match(shown, 'Thank you!');
  t.match(shown, `https://shop.example/thanks?a=b&amp;checkout=${checkout.id}&amp;payment=${paid.id}`);
  const [event] = await get('/events?type=checkout.paid');
  t.match(event.data.checkout, { paymentLinkId: link.id, customer: { name: 'Ana' }, answers: { size: 'M' } });
  const csv = await (
    await fetch(`${service.url}/api/v1/checkouts/export`, { headers: { authorization: `Bearer ${service.apiKey}` } })
  ).text();
  t.match(csv.split('\r\n')[0], 'paymentLinkId,customerName,customerPhone,customerAddress,answers');
  t.match(csv, link.id);
});

t.test('faults of an order stand at the names of the form', async (t) => {
  const link = await linkOf(product.id, { fields: FIELDS, quantity: { min: 2, max: 3 }, tipPercents: ['10'] });
  const cases: [body: object, ...faults: string[]][] = [
    [{}, 'f_name', 'f_mail', 'f_size', 'f_terms'],
    [{ ...ANSWERS, f_name: '  ' }, 'f_name'],
    [{ ...ANSWERS, f_name: 'x'.repeat(201) }, 'f_name'],
    [{ ...ANSWERS, f_name: 'a\u0000b' }, 'f_name'],
    [{ ...ANSWERS, f_name: ['a', 7] }, 'f_name'],
    [{ ...ANSWERS, f_mail: 'ana' }, 'f_mail'],
    [{ ...ANSWERS, f_mobile: 'none' }, 'f_mobile'],
    [{ ...ANSWERS, f_ship: 'x'.repeat(501) }, 'f_ship'],
    [{ ...ANSWERS, f_size: 'XL' }, 'f_size'],
    [{ ...ANSWERS, f_terms: 'yes' }, 'f_terms'],
    [{ ...ANSWERS, quantity: 1 }, 'quantity'],
    [{ ...ANSWERS, quantity: '2.5' }, 'quantity'],
    [{ ...ANSWERS, tipPercent: '11' }, 'tipPercent'],
    [{ ...ANSWERS, amount: '5' }, 'amount'],
    [{ ...ANSWERS, couponCode: 'HALF' }, 'couponCode'],
    [{ ...ANSWERS, f_color: 'red' }, 'f_color'],
  ];
  for (const [body, ...faults] of cases) {
    const { status, error, faults: found } = await order(link.slug, body);
    t.same([status, error?.code, found], [422, 'validation_error', faults], JSON.stringify(body).slice(0, 80));
  }
  t.same((await get(`/checkouts?productId=${product.id}`)).length, 0, 'nothing was made');
  t.equal((await order(link.slug, { ...ANSWERS, quantity: '٣' })).status, 201, 'digits of any script');
});

t.test('a coupon that does not apply is a fault at it, and missing pieces are a conflict', async (t) => {
  const mugs = await selling({ stock: 2 });
  const link = await linkOf(mugs.id, { fields: [], quantity: { min: 1, max: 9 }, coupons: true });
  await made('/coupons', { code: 'LATER', percentOff: '50', startsAt: '2090-01-01' });
  t.same((await order(link.slug, { couponCode: 'NONE' })).faults, ['couponCode']);
  t.same((await order(link.slug, { couponCode: 'LATER' })).faults, ['couponCode']);
  t.match(await order(link.slug, { quantity: 3 }), { status: 409, error: { code: 'conflict' } });
  t.equal((await get(`/products/${mugs.id}`)).stock, 2);
  t.equal((await order(link.slug, { quantity: 2 })).status, 201);
  t.match(await page(`/p/${link.slug}`), 'Sold out');
  t.match((await order(link.slug, {})).status, 409);
  await service.api('PATCH', `/products/${mugs.id}`, { stock: 1 });
  t.match(await page(`/p/${link.slug}`), 'id="order"');
});

t.test('the form works without scripts, in Arabic and German, and keeps what was typed', async (t) => {
  const donation = await selling({ name: 'Gift', priceType: 'CUSTOM', price: undefined, minAmount: '5' });
  const link = await linkOf(donation.id, { fields: FIELDS, suggestedAmounts: ['10', '25.5'], tipPercents: ['10'] });
  for (const [language, amount, wrong, direction] of [
    ['ar', '٢٥٫٥', 'يرجى ملء هذا الحقل.', 'rtl'],
    ['de', '25,50', 'Bitte füllen Sie dies aus.', 'ltr'],
  ] as const) {
    t.match(await page(`/p/${link.slug}`, language), /<form id="order"[^>]*method="post"/);
    const fields = { ...ANSWERS, amount, tipPercent: '10' };
    const refused = await submit(link.slug, { ...fields, f_name: '', f_mail: '<b>"ana' }, language);
    t.equal(refused.status, 422);
    const shown = await refused.text();
    t.match(shown, `dir="${direction}"`);
    t.match(shown, wrong);
    t.match(shown, /id="f_name"[^>]*aria-describedby="f_name-problem" aria-invalid="true"/);
    t.match(shown, 'value="&lt;b&gt;&quot;ana"', 'what was typed is kept, and is no markup');
    t.match(shown, `name="amount" value="${amount}"`);
    t.match(shown, /<option value="M" selected>/);
    t.match(shown, /id="f_terms"[^>]* checked/);
    t.match(shown, /name="tipPercent" value="10" checked/);
    const taken = await submit(link.slug, fields, language);
    t.equal(taken.status, 303);
    const slug = taken.headers.get('location')!.replace(/^.*\/c\//, '');
    const checkout = (await get(`/checkouts?productId=${donation.id}`)).find((each: any) => each.slug === slug);
    t.match(checkout, { subtotal: '25.5', tipAmount: '2.55', total: '28.05', language, customer: { name: 'Ana' } });
  }
  const two = new URLSearchParams([...Object.entries(ANSWERS), ['amount', '10'], ['amount', '']]);
  const both = await fetch(`${service.url}/p/${link.slug}/orders`, { method: 'POST', redirect: 'manual', body: two });
  t.equal(both.status, 303, 'a suggestion that was chosen');
});

t.test('what is paid to an order link itself needs an order', async (t) => {
  const link = await linkOf(product.id);
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  t.match(await payment(link.id), { status: 'REJECTED', reason: 'order_needed' });
  t.equal((await service.api('GET', `/payment-links/${link.id}/instructions`)).status, 409);
  t.equal((await fetch(`${service.url}/p/${link.slug}/qr.svg`)).status, 404);
  const ways = await fetch(`${service.url}/p/${link.slug}/transaction`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ account: wallet.address }),
  });
  t.equal(ways.status, 409);
});

t.test('an order is sent in a form that is not read → 400, and no checkout is made of what is left', async (t) => {
  const { id } = await selling({ name: 'Shirt' });
  const { slug } = await linkOf(id, { fields: [], quantity: { min: 1, max: 10 } });
  const send = (accept: string, type: string | null, body?: string) =>
    fetch(`${service.url}/p/${slug}/orders`, {
      method: 'POST',
      redirect: 'manual',
      headers: { accept, 'x-forwarded-for': fresh(), ...(type && { 'content-type': type }) },
      ...(body === undefined ? {} : { body }),
    });
  const five = '{"quantity":5}';
  for (const [accept, type, body] of [
    ['application/json', 'application/x-www-form-urlencoded', five],
    ['application/json', 'text/plain', five],
    ['application/json', 'application/vnd.api+json', five],
    ['application/json', 'multipart/form-data; boundary=x', five],
    ['application/json', 'application/json', `[${five}]`],
    ['text/html', 'text/plain', 'quantity=5'],
    ['text/html', 'multipart/form-data; boundary=x', 'quantity=5'],
  ] as const)
    t.equal((await send(accept, type, body)).status, 400, `${type} with Accept ${accept}`);
  const path = `/checkouts?productId=${id}`;
  t.same(await get(path), [], 'no checkout');
  t.equal((await send('application/json', null)).status, 201, 'no body is an order without answers');
  t.equal((await send('application/json', 'application/json; charset=utf-8', five)).status, 201);
  t.same(
    (await get(path)).map(({ lines }: any) => lines?.[0].quantity ?? 1),
    [5, 1],
  );
});

t.test('a form whose body cannot be read → 400 with the form, and 404 without a link', async (t) => {
  const { slug } = await linkOf(product.id, { fields: FIELDS });
  const send = (slug: string, body: string, headers: Record<string, string> = {}, accept = 'text/html') =>
    fetch(`${service.url}/p/${slug}/orders`, {
      method: 'POST',
      headers: { accept, 'x-forwarded-for': fresh(), 'content-type': FORM, ...headers },
      body,
    });
  for (const [body, headers] of [
    [`f_name=${encodeURIComponent('字'.repeat(12_000))}`, {}],
    ['f_name=a', { 'content-type': `${FORM}; charset=utf-7` }],
    ['f_name=a', { 'content-encoding': 'gzip' }],
    ['f_name=a', { 'content-encoding': 'new' }],
  ] as const) {
    const about = `${body.length} ${JSON.stringify(headers)}`;
    const refused = await send(slug, body, headers);
    t.equal(refused.status, 400, about);
    const shown = await refused.text();
    t.match(shown, 'id="f_name"', about);
    t.match(shown, /id="order-problem">.*This cannot be read as text\./, about);
    t.equal((await send('gone', body, headers)).status, 404, about);
    t.equal((await send(slug, body, headers, 'application/json')).status, 400, about);
  }
});

t.test('a form takes no more than a body of it can carry, and no less than an answer may have', async (t) => {
  const donation = await selling({ priceType: 'CUSTOM', price: undefined });
  const keys = Array.from({ length: 10 }, (_, n) => `${n}`.padEnd(40, '-'));
  const fields = keys.map((key) => ({ key, label: 'A', type: 'address' }));
  const { slug } = await linkOf(donation.id, { fields, tipPercents: ['10'], coupons: true });
  const shown = await page(`/p/${slug}`);
  const greatest = [...shown.matchAll(/<(?:input|textarea) id="([^"]+)"[^>]* maxlength="(\d+)"/g)].map(
    ([, name, units]): [string, string] => [name!, '字'.repeat(Number(units))],
  );
  t.same(greatest.map(([name]) => name).sort(), [...keys.map((key) => `f_${key}`), 'amount', 'couponCode'].sort());
  t.equal((await submit(slug, Object.fromEntries(greatest))).status, 422, 'it is read, and told at the fields');
  const rare = await submit(slug, { [`f_${keys[0]}`]: '𠮷'.repeat(500), amount: '5' });
  t.equal(rare.status, 303);
  const plain = await linkOf(product.id, { fields: FIELDS });
  const all = await page(`/p/${plain.slug}`);
  for (const name of ['f_name', 'f_mail', 'f_mobile'])
    t.match(all, new RegExp(`id="${name}"[^>]* maxlength="400"`), 'characters that are two units each');
});

t.test('a test payment whose body cannot be read → the page, 400', async (t) => {
  const { slug } = await made('/payment-links', { productId: product.id });
  const pay = (accept: string) =>
    fetch(`${service.url}/p/${slug}/pay`, {
      method: 'POST',
      headers: { accept, 'content-type': FORM },
      body: `amount=${'1'.repeat(5_000)}`,
    });
  const refused = await pay('text/html');
  t.equal(refused.status, 400);
  t.match(await refused.text(), 'This cannot be read as text.');
  t.equal((await pay('application/json')).status, 400);
});

t.test('the query of a page cannot say what the service says of an order', async (t) => {
  const { slug } = await linkOf(product.id);
  const shown = await fetch(`${service.url}/p/${slug}?order=7&problem=Call+us&status=500`);
  t.equal(shown.status, 200);
  t.notMatch(await shown.text(), 'Call us');
});

t.test('an address has at most 20 open orders, over all order links and processes', async (t) => {
  const [one, two] = [await linkOf(product.id), await linkOf(product.id)];
  const from = fresh();
  const all = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      order((n % 2 ? one : two).slug, {}, { from, url: n % 3 ? service.url : other.url }),
    ),
  );
  t.equal(all.filter(({ status }) => status === 201).length, 20);
  const refused = all.find(({ status }) => status !== 201)!;
  t.match(refused, { status: 429, error: { code: 'rate_limited' } });
  t.equal((await order(one.slug, {})).status, 201, 'another address has its own');
  const { id } = all.find(({ status }) => status === 201)!.data;
  await service.api('POST', `/checkouts/${id}/cancel`);
  const again = await Promise.all([1, 2, 3].map(() => order(one.slug, {}, { from })));
  t.same(again.map(({ status }) => status).sort(), [201, 429, 429]);
});

t.test('a link that has ended takes nothing, from the close of its second on', async (t) => {
  const link = await made('/payment-links', { productId: product.id, inactiveText: 'Come back in May' });
  const orders = await linkOf(product.id, undefined, { endsAt: '2020-01-01' });
  t.match(await order(orders.slug, {}), { status: 409, error: { code: 'conflict' } });
  await service.api('PATCH', `/payment-links/${link.id}`, { endsAt: '2020-01-01T00:00:00Z' });
  const shown = await page(`/p/${link.slug}`);
  t.match(shown, 'Come back in May');
  t.match(shown, 'This offer has ended.');
  t.equal((await service.api('GET', `/payment-links/${link.id}/instructions`)).status, 409);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  t.match(await payment(link.id), { status: 'REJECTED', reason: 'link_ended' });
});

t.test('40 orders at once of a link with maxPayments, through two processes, make no more than it takes', async (t) => {
  const link = await linkOf(product.id, undefined, { maxPayments: 10 });
  const all = await Promise.all(
    Array.from({ length: 40 }, (_, n) => order(link.slug, {}, { url: n % 2 ? service.url : other.url })),
  );
  const taken = all.filter(({ status }) => status === 201);
  t.same([taken.length, all.filter(({ status }) => status === 409).length], [10, 30]);
  t.match(await page(`/p/${link.slug}`), 'All that was offered here is taken.');
  await service.api('POST', `/checkouts/${taken[0]!.data.id}/cancel`);
  await eventually(async () => (await order(link.slug, {})).status === 201, 'one that was cancelled is given back');
  t.equal((await order(link.slug, {})).status, 409);
});

t.test('a plain link stops asking once so many are COMPLETED, and leads on after payment', async (t) => {
  const after = { message: 'Vielen Dank', url: 'https://shop.example/done' };
  const link = await made('/payment-links', { productId: product.id, maxPayments: 1, afterPayment: after });
  t.match(await page(`/p/${link.slug}`), link.memo);
  const since = Date.now() - 1000;
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  const { id } = await payment(link.id);
  t.match(await page(`/p/${link.slug}`), 'All that was offered here is taken.');
  const paid = await page(`/p/${link.slug}?since=${since}`);
  t.match(paid, 'Vielen Dank');
  t.match(paid, `href="https://shop.example/done?payment=${id}"`);
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await eventually(
    async () => (await get(`/payments?paymentLinkId=${link.id}&status=COMPLETED`)).length === 2,
    'judged as ever',
  );
});

t.test('a stock and plain links exclude each other; order links may have one', async (t) => {
  const mugs = await selling({ stock: null });
  const link = await linkOf(mugs.id);
  const stocked = await service.api('PATCH', `/products/${mugs.id}`, { stock: 3 });
  t.equal(stocked.status, 200, 'order links alone');
  t.match(await service.api('PATCH', `/payment-links/${link.id}`, { order: null }), {
    ...{ status: 422, error: { details: [{ path: 'order' }] } },
  });
  await service.api('PATCH', `/products/${mugs.id}`, { stock: null });
  t.equal((await service.api('PATCH', `/payment-links/${link.id}`, { order: null })).status, 200);
  t.equal((await service.api('PATCH', `/products/${mugs.id}`, { stock: 3 })).status, 409);
});

t.test('an order that ends gives back its place and its pieces', LONG, async (t) => {
  const mugs = await selling({ stock: 1 });
  const link = await linkOf(mugs.id, { fields: [], minutes: 5 }, { maxPayments: 1 });
  const { data } = await order(link.slug, {});
  t.equal((await order(link.slug, {})).status, 409);
  aheadMs += 6 * 60_000;
  await statusIs(data.id, 'EXPIRED');
  await eventually(async () => (await get(`/products/${mugs.id}`)).stock === 1, 'the piece is back');
  t.equal((await order(link.slug, {})).status, 201);
});

/** What a manager sells by in the dashboard: coupons, stock, orders of several lines, and tips for
 *  the till. A cashier sees the coupons. */
import t from 'tap';
import { axeViolations, openBrowser, openContext, watchPage } from '../helpers/browser.js';
import { comeIn } from '../helpers/people.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const { url, api } = service;
const { product } = await startSelling(service, { name: 'Mug', price: '10' });
const browser = await openBrowser(t);

async function open(path: string, role = 'MANAGER') {
  const { cookie } = await comeIn(service, role);
  const context = await openContext(t, browser, { reducedMotion: 'reduce', timezoneId: 'Europe/Berlin' });
  context.setDefaultTimeout(45_000);
  const [name, value] = cookie.split('=') as [string, string];
  await context.addCookies([{ name, value, url: `${url}/dashboard` }]);
  const page = await context.newPage();
  const complaints = watchPage(page);
  await page.goto(`${url}/dashboard${path}`);
  const button = (text: string) => page.getByRole('button', { name: text, exact: true });
  const fill = (label: string | RegExp, text: string) => page.getByLabel(label).fill(text);
  return { page, complaints, button, fill };
}

t.test('a coupon is made, changed, switched off, and deleted while no order has it', async (t) => {
  const { page, complaints, button, fill } = await open('/coupons');
  await page.getByText('No coupons yet.').waitFor();
  await page.getByRole('link', { name: 'New coupon' }).click();
  await fill('Code', 'spring 10');
  await fill('Percentage off', '10');
  await button('Create the coupon').click();
  await page.getByText('A code has 3 to 40 letters, digits and -.').waitFor();
  await fill('Code', 'spring-10');
  await page.getByLabel('Mug').check();
  await fill(/^Valid until/, '2030-01-31T12:00');
  await fill(/^Most redemptions/, '5');
  t.strictSame(await axeViolations(page), []);
  await button('Create the coupon').click();
  await page.getByRole('heading', { name: 'SPRING-10' }).waitFor();
  const [coupon] = (await api('GET', '/coupons')).data;
  t.match(coupon, {
    ...{ code: 'SPRING-10', percentOff: '10', amountOff: null, productIds: [product.id], maxRedemptions: 5 },
    endsAt: '2030-01-31T11:00:00.000Z',
  });
  await page.getByLabel('An amount').check();
  await fill('Amount off', '2.50');
  await fill(/^Currency/, 'EUR');
  await button('Save').click();
  await page.locator('.toast', { hasText: 'Saved.' }).waitFor();
  t.match((await api('GET', `/coupons/${coupon.id}`)).data, {
    ...{ percentOff: null, amountOff: '2.5', currency: 'EUR', assetCode: null, endsAt: coupon.endsAt },
  });
  await page.getByRole('switch', { name: 'Take the coupon SPRING-10' }).click();
  await page.getByRole('switch', { checked: false }).waitFor();
  await eventually(async () => !(await api('GET', `/coupons/${coupon.id}`)).data.active, 'the coupon is off');
  await button('Delete the coupon').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No coupons yet.').waitFor();
  t.strictSame(complaints, []);
});

t.test('a cashier sees coupons and changes none', async (t) => {
  await api('POST', '/coupons', { code: 'SEEN', percentOff: '5' });
  const { page, complaints } = await open('/coupons', 'CASHIER');
  await page.getByRole('link', { name: 'SEEN' }).click();
  await page.getByText('5 %').first().waitFor();
  t.equal(await page.getByRole('switch').count(), 0);
  t.equal(await page.getByRole('button', { name: 'Save' }).count(), 0);
  t.strictSame(complaints, []);
});

t.test('a stock is set, changed by a number, and given up', async (t) => {
  const { data: cup } = await api('POST', '/products', {
    ...{ name: 'Cup', walletId: product.wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '4' },
  });
  const { page, complaints, button, fill } = await open(`/products/${cup.id}`);
  const stock = async () => (await api('GET', `/products/${cup.id}`)).data.stock;
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Stock' }) });
  await fill(/^Pieces in stock/, '10');
  await section.getByRole('button', { name: 'Save' }).click();
  await page.getByText('Left: 10').waitFor();
  await api('POST', '/checkouts', { productId: cup.id, quantity: 2 });
  await fill('By how many pieces', '-11');
  await button('Change the stock').click();
  await section.getByText(/The stock is 8/).waitFor();
  await fill('By how many pieces', '5');
  await button('Change the stock').click();
  await page.getByText('Left: 13').waitFor();
  t.equal(await stock(), 13);
  await button('Sell without a limit').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Sell without a limit' }).click();
  await page.getByLabel(/^Pieces in stock/).waitFor();
  t.equal(await stock(), null);
  t.strictSame(complaints, []);
});

t.test('an order of two lines with discount, tax and tip', async (t) => {
  const { page, complaints, button, fill } = await open('/checkouts/new?of=lines');
  const line = (number: number) => page.getByRole('group', { name: `Line ${number}`, exact: true });
  await line(1).getByLabel('Product').selectOption({ label: 'Mug' });
  await line(1).getByLabel('Quantity').fill('2');
  await line(1).getByLabel(/^Tax/).fill('19');
  await button('Add a line').click();
  await button('Add a line').click();
  await button('Remove line 2').click();
  await line(2).getByLabel('What it is for').fill('Engraving');
  await line(2).getByLabel('Price of one').fill('x');
  await page.getByLabel('A percentage').check();
  await fill('Percentage off', '10');
  await fill(/^Tip/, '1');
  await button('Create the checkout').click();
  await line(2).getByRole('textbox', { name: 'Price of one' }).and(page.locator('[aria-invalid=true]')).waitFor();
  t.strictSame(await axeViolations(page), []);
  await line(2).getByLabel('Price of one').fill('5');
  await button('Create the checkout').click();
  await page.getByRole('heading', { name: 'Order' }).waitFor();
  const [made] = (await api('GET', '/checkouts')).data;
  t.match(made, {
    ...{ subtotal: '25', discountAmount: '2.5', taxAmount: '2.8739496', tipAmount: '1', total: '23.5' },
    lines: [
      { productId: product.id, quantity: 2, taxPercent: '19' },
      { name: 'Engraving', price: '5', taxPercent: null },
    ],
  });
  await page.getByText('Tax contained').waitFor();
  t.strictSame(complaints, []);
});

t.test('tips of the till, and the sites that may frame its pages, are set in the shop', async (t) => {
  const { page, complaints, fill } = await open('/shop');
  const section = page.locator('section', { has: page.getByRole('heading', { name: 'Point of sale' }) });
  await fill(/^Tips at the point of sale/, '5 10.50% 0');
  await section.getByRole('button', { name: 'Save' }).click();
  await section.getByText(/greater than/).waitFor();
  await fill(/^Tips at the point of sale/, '5 10.50 %');
  await section.getByRole('button', { name: 'Save' }).click();
  await page.locator('.toast', { hasText: 'Saved.' }).waitFor();
  t.same((await api('GET', '/account')).data.tipPercents, ['5', '10.5']);
  const own = page.locator('section', { has: page.getByRole('heading', { name: 'In your own pages' }) });
  await fill(/^Websites that may frame your pages/, 'https://shop.example\nhttps://two.example/path');
  await own.getByRole('button', { name: 'Save' }).click();
  await own.locator('[aria-invalid=true]').waitFor();
  await fill(/^Websites that may frame your pages/, 'https://shop.example\n\n https://two.example ');
  await own.getByRole('button', { name: 'Save' }).click();
  await eventually(
    async () => String((await api('GET', '/account')).data.embedOrigins) === 'https://shop.example,https://two.example',
    'both are named',
  );
  t.strictSame(complaints, []);
});

t.test('an order link is made with its form, and shows what its payers filled in', async (t) => {
  const { page, complaints, button, fill } = await open(`/links/new?product=${product.id}`);
  await page.getByLabel(/^With an order form/).check();
  const field = (number: number) => page.getByRole('group', { name: `Field ${number}`, exact: true });
  for (const _ of [1, 2]) await button('Add a field').click();
  await field(1).getByLabel('What is asked').fill('Name');
  await field(1).getByLabel('It must be filled in').check();
  await field(2).getByLabel('What is asked').fill('Size');
  await field(2).getByLabel('Kind of answer').selectOption({ label: 'One of several' });
  await fill(/^Most quantity/, '3');
  await fill(/^Tips to choose from/, '5 10');
  await page.getByLabel('Ask for a coupon').check();
  await fill(/^Most payments/, '7');
  await fill(/^Text while it takes no payments/, 'Back in May.');
  await fill(/^Text after payment/, 'Thank you!');
  await button('Create the link').click();
  await field(2).getByText('Choices, one per line').waitFor();
  await page.getByRole('alert').waitFor();
  await field(2).getByLabel('Choices, one per line').fill('S\nM\n\n L ');
  t.strictSame(await axeViolations(page), []);
  await button('Create the link').click();
  await page.getByText('With an order form').first().waitFor();
  await page.waitForURL(/\/links\/link_/);
  const link = (await api('GET', '/payment-links')).data[0];
  t.match(link, {
    order: {
      fields: [
        { key: 'name', label: 'Name', type: 'text', required: true, options: null },
        { key: 'size', label: 'Size', type: 'select', required: false, options: ['S', 'M', 'L'] },
      ],
      ...{ quantity: { min: 1, max: 3 }, suggestedAmounts: [], tipPercents: ['5', '10'], coupons: true, minutes: 60 },
    },
    ...{
      maxPayments: 7,
      inactiveText: 'Back in May.',
      afterPayment: { message: 'Thank you!', url: null },
      endsAt: null,
    },
  });
  await fill(/^Minutes to pay/, '30');
  await button('Remove field 2').click();
  await button('Save').click();
  await page.locator('.toast', { hasText: 'Saved.' }).waitFor();
  t.match((await api('GET', `/payment-links/${link.id}`)).data.order, { fields: { length: 1 }, minutes: 30 });
  const answer = await fetch(`${url}/p/${link.slug}/orders`, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: JSON.stringify({ f_name: 'Ada', quantity: 2, tipPercent: '10' }),
  });
  const { id } = ((await answer.json()) as any).data;
  await page.goto(`${url}/dashboard/checkouts/${id}`);
  await page.getByRole('heading', { name: 'Answers' }).waitFor();
  await page.getByText('Ada').first().waitFor();
  t.strictSame(complaints, []);
});

t.test(
  'what another person changes while a form of it is open stays when that form is saved, once and again',
  async (t) => {
    const { address } = await service.context.localLedger!.client.fund();
    const { data: wallet } = await api('POST', '/wallets', { name: 'Second', address, network: 'LOCAL' });
    const { data: jar } = await api('POST', '/products', {
      ...{ name: 'Jar', walletId: product.wallet.id, assetCode: 'XLM', priceType: 'FIXED', price: '3' },
    });
    const { data: link } = await api('POST', '/payment-links', { productId: product.id });
    const { data: coupon } = await api('POST', '/coupons', { code: 'LEFT-OPEN', percentOff: '5', assetCode: 'XLM' });
    const { page, complaints, fill } = await open(`/products/${jar.id}`);
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Change', exact: true }) });
    /** @returns the resource once it has what was typed */
    const save = async (label: RegExp, text: string, path: string, isSaved: (resource: any) => boolean) => {
      await fill(label, text);
      await section.getByRole('button', { name: 'Save' }).click();
      return eventually(async () => {
        const { data } = await api('GET', path);
        return isSaved(data) && data;
      }, text);
    };
    await section.waitFor();
    const assetIssuer = (await service.context.localLedger!.client.fund()).address;
    const moved = { priceType: 'CUSTOM', price: null, minAmount: '2', assetCode: 'USDC', assetIssuer };
    await api('PATCH', `/products/${jar.id}`, { walletId: wallet.id, ...moved });
    const path = `/products/${jar.id}`;
    t.match(await save(/^Description/, 'Of glass.', path, ({ description }) => description !== null), {
      ...moved,
      wallet: { id: wallet.id },
    });
    t.match(await save(/^Name/, 'Glass jar', path, ({ name }) => name !== 'Jar'), {
      ...moved,
      wallet: { id: wallet.id },
    });

    await page.goto(`${url}/dashboard/links/${link.id}`);
    await section.waitFor();
    const order = { fields: [{ key: 'size', label: 'Size', type: 'text' }], minutes: 30 };
    await api('PATCH', `/payment-links/${link.id}`, { order, inactiveText: 'Closed.' });
    t.match(await save(/^Your name for the link/, 'Poster', `/payment-links/${link.id}`, ({ name }) => name !== null), {
      order,
      inactiveText: 'Closed.',
    });

    await page.goto(`${url}/dashboard/coupons/${coupon.id}`);
    await section.waitFor();
    const taken = { percentOff: null, amountOff: '2', assetCode: 'XLM' };
    await api('PATCH', `/coupons/${coupon.id}`, taken);
    const isLimited = ({ maxRedemptions }: any) => maxRedemptions === 9;
    t.match(await save(/^Most redemptions/, '9', `/coupons/${coupon.id}`, isLimited), taken);
    t.strictSame(complaints, []);
  },
);

t.test(
  'a coupon of one product is saved while the list of products does not come → it stays of that one',
  async (t) => {
    const { data: coupon } = await api('POST', '/coupons', {
      ...{ code: 'ONE-ONLY', percentOff: '5', productIds: [product.id] },
    });
    const { page, button, fill } = await open('/coupons');
    await page.route(/products\.list/, (route) => route.abort());
    await page.getByRole('link', { name: 'ONE-ONLY' }).click();
    await fill(/^Most redemptions/, '4');
    await button('Save').click();
    const changed = await eventually(async () => {
      const { data } = await api('GET', `/coupons/${coupon.id}`);
      return data.maxRedemptions === 4 && data;
    }, 'the change is stored');
    t.same(changed.productIds, [product.id]);
  },
);

t.test('a link that ends at a second of the hour that comes twice is renamed → it ends when it did', async (t) => {
  // In Berlin this is the second 2:30 of the night.
  const endsAt = '2030-10-27T01:30:59.000Z';
  const { data: link } = await api('POST', '/payment-links', { productId: product.id, endsAt });
  const { page, button, fill } = await open(`/links/${link.id}`);
  t.equal(await page.getByLabel(/^Ends/).inputValue(), '2030-10-27T02:30');
  await fill(/^Your name for the link/, 'Night');
  await button('Save').click();
  const renamed = await eventually(async () => {
    const { data } = await api('GET', `/payment-links/${link.id}`);
    return data.name === 'Night' && data;
  }, 'the new name');
  t.equal(renamed.endsAt, endsAt);
  await fill(/^Ends/, '2030-10-27T04:30');
  await button('Save').click();
  const isMoved = async () =>
    (await api('GET', `/payment-links/${link.id}`)).data.endsAt === '2030-10-27T03:30:00.000Z';
  await eventually(isMoved, 'another end');
});

/** The dashboard in a real browser: every task of a merchant, with mouse, keyboard and phone. With
 *  DASHBOARD_SCREENSHOTS=<folder> every view is photographed there, wide and narrow, light
 *  and dark. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import jsQR from 'jsqr';
import type { BrowserContextOptions, Locator, Page } from 'playwright-core';
import { PNG } from 'pngjs';
import t, { type Test } from 'tap';
import { seed } from '../../scripts/bench/seed.js';
import { systemClock } from '../../src/kit/clock.js';
import { createIds } from '../../src/kit/ids.js';
import { axeViolations, openBrowser, openContext, watchPage } from '../helpers/browser.js';
import { createHappenings } from '../helpers/happenings.js';
import { IS_LONG, LONG } from '../helpers/long.js';
import { testDatabase } from '../helpers/mongo.js';
import { comeIn } from '../helpers/people.js';
import { startReceiver } from '../helpers/receiver.js';
import { eventually, startSelling, startTestService } from '../helpers/service.js';

const database = await testDatabase(t);
let aheadMs = 0;
const nowMs = () => systemClock.nowMs() + aheadMs;
const clock = { ...systemClock, nowMs, now: () => new Date(nowMs()) };
const service = await startTestService(t, {
  database,
  clock,
  env: { LOCAL_LEDGER_CLOSE_MS: '500', POLL_INTERVAL_MS: '500' },
});
const { url, apiKey } = service;
const ledger = service.context.localLedger!.client;
const browser = await openBrowser(t);
const home = `${url}/dashboard`;
/** Payments of the large account. Storing 100,000 takes longer than the other tests: run those
 *  with DASHBOARD_PAYMENTS=100000. */
const PAYMENTS = Number(process.env.DASHBOARD_PAYMENTS ?? 10_000);
const PHONE = { viewport: { width: 360, height: 740 }, hasTouch: true };

/** A test with a page of its own, which must have nothing to complain about. */
const task = (
  name: string,
  { skip, ...options }: BrowserContextOptions & { skip?: string },
  run: (t: Test, page: Page) => Promise<void>,
) =>
  t.test(name, skip ? { skip } : {}, async (t) => {
    const context = await openContext(t, browser, { reducedMotion: 'reduce', ...options });
    context.setDefaultTimeout(45_000);
    const page = await context.newPage();
    const complaints = watchPage(page);
    await run(t, page);
    t.strictSame(complaints, [], 'the page complains about nothing');
  });

/** As the form does, but quicker. */
async function signIn(page: Page, key = apiKey, path = '', at = home): Promise<void> {
  const answer = await fetch(`${at}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ key }),
  });
  const [name, value] = answer.headers.get('set-cookie')!.split(';', 1)[0]!.split('=') as [string, string];
  await page.context().addCookies([{ name, value, url: at }]);
  await page.goto(`${at}${path}`);
  await page.locator('nav[aria-label=Dashboard]').waitFor({ state: 'attached' });
}

const shown = (page: Page) => eventually(async () => (await page.locator('.loading').count()) === 0, 'all is loaded');
const button = (page: Page | Locator, name: string | RegExp) => page.getByRole('button', { name, exact: true });
const row = (page: Page, name: string) => page.locator('tbody tr', { hasText: name });
const toast = (page: Page, text: string) => page.locator('.toast', { hasText: text }).waitFor();
const scan = (png: Buffer): string | undefined => {
  const { data, width, height } = PNG.sync.read(png);
  return jsQR.default(new Uint8ClampedArray(data), width, height)?.data;
};
const api = async (method: string, path: string, body?: unknown) => (await service.api(method, path, body)).data;
const receivedOf = (status: string, count: number) =>
  eventually(
    async () => (await service.api('GET', `/payments?status=${status}`)).meta!.total >= count,
    `${status} payments`,
  );

const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>\u202Egnp.exe {{7*7}} ${'W'.repeat(60)}`.slice(
  0,
  120,
);

const { wallet, product, link } = await startSelling(service, { name: 'Bag of coffee' });
const hostile = await api('POST', '/products', {
  ...{ name: HOSTILE, description: HOSTILE, walletId: wallet.id, assetCode: 'XLM', priceType: 'CUSTOM' },
});
const hostileLink = await api('POST', '/payment-links', { productId: hostile.id });
const order = await api('POST', '/checkouts', { productId: product.id, quantity: 2, reference: 'order-1' });
const receiver = await startReceiver();
t.teardown(() => receiver.close());
const hook = await api('POST', '/webhooks', {
  ...{ name: 'shop', url: `${receiver.origin}/hook`, events: ['payment.received', 'payment.completed'] },
});
const pay = (amount: string, memo?: string) => ledger.pay({ to: wallet.address, amount, ...(memo ? { memo } : {}) });
await pay('25', link.memo);
await pay('1234567.1234567', hostileLink.memo);
await pay('20', link.memo);
await pay('10', order.memo);
await pay('7');
await receivedOf('COMPLETED', 2);
await receivedOf('UNDERPAID', 2);
await receivedOf('UNMATCHED', 1);
const payments = (await service.api('GET', '/payments?status=COMPLETED&status=UNDERPAID&status=UNMATCHED')).data;
const underpaid = payments.find(({ reason }: { reason: string }) => reason === 'below_price');

const folder = process.env.DASHBOARD_SCREENSHOTS;
const unmatched = payments.find(({ status }: { status: string }) => status === 'UNMATCHED');
const VIEWS = {
  overview: '/',
  payments: '/payments',
  'payments-filtered': '/payments?status=UNDERPAID&asset=XLM',
  payment: `/payments/${underpaid.id}`,
  refund: `/payments/${underpaid.id}?do=refund`,
  assign: `/payments/${unmatched.id}?do=assign`,
  products: '/products',
  product: `/products/${product.id}`,
  hostile: `/products/${hostile.id}`,
  'new-product': '/products/new',
  links: '/links',
  link: `/links/${link.id}`,
  checkouts: '/checkouts',
  checkout: `/checkouts/${order.id}`,
  'new-checkout': '/checkouts/new',
  wallets: '/wallets',
  wallet: `/wallets/${wallet.id}`,
  statement: `/wallets/${wallet.id}/statement`,
  'statement-of-days': `/wallets/${wallet.id}/statement?period=days&from=2020-01-01&to=2020-01-02`,
  webhooks: '/webhooks',
  webhook: `/webhooks/${hook.id}`,
  'new-webhook': '/webhooks/new',
  shop: '/shop',
  currencies: '/currencies',
  notifications: '/notifications',
  'api-keys': '/api-keys',
  activity: '/activity',
  'activity-of': `/activity?subject=${product.id}`,
  'new-api-key': '/api-keys/new',
  unknown: '/no/such/view',
  missing: '/payments/pay_nothing',
};

const narrow = { colorScheme: 'dark', viewport: { width: 320, height: 640 }, hasTouch: true } as const;
const wide = { colorScheme: 'light', viewport: { width: 1280, height: 800 } } as const;
for (const options of [wide, narrow]) {
  const { colorScheme, viewport } = options;
  task(
    `every view at ${viewport.width} px, ${colorScheme}: nothing overflows, axe finds nothing`,
    { ...options, ...LONG },
    async (t, page) => {
      const check = async (name: string) => {
        await shown(page);
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        if (overflow > 0) t.fail(`${name}: ${overflow} px too wide`);
        t.strictSame(await axeViolations(page), [], name);
        if (folder) await page.screenshot({ path: join(folder, `${name}-${viewport.width}.png`), fullPage: true });
      };
      await page.goto(home);
      await page.getByLabel('API key').waitFor();
      await check('sign-in');
      await signIn(page);
      for (const [name, path] of Object.entries(VIEWS)) {
        await page.goto(`${home}${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await check(name);
      }
    },
  );
}

task(
  'signing in: a wrong key is refused at its field, a pasted one is taken, signing out ends it',
  {},
  async (t, page) => {
    await page.goto(`${home}/products?search=coffee`);
    await page.getByLabel('API key').fill('sk_wrong');
    await page.keyboard.press('Enter');
    await page.getByText('This API key is unknown, revoked or expired.').first().waitFor();
    t.equal(await page.evaluate('document.activeElement.getAttribute("name")'), 'key', 'the focus is at the field');
    await page.getByLabel('API key').fill(`  ${apiKey}\n`);
    await button(page, 'Sign in').click();
    await row(page, 'Bag of coffee').waitFor();
    t.match(page.url(), /\/products\?search=coffee$/, 'the address has stayed');
    await page.reload();
    await row(page, 'Bag of coffee').waitFor();
    t.equal(await page.getByLabel('Search by name').inputValue(), 'coffee', 'a reload loses nothing');
    t.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0, 'nothing is kept in the browser');
    await button(page, 'Sign out').click();
    await page.getByLabel('API key').waitFor();
    await page.reload();
    await page.getByLabel('API key').waitFor();
  },
);

task('a session that ends while a page is open asks to sign in again, at the same place', {}, async (_t, page) => {
  const { id, key } = await api('POST', '/api-keys', { name: 'short-lived', scope: 'FULL' });
  await signIn(page, key, '/wallets');
  await row(page, 'Shop').waitFor();
  await service.api('DELETE', `/api-keys/${id}`);
  await page.getByLabel('API key').waitFor();
  await page.getByLabel('API key').fill(apiKey);
  await button(page, 'Sign in').click();
  await row(page, 'Shop').waitFor();
});

task('what was received is what the report says, and an export is the list', {}, async (t, page) => {
  await signIn(page);
  const [{ amount }] = await api('GET', '/reports/summary?groupBy=asset&status=COMPLETED&parts=true');
  const sums = page.locator('.received dd');
  t.equal((await sums.last().innerText()).replaceAll(',', ''), `${amount} XLM`, '30 days');
  const { timezone, from } = await page.evaluate(() => ({
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    from: new Date().toLocaleDateString('sv-SE'),
  }));
  const today = new URLSearchParams({ groupBy: 'asset', status: 'COMPLETED', parts: 'true', timezone, from });
  const [ofToday] = await api('GET', `/reports/summary?${today}`);
  t.equal((await sums.first().innerText()).replaceAll(',', ''), `${ofToday.amount} XLM`, 'today');
  await page.goto(`${home}/payments?status=UNDERPAID`);
  await row(page, '20 XLM').waitFor();
  await button(page, 'Export').click();
  await page.getByLabel('Times in').selectOption('UTC');
  await page.getByLabel('Between cells of CSV').selectOption('Semicolon');
  for (const [label, format] of [
    ['CSV', 'csv&separator=;&bom=true'],
    ['JSON lines', 'jsonl'],
  ] as const) {
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: `Export as ${label}` }).click(),
    ]);
    const answer = await fetch(`${url}/api/v1/payments/export?format=${format}&status=UNDERPAID`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    t.same(await readFile((await file.path())!), Buffer.from(await answer.arrayBuffer()));
    t.match(file.suggestedFilename(), new RegExp(`[.]${format.split('&')[0]}$`));
  }
});

task('the brand is set beside its preview', {}, async (t, page) => {
  await signIn(page, apiKey, '/shop');
  const preview = page.getByRole('figure', { name: 'Preview' });
  await page.getByLabel('Name').fill('Bean & Leaf');
  await page.getByLabel('Colour of the main button').fill('#1b6e4b');
  await page.getByLabel('Support e-mail').fill('help@shop.example');
  await preview.getByText('Bean & Leaf').waitFor();
  await preview.getByText('help@shop.example').waitFor();
  t.equal(
    await page.evaluate("getComputedStyle(document.querySelector('.preview .button')).backgroundColor"),
    'rgb(27, 110, 75)',
  );
  await page.getByLabel('Logo URL').fill('http://shop.example/logo.png');
  await button(page, 'Save').first().click();
  await page.locator('.field', { hasText: 'Logo URL' }).locator('.problem').waitFor();
  await page.getByLabel('Logo URL').fill('');
  await button(page, 'Save').first().click();
  await toast(page, 'Saved.');
  t.match((await api('GET', '/account')).brand, { name: 'Bean & Leaf', color: '#1b6e4b', logoUrl: null });
  await api('PATCH', '/account', { brand: { name: null, color: null, supportEmail: null } });
});

task('the refund panel sees its refund, and then offers nothing more', {}, async (t, page) => {
  const payer = await ledger.fund();
  const shop = await ledger.fund();
  const till = await api('POST', '/wallets', { name: 'Of refunds', address: shop.address, network: 'LOCAL' });
  const beans = await api('POST', '/products', {
    ...{ name: 'Beans', walletId: till.id, assetCode: 'XLM', priceType: 'FIXED', price: '25' },
  });
  const { memo } = await api('POST', '/payment-links', { productId: beans.id });
  await ledger.pay({ fromSecret: payer.secret, to: shop.address, amount: '20', memo });
  const paid = () => api('GET', `/payments?status=UNDERPAID&productId=${beans.id}`);
  await eventually(async () => (await paid()).length === 1, 'the payment');
  const [{ id }] = await paid();
  await signIn(page, apiKey, `/payments/${id}?do=refund`);
  await page.getByRole('img', { name: 'Refund QR' }).waitFor();
  await button(page, 'Accept').waitFor();
  await ledger.pay({ fromSecret: shop.secret, to: payer.address, amount: '20', memo: `refund ${memo}` });
  await page.getByRole('status').getByText('All of it was sent back.').waitFor();
  t.equal(await page.getByRole('img', { name: 'Refund QR' }).count(), 0, 'the code is gone');
  t.equal(await button(page, 'Accept').count(), 0);
});

task('a READ key sees everything and is offered no change', {}, async (t, page) => {
  const { key } = await api('POST', '/api-keys', { name: 'reader', scope: 'READ' });
  await signIn(page, key);
  await page.getByText('Signed in with a READ key').waitFor();
  for (const [path, gone] of [
    ['/products', 'New product'],
    ['/links', 'New link'],
    ['/checkouts', 'New checkout'],
    ['/wallets', 'Add a wallet'],
    ['/webhooks', 'New webhook'],
    ['/api-keys', 'New key'],
  ] as const) {
    await page.goto(`${home}${path}`);
    await page.locator('table').waitFor();
    t.equal(await page.getByRole('link', { name: gone }).count(), 0, gone);
    t.equal(await page.getByRole('switch').count(), 0, path);
  }
  await page.goto(`${home}/payments/${underpaid.id}?do=refund`);
  await page.getByRole('img', { name: 'Refund QR' }).waitFor();
  t.equal(await button(page, 'Accept').count(), 0);
});

task('new payments appear by themselves within 5 s, on the overview and in the list', PHONE, async (t, page) => {
  const { clock } = page.context();
  await clock.install();
  await signIn(page);
  await page.getByRole('heading', { name: 'Latest payments' }).waitFor();
  const list = await page.context().newPage();
  await list.goto(`${home}/payments`);
  await row(list, 'Bag of coffee').first().waitFor();
  await clock.pauseAt(Date.now() + 5_000);
  await pay('25.0000042', link.memo);
  await eventually(
    async () => (await service.api('GET', '/payments')).data.some((each: any) => each.amount === '25.0000042'),
    'recorded',
  );
  for (const each of [page, list]) t.equal(await row(each, '25.0000042').count(), 0, 'time stands still');
  await clock.runFor(4_500);
  for (const each of [page, list]) {
    // What is drawn waits for timers of its own.
    const drawn = async () => {
      await clock.runFor(1);
      return (await row(each, '25.0000042').count()) > 0;
    };
    t.ok(await eventually(drawn, 'the payment', 30_000));
  }
});

task('an underpaid payment is accepted, by keyboard alone', {}, async (t, page) => {
  await signIn(page, apiKey, `/payments?status=UNDERPAID`);
  const tabTo = async (name: string, inRow = '') => {
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      const [focused, around] = await page.evaluate<[string, string]>(
        '[document.activeElement.textContent.trim(), document.activeElement.closest("tr")?.textContent ?? ""]',
      );
      if (focused === name && around.includes(inRow)) return;
    }
    throw new Error(`Tab never reaches ${name}`);
  };
  await row(page, 'Bag of coffee').first().waitFor();
  await tabTo('Skip to the content');
  await page.keyboard.press('Enter');
  await tabTo('Bag of coffee', '20 XLM');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Payment of 20 XLM' }).waitFor();
  t.equal(await page.evaluate('document.activeElement.tagName'), 'H1', 'the focus goes with the view');
  await tabTo('Accept');
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Accept this payment?' });
  await dialog.waitFor();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  t.equal((await api('GET', `/payments/${underpaid.id}`)).status, 'UNDERPAID', 'Escape changes nothing');
  t.equal(await page.evaluate('document.activeElement.textContent'), 'Accept', 'the focus comes back');
  await page.keyboard.press('Enter');
  await dialog.waitFor();
  await tabTo('Accept');
  await page.keyboard.press('Enter');
  await toast(page, 'The payment is completed.');
  t.equal((await api('GET', `/payments/${underpaid.id}`)).status, 'COMPLETED');
  await page.locator('.badge', { hasText: 'Completed' }).waitFor();
});

task('an unmatched payment is looked up and assigned to a link that was searched for', PHONE, async (t, page) => {
  await signIn(page, apiKey, '/payments?status=UNMATCHED');
  await row(page, '7 XLM').getByRole('link').click();
  await button(page, 'Assign to a link or checkout').click();
  await page.getByLabel('Product, memo or end of the link’s address').fill(link.memo.toLowerCase());
  await page.waitForURL(/[?&]search=/);
  await page.reload();
  await page.locator('.choices li', { hasText: link.memo }).waitFor();
  t.equal(await page.locator('.choices li').count(), 1, 'the search survives a reload');
  await page.locator('.choices li', { hasText: link.memo }).getByRole('button', { name: 'Assign' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Assign' }).click();
  await toast(page, 'Assigned to Bag of coffee.');
  await page.locator('.badge', { hasText: 'Underpaid' }).waitFor();
});

task('the overview says first what is to be decided, and nothing once nothing is', {}, async (t, page) => {
  const { apiKey: own } = await service.openAccount();
  const ask = async (method: string, path: string, body?: unknown) => (await service.api(method, path, body, own)).data;
  const { address } = await ledger.fund();
  await ask('POST', '/wallets', { name: 'Till', address, network: 'LOCAL' });
  await signIn(page, own);
  await page.getByRole('heading', { name: 'Latest payments' }).waitFor();
  const needsYou = page.getByRole('heading', { name: 'Needs you' });
  await needsYou.waitFor({ state: 'detached' });
  await ledger.pay({ to: address, amount: '4', memo: 'NOBODY' });
  // It looks by itself within half a minute, for which the long tests wait.
  if (!IS_LONG) {
    await eventually(async () => (await ask('GET', '/payments?status=UNMATCHED')).length === 1, 'the payment');
    await page.reload();
  }
  await page.getByRole('link', { name: '1 payment', exact: true }).click();
  await row(page, '4 XLM').getByRole('link').click();
  await button(page, 'Leave it').click();
  const dialog = page.getByRole('dialog', { name: 'Leave this payment as it is?' });
  await dialog.getByLabel('Note').fill('A tip');
  await button(dialog, 'Leave it').click();
  await toast(page, 'The payment no longer needs a decision.');
  await page.getByText('Left as it is: A tip').waitFor();
  t.equal(await button(page, 'Leave it').count(), 0);
  await page.goto(home);
  await page.getByRole('heading', { name: 'Latest payments' }).waitFor();
  await shown(page);
  t.equal(await needsYou.count(), 0);
});

task('what is typed into a search stays as it was typed', {}, async (t, page) => {
  await signIn(page, apiKey, '/products');
  const field = page.getByLabel('Search by name');
  await field.pressSequentially('Bag ');
  await page.waitForURL(/[?&]search=Bag$/);
  await field.pressSequentially('of');
  await page.waitForURL(/[?&]search=Bag\+of$/);
  t.equal(await field.inputValue(), 'Bag of', 'a pause behind a word does not take its space');
  await row(page, 'Bag of coffee').waitFor();
  await page.goto(`${home}/products?search=Tea`);
  t.equal(await field.inputValue(), 'Tea', 'the value in the URL is in the field');
});

task('a refund is a QR code of the request that the API gives', {}, async (t, page) => {
  await signIn(page, apiKey, `/payments/${underpaid.id}`);
  await button(page, 'Refund').click();
  const code = page.getByRole('img', { name: 'Refund QR' });
  const { uri } = await api('GET', `/payments/${underpaid.id}/refund`);
  t.equal(scan(await code.screenshot()), uri);
  t.equal(await page.getByRole('link', { name: 'Open in a wallet' }).getAttribute('href'), uri);

  await page.getByLabel('Its transaction hash').fill('abc');
  await button(page, 'Book the refund').click();
  await page.getByText('A transaction hash has 64 hexadecimal digits.').first().waitFor();
  await page.getByLabel('Its transaction hash').fill(underpaid.transactionHash);
  await button(page, 'Book the refund').click();
  await page.locator('form [role=alert]', { hasText: 'is no refund of this payment' }).waitFor();
});

task(
  'a product is created, refused at its fields first, changed, switched, and sold by a link with poster and codes',
  {},
  async (t, page) => {
    await signIn(page, apiKey, '/products');
    await page.getByRole('link', { name: 'New product' }).click();
    await button(page, 'Create the product').click();
    await page.getByText(/fields need your attention\./).waitFor();
    t.equal(await page.getByText('Fill this in.').count(), 2, 'name and price');
    await page.getByLabel('Name').fill('Tea');
    await page.getByLabel('Wallet that receives the money').selectOption(wallet.id);
    await page.getByLabel('Price', { exact: true }).fill('twelve');
    await button(page, 'Create the product').click();
    await page.getByText('An amount is a plain decimal').first().waitFor();
    await page.locator('[name="price"]:focus').waitFor();
    t.equal(await page.evaluate('document.activeElement.getAttribute("name")'), 'price');
    t.equal(await page.getByLabel('Name').inputValue(), 'Tea', 'the typed text is still there');
    await page.locator('form [role=alert]', { hasText: 'One field needs your attention.' }).waitFor();
    const currency = page.getByLabel('Currency of the price');
    await currency.pressSequentially('EUR');
    t.equal(await currency.inputValue(), 'EUR', 'the focus stays where it is typed');
    await currency.fill('');
    await page.getByLabel('Price', { exact: true }).fill('12.5');
    await button(page, 'Create the product').click();
    await page.getByRole('heading', { level: 1, name: 'Tea' }).waitFor();
    await page.getByLabel('Description').fill('Green');
    await button(page, 'Save').first().click();
    await toast(page, 'Saved.');
    const [tea] = await api('GET', '/products?search=tea');
    t.match(tea, { name: 'Tea', price: '12.5', description: 'Green', active: true });

    await page.getByRole('link', { name: 'New link' }).click();
    t.equal(await page.getByLabel('Product').inputValue(), tea.id);
    await button(page, 'Create the link').click();
    await page.getByRole('heading', { name: 'Link for Tea' }).waitFor();
    const [made] = await api('GET', `/payment-links?productId=${tea.id}`);
    const { uri } = await api('GET', `/payment-links/${made.id}/instructions`);
    for (const [label, text] of [
      ['Page QR', made.url],
      ['Payment QR', uri],
    ]) {
      const code = page.locator('figure', { hasText: label });
      t.equal(scan(await code.getByRole('img', { name: label }).screenshot()), text, label);
      const [png] = await Promise.all([
        page.waitForEvent('download'),
        code.getByRole('button', { name: 'PNG' }).click(),
      ]);
      t.match(png.suggestedFilename(), /Tea.*\.png$/);
      t.equal(scan(await readFile((await png.path())!)), text, `${label} as PNG`);
      const [svg] = await Promise.all([
        page.waitForEvent('download'),
        code.getByRole('button', { name: 'SVG' }).click(),
      ]);
      t.match(await readFile((await svg.path())!, 'utf8'), /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg"/);
    }
    const opened = page.waitForEvent('popup');
    await page.getByRole('link', { name: 'Poster' }).click();
    const poster = await opened;
    await poster.emulateMedia({ media: 'print' });
    t.equal(scan(await poster.getByRole('img', { name: 'Scan to pay' }).screenshot()), made.url);
    t.notOk(await button(poster, 'Print').isVisible(), 'on paper there is only the poster');
    await poster.close();

    await page.goto(`${home}/links`);
    const toggle = page.getByRole('switch', { name: new RegExp(made.memo) });
    await toggle.click();
    t.equal(await toggle.getAttribute('aria-checked'), 'false', 'shown at once');
    await eventually(async () => !(await api('GET', `/payment-links/${made.id}`)).active, 'switched off');
  },
);

task('what is refused goes back visibly and says why', {}, async (t, page) => {
  await signIn(page, apiKey, '/wallets');
  await row(page, 'Shop').getByRole('link').click();
  const toggle = page.getByRole('switch', { name: 'Watch Shop' });
  await toggle.click();
  await page.locator('.toast.bad').waitFor();
  t.equal(await toggle.getAttribute('aria-checked'), 'true');
  await button(page, 'Delete the wallet').click();
  const dialog = page.getByRole('dialog');
  await button(dialog, 'Delete').click();
  await dialog.getByRole('alert').waitFor();
  await button(dialog, 'Cancel').click();

  await page.context().setOffline(true);
  await toggle.click();
  await page.locator('.toast', { hasText: 'does not answer' }).waitFor();
  await page.context().setOffline(false);
});

task('a checkout is made on the phone, cancelled, and one that is partly paid is accepted', PHONE, async (t, page) => {
  await signIn(page);
  await button(page, 'Menu').click();
  await page.getByRole('link', { name: 'Checkouts' }).click();
  await page.getByRole('link', { name: 'New checkout' }).click();
  await page.getByLabel('Product', { exact: true }).selectOption({ label: 'Bag of coffee' });
  await page.getByLabel('Quantity').fill('3');
  await page.getByLabel('Your reference').fill('order-2');
  await button(page, 'Create the checkout').click();
  await page.getByRole('heading', { name: 'order-2' }).waitFor();
  const [made] = await api('GET', '/checkouts?reference=order-2');
  t.equal(made.amount, '75');
  t.equal(scan(await page.getByRole('img', { name: 'Page QR' }).screenshot()), made.url);
  await button(page, 'Cancel the checkout').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel it' }).click();
  await page.locator('.badge', { hasText: 'Cancelled' }).waitFor();

  await page.goto(`${home}/checkouts?status=OPEN`);
  await row(page, 'order-1').getByRole('link').click();
  await page.locator('.badge', { hasText: 'partly paid' }).waitFor();
  await button(page, 'Accept as paid').click();
  await page.getByRole('dialog').getByRole('button', { name: 'Accept' }).click();
  await page.locator('header .badge', { hasText: /^Paid$/ }).waitFor();
  t.equal((await api('GET', `/checkouts/${order.id}`)).status, 'PAID');
});

task(
  'a webhook is made, its secret shown once, tested, paused, rotated; deliveries show their attempts and go again',
  LONG,
  async (t, page) => {
    await signIn(page, apiKey, '/webhooks/new');
    await page.getByLabel('Name').fill('second');
    await page.getByLabel('Endpoint URL').fill('http://shop.example');
    await button(page, 'Create the webhook').click();
    await page.getByText('Must be an https URL.').first().waitFor();
    await page.getByLabel('Endpoint URL').fill(`${receiver.origin}/second`);
    await button(page, 'Create the webhook').click();
    t.match(await page.getByRole('dialog').locator('code').innerText(), /^whsec_/);
    await button(page, 'I have saved it').click();
    await page.getByRole('heading', { level: 1, name: 'second' }).waitFor();
    t.notMatch(await page.locator('main').innerText(), /whsec_\w{10}/, 'it is not shown again');
    await button(page, 'Send a test').click();
    await page.locator('.callout.good', { hasText: 'answered 2' }).waitFor();
    await page.getByRole('switch').click();
    await page.locator('header.page .badge', { hasText: 'Paused' }).waitFor();
    await button(page, 'Replace it').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replace it' }).click();
    t.match(await page.getByRole('dialog').locator('code').innerText(), /^whsec_/);
    await button(page, 'I have saved it').click();

    await page.goto(`${home}/webhooks/${hook.id}?status=DELIVERED`);
    const delivery = page.locator('.deliveries > li').first();
    await delivery.locator('summary').click();
    await delivery.locator('pre', { hasText: '"payment"' }).waitFor();
    await delivery.locator('.attempts', { hasText: ' · 2' }).waitFor();
    const before = receiver.requests.length;
    await button(delivery, 'Send again').click();
    await eventually(async () => receiver.requests.length > before, 'sent again');

    await page.locator('section', { hasText: 'Health' }).locator('.badge', { hasText: 'Healthy' }).waitFor();
    const { delivered24h } = await api('GET', `/webhooks/${hook.id}/health`);
    await page
      .locator('dl', { hasText: 'Delivered in 24 h' })
      .getByText(String(delivered24h), { exact: true })
      .waitFor();
    await page.getByLabel('Everything').check();
    await page.getByLabel('From').fill('2020-01-01');
    await page.getByLabel('To (included)').fill('2020-01-02');
    await button(page, 'Send them again').click();
    await toast(page, 'No deliveries to send again.');
    const earlier = receiver.requests.length;
    await page.getByLabel('Everything').check();
    await button(page, 'Send them again').click();
    await toast(page, 'will be sent.');
    await eventually(async () => receiver.requests.length > earlier, 'events are delivered again');
  },
);

task('a webhook that fails is told on the overview, in the list and on its own page', {}, async (_t, page) => {
  const { apiKey: key, accountId } = await service.openAccount();
  const path = '/ill';
  receiver.behave((request) => (request.path === path ? { status: 500 } : {}));
  const made = await service.api(
    'POST',
    '/webhooks',
    { name: 'ill', url: `${receiver.origin}${path}`, events: ['payment.received'] },
    key,
  );
  await (await createHappenings(_t, database.uri)).happen(accountId, 'payment.received');
  await receiver.until(() => receiver.at(path).length > 0);
  await signIn(page, key);
  const trouble = page.locator('.troubles li', { hasText: 'ill' });
  await trouble.locator('.badge', { hasText: 'Failing' }).waitFor();
  await trouble.getByRole('link', { name: 'ill' }).click();
  await page.locator('header.page .badge', { hasText: 'Failing' }).waitFor();
  await page.goto(`${home}/webhooks`);
  await row(page, 'ill').locator('.badge', { hasText: 'Failing' }).waitFor();
  await service.api('PATCH', `/webhooks/${made.data.id}`, { status: 'PAUSED' }, key);
  await page.goto(home);
  await trouble.locator('.badge', { hasText: 'Paused' }).waitFor();
  receiver.behave(() => ({}));
});

task(
  'what was paid in another asset is not offered for acceptance, which a checkout refuses',
  LONG,
  async (t, page) => {
    const { address: assetIssuer } = await ledger.fund();
    const order = await api('POST', '/checkouts', {
      ...{ walletId: wallet.id, name: 'Tea', reference: 'order-wrong' },
      ...{ assetCode: 'OTHER', assetIssuer, amount: '25' },
    });
    await pay('25', order.memo);
    await receivedOf('REJECTED', 1);
    const [wrong] = await api('GET', `/payments?checkoutId=${order.id}&status=REJECTED`);
    t.equal(wrong.reason, 'wrong_asset');
    await signIn(page, apiKey, `/payments/${wrong.id}`);
    await button(page, 'Refund').waitFor();
    t.equal(await page.getByRole('link', { name: 'Decide at its checkout' }).count(), 0);
    await page.goto(`${home}/checkouts/${order.id}`);
    await row(page, '25 XLM').waitFor();
    await button(page, 'Cancel the checkout').waitFor();
    t.equal(await button(page, 'Accept as paid').count(), 0);
    await page.goto(`${home}/links/${link.id}`);
    await page.getByText('A link with payments cannot be deleted').waitFor();
    await shown(page);
    t.equal(await button(page, 'Delete the link').count(), 0);
    await page.goto(`${home}/products/${product.id}`);
    await page.getByText('A product with payments cannot be deleted').waitFor();
    await shown(page);
    t.equal(await button(page, 'Delete the product').count(), 0);
  },
);

task(
  'a wallet tells that nothing was missed, and an audit of it is held against the ledger',
  LONG,
  async (_t, page) => {
    await signIn(page, apiKey, `/wallets/${wallet.id}`);
    await page.getByText('None: every ledger since the wallet was added').waitFor();
    await button(page, 'Audit now').click();
    const audit = page.locator('section', { hasText: 'Audits' }).locator('li').first();
    await audit.locator('.badge', { hasText: 'Proven' }).waitFor();
    await audit.locator('summary').click();
    await audit.getByRole('row', { name: 'Difference 0' }).first().waitFor();
  },
);

task('a statement is what the API says, in the time that was chosen, and downloads as CSV', LONG, async (t, page) => {
  // Statements of earlier views count for a minute.
  aheadMs += 60_000;
  const [xlm] = (await api('GET', `/wallets/${wallet.id}/statement?from=2020-01-01`)).assets;
  await signIn(page, apiKey, `/wallets/${wallet.id}`);
  await page.getByRole('link', { name: 'Statement' }).click();
  await page.getByRole('heading', { level: 1, name: 'Statement of Shop' }).waitFor();
  const fact = async (name: string) =>
    (await page.locator('.facts > div', { hasText: name }).locator('dd').innerText()).replaceAll(',', '');
  t.equal(await fact('Closing balance'), `${xlm.closing} XLM`);
  t.equal(await fact('Opening balance'), '0 XLM', 'the account did not exist when the month began');
  t.equal(await page.locator('tbody tr').count(), Math.min(50, xlm.movements.length), 'with its creation');
  await row(page, '25 XLM').first().getByRole('link', { name: 'Received' }).click();
  await page.getByRole('heading', { name: 'Payment of 25 XLM' }).waitFor();
  await page.goBack();

  await page.getByLabel('Period').selectOption({ label: 'Other days' });
  await page.getByLabel('From').fill('2020-01-01');
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
  await page.getByLabel('To').fill(tomorrow);
  await eventually(async () => page.url().includes(`to=${tomorrow}`), 'in the address');
  await page.reload();
  t.equal(await fact('Closing balance'), `${xlm.closing} XLM`);
  t.equal(await page.getByLabel('Period').inputValue(), 'days', 'a reload loses nothing');
  await button(page, 'Download').click();
  const link = page.getByRole('link', { name: 'Download as CSV' });
  const { search } = new URL((await link.getAttribute('href'))!, home);
  const [file] = await Promise.all([page.waitForEvent('download'), link.click()]);
  const answer = await fetch(`${url}/api/v1/wallets/${wallet.id}/statement${search}`, {
    headers: { authorization: `Bearer ${apiKey}` },
  });
  t.same(await readFile((await file.path())!), Buffer.from(await answer.arrayBuffer()));
  await page.getByLabel('To').fill('2020-01-31');
  await page.getByText(/No movements in this time|No balances and no movements/).waitFor();
});

task('a view that was refused as one request too many comes by itself', LONG, async (t, page) => {
  const env = { RATE_LIMIT_PER_MINUTE: '100' };
  const limited = await startTestService(t, { database, clock, role: 'api', env });
  const ask = () => limited.api('GET', '/products', undefined, apiKey);
  await signIn(page, apiKey, '/webhooks', `${limited.url}/dashboard`);
  await row(page, 'shop').waitFor();
  let status = 0;
  for (let asked = 0; asked < 200 && status !== 429; asked += 1) ({ status } = await ask());
  t.equal(status, 429, 'so many requests are refused');
  await page.locator('nav[aria-label=Dashboard]').getByRole('link', { name: 'Products' }).click();
  await page.getByText('Too many requests').first().waitFor();
  t.equal(await row(page, 'Bag of coffee').count(), 0, 'the refused view shows no data');
  // The minute is over.
  aheadMs += 60_000;
  // Long before all that is shown is read again.
  await row(page, 'Bag of coffee').waitFor({ timeout: 15_000 });
  await page.getByText('Too many requests').first().waitFor({ state: 'detached' });
});

task('what was typed survives a reload and the way back, until it is sent', PHONE, async (t, page) => {
  const holds = (label: string, value: string) =>
    eventually(
      async () => (await page.getByLabel(label, { exact: true }).inputValue()) === value,
      `${label}: ${value}`,
    );
  const isKept = (text: string) =>
    eventually(() => page.evaluate<boolean>(`JSON.stringify(history.state).includes('"${text}"')`), 'kept');
  // The wallets come after the first words were typed: the only one is chosen all the same.
  let release = () => {};
  const typed = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route(/wallets\.list/, (route) => typed.then(() => route.continue()));
  await signIn(page, apiKey, '/products/new');
  await page.getByLabel('Name').fill('Half a cake');
  await isKept('Half a cake');
  release();
  await page.getByLabel('Asset', { exact: true }).selectOption('other');
  await page.getByLabel('Asset code').fill('USDC');
  await page.getByLabel('Asset issuer').fill('GABC');
  await page.getByLabel('The customer chooses').check();
  await page.getByLabel('Least amount').fill('3');
  await isKept('3');
  await page.reload();
  await holds('Name', 'Half a cake');
  await holds('Asset issuer', 'GABC');
  await holds('Least amount (optional)', '3');
  await page.goto(`${home}/payments`);
  await page.getByRole('heading', { level: 1, name: 'Payments' }).waitFor();
  await page.goBack();
  await holds('Least amount (optional)', '3');
  t.equal(await page.evaluate('localStorage.length + sessionStorage.length'), 0);
  t.notMatch(page.url(), /cake|GABC/i, 'the address can be passed on');
  await page.getByLabel('Wallet that receives the money').selectOption(wallet.id);
  await page.getByLabel('Asset', { exact: true }).selectOption('XLM');
  await button(page, 'Create the product').click();
  await page.getByRole('heading', { level: 1, name: 'Half a cake' }).waitFor();
  await page.goBack();
  await holds('Name', '');

  await page.goto(`${home}/checkouts/new`);
  await page.getByLabel('Your reference').fill('order-77');
  await isKept('order-77');
  await button(page, 'For anything else').click();
  await page.reload();
  await holds('Your reference (optional)', 'order-77');
  const other = await service.openAccount('Somebody else');
  await signIn(page, other.apiKey, '/checkouts/new?of=free');
  await holds('Your reference (optional)', '');
});

task(
  'among more products than a choice can show one is looked for by its name',
  { ...PHONE, ...LONG },
  async (t, page) => {
    const newId = createIds(systemClock);
    const all = database.db.collection<{ _id: string; name: string; nameKey: string }>('products');
    const oldest = (await all.findOne({ _id: product.id }))!;
    const more = Array.from({ length: 120 }, (_, n) => ({
      ...oldest,
      _id: newId('prod'),
      name: `Thing ${n}`,
      nameKey: `thing ${n}`,
    }));
    await all.insertMany(more);
    t.teardown(() => all.deleteMany({ _id: { $in: more.map(({ _id }) => _id) } }));
    await signIn(page, apiKey, '/links/new');
    await page.getByText('Showing the first 100.').waitFor();
    const choice = page.getByLabel('Product', { exact: true });
    t.equal(await choice.locator('option', { hasText: 'Bag of coffee' }).count(), 0);
    await page.getByLabel('Search for a product').fill('coffee');
    await page.keyboard.press('Enter');
    await page.getByText('1 found.').waitFor();
    await choice.selectOption({ label: 'Bag of coffee' });
    await page.reload();
    await choice.locator('option:checked', { hasText: 'Bag of coffee' }).waitFor({ state: 'attached' });
    t.strictSame(await axeViolations(page), []);
    await button(page, 'Create the link').click();
    await page.getByRole('heading', { name: 'Link for Bag of coffee' }).waitFor();

    await page.goto(`${home}/payments?product=${product.id}`);
    await page
      .getByLabel('Product', { exact: true })
      .locator('option:checked', { hasText: 'coffee' })
      .waitFor({ state: 'attached' });
  },
);

task(
  'a rate of the merchant’s own prices what is in a currency, and books show the totals in one',
  LONG,
  async (t, page) => {
    const { apiKey: key } = await service.openAccount();
    const other = async (method: string, path: string, body?: unknown) =>
      (await service.api(method, path, body, key)).data;
    const { address } = await ledger.fund();
    const till = await other('POST', '/wallets', { name: 'Till', address, network: 'LOCAL' });
    await signIn(page, key, '/currencies');
    await page.getByText('No prices in a currency yet.').waitFor();
    await page.getByLabel('Currency', { exact: true }).fill('EUR');
    await page.getByLabel('What one unit of the asset is worth').fill('0.5');
    await button(page, 'Set the rate').click();
    await toast(page, 'Your rate applies from now on.');
    await row(page, '€0.50').waitFor();
    await page.getByLabel('Currency of your books').fill('XXXX');
    await button(page, 'Save').click();
    await page.getByText('Must be the ISO 4217 code of a currency, such as EUR.').first().waitFor();
    await page.getByLabel('Currency of your books').fill('EUR');
    await button(page, 'Save').click();
    await toast(page, 'Saved.');

    await page.goto(`${home}/checkouts/new?of=free`);
    await page.getByLabel('What it is for').fill('Order 9');
    await page.getByLabel('Currency of the amount').fill('EUR');
    await page.getByLabel('Amount', { exact: true }).fill('12.50');
    await button(page, 'Create the checkout').click();
    await page.getByText('25 XLM').first().waitFor();
    const [made] = await other('GET', '/checkouts');
    t.match(made, { currency: 'EUR', price: '12.5', remainingAmount: '25', wallet: { id: till.id } });
    await ledger.pay({ to: address, amount: '25', memo: made.memo });
    await page.goto(`${home}/`);
    const total = page.getByLabel('Total received, in EUR').locator('dd');
    // The last seven days: a new day may have begun since it was paid.
    await eventually(async () => (await total.nth(1).innerText()) === '€12.50', 'the total in the books’ currency');

    await page.goto(`${home}/currencies`);
    await button(page, 'End').click();
    await button(page, 'End it').click();
    await toast(page, 'The rates of the sources apply from now on.');
    await row(page, '€0.25').waitFor();
  },
);

task('an API key is made, shown once, and revoked; its own key cannot be revoked as the last', {}, async (t, page) => {
  await signIn(page, apiKey, '/api-keys');
  await page.getByRole('link', { name: 'New key' }).click();
  await page.getByLabel('Name').fill('till');
  await button(page, 'Create the key').click();
  const key = await page.getByRole('dialog').locator('code').innerText();
  t.match(key, /^sk_\w{43}$/);
  t.equal((await service.api('GET', '/account', undefined, key)).status, 200);
  await button(page, 'I have saved it').click();
  await row(page, 'till').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await toast(page, 'till is revoked.');
  t.equal((await service.api('GET', '/account', undefined, key)).status, 401);
  await row(page, 'first key').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByText('your session ends with it').waitFor();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('alert').waitFor();
});

task('the history of a product: each change, its actor, old and new value', {}, async (t, page) => {
  const [{ id }] = (await service.api('GET', '/products?search=coffee')).data;
  await service.api('PATCH', `/products/${id}`, { description: 'Roasted last week.' });
  await signIn(page, apiKey, `/products/${id}`);
  await page.getByRole('link', { name: 'Change history' }).click();
  await page.getByRole('heading', { level: 1, name: 'Activity' }).waitFor();
  const changed = row(page, 'Roasted last week.');
  await changed.getByText('Product changed').waitFor();
  t.match(page.url(), `/activity?subject=${id}`);
  await changed.getByRole('link', { name: 'first key' }).click();
  await page.waitForURL(/actor=key_/);
  await page.getByLabel('Action', { exact: true }).selectOption({ label: 'Wallet added' });
  // The list of before stays until the other one is there.
  await row(page, 'Product changed').first().waitFor({ state: 'detached' });
  await row(page, 'Wallet added').first().waitFor();
});

task(
  'an empty account sees what to do first, and does it: each step turns done, and the list goes',
  PHONE,
  async (t, page) => {
    const empty = await service.openAccount('New shop');
    await signIn(page, empty.apiKey);
    const folder = process.env.DASHBOARD_SCREENSHOTS;
    const list = page.locator('section', { has: page.getByRole('heading', { name: 'First steps' }) });
    const done = (...labels: string[]) =>
      eventually(async () => {
        const texts = await list.locator('li.done strong').allInnerTexts();
        return `${texts.map((text) => text.replace(/\s+done$/, ''))}` === `${labels}`;
      }, `done: ${labels}`);
    await list.waitFor();
    await done();
    t.equal(await list.locator('li').count(), 6);
    if (folder) await page.screenshot({ path: join(folder, 'empty.png'), fullPage: true });
    await list.getByRole('link', { name: 'Add your wallet' }).click();
    await page.getByLabel('Name').fill('Till');
    const { address } = await ledger.fund();
    await page.getByLabel('Address').fill(address);
    await button(page, 'Add the wallet').click();
    await page.getByRole('heading', { level: 1, name: 'Till' }).waitFor();
    await page.getByRole('link', { name: 'create a product' }).click();
    await page.getByLabel('Name').fill('Cake');
    await page.getByLabel('Price', { exact: true }).fill('3');
    await button(page, 'Create the product').click();
    await page.getByRole('heading', { level: 1, name: 'Cake' }).waitFor();
    await page.goto(home);
    await done('Add your wallet', 'Create a product');
    await list.getByRole('link', { name: 'Create a payment link' }).waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'New link' }).click();
    t.equal(await page.getByLabel('Product').locator('option:checked').innerText(), 'Cake', 'it is chosen already');
    await button(page, 'Create the link').click();
    await page.getByRole('heading', { name: 'Link for Cake' }).waitFor();
    await page.getByRole('heading', { name: 'QR codes' }).waitFor();
    await page.goto(home);
    await list.getByRole('link', { name: 'Receive a first payment' }).waitFor();
    const [{ memo }] = (await service.api('GET', '/payment-links', undefined, empty.apiKey)).data;
    await ledger.pay({ to: address, amount: '3', memo });
    await done('Add your wallet', 'Create a product', 'Create a payment link', 'Receive a first payment');
    t.match(await list.getByRole('link', { name: 'Keep a second way in' }).getAttribute('href'), /\/users$/);
    await list.getByRole('link', { name: 'webhook' }).click();
    await page.getByLabel('Name').fill('Shop');
    await page.getByLabel('URL').fill(`${receiver.origin}/hook`);
    await button(page, 'Create the webhook').click();
    await button(page, 'I have saved it').click();
    await page.goto(home);
    await list.getByRole('link', { name: 'Keep a second way in' }).waitFor();
    const inviting = {
      ...service,
      api: (method: string, path: string, body?: unknown) => service.api(method, path, body, empty.apiKey),
    };
    for (const name of ['Ada', 'Ben']) await comeIn(inviting as typeof service, 'OWNER', name);
    await page.goto(home);
    await page.getByRole('heading', { name: 'Open checkouts' }).waitFor();
    await shown(page);
    t.equal(await list.count(), 0);
  },
);

task('first steps that are put away stay away, until the shop shows them again', {}, async (t, page) => {
  const empty = await service.openAccount('Calm shop');
  await signIn(page, empty.apiKey);
  const steps = page.getByRole('heading', { name: 'First steps' });
  await steps.waitFor();
  await button(page, 'Hide').click();
  await toast(page, 'Hidden.');
  await steps.waitFor({ state: 'detached' });
  await page.reload();
  await page.getByRole('heading', { name: 'Open checkouts' }).waitFor();
  await shown(page);
  t.equal(await steps.count(), 0);
  await page.goto(`${home}/shop`);
  await page.getByRole('switch', { name: 'First steps' }).click();
  await eventually(
    async () => (await service.api('GET', '/account', undefined, empty.apiKey)).data.onboarding === 'shown',
    'it is stored',
  );
  await page.goto(home);
  await steps.waitFor();
});

task('texts of merchants and payers are shown as text and never run', {}, async (t, page) => {
  await signIn(page, apiKey, `/products/${hostile.id}`);
  await shown(page);
  t.equal(await page.getByRole('heading', { level: 1 }).innerText(), HOSTILE);
  await page.goto(`${home}/products?search=${encodeURIComponent(HOSTILE)}`);
  await row(page, '<script>').waitFor();
  await page.goto(`${home}/payments?sender=${encodeURIComponent(HOSTILE)}&page=999`);
  await page.getByText('No payments match.').waitFor();
  await page.goto(`${home}/payments/${encodeURIComponent(HOSTILE)}`);
  await page.getByRole('alert').waitFor();
});

const OBSERVE_INTERACTIONS = `interactions = [];
new PerformanceObserver((list) => interactions.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: 'event', durationThreshold: 16 })`;

task('very many payments are opened, filtered and paged about as fast as none', LONG, async (t, page) => {
  const many = await testDatabase(t);
  const {
    url: origin,
    apiKey: key,
    accountId,
    openAccount,
  } = await startTestService(t, { database: many, role: 'api' });
  const at = `${origin}/dashboard`;
  await seed(many.db, accountId, { payments: PAYMENTS, links: 100, events: 0, deliveries: 0 });
  const empty = await openAccount();
  const timed = async (act: () => Promise<unknown>) => {
    const startMs = performance.now();
    await act();
    return performance.now() - startMs;
  };
  const measure = async (of: string) => {
    await signIn(page, of, '/payments', at);
    const isShown = () => page.locator('.list[aria-busy=false]').waitFor();
    await isShown();
    const openMs = await timed(async () => {
      await page.reload();
      await isShown();
    });
    await page.evaluate(OBSERVE_INTERACTIONS);
    const filterMs = await timed(async () => {
      await button(page, 'Underpaid').click();
      await page.locator('.tabs [aria-pressed=true]', { hasText: 'Underpaid' }).waitFor();
      await isShown();
    });
    // From the press to the next frame, as the browser measures it.
    const interactionMs = await page.evaluate<number>('Math.max(0, ...interactions)');
    const pageMs = await timed(async () => {
      await page.goto(`${at}/payments?page=${of === key ? PAYMENTS / 40 : 1}`);
      await isShown();
    });
    const paintMs = await page.evaluate<number>('performance.getEntriesByName("first-contentful-paint")[0].startTime');
    return { openMs, filterMs, interactionMs, pageMs, paintMs };
  };
  const none = await measure(empty.apiKey);
  const all = await measure(key);
  t.match(await page.locator('.pages').innerText(), new RegExp(`of ${PAYMENTS.toLocaleString('en')}`));
  for (const [name, ms] of Object.entries(all) as [keyof typeof all, number][]) {
    t.comment(`${name}: ${Math.round(ms)} beside ${Math.round(none[name])} without any`);
    t.ok(ms < 3 * none[name] + 1000, name);
  }
});

task('the first view weighs less than 200 kB', {}, async (t, page) => {
  const client = await page.context().newCDPSession(page);
  await client.send('Network.enable');
  let bytes = 0;
  client.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength;
  });
  await signIn(page);
  await page.locator('.list table').first().waitFor();
  t.ok(bytes > 20_000 && bytes < 200_000, `${bytes} bytes`);
  const paintMs = await page.evaluate<number>('performance.getEntriesByName("first-contentful-paint")[0].startTime');
  t.comment(`${bytes} bytes, first paint after ${Math.round(paintMs)} ms`);
});

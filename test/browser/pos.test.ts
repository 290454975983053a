/** A cashier's day on a phone: the till is opened, takes a payment in view of both sides, is an
 *  app, and says so when it is offline. */
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import t from 'tap';
import { axeViolations, openBrowser, openContext } from '../helpers/browser.js';
import { LONG } from '../helpers/long.js';
import { comeIn } from '../helpers/people.js';
import { eventually, startTestService } from '../helpers/service.js';

// Only the rates that the account sets itself: the source does not answer.
const service = await startTestService(t, { env: { RATE_SOURCES: 'custom@http://127.0.0.1:9' } });
const { url, api } = service;
const ledger = service.context.localLedger!.client;
const { address } = await ledger.fund();
await api('POST', '/wallets', { name: 'Till', address, network: 'LOCAL' });
const browser = await openBrowser(t);
const cashier = await comeIn(service, 'CASHIER', 'Ben');

async function open(path: string, who = cashier) {
  const context = await openContext(t, browser, {
    reducedMotion: 'reduce',
    viewport: { width: 390, height: 780 },
    hasTouch: true,
  });
  context.setDefaultTimeout(45_000);
  const [name, value] = who.cookie.split('=') as [string, string];
  await context.addCookies([{ name, value, url: `${url}/dashboard` }]);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on(
    'console',
    (message) => void (message.type() === 'error' && complaints.push(`${message.text()} ${message.location().url}`)),
  );
  page.on('pageerror', (error) => void complaints.push(String(error)));
  await page.goto(`${url}/dashboard${path}`);
  return { page, context, complaints };
}

t.test('a cashier types an amount → code, paid, next sale', async (t) => {
  const { page, complaints } = await open('/');
  await page.waitForURL(/\/dashboard\/pos$/);
  for (const key of ['1', '2', '.', '5', '7', 'Delete'])
    await page.getByRole('button', { name: key, exact: true }).click();
  t.match(await page.getByLabel('Amount').innerText(), /^12\.5 XLM$/);
  await page.getByLabel('Note').fill('Two coffees');
  await page.getByRole('button', { name: 'Charge' }).click();
  const code = page.getByRole('img', { name: 'Scan to pay' });
  await code.waitFor();
  const box = (await code.boundingBox())!;
  t.ok(box.width > 0.85 * 390, `the code is ${box.width} wide`);
  t.ok(box.y + box.height < 780, 'and whole on the screen');
  const { data, width, height } = PNG.sync.read(await code.screenshot());
  const uri = jsQR.default(new Uint8ClampedArray(data), width, height)!.data;
  const query = new URL(uri.replace('web+stellar:', 'https://x/')).searchParams;
  t.equal(query.get('amount'), '12.5');
  const [sale] = (await api('GET', '/checkouts')).data;
  t.match(sale, { name: 'Two coffees', amount: '12.5', memo: query.get('memo') });
  await ledger.pay({ to: address, amount: '12.5', memo: sale.memo });
  await page.getByRole('status').getByText('Paid').waitFor();
  t.equal(await page.locator('.till-over').innerText(), 'Paid\n12.5 XLM', 'the other side sees it too');
  await page.getByRole('button', { name: 'Next' }).click();
  t.match(await page.getByLabel('Amount').innerText(), /^0 XLM$/);

  for (const key of ['7']) await page.getByRole('button', { name: key, exact: true }).click();
  await page.getByRole('button', { name: 'Charge' }).click();
  await code.waitFor();
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Charge' }).waitFor();
  t.equal((await api('GET', '/checkouts')).data[0].status, 'CANCELLED');
  t.strictSame(complaints, []);
});

type Page = Awaited<ReturnType<typeof open>>['page'];
const press = async (page: Page, keys: string) => {
  for (const key of keys) await page.getByRole('button', { name: key, exact: true }).click();
};
/** Wallet and asset are known, so that it can charge. */
const ready = async (page: Page) => {
  await page.getByLabel('Amount').waitFor();
  await page.getByText('One moment…').waitFor({ state: 'hidden' });
};
/** What a phone reads from the screen. */
async function scanned(page: Page): Promise<URLSearchParams> {
  const { data, width, height } = PNG.sync.read(await page.getByRole('img', { name: 'Scan to pay' }).screenshot());
  const uri = jsQR.default(new Uint8ClampedArray(data), width, height)!.data;
  return new URL(uri.replace('web+stellar:', 'https://x/')).searchParams;
}

t.test("a cashier's day in euros", async (t) => {
  const rate = { currency: 'EUR', assetCode: 'XLM', network: 'LOCAL' };
  await api('PATCH', '/account', { booksCurrency: 'EUR' });
  t.equal((await api('PUT', '/rates', { ...rate, rate: '0.25' })).status, 200);
  const bea = await comeIn(service, 'CASHIER', 'Bea');
  const { page, complaints } = await open('/pos', bea);
  await page.getByLabel('Typed in').waitFor();
  t.match(await page.getByLabel('Amount').innerText(), /^€0$/);
  await press(page, '9.507');
  t.match(await page.getByLabel('Amount').innerText(), /^€9\.50$/, 'a cent is the least');
  t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows');
  t.strictSame(await axeViolations(page), []);
  await page.getByLabel('Note').fill('Lunch');
  await page.getByRole('button', { name: 'Charge' }).click();
  await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
  t.equal(await page.locator('.till-amount').innerText(), '€9.50\n38 XLM');
  const code = (await page.getByRole('img', { name: 'Scan to pay' }).boundingBox())!;
  t.ok(code.y + code.height < 780, 'the code is whole on the screen');
  const asked = await scanned(page);
  t.equal(asked.get('amount'), '38');
  await ledger.pay({ to: address, amount: '20', memo: asked.get('memo')! });
  await page.locator('.till-amount', { hasText: '€4.50' }).waitFor();
  await page.getByText('20 XLM came already.', { exact: true }).waitFor();
  t.equal(await page.locator('.till-amount').innerText(), '€4.50\n18 XLM');
  const rest = await scanned(page);
  t.same([rest.get('amount'), rest.get('memo')], ['18', asked.get('memo')], 'the code asks for the rest');
  await ledger.pay({ to: address, amount: '18', memo: rest.get('memo')! });
  await page.getByRole('status').getByText('Paid').waitFor();
  t.equal(await page.locator('.till-over').innerText(), 'Paid\n€9.50\n38 XLM');
  const [lunch] = (await api('GET', '/checkouts?search=Lunch')).data;
  t.match(lunch, { status: 'PAID', currency: 'EUR', price: '9.5', receivedValue: '9.5', receivedAmount: '38' });

  await page.getByRole('button', { name: 'Next' }).click();
  await press(page, '5');
  await page.getByLabel('Typed in').selectOption('asset');
  t.match(await page.getByLabel('Amount').innerText(), /^0 XLM$/, 'five euros are not five lumens');
  await press(page, '2.5');
  await page.getByRole('button', { name: 'Charge' }).click();
  await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
  t.equal(await page.locator('.till-amount').innerText(), '2.5 XLM');
  await page.getByRole('button', { name: 'Cancel' }).click();

  await page.getByRole('link', { name: 'Sales' }).click();
  await page
    .getByRole('row', { name: /Lunch/ })
    .or(page.getByRole('link', { name: /Lunch/ }))
    .first()
    .waitFor();
  t.notMatch(await page.locator('main').innerText(), /Two coffees/, 'the sales of others are not seen');
  await page.getByRole('button', { name: 'Menu' }).click();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: /Sign in/ }).waitFor();
  t.strictSame(complaints, []);
  await api('PATCH', '/account', { booksCurrency: null });
});

t.test('a user who may read rates sees the amount while typing; without a rate nothing is charged', LONG, async (t) => {
  await api('PATCH', '/account', { booksCurrency: 'EUR' });
  const owner = await comeIn(service, 'OWNER', 'Ada');
  const { page } = await open('/pos', owner);
  await page.getByLabel('Typed in').waitFor();
  await press(page, '1.23');
  await page.locator('.till-beside', { hasText: '4.92 XLM' }).waitFor();
  await api('PATCH', '/account', { booksCurrency: 'KES' });
  await page.reload();
  await page.getByLabel('Amount').getByText('KES').waitFor();
  await press(page, '7');
  await page.locator('.till-beside', { hasText: /rate/ }).waitFor();
  await page.getByRole('button', { name: 'Charge' }).click();
  await page.getByRole('alert').getByText(/rate/).waitFor();
  t.equal((await api('GET', '/checkouts?search=Sale&status=OPEN')).data.length, 0);
  await api('PATCH', '/account', { booksCurrency: null });
});

t.test(
  'while what is due stays, the code is asked for once, so that no sale that was paid is asked for one',
  async (t) => {
    const { page } = await open('/pos');
    await ready(page);
    await page.clock.install();
    let asked = 0;
    page.on('request', (request) => void (/checkouts\.instructions/.test(request.url()) && asked++));
    const looked = () => page.waitForResponse(/checkouts\.get/);
    await page.keyboard.type('3');
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
    for (let seconds = 0; seconds < 12; seconds += 2) await Promise.all([looked(), page.clock.runFor(2_000)]);
    t.equal(asked, 1);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Charge' }).waitFor();
  },
);

t.test('a sale is paid off the screen, and not looked at by the cashier → it is asked for no more', async (t) => {
  const { page } = await open('/pos', await comeIn(service, 'CASHIER', 'Cora'));
  await ready(page);
  await page.clock.install();
  let asked = 0;
  page.on('request', (request) => void (/checkouts\.get/.test(request.url()) && asked++));
  const pass = async (seconds: number) => {
    for (let passed = 0; passed < seconds; passed += 3)
      await Promise.all([page.waitForResponse(/payments\.list/), page.clock.runFor(3_000)]);
  };
  await page.keyboard.type('6');
  await page.keyboard.press('Enter');
  const memo = (await scanned(page)).get('memo')!;
  await page.getByRole('button', { name: 'Back, it stays open' }).click();
  const others = page.getByRole('list', { name: 'Other sales' });
  await others.getByText('Open').waitFor();
  asked = 0;
  // An answer that is late lets an interval pass.
  for (let passes = 0; asked < 3 && passes < 20; passes++) await pass(3);
  t.ok(asked >= 3, 'while it is open');
  await ledger.pay({ to: address, amount: '6', memo });
  await eventually(
    async () => (await api('GET', `/checkouts?search=${memo}`)).data[0]?.status === 'PAID',
    'it is paid',
  );
  await pass(6);
  await others.getByText('Paid').waitFor();
  asked = 0;
  await pass(12);
  t.equal(asked, 0);
});

t.test('the headline and the code are of one moment', LONG, async (t) => {
  const { page } = await open('/pos');
  await ready(page);
  await page.keyboard.type('30');
  await page.keyboard.press('Enter');
  const asked = await scanned(page);
  t.equal(asked.get('amount'), '30');
  // The code's own request comes late.
  await page.route(/checkouts\.instructions/, async (route) => {
    await new Promise((done) => setTimeout(done, 1_500));
    await route.continue();
  });
  await page.evaluate(`{
    globalThis.seen = [];
    new MutationObserver(() => {
      const code = document.querySelector('.till-code svg path');
      seen.push([document.querySelector('.till-amount')?.innerText, code && code.getAttribute('d')]);
    }).observe(document.querySelector('main'), { subtree: true, childList: true, characterData: true, attributes: true });
    globalThis.before = document.querySelector('.till-code svg path').getAttribute('d');
  }`);
  await ledger.pay({ to: address, amount: '20', memo: asked.get('memo')! });
  await page.locator('.till-amount', { hasText: '10 XLM' }).waitFor();
  await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
  t.equal((await scanned(page)).get('amount'), '10');
  const together = await page.evaluate<string[]>(
    'seen.filter(([, code]) => code === before).map(([amount]) => amount)',
  );
  t.notOk(together.includes('10 XLM'), 'the old code was never beside the new amount');
  await page.unrouteAll({ behavior: 'wait' });
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Charge' }).waitFor();
});

t.test(
  'the keyboard types, pastes and charges; what is paid off the screen is told; a receipt is there to print',
  async (t) => {
    const { page, context } = await open('/pos');
    const amount = page.getByLabel('Amount');
    await ready(page);
    await page.keyboard.type('12,57');
    await page.keyboard.press('Backspace');
    t.equal(await amount.innerText(), '12.5 XLM');
    await press(page, '3');
    for (const _ of '12.53') await page.keyboard.press('Backspace');
    const paste = (text: string) =>
      page.evaluate(`{
      const clipboardData = new DataTransfer();
      clipboardData.setData('text', ${JSON.stringify(text)});
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
    }`);
    await paste('٢٥٫٥');
    t.equal(await amount.innerText(), '25.5 XLM', 'digits of any script');
    await paste('1,000');
    t.equal(await amount.innerText(), '25.5 XLM', 'what may mean two amounts is not taken');
    await page.getByLabel('Note').fill('Off the screen');
    await page.getByLabel('Note').press('Enter');
    const asked = await scanned(page);
    await page.getByRole('button', { name: 'Back, it stays open' }).click();
    const others = page.getByRole('list', { name: 'Other sales' });
    await others.getByRole('button', { name: /Off the screen, 25\.5 XLM/ }).click();
    t.equal((await scanned(page)).get('memo'), asked.get('memo'), 'the way back to it');
    await page.goBack();
    await ready(page);
    await page.keyboard.type('4');
    await amount.getByText(/^4 XLM$/).waitFor();
    await page.getByRole('button', { name: 'Charge', disabled: false }).waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
    await ledger.pay({ to: address, amount: '25.5', memo: asked.get('memo')! });
    await others.getByRole('button', { name: /Off the screen, 25\.5 XLM.*Paid/ }).click();
    await page.getByRole('status').getByText('Paid').waitFor();
    const [receipt] = await Promise.all([
      context.waitForEvent('page'),
      page.getByRole('link', { name: /Receipt, to print/ }).click(),
    ]);
    await receipt.getByText(/25\.5/).first().waitFor();
    await receipt.close();
    await page.getByRole('button', { name: 'Next' }).press('Enter');
    await page.getByRole('button', { name: 'Charge' }).waitFor();
    t.equal(
      await others.getByRole('button', { name: /Off the screen/ }).count(),
      0,
      'a sale that was seen paid is over',
    );
  },
);

t.test('a wallet that can be paid comes first', async (t) => {
  const { Keypair } = await import('@stellar/stellar-sdk');
  const { data: poor } = await api('POST', '/wallets', {
    ...{ name: 'Not on the ledger', address: Keypair.random().publicKey(), network: 'LOCAL' },
  });
  const { page } = await open('/pos');
  await page.getByLabel('Amount').getByText('0 XLM').waitFor();
  await ready(page);
  const chosen = page.getByLabel('Wallet').locator('option:checked');
  t.equal((await api('GET', '/wallets')).data[0].name, poor.name, 'the other one is the first of the list');
  t.equal(await chosen.innerText(), 'Till');
  await api('DELETE', `/wallets/${poor.id}`);
});

t.test('a page whose files are gone reloads once, and then says what is wrong', async (t) => {
  const { page, context } = await open('/checkouts');
  await page.getByRole('heading', { name: 'Checkouts' }).waitFor();
  await page.reload();
  await page.getByRole('heading', { name: 'Checkouts' }).waitFor();
  await context.route(/assets\/qr-/, (route) => route.fulfill({ status: 404, body: '' }));
  let loads = 0;
  page.on('load', () => {
    loads += 1;
  });
  const [wallet] = (await api('GET', '/wallets')).data;
  const sale = { walletId: wallet.id, name: 'Tea', amount: '3', assetCode: 'XLM' };
  const { data: order } = await cashier.call('checkouts.create', false, sale);
  await page.goto(`${url}/dashboard/pos?sale=${order.id}`);
  await page.getByRole('alert').getByText('The code cannot be drawn').waitFor();
  t.equal(loads, 2, 'it came, and reloaded once although it was reloaded before');
  await context.unroute(/assets\/qr-/);
  await page.getByRole('button', { name: 'Reload the page' }).click();
  await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
});

t.test('it is an app, and opens without a network', LONG, async (t) => {
  const { page, context } = await open('/pos');
  await page.getByRole('button', { name: 'Charge' }).waitFor();
  const manifest = await fetch(`${url}/dashboard/pos.webmanifest`);
  t.match(manifest.headers.get('content-type'), /manifest\+json/);
  const { start_url, display, icons } = (await manifest.json()) as any;
  t.match([start_url, display], ['./pos', 'standalone']);
  t.equal((await fetch(`${url}/dashboard/${icons[0].src}`)).status, 200);
  const cdp = await context.newCDPSession(page);
  const { errors, url: found } = await cdp.send('Page.getAppManifest');
  t.same([errors, found], [[], `${url}/dashboard/pos.webmanifest`]);
  await page.evaluate('navigator.serviceWorker.ready');
  await page.evaluate(
    'new Promise((done) => navigator.serviceWorker.controller ? done() : navigator.serviceWorker.addEventListener("controllerchange", done))',
  );
  // The cache of an earlier build.
  await page.evaluate(`(async () => {
    const old = await caches.open('till-1');
    await old.put('assets/index-of-before.js', new Response(''));
    await old.put('pos', new Response('the page of before'));
  })()`);
  // What the till loads later is kept as it comes.
  await page.reload();
  await page.getByRole('button', { name: 'Charge' }).waitFor();
  const kept = "caches.open('till-1').then((cache) => cache.keys()).then((keys) => keys.map(({ url }) => url).join())";
  await eventually(async () => {
    const files = await page.evaluate<string>(kept);
    return !files.includes('of-before') && files.includes('/assets/index-');
  }, 'the files of this build are kept, and no others');
  await context.setOffline(true);
  await page.getByText('No connection: payments cannot be taken until it is back.').waitFor();
  t.equal(await page.getByRole('button', { name: 'Charge' }).getAttribute('aria-disabled'), 'true');
  await page.reload();
  await page.getByText('The service does not answer.').first().waitFor();
  await context.setOffline(false);
  await page.getByRole('button', { name: 'Charge' }).waitFor({ timeout: 15_000 });

  await page.evaluate(`(async () => {
    await caches.open('till-0');
    await (await navigator.serviceWorker.ready).unregister();
  })()`);
  await page.reload();
  await eventually(
    async () => (await page.evaluate<string>('caches.keys().then((names) => names.join())')) === 'till-1',
    'what an earlier version kept is gone',
  );
});

t.test(
  'a basket at the café: tiles, search, discount, tax and tip, and the receipt of three lines',
  LONG,
  async (t) => {
    const { data: shop } = await api('POST', '/wallets', {
      name: 'Café',
      address: (await ledger.fund()).address,
      network: 'LOCAL',
    });
    await api('PATCH', '/account', { tipPercents: ['5', '10'] });
    const sell = (name: string, price: string, fields: object = {}) =>
      api('POST', '/products', { name, walletId: shop.id, assetCode: 'XLM', priceType: 'FIXED', price, ...fields });
    await sell('Espresso', '2.5');
    await sell('Cake', '4', { stock: 2 });
    await sell('Tea', '3');
    const other = (await api('GET', '/wallets')).data.find(({ name }: any) => name === 'Till');
    await api('POST', '/products', {
      name: 'Voucher',
      walletId: other.id,
      assetCode: 'XLM',
      priceType: 'FIXED',
      price: '1',
    });
    const { page, complaints } = await open('/pos');
    await page.getByRole('button', { name: 'Products' }).click();
    const tile = (name: string) => page.getByRole('list', { name: 'Products' }).getByRole('button', { name });
    const basket = page.getByRole('list', { name: 'Basket' });
    await tile('Espresso').click();
    await tile('Espresso').click();
    for (let n = 0; n < 2; n += 1) await tile('Cake').click();
    t.equal(await tile('Cake').getAttribute('aria-disabled'), 'true', 'no more than there are');
    t.equal(await tile('Voucher').getAttribute('aria-disabled'), 'true', 'it is paid into another wallet');
    await page.getByLabel('Search for a product').fill('tea');
    await tile('Espresso').waitFor({ state: 'detached' });
    await tile('Tea').click();
    await tile('Tea').click();
    await page.getByRole('button', { name: 'One Tea less' }).click();
    t.match(await basket.innerText(), /2 × Espresso[\s\S]*2 × Cake[\s\S]*1 × Tea/, 'no more cakes than there are');
    const total = page.getByLabel('Total');
    t.match(await total.innerText(), /^16 XLM/);
    await page.getByLabel('Discount', { exact: true }).fill('10');
    await page.getByLabel('Tax in the prices, %').fill('19');
    await page.getByRole('button', { name: 'Tip 5 %' }).click();
    t.match(await total.innerText(), /^15\.12 XLM\n.*Discount −1\.6 XLM · Tip 0\.72 XLM/);
    await page.getByLabel('Note').fill('Table 4');
    t.equal(await page.evaluate('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows');
    t.strictSame(await axeViolations(page), []);
    await page.getByRole('button', { name: 'Charge' }).click();
    await page.getByRole('img', { name: 'Scan to pay' }).waitFor();
    const [sale] = (await api('GET', '/checkouts')).data;
    t.match(sale, {
      ...{
        name: 'Table 4',
        subtotal: '16',
        discountAmount: '1.6',
        taxAmount: '2.2991596',
        tipAmount: '0.72',
        total: '15.12',
      },
      lines: [
        { name: 'Espresso', quantity: 2, taxPercent: '19' },
        { name: 'Cake', quantity: 2 },
        { name: 'Tea', quantity: 1 },
      ],
    });
    await ledger.pay({ to: shop.address, amount: '15.12', memo: sale.memo });
    await page.getByRole('status').getByText('Paid').waitFor();
    const letter = await page.getByRole('link', { name: 'Send the receipt' }).getAttribute('href');
    t.equal(decodeURIComponent(letter!), `mailto:?subject=Receipt: Table 4&body=${sale.url}/receipt`);
    const [receipt] = await Promise.all([
      page.context().waitForEvent('page'),
      page.getByRole('link', { name: /Receipt, to print/ }).click(),
    ]);
    const paper = await receipt!.locator('main').innerText();
    t.match(paper, /Espresso × 2\s+5 XLM\s+Cake × 2\s+8 XLM\s+Tea\s+3 XLM\s+Subtotal\s+16 XLM/);
    t.match(paper, /Discount\s+-1\.6 XLM\s+Tip\s+0\.72 XLM\s+Total\s+15\.12 XLM\s+Contains tax, 19%\s+2\.2991596 XLM/);
    await page.getByRole('button', { name: 'Next' }).click();
    await page.getByText('Tap a product to begin.').waitFor();
    await eventually(async () => (await tile('Cake').getAttribute('aria-disabled')) === 'true', 'the cake is sold out');
    t.strictSame(complaints, []);
  },
);

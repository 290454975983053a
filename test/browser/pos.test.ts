/** A cashier's day on a phone: the till is opened, takes a payment in view of both sides, is an app, and says so when it is offline. */
import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import t from 'tap';
import { openBrowser } from '../helpers/browser.js';
import { comeIn } from '../helpers/people.js';
import { startTestService } from '../helpers/service.js';

const service = await startTestService(t);
const { url, api } = service;
const ledger = service.context.localLedger!.client;
const { address } = await ledger.fund();
await api('POST', '/wallets', { name: 'Till', address, network: 'LOCAL' });
const browser = await openBrowser(t);
const cashier = await comeIn(service, 'CASHIER', 'Ben');

async function open(path: string) {
  const context = await browser.newContext({
    reducedMotion: 'reduce',
    viewport: { width: 390, height: 780 },
    hasTouch: true,
  });
  t.teardown(() => context.close());
  context.setDefaultTimeout(45_000);
  const [name, value] = cashier.cookie.split('=') as [string, string];
  await context.addCookies([{ name, value, url: `${url}/dashboard` }]);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())));
  page.on('pageerror', (error) => void complaints.push(String(error)));
  await page.goto(`${url}/dashboard${path}`);
  return { page, context, complaints };
}

t.test('a sale: keys, code, paid, next', async (t) => {
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

t.test('it is an app, and opens without a network', async (t) => {
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
  // What the till loads later is kept as it comes.
  await page.reload();
  await page.getByRole('button', { name: 'Charge' }).waitFor();
  await context.setOffline(true);
  await page.getByText('No connection: nothing can be taken until it is back.').waitFor();
  t.equal(await page.getByRole('button', { name: 'Charge' }).getAttribute('aria-disabled'), 'true');
  await page.reload();
  await page.getByText('The service does not answer.').first().waitFor();
  await context.setOffline(false);
  await page.getByRole('button', { name: 'Charge' }).waitFor();
});

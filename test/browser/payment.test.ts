/** The whole service with a real payment on the local ledger, in front of a real browser; and
 *  shops of other origins that open its pages by a button. */
import type { AddressInfo } from 'node:net';
import express from 'express';
import type { Page } from 'playwright-core';
import t from 'tap';
import { openBrowser, openPage, scan, seen, watchPage } from '../helpers/browser.js';
import { blocksOf } from '../helpers/documents.js';
import { LONG } from '../helpers/long.js';
import { startSelling, startTestService } from '../helpers/service.js';

const browser = await openBrowser(t);
// The pace of a service as it comes.
const service = await startTestService(t, { env: { LOCAL_LEDGER_CLOSE_MS: '1000', POLL_INTERVAL_MS: '1000' } });
const ledger = service.context.localLedger!.client;

/** The request that the code on the screen makes, as a wallet reads it. */
async function request(page: Page): Promise<Record<string, string>> {
  const uri = await scan(page);
  t.equal(uri, await page.locator('a.button').getAttribute('href'), 'code and link say the same');
  return Object.fromEntries(new URLSearchParams(uri!.replace('web+stellar:pay?', '')));
}

const turned = (page: Page, outcome: string) => page.waitForSelector(outcome, { timeout: 15_000 });

t.test('a payment by the QR code, paid on the ledger, turns the page within 2 s', async (t) => {
  const { link, wallet } = await startSelling(service);
  const page = await openPage(t, browser);
  const complaints = watchPage(page);
  const response = await page.goto(link.url);
  t.match(response!.headers(), { 'content-security-policy': /default-src 'none'/, 'cache-control': 'no-store' });
  const asked = await request(page);
  t.strictSame(asked, {
    destination: wallet.address,
    amount: '25',
    memo: link.memo,
    memo_type: 'MEMO_TEXT',
    network_passphrase: 'Standalone Network ; February 2017',
  });

  await page.evaluate(
    `new MutationObserver(() => { window.turnedAt ??= Date.now() }).observe(document.querySelector('main'), { attributes: true })`,
  );
  const { hash } = await ledger.pay({ to: asked.destination!, amount: asked.amount!, memo: asked.memo! });
  await turned(page, '.paid');
  t.match((await seen(page, '.paid')).replace(/\s+/g, ' '), /^Paid 25 XLM received/);
  const [payment] = (await service.api('GET', '/payments')).data;
  t.equal(payment.transactionHash, hash);
  const tookMs = (await page.evaluate<number>('window.turnedAt')) - Date.parse(payment.createdAt);
  t.comment(
    `shown ${tookMs} ms after it was stored, ${tookMs + Date.parse(payment.createdAt) - Date.parse(payment.ledgerClosedAt)} ms after the close time of its ledger`,
  );
  t.ok(tookMs < 2_000);
  t.notMatch(await page.content(), payment.senderAddress, 'the payer is not shown in full');
  t.strictSame(complaints, []);

  const fresh = await openPage(t, browser);
  await fresh.goto(link.url);
  await fresh.waitForTimeout(500);
  t.equal(await fresh.locator('.outcome').count(), 0, 'a page opened now shows no payment');
});

t.test('too little is short until the merchant accepts it; the button pays what is left to choose', LONG, async (t) => {
  const { link, wallet } = await startSelling(service, { priceType: 'CUSTOM', price: null, minAmount: '5' });
  const page = await openPage(t, browser);
  await page.goto(link.url);
  t.notOk((await request(page)).amount);
  await ledger.pay({ to: wallet.address, amount: '4.9999999', memo: link.memo.toLowerCase() });
  await turned(page, '.short');
  t.match(await seen(page, 'h2'), '0.0000001 XLM short');
  const [payment] = (await service.api('GET', `/payments?paymentLinkId=${link.id}`)).data;
  t.equal((await service.api('POST', `/payments/${payment.id}/accept`)).status, 200);
  await turned(page, '.paid');
  t.match(await seen(page, '.paid'), 'accepted your payment as it came');

  await page.click('.again a');
  await page.fill('#amount', '7,25');
  await page.click('text=Pay 7.25 XLM from a test account');
  await turned(page, '.paid');
  t.match((await seen(page, '.paid')).replace(/\s+/g, ' '), '7.25 XLM received');
});

t.test('the wrong asset is refused and the right one taken, on one open page', LONG, async (t) => {
  const { address, secret } = await ledger.fund();
  const { assetCode, assetIssuer } = await ledger.issue({ code: 'USDC', amount: '1', toSecret: secret });
  const wallet = (await service.api('POST', '/wallets', { name: 'USDC', address, network: 'LOCAL' })).data;
  const { link } = await startSelling(service, { walletId: wallet.id, assetCode, assetIssuer, price: '12.5' });
  const page = await openPage(t, browser);
  await page.goto(link.url);
  t.match(await request(page), { asset_code: 'USDC', asset_issuer: assetIssuer, amount: '12.5' });
  await ledger.pay({ to: address, amount: '12.5', memo: link.memo });
  await turned(page, '.refused');
  t.match(await seen(page, '.refused'), 'It came in XLM, but USDC is required');
  await page.click('.ask > summary');
  await page.click('text=Pay 12.5 USDC from a test account');
  await turned(page, '.paid');
  t.match(await seen(page, '.others summary'), '1 more payment since');
});

t.test('a link that is switched off while its page is open turns money away and takes the address down', async (t) => {
  const { link, wallet } = await startSelling(service);
  const page = await openPage(t, browser);
  await page.goto(link.url);
  await page.waitForSelector('.qr');
  await service.api('PATCH', `/payment-links/${link.id}`, { active: false });
  await ledger.pay({ to: wallet.address, amount: '25', memo: link.memo });
  await turned(page, '.refused');
  await turned(page, '.closed');
  t.notMatch(await page.content(), link.memo);
  const gone = await fetch(link.url);
  t.equal(gone.status, 200);
  t.notMatch(await gone.text(), wallet.address);
});

interface Shop {
  origin: string;
  /** The orders that were made, newest last. */
  orders: { id: string; url: string; memo: string }[];
}

const guide = blocksOf('docs/guides/button.md');

/** A shop of another origin, with the button as the guide shows it. `/` keeps what it is told in
 *  `ends`, `/stay` does with it what the guide shows. */
async function openShop(t: Parameters<typeof openPage>[0], productId: string): Promise<Shop> {
  const app = express();
  const shop: Shop = { origin: '', orders: [] };
  const button = guide('html', '<form').replace('https://pay.example', service.url);
  const keep = `<script>ends = []; addEventListener('checkoutend', ({ detail }) => ends.push(detail))</script>`;
  app.get('/', (_request, response) => void response.send(`<title>Shop</title>${keep}${button}`));
  app.get('/stay', (_request, response) => {
    response.send(`<title>Shop</title>${button}<p id="note"></p>${guide('html', 'checkoutend')}`);
  });
  app.post('/orders', async (_request, response) => {
    const { data } = await service.api('POST', '/checkouts', {
      productId,
      successUrl: `${shop.origin}/thanks?order=7`,
      cancelUrl: `${shop.origin}/`,
    });
    shop.orders.push(data);
    response.redirect(303, data.url);
  });
  app.get('/thanks', (_request, response) => void response.send('<title>Thanks</title>'));
  const server = app.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => void server.close());
  shop.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return shop;
}

const ends = (page: Page) => page.evaluate<{ checkout: string | null; paid: boolean }[]>('ends');
const press = async (page: Page): Promise<Page> => {
  const [popup] = await Promise.all([page.waitForEvent('popup'), page.click('text=Buy')]);
  await popup.waitForSelector('main.checkout');
  return popup;
};

t.test(
  'a button of a shop opens a checkout, makes one order however often it is pressed, and goes on when it is paid',
  async (t) => {
    const { product, wallet } = await startSelling(service);
    const shop = await openShop(t, product.id);
    const page = await openPage(t, browser);
    await page.goto(shop.origin);
    const popup = await press(page);
    await page.click('text=Buy');
    t.equal(shop.orders.length, 1);

    const closed = popup.waitForEvent('close');
    await popup.click('text=Cancel and go back');
    await closed;
    await page.waitForFunction('ends.length === 1');
    t.strictSame(await ends(page), [{ checkout: shop.orders[0]!.id, paid: false }]);
    t.equal(page.url(), `${shop.origin}/`);

    const again = await press(page);
    // After a change of language and a reload the payer is still the customer of this shop.
    await again.click('.languages summary');
    await Promise.all([again.waitForURL(/lang=de/), again.click('text=Deutsch')]);
    await again.waitForSelector('html[lang=de] main.checkout[data-opener]');
    await again.reload();
    await again.waitForSelector('html[lang=de] main.checkout[data-opener]');
    const { id, memo } = shop.orders[1]!;
    await ledger.pay({ to: wallet.address, amount: '25', memo });
    await Promise.all([again.waitForEvent('close'), again.click('#back', { timeout: 15_000 })]);
    await page.waitForURL(`${shop.origin}/thanks?order=7&checkout=${id}`);

    await page.goto(`${shop.origin}/stay`);
    const third = await press(page);
    await ledger.pay({ to: wallet.address, amount: '25', memo: shop.orders[2]!.memo });
    await turned(third, '.paid');
    await third.close();
    await page.waitForSelector(`text=Thank you! ${shop.orders[2]!.id} is on its way.`);
  },
);

t.test('where no window opens, or the script does not come, the page itself goes to the checkout', async (t) => {
  const { product } = await startSelling(service);
  const shop = await openShop(t, product.id);
  for (const broken of ['window.open = () => null', null]) {
    const page = await openPage(t, browser);
    if (broken !== null) await page.addInitScript(broken);
    else await page.route('**/button-v1.js', (route) => route.abort());
    await page.goto(shop.origin);
    await page.click('text=Buy');
    await page.waitForURL(`${service.url}/c/*`);
    await page.click('text=Cancel and go back');
    await page.waitForURL(`${shop.origin}/`);
  }
});

t.test('only the opening shop can watch a checkout, and only its page can tell the shop of the payment', async (t) => {
  const { product, wallet } = await startSelling(service);
  const shop = await openShop(t, product.id);
  const foreign = await openShop(t, product.id);
  const page = await openPage(t, browser);
  await page.goto(shop.origin);
  const popup = await press(page);
  const { url, memo } = shop.orders[0]!;

  const evil = await openPage(t, browser);
  await evil.goto(foreign.origin);
  await evil.evaluate(`heard = []; addEventListener('message', ({ data }) => heard.push(data))`);
  const [watched] = await Promise.all([
    evil.waitForEvent('popup'),
    evil.evaluate(`handle = open(${JSON.stringify(url)}); undefined`),
  ]);
  await watched.waitForSelector('main.checkout');
  t.equal(await evil.evaluate('handle.closed'), true, 'the browser has cut the tie');
  t.equal(await watched.evaluate('window.opener'), null);

  const forged = JSON.stringify({
    source: 'stellar-collect',
    checkout: shop.orders[0]!.id,
    paid: true,
    url: `${shop.origin}/thanks`,
    leaving: true,
  });
  const [fooled] = await Promise.all([
    evil.waitForEvent('popup'),
    evil.evaluate(`shop = open(${JSON.stringify(shop.origin)}); undefined`),
  ]);
  await fooled.waitForSelector('form');
  const opened = await press(fooled);
  await evil.evaluate(`shop.postMessage(${forged}, '*')`);
  // A window of the right origin that the button did not open.
  const [other] = await Promise.all([
    fooled.waitForEvent('popup'),
    fooled.evaluate(`open(${JSON.stringify(url)}); undefined`),
  ]);
  await other.waitForSelector('main.checkout[data-opener]');
  await other.evaluate(`opener.postMessage(${forged}, '*')`);
  // The window that the button opened, but of another origin by now.
  await opened.goto(foreign.origin);
  await opened.evaluate(`opener.postMessage(${forged}, '*')`);
  await fooled.evaluate('new Promise((resolve) => setTimeout(resolve, 400))');
  t.equal(opened.isClosed(), false);
  t.strictSame([await ends(fooled), fooled.url()], [[], `${shop.origin}/`]);

  await ledger.pay({ to: wallet.address, amount: '25', memo });
  await Promise.all([turned(popup, '.paid'), turned(watched, '.paid')]);
  t.strictSame(await evil.evaluate('heard'), []);
  await popup.close();
  await page.waitForURL(/\/thanks\?order=7&checkout=chk_/);
});

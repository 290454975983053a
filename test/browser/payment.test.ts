/** The whole service with a real payment on the local ledger, in front of a real browser. */
import type { Page } from 'playwright-core';
import t from 'tap';
import { openBrowser, openPage, scan, seen, watchPage } from '../helpers/browser.js';
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

t.test('what a wallet reads off the code, paid on the ledger, turns the page within 2 s', async (t) => {
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
  t.equal(await fresh.locator('.outcome').count(), 0, 'who opens the page now has paid nothing');
});

t.test('too little is short until the merchant accepts it; the button pays what is left to choose', async (t) => {
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

t.test('the wrong asset is refused and the right one taken, on one open page', async (t) => {
  const { address, secret } = await ledger.fund();
  const { assetCode, assetIssuer } = await ledger.issue({ code: 'USDC', amount: '1', toSecret: secret });
  const wallet = (await service.api('POST', '/wallets', { name: 'USDC', address, network: 'LOCAL' })).data;
  const { link } = await startSelling(service, { walletId: wallet.id, assetCode, assetIssuer, price: '12.5' });
  const page = await openPage(t, browser);
  await page.goto(link.url);
  t.match(await request(page), { asset_code: 'USDC', asset_issuer: assetIssuer, amount: '12.5' });
  await ledger.pay({ to: address, amount: '12.5', memo: link.memo });
  await turned(page, '.refused');
  t.match(await seen(page, '.refused'), 'It came in XLM, but USDC is asked for');
  await page.click('.ask > summary');
  await page.click('text=Pay 12.5 USDC from a test account');
  await turned(page, '.paid');
  t.match(await seen(page, '.others summary'), 'One more payment');
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

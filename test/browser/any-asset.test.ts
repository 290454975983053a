/** Paying in another asset on the page: what it costs is shown beside what can be paid at most, and
 *  a price that moves costs the payer nothing. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk';
import type { BrowserContextOptions } from 'playwright-core';
import t, { type Test } from 'tap';
import { axeViolations, openBrowser, openPage, seen, watchPage } from '../helpers/browser.js';
import { playWallet } from '../helpers/extensions.js';
import { LONG } from '../helpers/long.js';
import { startSelling, startTestService } from '../helpers/service.js';

const browser = await openBrowser(t);
const service = await startTestService(t, { env: { LOCAL_LEDGER_CLOSE_MS: '300', POLL_INTERVAL_MS: '300' } });
const { client } = service.context.localLedger!;
const issuer = Keypair.fromSecret((await client.fund()).secret);
const EURC = new Asset('EURC', issuer.publicKey());

async function holder(amount: string): Promise<Keypair> {
  const key = Keypair.fromSecret((await client.fund()).secret);
  const gift = Operation.payment({ source: issuer.publicKey(), destination: key.publicKey(), asset: EURC, amount });
  await client.submit({ from: key, operations: [Operation.changeTrust({ asset: EURC }), gift], signers: [issuer] });
  return key;
}

const [maker, payer] = [await holder('1000'), await holder('40')];
let offerId = '0';
async function setPrice(price: string): Promise<void> {
  const offer = { selling: Asset.native(), buying: EURC, amount: '5000', price, offerId };
  await client.submit({ from: maker, operations: [Operation.manageSellOffer(offer)] });
  offerId = String((await client.server.offers().seller(maker.publicKey()).call()).records[0]!.id);
}
await setPrice('0.35');

const order = async (price = '25') => {
  const { product } = await startSelling(service, { price });
  return (await service.api('POST', '/checkouts', { productId: product.id })).data;
};

/** Where a wallet is connected that holds lumens and EURC. */
async function connected(t: Test, url: string, options: BrowserContextOptions = {}) {
  const page = await openPage(t, browser, { reducedMotion: 'reduce', ...options });
  const complaints = watchPage(page);
  const played = await playWallet(page, { extension: 'freighter' }, payer);
  await page.goto(url);
  await page.click('.by-wallet button');
  await page.click('#wallets .choice:has(b:text-is("Freighter"))');
  await page.waitForSelector('#wallets .pay');
  return { page, complaints, played };
}
const WAY = '#wallets .way';
const plain = (text: string) => text.replace(/[\u2066-\u2069]/g, '');

t.test('an order in lumens is paid in EURC', async (t) => {
  const checkout = await order();
  const { page, complaints, played } = await connected(t, checkout.url);
  await page.waitForSelector(WAY);
  t.equal(plain(await seen(page, '#wallets .pay')), 'Pay 25 XLM', 'the asset itself stays first');
  t.match(plain(await seen(page, WAY)), /^Pay 8\.75 EURC\s+At most 8\.8375\. You hold 40\.$/);
  t.strictSame(await axeViolations(page), []);
  await page.click(WAY);
  await page.waitForSelector('.paid');
  t.equal(played.asked.filter((each) => each === 'sign').length, 1);
  const { data } = await service.api('GET', `/payments?checkoutId=${checkout.id}`);
  t.match(data, [{ status: 'COMPLETED', amount: '25', assetCode: 'XLM' }]);
  t.strictSame(complaints, []);
});

t.test('a moved price is announced and shown; an outdated price is not signed', LONG, async (t) => {
  const checkout = await order('20');
  const { page, complaints, played } = await connected(t, checkout.url);
  await page.locator(WAY, { hasText: '7' }).waitFor();
  await setPrice('0.4');
  await page.click(WAY);
  await page.locator('#wallets .problem', { hasText: /price has moved.*Nothing was paid/ }).waitFor();
  await page.locator(WAY, { hasText: '8' }).waitFor();
  t.match(plain(await seen(page, WAY)), /^Pay 8 EURC/);
  const signed = played.asked.length;
  await setPrice('0.375');
  await page.evaluate('{ const now = performance.now.bind(performance); performance.now = () => now() + 31_000; }');
  await page.click(WAY);
  await page.locator('#wallets .status', { hasText: 'The prices have changed' }).waitFor();
  t.match(plain(await seen(page, WAY)), /^Pay 7\.5 EURC/);
  t.equal(played.asked.length, signed, 'the wallet was not asked');
  await page.click(WAY);
  await page.waitForSelector('.paid');
  t.strictSame(complaints, []);
});

t.test('an asset that the account holds too little of is not offered', async (t) => {
  const checkout = await order('500');
  const { page } = await connected(t, checkout.url);
  await page.waitForResponse((response) => response.url().includes('/ways')).catch(() => undefined);
  await page.waitForTimeout(300);
  t.equal(await page.locator(WAY).count(), 0);
});

t.test('on a phone in Arabic it fits, from right to left', async (t) => {
  const checkout = await order();
  const phone = { viewport: { width: 320, height: 640 } };
  const { page } = await connected(t, `${checkout.url}?lang=ar`, phone);
  await page.waitForSelector(WAY);
  t.match(await seen(page, WAY), /\u2068[\d.]+ EURC\u2069/, 'amount and code stay together');
  t.equal(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows');
  t.strictSame(await axeViolations(page), []);
  if (process.env.SCREENS) await page.screenshot({ path: `${process.env.SCREENS}/ways-ar.png` });
});

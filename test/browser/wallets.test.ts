/** "Pay with a wallet" on the pages of the whole service: the real scripts against played wallets
 *  that speak as the real ones do and sign with real keys for the local ledger. What the page's
 *  policy had to block fails a test, and so does a request of the page to anybody else. */
import { setTimeout as delay } from 'node:timers/promises';
import { Keypair } from '@stellar/stellar-sdk';
import type { BrowserContextOptions, Page } from 'playwright-core';
import t, { type Test } from 'tap';
import { networkInfo } from '../../contracts/networks.js';
import { axeViolations, openBrowser, openPage, seen, watchPage } from '../helpers/browser.js';
import { type Played, type PlayedWallet, playWallet } from '../helpers/extensions.js';
import { LONG } from '../helpers/long.js';
import { startSelling, startTestService } from '../helpers/service.js';

const browser = await openBrowser(t);
const service = await startTestService(t, { env: { LOCAL_LEDGER_CLOSE_MS: '500', POLL_INTERVAL_MS: '500' } });
const ledger = service.context.localLedger!.client;
const payer = Keypair.fromSecret((await ledger.fund()).secret);

const OFFER = '.by-wallet button';
const PAY = '#wallets .pay';
const choiceOf = (name: string) => `#wallets .choice:has(b:text-is("${name}"))`;
const PHONE = { viewport: { width: 320, height: 568 } };

async function order(fields: Record<string, unknown> = {}) {
  const { product } = await startSelling(service, fields);
  const successUrl = 'http://localhost:1/thanks';
  return (await service.api('POST', '/checkouts', { productId: product.id, successUrl })).data;
}
const paymentsOf = async (checkoutId: string) => (await service.api('GET', `/payments?checkoutId=${checkoutId}`)).data;

/** A browser with that wallet alone. `complaints` is everything that the page may not do: what its
 *  policy blocked, errors, requests to others. */
async function browse(t: Test, wallet: Played | null, key = payer, options: BrowserContextOptions = {}) {
  const page = await openPage(t, browser, { reducedMotion: 'reduce', ...options });
  const complaints = watchPage(page);
  page.on('request', (request) => {
    if (!request.url().startsWith(`${service.url}/`)) complaints.push(`asked ${request.url()}`);
  });
  return { page, complaints, played: wallet && (await playWallet(page, wallet, key)) };
}

async function connect(page: Page, name: string): Promise<void> {
  await page.click(OFFER);
  await page.click(choiceOf(name));
}

const WALLETS: [name: string, wallet: Played][] = [
  ['Freighter', { extension: 'freighter' }],
  ['LOBSTR', { extension: 'lobstr' }],
  ['Hana', { extension: 'hana' }],
  ['xBull', { extension: 'xbull' }],
  ['xBull', { walletPage: 'xbull' }],
  ['Albedo', { walletPage: 'albedo' }],
];
for (const [name, wallet] of WALLETS)
  t.test(`a checkout is paid with ${name}, ${'extension' in wallet ? 'in the browser' : 'a page'}`, async (t) => {
    const checkout = await order();
    const { page, complaints, played } = await browse(t, wallet);
    await page.goto(checkout.url);
    await connect(page, name);
    await page.waitForSelector(PAY);
    t.match(await seen(page, '#wallets .account'), payer.publicKey().slice(0, 6));
    t.equal(await seen(page, PAY), 'Pay 25 XLM');
    await page.click(PAY);
    await page.waitForSelector('.paid');
    t.equal(await page.locator('#wallets').isVisible(), false, 'the window is gone once it is paid');
    t.match(await paymentsOf(checkout.id), [{ status: 'COMPLETED', amount: '25', senderAddress: payer.publicKey() }]);
    t.equal(played!.asked.filter((each) => each === 'sign').length, 1);
    t.strictSame(complaints, [], 'the policy had nothing to block');
  });

t.test('a payer on a phone, with the keyboard alone → pays with a wallet', LONG, async (t) => {
  const checkout = await order();
  const { page, complaints } = await browse(t, { extension: 'freighter' }, payer, PHONE);
  await page.goto(checkout.url);
  await page.focus(OFFER);
  await page.keyboard.press('Enter');
  await page.waitForSelector(choiceOf('Freighter'));
  t.equal(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows');
  t.strictSame(await axeViolations(page), []);
  await page.keyboard.press('Escape');
  t.equal(await page.locator('#wallets').isVisible(), false);
  t.equal(await page.evaluate('document.activeElement.closest(".by-wallet") !== null'), true, 'back at the button');
  await page.keyboard.press('Enter');
  await page.waitForSelector(choiceOf('Freighter'));
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForSelector(PAY);
  t.strictSame(await axeViolations(page), []);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.paid');
  t.strictSame(complaints, []);
});

/** Where nothing was paid, the sentence, and the button that can be pressed again. */
async function refused(t: Test, page: Page, button: string, words: RegExp): Promise<void> {
  await page.click(button);
  await page.locator('#wallets .problem', { hasText: words }).waitFor();
  t.equal(await page.locator(button).isEnabled(), true, String(words));
}

t.test('an error is shown in the window, where the payment can be tried again', LONG, async (t) => {
  const checkout = await order();
  const { page, complaints, played: some } = await browse(t, { extension: 'freighter' });
  const played = some as PlayedWallet;
  const freighter = choiceOf('Freighter');
  await page.goto(checkout.url);
  await page.click(OFFER);
  played.refuses = { what: 'connect', error: { code: -4, message: 'The user rejected this request.' } };
  await refused(t, page, freighter, /You declined in Freighter/);
  played.refuses = { what: 'connect', error: { code: -1, message: 'The wallet is locked' } };
  await refused(t, page, freighter, /Freighter is locked/);
  played.refuses = { what: 'connect', error: { code: -1, message: 'Something <b>odd</b>' } };
  await refused(t, page, freighter, /Freighter says: Something <b>odd<\/b>/);
  played.refuses = null;
  played.passphrase = networkInfo.PUBLIC.passphrase;
  await refused(t, page, freighter, /set to another network. Switch it to this local network/);
  played.passphrase = networkInfo.LOCAL.passphrase;
  played.key = Keypair.random();
  await page.click(freighter);
  await refused(t, page, PAY, /does not exist on the network yet/);
  t.strictSame(await axeViolations(page), []);
  await page.click('#wallets .plain');
  played.key = payer;
  await page.click(freighter);
  played.refuses = { what: 'sign', error: { code: -4, message: 'The user rejected this request.' } };
  await page.waitForSelector(PAY);
  await refused(t, page, PAY, /You declined in Freighter/);
  t.equal((await paymentsOf(checkout.id)).length, 0);

  const dear = await startSelling(service, { price: '1000000' });
  played.refuses = null;
  await page.goto(dear.link.url);
  await connect(page, 'Freighter');
  await page.waitForSelector(PAY);
  await refused(t, page, PAY, /Your account does not hold enough XLM/);
  t.match(await seen(page, '#wallets .support'), 'Ask the merchant', 'and who helps');
  t.strictSame(complaints, []);
});

t.test(
  'a wallet that tells no network is found out by its signature; one that knows no such network is not asked',
  LONG,
  async (t) => {
    const checkout = await order();
    const { page, played } = await browse(t, { extension: 'lobstr' });
    await page.goto(checkout.url);
    await connect(page, 'LOBSTR');
    await page.waitForSelector(PAY);
    played!.key = Keypair.random();
    await refused(t, page, PAY, /LOBSTR is set to another account or another network/);

    const other = await browse(t, { extension: 'rabet' });
    await other.page.goto(checkout.url);
    await other.page.click(OFFER);
    await refused(t, other.page, choiceOf('Rabet'), /Rabet does not know this network/);
    t.strictSame(other.played!.asked, []);
    t.equal((await paymentsOf(checkout.id)).length, 0);
  },
);

t.test('a wallet that does not answer, and a window that is closed or not let open', LONG, async (t) => {
  const checkout = await order();
  const { page, played } = await browse(t, { extension: 'hana' });
  played!.isSilent = true;
  await page.clock.install();
  await page.goto(checkout.url);
  await page.click(OFFER);
  await page.clock.fastForward(1_000);
  await page.click(choiceOf('Hana'));
  await page.locator('#wallets .status', { hasText: 'Waiting for Hana' }).waitFor();
  const given = page.locator('#wallets .problem', { hasText: 'Hana has not answered' });
  // Its patience begins once its script is there.
  while (!(await given.isVisible())) {
    await page.clock.fastForward(181_000);
    await delay(100);
  }

  const albedo = await browse(t, { walletPage: 'albedo' });
  albedo.played!.isSilent = true;
  await albedo.page.goto(checkout.url);
  await albedo.page.click(OFFER);
  const opened = albedo.page.waitForEvent('popup');
  await albedo.page.click(choiceOf('Albedo'));
  const window = await opened;
  await window.waitForLoadState();
  await window.close();
  await albedo.page.locator('#wallets .problem', { hasText: 'The window of Albedo was closed' }).waitFor();
  await albedo.page.evaluate('window.open = () => null');
  await refused(t, albedo.page, choiceOf('Albedo'), /blocked the window of Albedo/);
  t.strictSame(albedo.complaints, []);
});

t.test('a payment signed after the window was closed is not sent', async (t) => {
  const checkout = await order();
  const { page, played } = await browse(t, { extension: 'hana' });
  let sign = () => {};
  const sent: string[] = [];
  page.on('request', (request) => request.method() === 'POST' && sent.push(new URL(request.url()).pathname));
  await page.goto(checkout.url);
  await connect(page, 'Hana');
  await page.waitForSelector(PAY);
  played!.waits = new Promise<void>((resolve) => {
    sign = resolve;
  });
  await page.click(PAY);
  await page.locator('#wallets .status', { hasText: 'Waiting for Hana' }).waitFor();
  while (!played!.asked.includes('sign')) await page.waitForTimeout(20);
  await page.keyboard.press('Escape');
  await page.locator('#wallets').waitFor({ state: 'hidden' });
  sign();
  await page.waitForTimeout(500);
  const path = new URL(checkout.url).pathname;
  t.strictSame(sent, [`${path}/ways`, `${path}/transaction`]);
});

t.test(
  'wallets of this browser come first, the others say where they are; nothing is loaded or followed by itself',
  async (t) => {
    const checkout = await order();
    const { page, complaints } = await browse(t, { extension: 'rabet' });
    const loaded: string[] = [];
    page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
    await page.goto(checkout.url, { waitUntil: 'load' });
    await page.waitForTimeout(300);
    const ofWallets = () =>
      loaded.flatMap((path) => /^\/page\/(wallets[a-z-]*?)-?(?:[0-9a-f]{10})\./.exec(path)?.[1] ?? []);
    t.strictSame(ofWallets(), [], 'nothing before the payer asks');
    await page.click(OFFER);
    await page.waitForSelector(choiceOf('Rabet'));
    t.strictSame(ofWallets().sort(), ['wallets', 'wallets-main']);
    t.strictSame(await page.locator('#wallets .choice b').allInnerTexts(), [
      'Rabet',
      'xBull',
      'Albedo',
      'Freighter',
      'LOBSTR',
      'Hana',
    ]);
    t.strictSame(
      await page
        .locator('#wallets a')
        .evaluateAll((all: any[]) => all.map((each) => [each.href, each.target, each.rel])),
      [
        ['https://www.freighter.app/', '_blank', 'noopener noreferrer'],
        ['https://lobstr.co/', '_blank', 'noopener noreferrer'],
        ['https://www.hanawallet.io/', '_blank', 'noopener noreferrer'],
      ],
    );
    await page.click(choiceOf('Rabet'));
    await page.locator('#wallets .problem', { hasText: 'Rabet' }).waitFor();
    t.strictSame(ofWallets().sort(), ['wallets', 'wallets-main', 'wallets-rabet'], 'and only the one that was chosen');
    t.equal(page.context().pages().length, 1);
    t.strictSame(complaints, []);
  },
);

t.test('a payer who chooses the amount pays that much; a closed page offers nothing', async (t) => {
  const { link, product } = await startSelling(service, { priceType: 'CUSTOM', price: null, minAmount: '5' });
  const { page, complaints } = await browse(t, { extension: 'freighter' });
  await page.goto(link.url);
  await page.waitForSelector('html.js');
  t.equal(await page.locator(OFFER).count(), 0, 'not before there is an amount');
  await page.fill('#amount', '7.25');
  await connect(page, 'Freighter');
  await page.waitForSelector(PAY);
  t.equal(await seen(page, PAY), 'Pay 7.25 XLM');
  await page.click(PAY);
  await page.waitForSelector('.paid');
  t.match((await service.api('GET', `/payments?paymentLinkId=${link.id}`)).data, [{ amount: '7.25' }]);
  await service.api('PATCH', `/products/${product.id}`, { active: false });
  await page.goto(link.url);
  t.equal(await page.locator(OFFER).count(), 0);
  t.strictSame(complaints, []);
});

t.test('in Arabic it goes from right to left and says everything in Arabic', async (t) => {
  const checkout = await order();
  const { page, played } = await browse(t, { extension: 'freighter' }, payer, PHONE);
  await page.goto(`${checkout.url}?lang=ar`);
  await page.click(OFFER);
  await page.waitForSelector(choiceOf('Freighter'));
  t.equal(await page.evaluate('getComputedStyle(document.querySelector("#wallets")).direction'), 'rtl');
  const box = (await page.locator('#wallets .letters').first().boundingBox())!;
  t.ok(box.x > 160, 'the letters stand at the right');
  t.notMatch(
    (await seen(page, '#wallets')).replace(
      /Freighter|LOBSTR|xBull|Albedo|Hana|Rabet|[\w.]+\.\w+|Fr|Lo|xB|Al|Ha|Ra/g,
      '',
    ),
    /[a-z]{3}/i,
  );
  played!.refuses = { what: 'connect', error: { code: -4, message: 'no' } };
  await refused(t, page, choiceOf('Freighter'), /رفضت الدفع في \u2068Freighter\u2069/);
  played!.refuses = null;
  await page.click(choiceOf('Freighter'));
  await page.waitForSelector(PAY);
  played!.key = Keypair.random();
  await refused(t, page, PAY, /تقول \u2068Freighter\u2069: \u2068no such account\u2069/);
});

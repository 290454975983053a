/** "Pay with Freighter" on the pages of the whole service. The extension is played by a script that answers the messages of the real
 *  `@stellar/freighter-api` as Freighter's content script does, and signs with a real key for the local ledger. */
import { Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Page } from 'playwright-core';
import t from 'tap';
import { networkInfo } from '../../contracts/networks.js';
import { axeViolations, openBrowser, openPage, seen, watchPage } from '../helpers/browser.js';
import { startSelling, startTestService } from '../helpers/service.js';

const browser = await openBrowser(t);
const service = await startTestService(t, { env: { LOCAL_LEDGER_CLOSE_MS: '500', POLL_INTERVAL_MS: '500' } });
const ledger = service.context.localLedger!.client;
const { passphrase } = networkInfo.LOCAL;
const payer = Keypair.fromSecret((await ledger.fund()).secret);

interface Freighter {
  key: Keypair;
  passphrase: string;
  declines: 'REQUEST_ACCESS' | 'SUBMIT_TRANSACTION' | null;
}

/** Runs in the page before its own scripts, as a content script listens beside it. */
const CONTENT_SCRIPT = `
addEventListener('message', async ({ source, data }) => {
  if (source !== window || data?.source !== 'FREIGHTER_EXTERNAL_MSG_REQUEST') return;
  const answer = await window.askExtension(data);
  postMessage({ source: 'FREIGHTER_EXTERNAL_MSG_RESPONSE', messagedId: data.messageId, ...answer }, location.origin);
});`;

/** Installs the extension in the page's browser. @returns its settings, and the kinds of the messages that it got */
async function install(page: Page, settings: Partial<Freighter> = {}) {
  const freighter: Freighter = { key: payer, passphrase, declines: null, ...settings };
  const asked: string[] = [];
  await page.exposeFunction(
    'askExtension',
    (request: { type: string; transactionXdr: string; accountToSign: string }) => {
      asked.push(request.type);
      const address = freighter.key.publicKey();
      if (request.type === freighter.declines) {
        return { apiError: { code: -4, message: 'The user rejected this request.' } };
      }
      switch (request.type) {
        case 'REQUEST_CONNECTION_STATUS':
          return { isConnected: true };
        case 'REQUEST_ACCESS':
          return { publicKey: address };
        case 'REQUEST_NETWORK_DETAILS':
          return { networkDetails: { network: 'X', networkUrl: 'x', networkPassphrase: freighter.passphrase } };
        case 'SUBMIT_TRANSACTION': {
          if (request.accountToSign !== address) return { apiError: { code: -1, message: 'no such account' } };
          const transaction = TransactionBuilder.fromXdr(request.transactionXdr, freighter.passphrase);
          transaction.sign(freighter.key);
          return { signedTransaction: transaction.toXdr(), signerAddress: address };
        }
        default:
          return { apiError: { code: -3, message: `unknown message ${request.type}` } };
      }
    },
  );
  await page.addInitScript(CONTENT_SCRIPT);
  return { freighter, asked };
}

const BUTTON = '.freighter button';
const order = async (productId: string) =>
  (await service.api('POST', '/checkouts', { productId, successUrl: 'http://localhost:1/thanks' })).data;

t.test('a checkout is paid by its button on a phone, with the keyboard, and the page turns by itself', async (t) => {
  const { product } = await startSelling(service);
  const checkout = await order(product.id);
  const page = await openPage(t, browser, { viewport: { width: 320, height: 568 }, reducedMotion: 'reduce' });
  const { asked } = await install(page);
  const complaints = watchPage(page);
  await page.goto(checkout.url);
  await page.waitForSelector(BUTTON, { state: 'visible' });
  t.equal(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), 0, 'nothing overflows');
  t.strictSame(await axeViolations(page), []);
  await page.focus(BUTTON);
  await page.keyboard.press('Enter');
  await page.waitForSelector('.paid');
  t.strictSame(asked, ['REQUEST_CONNECTION_STATUS', 'REQUEST_ACCESS', 'REQUEST_NETWORK_DETAILS', 'SUBMIT_TRANSACTION']);
  const [payment] = (await service.api('GET', `/payments?checkoutId=${checkout.id}`)).data;
  t.match(payment, { status: 'COMPLETED', amount: '25', senderAddress: payer.publicKey() });
  t.strictSame(complaints, [], 'the policy had nothing to block');
});

t.test('what goes wrong is said beside the button, which can be pressed again', async (t) => {
  const { product } = await startSelling(service);
  const checkout = await order(product.id);
  const page = await openPage(t, browser);
  const { freighter } = await install(page, { declines: 'REQUEST_ACCESS' });
  await page.goto(checkout.url);
  const press = async (words: RegExp) => {
    await page.click(BUTTON);
    await page.locator('.freighter .problem', { hasText: words }).waitFor();
    t.equal(await page.locator(BUTTON).isEnabled(), true);
    t.equal(await seen(page, BUTTON), 'Pay with Freighter');
  };
  await page.waitForSelector(BUTTON, { state: 'visible' });
  await press(/You declined in Freighter/);
  freighter.declines = 'SUBMIT_TRANSACTION';
  await press(/You declined in Freighter/);
  freighter.declines = null;
  freighter.passphrase = networkInfo.PUBLIC.passphrase;
  await press(/set to another network/);
  freighter.passphrase = passphrase;
  freighter.key = Keypair.random();
  await press(/does not exist on the network yet/);
  const poor = await ledger.fund();
  freighter.key = Keypair.fromSecret(poor.secret);
  t.strictSame(await axeViolations(page), []);
  t.equal((await service.api('GET', `/payments?checkoutId=${checkout.id}`)).data.length, 0);

  const dear = await startSelling(service, { price: '1000000' });
  await page.goto(dear.link.url);
  await page.waitForSelector(BUTTON, { state: 'visible' });
  await press(/Your account does not hold enough XLM/);
});

t.test('a payer who chooses the amount pays that much', async (t) => {
  const { link } = await startSelling(service, { priceType: 'CUSTOM', price: null, minAmount: '5' });
  const page = await openPage(t, browser);
  await install(page);
  await page.goto(link.url);
  await page.waitForSelector('html.has-freighter');
  t.equal(await page.locator(BUTTON).count(), 0, 'not before there is an amount');
  await page.fill('#amount', '7.25');
  await page.click(BUTTON);
  await page.waitForSelector('.paid');
  t.match((await service.api('GET', `/payments?paymentLinkId=${link.id}`)).data, [{ amount: '7.25' }]);
});

t.test('without the extension no button is shown; a closed page loads nothing of it', async (t) => {
  const { product, link } = await startSelling(service);
  const page = await openPage(t, browser);
  const loaded: string[] = [];
  page.on('request', (request) => loaded.push(new URL(request.url()).pathname));
  await page.goto(link.url);
  await page.waitForTimeout(2500);
  t.ok(loaded.some((path) => path.startsWith('/page/freighter-')));
  t.equal(await page.locator(BUTTON).isVisible(), false);
  await service.api('PATCH', `/products/${product.id}`, { active: false });
  loaded.length = 0;
  await page.goto(link.url, { waitUntil: 'load' });
  await page.waitForTimeout(200);
  t.notOk(loaded.some((path) => /wallet|freighter/.test(path)));
});

/** With PAGE_SCREENSHOTS=<folder> every state is photographed there. */
import { join } from 'node:path';
import type { BrowserContextOptions } from 'playwright-core';
import t from 'tap';
import { LANGUAGES } from '../../contracts/languages.js';
import type { PageLink, PagePayment } from '../../src/page/types.js';
import {
  ADDRESS,
  axeViolations,
  ISSUER,
  inEuro,
  openBrowser,
  openPage,
  pageCheckout,
  pageLink,
  scan,
  seen,
  servePages,
  watchPage,
} from '../helpers/browser.js';
import { IS_LONG, LONG } from '../helpers/long.js';

const USDC = { assetCode: 'USDC', assetIssuer: ISSUER };
const IMAGE = 'https://img.example/beans.svg';
const PICTURE =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9" fill="#855"/></svg>';
const DESCRIPTION =
  'Single-origin arabica, roasted on Thursdays in small batches.\n\nShips within two days, everywhere in Europe.';

const custom = (slug: string): PageLink =>
  pageLink(slug, {
    product: { name: 'River clean-up', priceType: 'CUSTOM', price: null, minAmount: '5', description: DESCRIPTION },
  });

/** A state of the page: its link, what is entered, and the payment that comes while it is open. */
interface State {
  link: PageLink;
  query?: string;
  payment?: Partial<PagePayment>;
}

const paidLink = (slug: string) => pageLink(slug, { product: { imageUrl: IMAGE } });
const STATES: Record<string, State> = {
  fixed: { link: pageLink('fixed', { product: { description: DESCRIPTION, imageUrl: IMAGE } }) },
  issued: {
    link: pageLink('issued', {
      product: { ...USDC, name: 'Yearly membership of the Association for Open Ledgers', price: '1250.5' },
      wallet: { network: 'TESTNET' },
    }),
  },
  longest: {
    link: pageLink('longest', {
      product: {
        name: 'W'.repeat(120),
        assetCode: 'ABCDEFGHIJKL',
        assetIssuer: ISSUER,
        price: '922337203685.4775807',
        description: 'x'.repeat(500),
      },
      wallet: { network: 'TESTNET' },
      warnings: ['no_trustline'],
    }),
  },
  local: { link: pageLink('local', { wallet: { network: 'LOCAL' } }) },
  custom: { link: custom('custom') },
  'custom-entered': { link: custom('custom-entered'), query: '?amount=12.5' },
  'custom-wrong': { link: custom('custom-wrong'), query: '?amount=3' },
  paid: { link: paidLink('paid'), payment: {} },
  overpaid: { link: paidLink('overpaid'), payment: { amount: '30', reason: 'overpaid', excessAmount: '5' } },
  underpaid: {
    link: paidLink('underpaid'),
    payment: { status: 'UNDERPAID', reason: 'below_price', amount: '20', shortfallAmount: '5' },
  },
  'wrong-asset': {
    link: paidLink('wrong-asset'),
    payment: { status: 'REJECTED', reason: 'wrong_asset', assetCode: 'XLM', assetIssuer: ISSUER },
  },
  inactive: { link: pageLink('inactive', { active: false, product: { description: DESCRIPTION } }) },
  'order-open': { link: pageCheckout('order-open', {}, { product: { description: DESCRIPTION, imageUrl: IMAGE } }) },
  'order-part': { link: pageCheckout('order-part', { received: '20', remaining: '5' }) },
  'order-paid': {
    link: pageCheckout('order-paid', { status: 'PAID', received: '26', remaining: '0', excess: '1', successUrl: null }),
  },
  'order-checking': { link: pageCheckout('order-checking', { ended: true }) },
  'order-expired': { link: pageCheckout('order-expired', { status: 'EXPIRED', ended: true, received: '20' }) },
  'order-longest': { link: pageCheckout('order-longest', { reference: 'W'.repeat(120) }) },
  'order-cancelled': { link: pageCheckout('order-cancelled', { status: 'CANCELLED' }) },
  unknown: { link: { ...pageLink('unknown'), slug: 'somewhere-else' } },
};

/** States whose code is read by a scanner. */
const SCANNED = ['fixed', 'order-part', 'longest', 'custom-entered'];

const browser = await openBrowser(t);
const testPayer = { pay: async () => ({ paid: true as const, transactionHash: 'abc' }) };

t.test(
  'in every state, at every width and in both themes: nothing overflows, axe finds nothing, the code is readable',
  { timeout: 120_000 },
  async (t) => {
    const { url, feed } = await servePages(
      t,
      Object.values(STATES).map(({ link }) => link),
      { testPayer },
    );
    const folder = process.env.PAGE_SCREENSHOTS;
    // Contrast depends on the theme, what is laid out on the width. The last is in every run.
    const narrow = ['dark', 320, true] as const;
    const others = [['light', 1280, true] as const, ['light', 768, false] as const];
    for (const [colorScheme, width, hasAxe] of IS_LONG ? [...others, narrow] : [narrow]) {
      const viewport = { width, height: width === 320 ? 568 : 800 };
      const context = await browser.newContext({ colorScheme, viewport, reducedMotion: 'reduce' });
      await context.route(IMAGE, (route) => route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }));
      const page = await context.newPage();
      const complaints = watchPage(page);
      for (const [name, { link, query = '', payment }] of Object.entries(STATES)) {
        const what = `${name}, ${width} px, ${colorScheme}`;
        await page.goto(`${url}/${link.checkout ? 'c' : 'p'}/${name}${query}`);
        if (payment) {
          feed.pay(link.linkId, { ...payment, createdAt: new Date() });
          await page.waitForSelector('.outcome');
        }
        const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
        if (overflow > 0) t.fail(`${what}: ${overflow} px too wide`);
        if (hasAxe) t.strictSame(await axeViolations(page), [], `axe: ${what}`);
        const uri = await page
          .locator('a.button')
          .getAttribute('href', { timeout: 1 })
          .catch(() => null);
        if (uri !== null && !payment && SCANNED.includes(name)) t.equal(await scan(page), uri, `scanned: ${what}`);
        if (folder)
          await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
      }
      t.strictSame(complaints, [], `no complaints at ${width} px, ${colorScheme}`);
      await context.close();
    }
  },
);

t.test('the longest receipt fits a phone, and prints on one page in every language', LONG, async (t) => {
  const name = 'W'.repeat(120);
  const link = pageCheckout(
    'paid',
    {
      ...{ status: 'PAID', reference: name, quantity: 10_000, paidAt: new Date('2026-11-21T09:30:00Z') },
      ...{ received: '922337203685.4775807', remaining: '0', refunded: '8', price: '922337203685.47' },
    },
    {
      product: { name, assetCode: 'ABCDEFGHIJKL', assetIssuer: ISSUER },
      priced: { currency: 'EUR', due: null, minAmount: null, rate: null },
      brand: {
        ...{ name, logoUrl: IMAGE, color: null },
        supportUrl: 'https://shop.example/help',
        supportEmail: 'help@shop.example',
      },
    },
  );
  const { url, feed } = await servePages(t, [link]);
  for (let i = 0; i < 20; i++)
    feed.pay(link.linkId, {
      ...{ amount: '115292150460.6847258', assetCode: 'ABCDEFGHIJKL', assetIssuer: ISSUER, refundedAmount: '1' },
      ...{ value: { currency: 'EUR', amount: '115292150460.68' }, transactionHash: 'a'.repeat(64) },
    });
  const page = await openPage(t, browser, { viewport: { width: 320, height: 568 } });
  await page.route(IMAGE, (route) => route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }));
  const margin = { top: '1cm', bottom: '1cm', left: '1cm', right: '1cm' };
  for (const language of LANGUAGES) {
    await page.goto(`${url}/c/paid/receipt?lang=${language}`);
    t.equal(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), 0, `${language}: width`);
    for (const format of ['A4', 'Letter']) {
      const printed = (await page.pdf({ format, margin })).toString('latin1');
      t.equal(printed.match(/\/Type\s*\/Page\b/g)?.length, 1, `${language}: pages of ${format}`);
    }
  }
});

t.test('what a merchant writes is shown as text and never runs', async (t) => {
  const probe = (field: string) =>
    `${field}"'><script>window.hit='${field}'</script><img src=x onerror="window.hit='${field}'"><svg onload=alert(1)>{{7*7}}\u202e</title></textarea>`;
  const link = pageLink('probe', {
    memo: probe('memo').slice(0, 28),
    brand: { name: probe('shop') },
    product: {
      name: probe('name'),
      description: probe('description'),
      imageUrl: `https://img.example/"onerror="window.hit='image'"><script>window.hit='image'</script>.png`,
      assetCode: probe('code'),
      assetIssuer: probe('issuer'),
      price: null,
      priceType: 'CUSTOM',
    },
    wallet: { address: probe('address') },
  });
  const { url, feed } = await servePages(t, [link]);
  const page = await openPage(t, browser);
  const complaints = watchPage(page);
  const requests: string[] = [];
  page.on('request', (request) => requests.push(request.url()));
  await page.route('https://img.example/**', (route) => route.fulfill({ contentType: 'image/svg+xml', body: PICTURE }));
  await page.goto(`${url}/p/probe?amount=${encodeURIComponent('"><script>window.hit="amount"</script>')}`);
  await page.goto(`${url}/p/probe`);
  const text = await seen(page, 'body');
  for (const field of ['memo', 'shop', 'name', 'description', 'code']) t.match(text, `${field}"'>`, field);
  t.equal(await page.locator('h1').textContent(), link.product.name);
  await page.fill('#amount', '"><script>window.hit=1</script>');
  await page.press('#amount', 'Enter');
  await page.waitForSelector('#amount-problem svg');
  const { assetIssuer } = link.product;
  feed.pay(link.linkId, {
    assetCode: probe('paid'),
    assetIssuer,
    amount: '1',
    senderShort: probe('sender'),
    transactionHash: probe('hash'),
    explorerUrl: 'https://explorer.example/"><script>window.hit=1</script>',
  });
  await page.waitForSelector('.paid');
  t.match(await seen(page, '.outcome'), 'sender"\'>');
  t.equal(await page.evaluate('window.hit'), undefined);
  t.equal(await page.locator('script').count(), 1);
  t.strictSame(complaints, [], 'not even the policy had anything to block');
  const foreign = requests.filter((request) => !request.startsWith(url));
  t.ok(
    foreign.length > 0 && foreign.every((request) => request.startsWith('https://img.example/')),
    'the image alone is loaded from elsewhere',
  );
});

t.test('the page turns by itself, by events, and keeps its visit over a reload', async (t) => {
  const link = pageLink('x');
  const { url, feed, server } = await servePages(t, [link]);
  feed.pay(link.linkId, { createdAt: new Date(Date.now() - 1000) });
  const page = await openPage(t, browser);
  await page.goto(`${url}/p/x`);
  await page.waitForSelector('.waiting');
  t.equal(await page.locator('.outcome').count(), 0, 'an earlier payment is not shown');

  const began = Date.now();
  const short = { status: 'UNDERPAID', reason: 'below_price', amount: '20', shortfallAmount: '5' } as const;
  const under = feed.pay(link.linkId, short);
  await page.waitForSelector('.short');
  t.comment(`shown ${Date.now() - began} ms after the payment was stored`);
  t.match(await page.title(), '5 XLM short');
  t.match(await page.locator('#announcement').textContent(), 'Sending only the rest does not help');
  t.notOk(await page.locator('.qr').isVisible(), 'paying once more takes a click');
  await page.click('.ask > summary');
  t.ok(await page.locator('.qr').isVisible());

  feed.pay(link.linkId, { ...under, status: 'COMPLETED', reason: null });
  await page.waitForSelector('.paid');
  t.match(await seen(page, '.outcome'), 'accepted your payment as it came');
  t.equal(await page.locator('.qr').count(), 0);

  await page.reload();
  await page.waitForSelector('.paid');
  t.pass('a reload, as when a phone comes back from the wallet, still shows what was paid');

  // The connection breaks, a payment comes, the connection is back.
  const other = await openPage(t, browser);
  await other.goto(`${url}/p/x`);
  await other.waitForSelector('.waiting');
  await page.click('.again a');
  await page.waitForSelector('.waiting');
  t.pass('the link in the receipt begins a new visit');
  await page.waitForTimeout(300);
  server.closeAllConnections();
  feed.pay(link.linkId, { amount: '30', reason: 'overpaid', excessAmount: '5' });
  await page.waitForSelector('.paid');
  t.match(await seen(page, 'h2'), 'Paid, 5 XLM too much');
  await other.waitForSelector('.paid');
});

t.test('a page that is switched off while open takes its details away; switched on, it brings them back', async (t) => {
  const link = pageLink('x');
  const { url, feed } = await servePages(t, [link]);
  const page = await openPage(t, browser);
  await page.goto(`${url}/p/x`);
  await page.waitForSelector('.qr');
  await page.waitForTimeout(200);
  link.active = false;
  feed.pay(link.linkId, { status: 'REJECTED', reason: 'link_inactive' });
  await page.waitForSelector('.refused');
  t.match(await seen(page, '#status'), 'Payments are not accepted');
  t.notMatch(await page.content(), ADDRESS.slice(0, 4));
  link.active = true;
  await page.goto(`${url}/p/x`);
  await page.waitForSelector('.qr');
});

t.test(
  'a page that hears its stream never polls, whatever it is priced in, and turns all the same',
  LONG,
  async (t) => {
    const euro = { currency: 'EUR', price: '10', remaining: '40', amount: null };
    const links = [
      pageLink('link'),
      pageLink('priced', { priced: inEuro(), product: { price: '40' } }),
      pageLink('open', { priced: inEuro({ due: null }), product: { priceType: 'CUSTOM', price: null } }),
      pageCheckout('order', { successUrl: null }),
      pageCheckout('euro', { ...euro, successUrl: null }, { priced: inEuro() }),
    ];
    const { url, feed } = await servePages(t, links);
    const opened = await Promise.all(
      links.map(async (link) => {
        const page = await openPage(t, browser);
        const asked: string[] = [];
        page.on('request', (request) => asked.push(new URL(request.url()).pathname.split('/').at(-1)!));
        await page.goto(`${url}/${link.checkout ? 'c' : 'p'}/${link.slug}`);
        return { link, page, asked };
      }),
    );
    // Longer than a page waits before it polls, and than the service before it looks at an
    // order again.
    await new Promise((resolve) => setTimeout(resolve, 16_000));
    for (const { link, page, asked } of opened) {
      if (link.checkout) Object.assign(link.checkout, { status: 'PAID', received: '40' });
      feed.pay(link.linkId, {});
      await page.waitForSelector('.paid');
      const streams = asked.filter((name) => name === 'events').length;
      const polls = asked.filter((name) => name === 'status').length;
      t.strictSame({ streams, polls }, { streams: 1, polls: 0 }, link.slug);
    }
  },
);

t.test('without events the page polls, and says when it hears nothing at all', LONG, async (t) => {
  const link = pageLink('x');
  const { url, feed } = await servePages(t, [link]);
  feed.alive = false;
  const page = await openPage(t, browser);
  await page.goto(`${url}/p/x`);
  await page.waitForTimeout(500);
  const began = Date.now();
  feed.pay(link.linkId, {});
  await page.waitForSelector('.paid', { timeout: 6_000 });
  t.comment(`polled after ${Date.now() - began} ms`);
  t.ok(Date.now() - began < 5_500);

  const offline = await openPage(t, browser);
  await offline.goto(`${url}/p/x`);
  await offline.context().setOffline(true);
  await offline.waitForSelector('[data-offline] .offline', { timeout: 12_000 });
  t.match(await seen(offline, '.waiting'), 'Your payment is not lost');
  await offline.context().setOffline(false);
  await offline.waitForSelector('main:not([data-offline])', { timeout: 6_000 });
});

t.test('an amount redraws link and code; a wrong one is refused beside the field, never drawn', async (t) => {
  const { url } = await servePages(t, [custom('c')]);
  const page = await openPage(t, browser);
  const complaints = watchPage(page);
  await page.goto(`${url}/p/c`);
  const uri = () => page.locator('a.button').getAttribute('href');
  t.notMatch(await uri(), 'amount=', 'the payer chooses in the wallet');
  t.equal(await scan(page), await uri());

  await page.fill('#amount', '1');
  t.ok(await page.locator('#details.stale').count(), 'the drawn page is out of date at once');
  await page.waitForSelector('#details:empty', { state: 'attached' });
  t.equal(await seen(page, '#amount-problem'), '', 'no reproach while typing');
  await page.fill('#amount', '12,5');
  await page.waitForSelector('#details:not(.stale) a.button');
  t.match(await uri(), '&amount=12.5&');
  t.equal(await scan(page), await uri());
  t.match(await seen(page, '#price'), '12.5 XLM');
  t.match(page.url(), /\?amount=12%2C5$/);

  await page.fill('#amount', '4.9999999');
  await page.press('#amount', 'Enter');
  await page.waitForSelector('#amount-problem svg');
  t.equal(await seen(page, '#amount-problem'), 'The minimum is 5 XLM.');
  t.equal(await page.getAttribute('#amount', 'aria-invalid'), 'true');
  t.equal(await page.locator('a.button').count(), 0);
  await page.fill('#amount', '5.12345678');
  await page.getByText('Use at most 7 decimals.').waitFor();
  await page.fill('#amount', '5');
  await page.press('#amount', 'Tab');
  await page.waitForSelector('a.button');
  t.equal(await seen(page, '#amount-problem'), '');
  t.equal(await page.getAttribute('#amount', 'aria-invalid'), null);
  t.strictSame(complaints, []);
});

t.test('without JavaScript everything needed to pay works', async (t) => {
  const local = pageLink('local', { product: { ...custom('x').product }, wallet: { network: 'LOCAL' } });
  const { url, feed } = await servePages(t, [local], {
    testPayer: {
      pay: async ({ amount }) => {
        feed.pay(local.linkId, { amount });
        return { paid: true, transactionHash: 'abc' };
      },
    },
  });
  const options: BrowserContextOptions = { javaScriptEnabled: false, viewport: { width: 320, height: 568 } };
  const page = await openPage(t, browser, options);
  await page.goto(`${url}/p/local`);
  t.notOk(await page.locator('.copy').first().isVisible(), 'no button that does nothing');
  t.notOk(await page.locator('.waiting').isVisible(), 'no promise that is not kept');
  await page.fill('#amount', '3');
  await page.press('#amount', 'Enter');
  t.match(await seen(page, '#amount-problem'), 'The minimum is 5 XLM');
  await page.fill('#amount', '8');
  await page.click('text=Change');
  t.equal(await scan(page), await page.locator('a.button').getAttribute('href'));
  await page.click('text=Has my payment arrived?');
  t.match(await seen(page, '.check'), 'Nothing has arrived yet');
  await page.click('text=Pay 8 XLM from a test account');
  t.match(await seen(page, '.paid'), '8 XLM received');
});

t.test('buttons copy the exact value, with the keyboard alone', async (t) => {
  const { url } = await servePages(t, [pageLink('x', { product: { ...USDC, price: '1234567.5' } })]);
  const page = await openPage(t, browser, { permissions: ['clipboard-read', 'clipboard-write'] });
  await page.goto(`${url}/p/x`);
  t.match((await seen(page, '.price')).replace(/\s+/g, ' '), '1234567.5 USDC');
  const copied: string[] = [];
  const names: string[] = [];
  for (let stop = 0; stop < 12; stop++) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate<{ name: string; outline: string }>(`({
      name: document.activeElement === document.body ? '' : document.activeElement.ariaLabel ?? document.activeElement.textContent.trim(),
      outline: getComputedStyle(document.activeElement).outlineStyle,
    })`);
    if (names.includes(focus.name) || focus.name === '') break;
    names.push(focus.name);
    t.not(focus.outline, 'none', `focus is visible: ${focus.name}`);
    if (!focus.name.startsWith('Copy')) continue;
    await page.keyboard.press('Enter');
    await page.waitForSelector('.copy.done');
    copied.push(await page.evaluate<string>('navigator.clipboard.readText()'));
    await page.waitForFunction(`document.querySelector('#announcement').textContent === 'Copied'`);
  }
  t.strictSame(copied, ['1234567.5', ADDRESS, '7K3M9QX2TZ4A']);
  await page.click('.asset summary');
  await page.click('.asset .copy');
  await page.waitForFunction(`navigator.clipboard.readText().then((text) => text === '${ISSUER}')`);
});

t.test(
  'the page of a checkout redraws what remains after a part, ends by itself, and leads back once it is paid',
  async (t) => {
    const link = pageCheckout('order', { expiresAt: new Date(Date.now() + 600_000) });
    const { url, feed } = await servePages(t, [link]);
    const page = await openPage(t, browser);
    const complaints = watchPage(page);
    await page.route('https://shop.example/**', (route) =>
      route.fulfill({ contentType: 'text/html', body: 'Thank you' }),
    );
    await page.goto(`${url}/c/order`);
    t.match(await seen(page, '#countdown'), /Pay until .* 9 min \d+ sec left/);
    t.match(await page.locator('a.button').getAttribute('href'), 'amount=25&');

    Object.assign(link.checkout!, { received: '20', remaining: '5' });
    link.product.price = '5';
    feed.pay(link.linkId, { status: 'UNDERPAID', reason: 'partial', amount: '20', shortfallAmount: '5' });
    await page.waitForSelector('text=5 XLM still to pay');
    await page.waitForSelector('.by-hand >> text=/^5 XLM/');
    t.match(await page.locator('.scan a.button').getAttribute('href'), 'amount=5&', 'the code asks for what remains');
    t.match(await page.locator('#announcement').textContent(), '5 XLM still to pay');

    Object.assign(link.checkout!, { status: 'PAID', received: '25', remaining: '0' });
    link.product.price = '0';
    feed.pay(link.linkId, { amount: '5', expectedAmount: '5' });
    await page.waitForSelector('#back');
    t.equal(
      await page.locator('#back').getAttribute('href'),
      'https://shop.example/thanks?order=7&checkout=chk_order#top',
    );
    t.equal(await page.locator('#details, .scan').count(), 0);
    await page.waitForURL('https://shop.example/thanks?order=7&checkout=chk_order#top', { timeout: 8_000 });
    t.strictSame(complaints, []);
  },
);

t.test(
  'at the end of its time the page takes address and code away, and says that the ledger is still read',
  LONG,
  async (t) => {
    const link = pageCheckout('late', { expiresAt: new Date(Date.now() + 1_500) });
    const { url } = await servePages(t, [link]);
    const page = await openPage(t, browser);
    await page.goto(`${url}/c/late`);
    t.equal(await page.locator('.qr').count(), 1);
    link.checkout!.ended = true;
    await page.waitForSelector('text=We are still checking the ledger');
    t.equal(await page.locator('.qr, #countdown').count(), 0);
    t.notMatch(await page.locator('main').innerText(), link.memo);
    Object.assign(link.checkout!, { status: 'EXPIRED' });
    await page.waitForSelector('text=This order has expired');
  },
);

t.test('a link to a wallet that nothing answers says so within 2 s, and what to do instead', LONG, async (t) => {
  const { url } = await servePages(t, [pageLink('silent')]);
  const page = await openPage(t, browser);
  await page.goto(`${url}/p/silent?lang=de`);
  t.notOk(await page.locator('.no-answer').isVisible());
  await page.locator('a.open').click();
  await page.locator('.no-answer', { hasText: 'keine Wallet geantwortet' }).waitFor({ timeout: 2_000 });
  // A wallet that opens takes the focus.
  await page.locator('a.open').click();
  await page.evaluate("window.dispatchEvent(new Event('blur'))");
  await page.waitForTimeout(1_800);
  t.notOk(await page.locator('.no-answer').isVisible());
});

t.test('the link that cancels lies below all that pays, and the countdown is seen', async (t) => {
  const { url } = await servePages(t, [pageCheckout('order', { expiresAt: new Date(Date.now() + 120_000) })]);
  const page = await openPage(t, browser);
  await page.goto(`${url}/c/order`);
  const bottomOf = async (selector: string) => {
    const box = (await page.locator(selector).first().boundingBox())!;
    return { top: box.y, bottom: box.y + box.height };
  };
  const cancel = await bottomOf('.cancel a');
  for (const selector of ['a.open', '.by-hand', '.without-memo'])
    t.ok((await bottomOf(selector)).bottom < cancel.top, selector);
  t.ok(await page.locator('.countdown[data-soon]').isVisible());
});

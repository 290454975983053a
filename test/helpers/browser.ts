/** A real Chromium, and hosted pages served from memory. */
import { accessSync, constants } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import express from 'express';
import jsQR from 'jsqr';
import { pino } from 'pino';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { PNG } from 'pngjs';
import type { Test } from 'tap';
import { parseAmount } from '../../src/domain/amount.js';
import { NO_BRAND } from '../../src/domain/brand.js';
import { parseRate } from '../../src/domain/rate.js';
import { systemClock } from '../../src/kit/clock.js';
import { createPageRouter, type PageDeps } from '../../src/page/router.js';
import type { PageCheckout, PageLink, PagePayment, PagePrice, StatusFeed } from '../../src/page/types.js';

/** The shell comes first: it has no windows, which would cost a second of CPU for each page. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** @throws Error that says what to install when there is none */
export function findChromium(): string {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const candidates = [
    process.env.CHROMIUM_PATH,
    ...NAMES.flatMap((name) => folders.map((folder) => join(folder, name))),
  ];
  for (const path of candidates) {
    if (!path) continue;
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      if (path === process.env.CHROMIUM_PATH) throw new Error(`CHROMIUM_PATH names no program: ${path}`);
    }
  }
  throw new Error(
    'The browser tests need Chromium: install it (Debian and Ubuntu: apt-get install chromium-headless-shell), or set CHROMIUM_PATH to a Chromium or Chrome.',
  );
}

/** Closed with the test. */
export async function openBrowser(t: Test, more: readonly string[] = []): Promise<Browser> {
  const browser = await chromium.launch({
    executablePath: findChromium(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      ...more,
    ],
  });
  t.teardown(() => browser.close());
  return browser;
}

export type MemoryFeed = StatusFeed & {
  pay(linkId: string, payment: Partial<PagePayment>): PagePayment;
  listeners(): number;
  /** False: it has no news, as when the database does not answer. */
  alive: boolean;
};

export function createMemoryFeed(): MemoryFeed {
  const payments: { linkId: string; payment: PagePayment }[] = [];
  const subscribed = new Set<{ linkId: string; listener: (payment: PagePayment) => void }>();
  return {
    alive: true,
    live() {
      return this.alive;
    },
    subscribe({ linkId }, listener) {
      const subscription = { linkId, listener };
      subscribed.add(subscription);
      return () => subscribed.delete(subscription);
    },
    since: async ({ linkId }, since) =>
      payments
        .filter((each) => each.linkId === linkId && each.payment.createdAt >= since)
        .map((each) => each.payment)
        .reverse(),
    pay(linkId, given) {
      const payment: PagePayment = {
        id: `pay_${payments.length}`,
        status: 'COMPLETED',
        reason: null,
        amount: '25',
        assetCode: 'XLM',
        assetIssuer: null,
        expectedAmount: '25',
        excessAmount: null,
        shortfallAmount: null,
        value: null,
        refundedAmount: null,
        senderShort: 'GDQP…Z4KM',
        transactionHash: '3389e9f0f1a65f19736cacf544c2e825313e8447f569233bb8db39aa607c8889',
        explorerUrl: null,
        closedAt: new Date(),
        createdAt: new Date(),
        ...given,
      };
      const known = payments.find((each) => each.payment.id === payment.id);
      if (known) known.payment = payment;
      else payments.push({ linkId, payment });
      for (const each of subscribed) if (each.linkId === linkId) each.listener(payment);
      return payment;
    },
    listeners: () => subscribed.size,
  };
}

export const ADDRESS = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
export const ISSUER = 'GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN';

type PageLinkChanges = Partial<Omit<PageLink, 'product' | 'wallet' | 'brand'>> & {
  brand?: Partial<PageLink['brand']>;
  product?: Partial<PageLink['product']>;
  wallet?: Partial<PageLink['wallet']>;
};

export const pageLink = (slug: string, { product, wallet, brand, ...link }: PageLinkChanges = {}): PageLink => ({
  accountId: 'acc_shop',
  linkId: `link_${slug}`,
  slug,
  memo: '7K3M9QX2TZ4A',
  memoId: '256258499033250970',
  muxedAddress: 'MA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJUA4ONG7ULDJ4TJZYY',
  active: true,
  accountName: null,
  embedOrigins: [],
  ...link,
  product: {
    name: 'Coffee beans, 1 kg',
    description: null,
    imageUrl: null,
    assetCode: 'XLM',
    assetIssuer: null,
    priceType: 'FIXED',
    price: '25',
    minAmount: null,
    active: true,
    ...product,
  },
  wallet: { address: ADDRESS, network: 'PUBLIC', active: true, ...wallet },
  brand: { ...NO_BRAND, ...brand },
});

/** A price in EUR: 10 EUR at 0.25 EUR, which `product.price` or a checkout's `remaining` says
 *  in XLM. */
export const inEuro = (changes: Partial<PagePrice> = {}): PagePrice => {
  const at = new Date();
  const rate = {
    rate: parseRate('0.25')!,
    at,
    source: 'own',
    stale: false,
    validUntil: new Date(at.getTime() + 60_000),
  };
  return { currency: 'EUR', due: '10', minAmount: null, rate, ...changes };
};

/** One line without anything else. */
export const plainOrder = (total: string): PageCheckout['order'] => ({
  lines: [{ productId: null, name: 'Thing', quantity: 1, price: total, total, net: total, tax: '0' }],
  ...{ taxIncluded: true, subtotal: total, discount: null, tax: '0', taxes: [], tip: '0', total },
});

/** A page of a checkout over 25 XLM, open for an hour. */
export const pageCheckout = (
  slug: string,
  changes: Partial<PageCheckout> = {},
  link: PageLinkChanges = {},
): PageLink => {
  const checkout: PageCheckout = {
    id: `chk_${slug}`,
    status: 'OPEN',
    reference: null,
    amount: '25',
    quantity: null,
    order: plainOrder('25'),
    received: '0',
    remaining: '25',
    excess: null,
    refunded: '0',
    expiresAt: new Date(Date.now() + 3_600_000),
    paidAt: null,
    closedAt: null,
    ended: false,
    successUrl: 'https://shop.example/thanks?order=7#top',
    cancelUrl: 'https://shop.example/cart',
    isOrdered: false,
    ...changes,
  };
  return pageLink(slug, {
    linkId: checkout.id,
    checkout,
    ...link,
    product: { price: checkout.remaining, ...link.product },
  });
};

/** Serves the links' pages on loopback until the test ends. */
export async function servePages(t: Test, links: PageLink[], deps: Partial<PageDeps> = {}) {
  const feed = createMemoryFeed();
  const router = createPageRouter({
    pages: {
      linkBySlug: async (slug) => links.find((link) => link.slug === slug && !link.checkout) ?? null,
      checkoutBySlug: async (slug) => links.find((link) => link.slug === slug && link.checkout) ?? null,
      mostDue: async ({ product }) => parseAmount(product.price!)!,
      paidBy: async (slug, most) => {
        const paid = links.find((link) => link.slug === slug && link.checkout)!;
        const all = await feed.since(paid, new Date(0));
        const counted = all.filter(({ status }) => status !== 'REJECTED');
        return { count: counted.length, largest: counted.slice(0, most) };
      },
    },
    status: feed,
    testPayer: null,
    payerLedger: null,
    takeOrder: async () => null,
    clock: systemClock,
    log: pino({ level: 'silent' }),
    publicUrl: 'http://localhost:3000',
    ...deps,
  });
  const app = express().disable('x-powered-by').use(router);
  const server = createServer(app).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  t.teardown(() => {
    router.close();
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, feed, router, server };
}

/** Reads the QR code from a screenshot of it and its surroundings; null when the reader
 *  finds none. */
export async function scan(page: Page): Promise<string | null> {
  const { data, width, height } = PNG.sync.read(await page.locator('.scan').screenshot());
  return jsQR.default(new Uint8ClampedArray(data), width, height)?.data ?? null;
}

/** Closed with the test. */
export async function openContext(
  t: Test,
  browser: Browser,
  options: BrowserContextOptions = {},
): Promise<BrowserContext> {
  const context = await browser.newContext(options);
  t.teardown(async () => {
    // A route that is still answering would reject after the close; nothing awaits it, so the
    // rejection would end the process.
    await Promise.all([context, ...context.pages()].map((each) => each.unrouteAll({ behavior: 'ignoreErrors' })));
    await context.close();
  });
  return context;
}

/** A page in its own context, closed with the test. */
export const openPage = async (t: Test, browser: Browser, options: BrowserContextOptions = {}): Promise<Page> =>
  (await openContext(t, browser, options)).newPage();

/** Devices of a page that make passkeys and sign in with them, without a touch. */
export async function passkeyDevices(page: Page): Promise<{ add(transport: 'internal' | 'usb'): Promise<unknown> }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  return {
    add: (transport) =>
      cdp.send('WebAuthn.addVirtualAuthenticator', {
        options: {
          ...{ protocol: 'ctap2', transport, automaticPresenceSimulation: true },
          ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
        },
      }),
  };
}

/** The visible text of the first such element. */
export const seen = (page: Page, selector: string): Promise<string> => page.locator(selector).first().innerText();

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Violations that axe finds on the page, each with its elements. */
export async function axeViolations(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'));
  const found = await page.evaluate<{ id: string; nodes: { html: string }[] }[]>(
    'axe.run({ resultTypes: ["violations"] }).then((all) => all.violations)',
  );
  return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Complaints of a page: its own errors, blocks by its policy, and requests to other hosts. */
export function watchPage(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    // Tests provoke answers other than 200.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource'))
      complaints.push(message.text());
  });
  return complaints;
}

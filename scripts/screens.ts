/** `node --import=tsx scripts/screens.ts FOLDER [part of a name]`: takes a picture of each state of
 *  the payment pages, light and dark, on a phone and on a desktop, and some in Arabic. The pictures
 *  are for looking at; nothing compares them. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Keypair } from '@stellar/stellar-sdk';
import { type Browser, chromium, type Page } from 'playwright-core';
import { parseRate } from '../src/domain/rate.js';
import type { PageLink, PagePayment } from '../src/page/types.js';
import { findChromium, ISSUER, pageCheckout, pageLink, servePages } from '../test/helpers/browser.js';
import { playWallet } from '../test/helpers/extensions.js';

const [folder, part = ''] = process.argv.slice(2);
if (!folder) {
  console.error('Name the folder: node --import=tsx scripts/screens.ts FOLDER');
  process.exit(1);
}

interface Screen {
  name: string;
  link: PageLink;
  /** Relative to the page's address. */
  path?: string;
  payments?: Partial<PagePayment>[];
  /** The payer's actions before the picture is taken. */
  act?: (page: Page) => Promise<void>;
}

const PRODUCT = { description: 'Roasted on the day it is sent. Whole beans, in a paper bag.' };
const BRAND = { name: 'Bean & Leaf', color: '#1b6e4b', supportEmail: 'help@shop.example' };
const shop = { product: PRODUCT, brand: BRAND } as const;
const eur = (due: string | null, isFresh = true) => {
  const at = new Date();
  const rate = { rate: parseRate('0.25')!, source: 'kraken', at, validUntil: at, stale: false };
  return { currency: 'EUR', due, minAmount: null, rate: isFresh ? rate : null } as PageLink['priced'] & object;
};
const order = { reference: 'order-1187', quantity: 2 } as const;
const paid = { ...order, status: 'PAID', received: '25', remaining: '0', paidAt: new Date() } as const;
const open = async (page: Page) => {
  await page.click('.by-wallet button');
  await page.waitForSelector('#wallets .choice');
};
const connect = async (page: Page) => {
  await open(page);
  await page.click('#wallets .choice:has(b:text-is("Freighter"))');
  await page.waitForSelector('#wallets .pay');
};

/** The ways in which the connected account can pay. */
const WAYS = [
  { asset: { code: 'XLM', issuer: null }, balance: 9_000_000_000n, cost: 250_000_000n },
  { asset: { code: 'EURC', issuer: ISSUER }, balance: 1_204_500_000n, cost: 62_512_345n },
  { asset: { code: 'USDC', issuer: ISSUER }, balance: 800_000_000n, cost: 70_120_000n },
];

const SCREENS: Screen[] = [
  { name: 'link-waiting', link: pageLink('waiting', shop) },
  {
    name: 'link-issued-asset',
    link: pageLink('usdc', {
      ...shop,
      product: { ...PRODUCT, assetCode: 'USDC', assetIssuer: ISSUER, price: '1234.5' },
    }),
  },
  { name: 'link-choose-amount', link: custom('choose') },
  { name: 'link-amount-wrong', link: custom('wrong'), path: '?amount=4' },
  { name: 'link-amount-chosen', link: custom('chosen'), path: '?amount=12.5' },
  {
    name: 'link-in-euros',
    link: pageLink('euros', { ...shop, product: { ...PRODUCT, price: '38' }, priced: eur('9.50') }),
  },
  {
    name: 'link-no-price',
    link: pageLink('no-price', { ...shop, product: { ...PRODUCT, price: null }, priced: eur('9.50', false) }),
  },
  { name: 'link-warnings', link: pageLink('warnings', { ...shop, warnings: ['no_trustline'] }) },
  { name: 'link-test-network', link: pageLink('local', { wallet: { network: 'LOCAL' } }) },
  { name: 'link-off', link: pageLink('off', { ...shop, active: false }) },
  { name: 'link-paid', link: pageLink('paid', shop), payments: [{}] },
  {
    name: 'link-overpaid',
    link: pageLink('over', shop),
    payments: [{ reason: 'overpaid', amount: '30', excessAmount: '5' }],
  },
  {
    name: 'link-underpaid',
    link: pageLink('under', shop),
    payments: [{ status: 'UNDERPAID', reason: 'below_price', amount: '20', shortfallAmount: '5' }],
  },
  {
    name: 'link-wrong-asset',
    link: pageLink('asset', shop),
    payments: [{ status: 'REJECTED', reason: 'wrong_asset', assetCode: 'USDC', assetIssuer: ISSUER }],
  },
  { name: 'link-sent-back', link: pageLink('back', shop), payments: [{ refundedAmount: '25' }] },
  { name: 'checkout-waiting', link: pageCheckout('waiting', order, shop) },
  {
    name: 'checkout-ends-soon',
    link: pageCheckout('soon', { ...order, expiresAt: new Date(Date.now() + 200_000) }, shop),
  },
  {
    name: 'checkout-part',
    link: pageCheckout('part', { ...order, received: '20', remaining: '5' }, shop),
    payments: [{ status: 'UNDERPAID', reason: 'partial', amount: '20', shortfallAmount: '5' }],
  },
  {
    name: 'checkout-refused-part',
    link: pageCheckout('refused', order, shop),
    payments: [{ status: 'REJECTED', reason: 'wrong_asset', assetCode: 'USDC', assetIssuer: ISSUER }],
  },
  { name: 'checkout-paid', link: pageCheckout('paid', paid, shop), payments: [{}] },
  {
    name: 'checkout-overpaid',
    link: pageCheckout('over', { ...paid, received: '30', excess: '5' }, shop),
    payments: [{ reason: 'overpaid', amount: '30', excessAmount: '5' }],
  },
  {
    name: 'checkout-sent-back',
    link: pageCheckout('back', { ...paid, refunded: '25' }, shop),
    payments: [{ refundedAmount: '25' }],
  },
  { name: 'checkout-checking', link: pageCheckout('checking', { ...order, ended: true }, shop) },
  { name: 'checkout-expired', link: pageCheckout('expired', { ...order, status: 'EXPIRED' }, shop) },
  { name: 'checkout-cancelled', link: pageCheckout('cancelled', { ...order, status: 'CANCELLED' }, shop) },
  { name: 'wallets', link: pageCheckout('wallets', order, shop), act: open },
  { name: 'wallets-connected', link: pageCheckout('connected', order, shop), act: connect },
  {
    name: 'wallets-refused',
    link: pageCheckout('declined', order, shop),
    act: async (page) => {
      await connect(page);
      await page.click('#wallets .pay');
      await page.waitForSelector('#wallets .problem:not(:empty)');
    },
  },
  {
    name: 'no-wallet-answers',
    link: pageLink('no-answer', shop),
    act: async (page) => {
      await page.click('a.open');
      await page.waitForSelector('.no-answer:not(:empty)');
    },
  },
  { name: 'receipt', link: pageCheckout('receipt', paid, shop), path: '/receipt', payments: [{}] },
  { name: 'poster', link: pageLink('poster', shop), path: '/poster' },
  { name: 'unknown', link: pageLink('known'), path: '-not' },
];

function custom(slug: string): PageLink {
  return pageLink(slug, { ...shop, product: { ...PRODUCT, priceType: 'CUSTOM', price: null, minAmount: '5' } });
}

const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
const LOOKS = [
  { look: 'phone-light', viewport: PHONE, colorScheme: 'light', lang: 'en' },
  { look: 'phone-dark', viewport: PHONE, colorScheme: 'dark', lang: 'en' },
  { look: 'desktop-light', viewport: DESKTOP, colorScheme: 'light', lang: 'en' },
  { look: 'desktop-dark', viewport: DESKTOP, colorScheme: 'dark', lang: 'en' },
  { look: 'phone-arabic', viewport: PHONE, colorScheme: 'light', lang: 'ar' },
  { look: 'desktop-arabic', viewport: DESKTOP, colorScheme: 'light', lang: 'ar' },
] as const;

/** Connects a wallet whose account exists, and which declines to sign. */
async function withWallet(page: Page): Promise<void> {
  const played = await playWallet(page, { extension: 'freighter' }, Keypair.fromRawEd25519Seed(Buffer.alloc(32, 7)));
  played.passphrase = 'Public Global Stellar Network ; September 2015';
  played.refuses = { what: 'sign', error: { code: -4, message: 'no' } };
}

async function picture(browser: Browser, url: string, { name, link, path = '', act }: Screen): Promise<void> {
  for (const { look, viewport, colorScheme, lang } of LOOKS) {
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' });
    const page = await context.newPage();
    page.on(
      'console',
      (message) =>
        message.type() === 'error' &&
        !/^Failed to load/.test(message.text()) &&
        console.error(`${name} ${look}: ${message.text()}`),
    );
    if (act) await withWallet(page);
    const address = `${url}/${link.checkout ? 'c' : 'p'}/${link.slug}${path}`;
    const asked = `${address}${address.includes('?') ? '&' : '?'}lang=${lang}&since=0`;
    await page.goto(asked, { waitUntil: 'load' });
    await act?.(page);
    // A dialog covers only the visible part; other pages are captured in full.
    await page.screenshot({ path: join(folder!, `${name}-${look}.png`), fullPage: !name.startsWith('wallets') });
    const wide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    if (wide > 0) console.error(`${name} ${look}: ${wide} pixels too wide`);
    await context.close();
  }
}

mkdirSync(folder, { recursive: true });
const ends: (() => unknown)[] = [];
const chosen = SCREENS.filter(({ name }) => name.includes(part));
const { url, feed } = await servePages(
  { teardown: (end: () => unknown) => void ends.push(end) } as never,
  chosen.map(({ link }) => link),
  {
    testPayer: { pay: async () => ({ paid: false, code: null, message: '' }) },
    payerLedger: {
      sequenceOf: async () => ({ state: 'known', sequence: '7' }),
      waysOf: async () => ({ state: 'known', ways: WAYS }),
      submit: async () => ({ state: 'unavailable' }),
    } as never,
  },
);
for (const { link, payments = [] } of chosen) for (const payment of payments) feed.pay(link.linkId, payment);
const browser = await chromium.launch({ executablePath: findChromium(), args: ['--no-sandbox', '--disable-gpu'] });
try {
  for (const screen of chosen) await picture(browser, url, screen);
  console.log(`${chosen.length} states, ${chosen.length * LOOKS.length} pictures in ${folder}`);
} finally {
  await browser.close();
  for (const end of ends) await end();
}

/** Shared by all routes of the hosted page: finds a request's link or checkout, and its state. */

import type { Request, Response } from 'express';
import type { Logger } from 'pino';
import type { PayerLedger } from '../asking/index.js';
import { parseAmount } from '../domain/amount.js';
import { type PayRequest, type PayUri, payUri } from '../domain/sep7.js';
import { ApiError } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import { quoteOf } from '../rates/index.js';
import type { TakeOrder } from '../selling/index.js';
import { type Assets, createAssets } from './assets.js';
import { shownLogo } from './brand.js';
import { checkoutStateOf } from './checkout-state.js';
import { unknownView } from './document.js';
import { judgeEntered } from './entered-amount.js';
import { contentSecurityPolicy, type ShownImage } from './headers.js';
import type { Html } from './html.js';
import { pageStateOf } from './page-state.js';
import { languageOf } from './texts/index.js';
import type { PageLink, PagePayment, PageProofs, PageSource, StatusFeed, TestPayer } from './types.js';
import { PAGE_MEMORY_MS } from './types.js';
import { type Words, wordsOf } from './words.js';

const DAY_MS = 24 * 3_600_000;
/** The characters of slugs; nothing else is looked up. */
const SLUG = /^[A-Za-z0-9_-]{1,64}$/;

export interface PageDeps {
  pages: PageSource;
  status: StatusFeed;
  /** Null without payments from a test account. */
  testPayer: TestPayer | null;
  /** For payers with a wallet in the browser; null if not offered. */
  payerLedger: PayerLedger | null;
  /** Makes a checkout for a payer of an order link. */
  takeOrder: TakeOrder;
  /** Null or missing without proofs. */
  proofs?: PageProofs | null;
  clock: Clock;
  log: Logger;
  /** Base of the links' URLs; may have a path. */
  publicUrl: string;
  /** Writes payment requests; unsigned ones when left out. */
  payUri?: PayUri;
  /** Event streams at once; beyond them, pages poll. */
  maxStreams?: number;
  maxStreamsPerAddress?: number;
  /** Counts a request of a client address. @returns 0 when it is let through, else the seconds
   *  to wait */
  limit?: (address: string) => number;
  addressOf?: (req: Request) => string;
  /** Days after which the page of a closed checkout shows only that it is closed; 0 for never.
   *  Default 0. */
  receiptDays?: number;
  /** The account that the browser is signed in to; null for none. */
  signedInTo?: (req: Request) => Promise<string | null>;
}

export interface PageContext extends PageDeps {
  limit: (address: string) => number;
  addressOf: (req: Request) => string;
  assets: Assets;
  /** Path of `publicUrl`, without a trailing slash. */
  base: string;
}

export const createPageContext = (deps: PageDeps): PageContext => ({
  ...deps,
  limit: deps.limit ?? (() => 0),
  addressOf: deps.addressOf ?? ((req) => req.ip ?? 'unknown'),
  assets: createAssets(),
  base: new URL(deps.publicUrl).pathname.replace(/\/+$/, ''),
});

export function wordsFor(req: Request): Words {
  const { language, asked } = languageOf(req);
  return wordsOf(language, asked);
}

export const frameOf = ({ assets, base }: PageContext, req: Request) => ({ assets, base, words: wordsFor(req) });

export const send = (res: Response, code: number, view: Html) => void res.status(code).type('html').send(view.text);

/** A page with these images, which the shop's own pages may frame. */
export function setPolicy(
  res: Response,
  { brand, embedOrigins }: PageLink,
  images: readonly (ShownImage | null)[] = [],
): void {
  res.set(contentSecurityPolicy([...images, shownLogo(brand)], embedOrigins));
  // Browsers that know the policy would obey both.
  if (embedOrigins.length > 0) res.removeHeader('x-frame-options');
}

export const addressOfPage = ({ base }: PageContext, link: PageLink) =>
  `${base}/${link.checkout ? 'c' : 'p'}/${link.slug}`;

export const uriOf = (context: PageContext, link: PageLink, amount: string | null) =>
  (context.payUri ?? payUri)(requestOf(link, amount));

export const isTestPayable = ({ testPayer }: PageContext, link: PageLink) =>
  testPayer !== null && link.wallet.network === 'LOCAL';

export const stateOf = (context: PageContext, words: Words, link: PageLink, payments: readonly PagePayment[]) =>
  (link.checkout ? checkoutStateOf : pageStateOf)(words, link, payments, addressOfPage(context, link));

/** The state for the page's script: complete each time, so that missing one does no harm. */
export function snapshot(context: PageContext, words: Words, link: PageLink, payments: readonly PagePayment[]) {
  const { html, ...pageState } = stateOf(context, words, link, payments);
  return {
    ...pageState,
    html: html.text,
    payments: payments.map(({ id: _, value: __, closedAt: ___, ...known }) => known),
  };
}

/** A checkout's page shows all its payments, a link's page those since it was opened. */
export async function paymentsOf({ status }: PageContext, link: PageLink, since: Date | null): Promise<PagePayment[]> {
  if (link.checkout) return status.since(link, new Date(0));
  return since ? status.since(link, since) : [];
}

/** The time from which the page requests payments, if given: never in the future, at most a
 *  day back. */
export function sinceOf({ clock }: PageContext, value: unknown): Date | null {
  if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return null;
  const nowMs = clock.nowMs();
  return new Date(Math.min(nowMs, Math.max(Number(value), nowMs - PAGE_MEMORY_MS)));
}

/** A checkout that was closed so long ago that strangers see nothing else of it. */
export class LongClosed extends ApiError {}

/** The link or checkout that the path names; null for none. @throws LongClosed */
export async function linkOf(context: PageContext, req: Request): Promise<PageLink | null> {
  const link = await found(context, req, context.addressOf(req));
  if (link && isLongClosed(context, link) && (await context.signedInTo?.(req)) !== link.accountId)
    throw new LongClosed('conflict', wordsFor(req).say('orderClosed'));
  return link;
}

function isLongClosed({ clock, receiptDays = 0 }: PageContext, { checkout }: PageLink): boolean {
  if (!checkout?.closedAt || receiptDays === 0) return false;
  // What was accepted after its end was closed by that.
  const closedMs = Math.max(checkout.closedAt.getTime(), checkout.paidAt?.getTime() ?? 0);
  return clock.nowMs() - closedMs >= receiptDays * DAY_MS;
}

async function found({ pages }: PageContext, req: Request, visitor: string | null): Promise<PageLink | null> {
  const slug = String(req.params.slug);
  const find = req.path.startsWith('/c/') ? pages.checkoutBySlug : pages.linkBySlug;
  return SLUG.test(slug) ? find(slug, visitor) : null;
}

type Handle = (req: Request, res: Response, link: PageLink) => void | Promise<void>;

/** Answers 404 unless the path names a link or checkout. */
export const withLink =
  (
    context: PageContext,
    handle: Handle,
    find: (context: PageContext, req: Request) => Promise<PageLink | null> = linkOf,
  ) =>
  async (req: Request, res: Response): Promise<void> => {
    const link = await find(context, req);
    return link ? handle(req, res, link) : sendUnknown(context, req, res);
  };

/** The same for a QR code, which shows neither shop nor warnings, and nothing of what is closed. */
export const withCode = (context: PageContext, handle: Handle) =>
  withLink(context, handle, (_context, req) => found(context, req, null));

export const sendUnknown = (context: PageContext, req: Request, res: Response) =>
  send(res, 404, unknownView(frameOf(context, req)));

/** The amount to pay in the asset: the price, or the payer's amount, at the current rate if in
 *  a currency. */
export function termsOf(words: Words, { product, priced, order }: PageLink, enteredAmount: unknown) {
  // A payer's checkout says what he pays.
  if (order) return { entered: { state: 'none' } as const, amount: null };
  if (product.priceType === 'FIXED') return { entered: { state: 'none' } as const, amount: product.price };
  const entered = judgeEntered(words, enteredAmount, product, priced);
  if (entered.state !== 'valid') return { entered, amount: null };
  if (!priced) return { entered, amount: entered.amount };
  return { entered, amount: (priced.rate && quoteOf(priced.rate, parseAmount(entered.amount)!)?.amount) ?? null };
}

const requestOf = ({ product, wallet, memo }: PageLink, amount: string | null): PayRequest => ({
  destination: wallet.address,
  amount,
  asset: { code: product.assetCode, issuer: product.assetIssuer },
  memo,
  network: wallet.network,
});

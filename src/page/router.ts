/** The hosted page over HTTP: the page, its QR code, its status to follow or to poll, and on LOCAL a button that pays. */
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { parseAmount } from '../domain/amount.js';
import { ApiError } from '../domain/api-error.js';
import { type PayRequest, type PayUri, payUri } from '../domain/sep7.js';
import type { PayerLedger } from '../ingest/payer-ledger.js';
import { quoteOf } from '../rates/quote.js';
import { qrPng, qrSvg } from '../resources/qr.js';
import { createAssets } from './assets.js';
import { shownLogo } from './brand.js';
import { checkoutStateOf } from './checkout-state.js';
import { busyView, faultView, unknownView } from './document.js';
import { judgeEntered } from './entered-amount.js';
import { createFollow } from './follow.js';
import {
  contentSecurityPolicy,
  embeddedAnywhere,
  opensWallets,
  shownImage,
  strictHeaders,
  watchedByOpener,
} from './headers.js';
import type { Html } from './html.js';
import { createLinkUpdates } from './link-updates.js';
import { openerOf } from './opener.js';
import { closedBecause, pageStateOf } from './page-state.js';
import { posterView } from './poster.js';
import { qrCode } from './qr.js';
import { receiptView } from './receipt.js';
import { refusalSentence } from './refusal.js';
import { createStreams } from './streams.js';
import { languageOf } from './texts/index.js';
import type { PageLink, PagePayment, PageSource, StatusFeed, TestPayer, TestPayment } from './types.js';
import { PAGE_MEMORY_MS } from './types.js';
import { pageView } from './view.js';
import { createWalletPayments } from './wallet-payment.js';
import { type Words, wordsOf } from './words.js';

/** Whatever a slug was ever made of; nothing else is looked up. */
const SLUG = /^[A-Za-z0-9_-]{1,64}$/;
const MAX_STREAMS = 10_000;
const MAX_STREAMS_PER_ADDRESS = 20;
/** A code that somebody embeds may be shown this long after its link was switched off. */
const QR_CACHE_SECONDS = 60;

export interface PageDeps {
  pages: PageSource;
  status: StatusFeed;
  /** Null where nobody may pay from a test account. */
  testPayer: TestPayer | null;
  /** For payers with a wallet in the browser; null where none is offered. */
  payerLedger: PayerLedger | null;
  clock: Clock;
  log: Logger;
  /** Base of the links' URLs; may have a path. */
  publicUrl: string;
  /** Writes payment requests; unsigned ones when left out. */
  payUri?: PayUri;
  /** Event streams at once; beyond them, pages poll. */
  maxStreams?: number;
  maxStreamsPerAddress?: number;
  /** Counts a request of a client address. @returns 0 when it is let through, else the seconds to wait */
  limit?: (address: string) => number;
  addressOf?: (req: Request) => string;
}

/** `close` ends the event streams, and must come before the server waits for its connections to end. */
export type PageRouter = Router & { close(): void; openStreams(): number };

/** @returns a router for the root: `/p/…`, `/c/…` and `/page/…`. */
export function createPageRouter(deps: PageDeps): PageRouter {
  const { pages, status, testPayer, payerLedger, clock, log } = deps;
  const { maxStreams = MAX_STREAMS, maxStreamsPerAddress = MAX_STREAMS_PER_ADDRESS, limit = () => 0 } = deps;
  const addressOfClient = deps.addressOf ?? ((req) => req.ip ?? 'unknown');
  const base = new URL(deps.publicUrl).pathname.replace(/\/+$/, '');
  const assets = createAssets();
  const uriOf = (link: PageLink, amount: string | null) => (deps.payUri ?? payUri)(requestOf(link, amount));
  const wordsFor = (req: Request): Words => {
    const { language, asked } = languageOf(req);
    return wordsOf(language, asked);
  };
  const frameOf = (req: Request) => ({ assets, base, words: wordsFor(req) });
  const fed = () => status.live();
  const streams = createStreams({ clock, limit: maxStreams, limitPerAddress: maxStreamsPerAddress, fed });

  const send = (res: Response, code: number, view: Html) => void res.status(code).type('html').send(view.text);
  const addressOf = (link: PageLink) => `${base}/${link.checkout ? 'c' : 'p'}/${link.slug}`;
  const stateOf = (words: Words, link: PageLink, payments: readonly PagePayment[]) =>
    (link.checkout ? checkoutStateOf : pageStateOf)(words, link, payments, addressOf(link));
  const testPayable = (link: PageLink) => testPayer !== null && link.wallet.network === 'LOCAL';

  /** The page of a checkout shows all of its payments, that of a link those since it was opened. */
  async function paymentsOf({ linkId, checkout }: PageLink, since: Date | null): Promise<PagePayment[]> {
    if (checkout) return status.since(linkId, new Date(0));
    return since ? status.since(linkId, since) : [];
  }

  async function linkOf(req: Request): Promise<PageLink | null> {
    const slug = String(req.params.slug);
    const find = req.path.startsWith('/c/') ? pages.checkoutBySlug : pages.linkBySlug;
    return SLUG.test(slug) ? find(slug, addressOfClient(req)) : null;
  }

  /** Answers 404 unless there is such a link or checkout. */
  const withLink =
    (handle: (req: Request, res: Response, link: PageLink) => void | Promise<void>) =>
    async (req: Request, res: Response): Promise<void> => {
      const link = await linkOf(req);
      return link ? handle(req, res, link) : send(res, 404, unknownView(frameOf(req)));
    };

  /** The time from which on a page wants to know, if it says one: never in the future, at most a day back. */
  function sinceOf(value: unknown): Date | null {
    if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return null;
    const nowMs = clock.nowMs();
    return new Date(Math.min(nowMs, Math.max(Number(value), nowMs - PAGE_MEMORY_MS)));
  }

  async function showPage(
    req: Request,
    res: Response,
    link: PageLink,
    given: { amount?: unknown; since?: unknown; problem?: string },
    opener: string | null = null,
  ): Promise<void> {
    const since = sinceOf(given.since);
    const opened = since ?? clock.now();
    const payments = await paymentsOf(link, since);
    const frame = frameOf(req);
    const { words } = frame;
    const terms = termsOf(words, link, given.amount);
    const uri = uriOf(link, terms.amount);
    const image = shownImage(link.product.imageUrl);
    const view = pageView(frame, {
      words,
      link,
      ...terms,
      pageState: stateOf(words, link, payments),
      uri,
      qr: await qrCode(uri),
      image,
      address: addressOf(link),
      opened: opened.getTime(),
      nowMs: clock.nowMs(),
      looked: since !== null,
      testPayable: testPayable(link),
      walletPayable: payerLedger !== null,
      problem: given.problem ?? null,
      opener,
    });
    res.set({
      ...contentSecurityPolicy([image, shownLogo(link.brand)]),
      ...(payerLedger !== null && opensWallets),
      ...(opener !== null && watchedByOpener),
    });
    send(res, given.problem !== undefined ? 502 : terms.entered.state === 'wrong' ? 422 : 200, view);
  }

  /** What the script takes over: the whole state each time, so that nothing is lost between two of them. */
  function snapshot(words: Words, link: PageLink, payments: readonly PagePayment[]) {
    const { html, ...pageState } = stateOf(words, link, payments);
    return {
      ...pageState,
      html: html.text,
      payments: payments.map(({ id: _, value: __, closedAt: ___, ...known }) => known),
    };
  }

  const follow = createFollow({
    status,
    streams,
    updates: createLinkUpdates({ clock, log }),
    sinceOf: (req) => sinceOf(req.query.since) ?? clock.now(),
    addressOf: addressOfClient,
    snapshot: (words, link, payments) => JSON.stringify(snapshot(words, link, payments)),
    wordsOf: wordsFor,
  });

  async function payFromTestAccount(req: Request, res: Response, link: PageLink): Promise<void> {
    const { body = {} } = req as { body?: { amount?: unknown; since?: unknown } };
    const foreign = !['same-origin', 'none', undefined].includes(req.get('sec-fetch-site'));
    if (!testPayer || !testPayable(link) || foreign) return send(res, 404, unknownView(frameOf(req)));
    const words = wordsFor(req);
    const { entered, amount } = termsOf(words, link, body.amount);
    if (amount === null || closedBecause(link) !== null) return showPage(req, res, link, body);

    const { wallet, memo, product } = link;
    const { assetCode, assetIssuer } = product;
    const payment = await testPayer
      .pay({ destination: wallet.address, amount, assetCode, assetIssuer, memo })
      .catch((error: unknown): TestPayment => ({ paid: false, code: null, message: String(error) }));
    const isJson = req.accepts(['html', 'json']) === 'json';
    if (!payment.paid) {
      const { code, message } = payment;
      log.warn({ linkId: link.linkId, code, message }, 'test payment failed');
      const problem = code === null ? words.say('testFailed') : refusalSentence(words, code, link);
      return isJson
        ? void res.status(502).json({ paid: false, message: problem })
        : showPage(req, res, link, { ...body, problem });
    }
    if (isJson) return void res.json(payment);
    const since = sinceOf(body.since) ?? clock.now();
    const query = new URLSearchParams({
      since: String(since.getTime()),
      ...(entered.state === 'valid' ? { amount: entered.amount } : {}),
    });
    res.redirect(303, words.here(`${addressOf(link)}?${query}`));
  }

  const fault: ErrorRequestHandler = (error, req, res, _next) => {
    if (error?.status >= 400 && error?.status < 500) return send(res, 404, unknownView(frameOf(req)));
    const isAway = error instanceof ApiError && error.code === 'unavailable';
    if (!isAway) log.error({ err: error, path: req.path }, 'page failed');
    if (res.headersSent) return void res.destroy();
    if (isAway) {
      res.set('retry-after', String(error.retryAfterSeconds));
      return send(res, 503, faultView(frameOf(req), null));
    }
    send(res, 500, faultView(frameOf(req), (res.get('x-request-id') as string | undefined) ?? null));
  };

  const router = express.Router();
  router.use(['/p', '/c', '/page'], strictHeaders);
  router.use(['/p', '/c'], (req, res, next) => {
    res.set('content-language', wordsFor(req).language).vary('Accept-Language');
    next();
  });
  router.get(assets.button.path, assets.button.serve);
  router.get('/page/:file', assets.serve);
  if (payerLedger) {
    router.use(
      createWalletPayments({
        payerLedger,
        find: linkOf,
        limit,
        addressOf: addressOfClient,
        wordsOf: wordsFor,
        clock,
        log,
      }),
    );
  }
  router.use(['/p', '/c'], (req, res, next) => {
    const waitSeconds = limit(addressOfClient(req));
    if (waitSeconds === 0) return next();
    res.set('retry-after', String(waitSeconds));
    send(res, 429, busyView(frameOf(req), waitSeconds));
  });
  router.get(
    ['/p/:slug', '/c/:slug'],
    withLink((req, res, link) => showPage(req, res, link, req.query, openerOf(link.checkout, req.get('referer')))),
  );
  router.get(
    '/p/:slug/poster',
    withLink(async (req, res, link) => {
      const url = new URL(addressOf(link), deps.publicUrl).href;
      res.set(contentSecurityPolicy([shownLogo(link.brand)]));
      send(res, 200, posterView(frameOf(req), link, url, await qrCode(url)));
    }),
  );
  router.get(
    '/c/:slug/receipt',
    withLink(async (req, res, link) => {
      if (link.checkout?.status !== 'PAID') return send(res, 404, unknownView(frameOf(req)));
      res.set(contentSecurityPolicy([shownLogo(link.brand)]));
      send(res, 200, receiptView(frameOf(req), link, await paymentsOf(link, null)));
    }),
  );
  router.get(
    ['/p/:slug/qr', '/c/:slug/qr'],
    withLink(async (req, res, link) => {
      const { entered, amount } = termsOf(wordsFor(req), link, req.query.amount);
      if (closedBecause(link) !== null || entered.state === 'wrong') return send(res, 404, unknownView(frameOf(req)));
      res.type('svg').send((await qrCode(uriOf(link, amount))).text);
    }),
  );
  for (const [file, type, draw] of [
    ['qr.svg', 'svg', qrSvg],
    ['qr.png', 'png', qrPng],
  ] as const) {
    router.get(
      [`/p/:slug/${file}`, `/c/:slug/${file}`],
      withLink(async (req, res, link) => {
        res.set(embeddedAnywhere);
        if (closedBecause(link) !== null) return send(res, 404, unknownView(frameOf(req)));
        const { entered, amount } = termsOf(wordsFor(req), link, req.query.amount);
        if (entered.state === 'wrong') return refuseAmount(res, entered.problem);
        res.set('cache-control', `public, max-age=${QR_CACHE_SECONDS}`);
        res.type(type).send(await draw(uriOf(link, amount)));
      }),
    );
  }
  router.get(
    ['/p/:slug/status', '/c/:slug/status'],
    withLink(async (req, res, link) => {
      const since = sinceOf(req.query.since);
      res.json(snapshot(wordsFor(req), link, await paymentsOf(link, since)));
    }),
  );
  router.get(['/p/:slug/events', '/c/:slug/events'], withLink(follow));
  router.post(
    ['/p/:slug/pay', '/c/:slug/pay'],
    express.urlencoded({ extended: false, limit: '4kb' }),
    withLink(payFromTestAccount),
  );
  router.use(['/p', '/c', '/page'], (req, res) => send(res, 404, unknownView(frameOf(req))));
  router.use(['/p', '/c', '/page'], fault);

  return Object.assign(router, { close: streams.close, openStreams: streams.count });
}

/** For programs, in the envelope of the API. */
function refuseAmount(res: Response, problem: string): void {
  res.status(400).json({ data: null, error: { message: `amount: ${problem}`, code: 'bad_request' } });
}

/** What is to be paid: the price, or what the payer entered, in a currency what that asks for. */
function termsOf(words: Words, { product, priced }: PageLink, enteredAmount: unknown) {
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

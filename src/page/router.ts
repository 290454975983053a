/** The hosted page over HTTP: the page, its QR code, its status to follow or to poll, and on LOCAL a button that pays. */
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { PayerLedger } from '../collect/payer-ledger.js';
import { payUri } from '../domain/sep7.js';
import { qrPng, qrSvg } from '../resources/qr.js';
import { createAssets } from './assets.js';
import { checkoutStateOf } from './checkout-state.js';
import { busyView, faultView, unknownView } from './document.js';
import { judgeEntered } from './entered-amount.js';
import { createFollow } from './follow.js';
import { contentSecurityPolicy, shownImage, strictHeaders, watchedByOpener } from './headers.js';
import type { Html } from './html.js';
import { createLinkUpdates } from './link-updates.js';
import { openerOf } from './opener.js';
import { closedBecause, pageStateOf } from './page-state.js';
import { qrCode } from './qr.js';
import { createStreams } from './streams.js';
import type { PageLink, PagePayment, PageSource, StatusFeed, TestPayer, TestPayment } from './types.js';
import { PAGE_MEMORY_MS } from './types.js';
import { pageView } from './view.js';
import { createWalletPayments } from './wallet-payment.js';

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
  /** Event streams at once; beyond them, pages poll. */
  maxStreams?: number;
  maxStreamsPerAddress?: number;
  /** Counts a request of a client address. @returns 0 when it is let through, else the seconds to wait */
  limit?: (address: string) => number;
  /** The same for requests that concern a wallet in the browser: each costs one of the ledger's servers. */
  limitWallet?: (address: string) => number;
  addressOf?: (req: Request) => string;
}

/** `close` ends the event streams, and must come before the server waits for its connections to end. */
export type PageRouter = Router & { close(): void; openStreams(): number };

/** @returns a router for the root: `/p/…`, `/c/…` and `/page/…`. */
export function createPageRouter(deps: PageDeps): PageRouter {
  const { pages, status, testPayer, payerLedger, clock, log } = deps;
  const { maxStreams = MAX_STREAMS, maxStreamsPerAddress = MAX_STREAMS_PER_ADDRESS, limit = () => 0 } = deps;
  const { limitWallet = () => 0 } = deps;
  const addressOfClient = deps.addressOf ?? ((req) => req.ip ?? 'unknown');
  const base = new URL(deps.publicUrl).pathname.replace(/\/+$/, '');
  const frame = { assets: createAssets(), base };
  const fed = () => status.live();
  const streams = createStreams({ clock, limit: maxStreams, limitPerAddress: maxStreamsPerAddress, fed });

  const send = (res: Response, code: number, view: Html) => void res.status(code).type('html').send(view.text);
  const addressOf = (link: PageLink) => `${base}/${link.checkout ? 'c' : 'p'}/${link.slug}`;
  const stateOf = (link: PageLink, payments: readonly PagePayment[]) =>
    link.checkout ? checkoutStateOf(link, payments) : pageStateOf(link, payments, addressOf(link));
  const testPayable = (link: PageLink) => testPayer !== null && link.wallet.network === 'LOCAL';

  /** The page of a checkout shows all of its payments, that of a link those since it was opened. */
  async function paymentsOf({ linkId, checkout }: PageLink, since: Date | null): Promise<PagePayment[]> {
    if (checkout) return status.since(linkId, new Date(0));
    return since ? status.since(linkId, since) : [];
  }

  async function linkOf(req: Request): Promise<PageLink | null> {
    const slug = String(req.params.slug);
    const find = req.path.startsWith('/c/') ? pages.checkoutBySlug : pages.linkBySlug;
    return SLUG.test(slug) ? find(slug) : null;
  }

  /** Answers 404 unless there is such a link or checkout. */
  const withLink =
    (handle: (req: Request, res: Response, link: PageLink) => void | Promise<void>) =>
    async (req: Request, res: Response): Promise<void> => {
      const link = await linkOf(req);
      return link ? handle(req, res, link) : send(res, 404, unknownView(frame));
    };

  /** The time from which on a page wants to know, if it says one: never in the future, at most a day back. */
  function sinceOf(value: unknown): Date | null {
    if (typeof value !== 'string' || !/^\d{1,15}$/.test(value)) return null;
    const nowMs = clock.nowMs();
    return new Date(Math.min(nowMs, Math.max(Number(value), nowMs - PAGE_MEMORY_MS)));
  }

  async function showPage(
    res: Response,
    link: PageLink,
    given: { amount?: unknown; since?: unknown; problem?: string },
    opener: string | null = null,
  ): Promise<void> {
    const since = sinceOf(given.since);
    const opened = since ?? clock.now();
    const payments = await paymentsOf(link, since);
    const terms = termsOf(link, given.amount);
    const uri = uriOf(link, terms.amount);
    const image = shownImage(link.product.imageUrl);
    const view = pageView(frame, {
      link,
      ...terms,
      pageState: stateOf(link, payments),
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
    res.set({ ...contentSecurityPolicy(image), ...(opener !== null && watchedByOpener) });
    send(res, given.problem !== undefined ? 502 : terms.entered.state === 'wrong' ? 422 : 200, view);
  }

  /** What the script takes over: the whole state each time, so that nothing is lost between two of them. */
  function snapshot(link: PageLink, payments: readonly PagePayment[]) {
    const { html, ...pageState } = stateOf(link, payments);
    return { ...pageState, html: html.text, payments: payments.map(({ id: _, ...known }) => known) };
  }

  const follow = createFollow({
    status,
    streams,
    updates: createLinkUpdates({ clock, log }),
    sinceOf: (req) => sinceOf(req.query.since) ?? clock.now(),
    addressOf: addressOfClient,
    snapshot: (link, payments) => JSON.stringify(snapshot(link, payments)),
  });

  async function payFromTestAccount(req: Request, res: Response, link: PageLink): Promise<void> {
    const { body = {} } = req as { body?: { amount?: unknown; since?: unknown } };
    const foreign = !['same-origin', 'none', undefined].includes(req.get('sec-fetch-site'));
    if (!testPayer || !testPayable(link) || foreign) return send(res, 404, unknownView(frame));
    const { amount } = termsOf(link, body.amount);
    if (amount === null || closedBecause(link) !== null) return showPage(res, link, body);

    const { wallet, memo, product } = link;
    const { assetCode, assetIssuer } = product;
    const payment: TestPayment = await testPayer
      .pay({ destination: wallet.address, amount, assetCode, assetIssuer, memo })
      .catch((error: unknown) => {
        log.error({ err: error, linkId: link.linkId }, 'test payment failed');
        return { paid: false, message: 'The local ledger does not answer. Try again in a moment.' };
      });
    if (req.accepts(['html', 'json']) === 'json') return void res.status(payment.paid ? 200 : 502).json(payment);
    if (!payment.paid) return showPage(res, link, { ...body, problem: payment.message });
    const since = sinceOf(body.since) ?? clock.now();
    const query = new URLSearchParams({
      since: String(since.getTime()),
      ...(product.price === null ? { amount } : {}),
    });
    res.redirect(303, `${addressOf(link)}?${query}`);
  }

  const fault: ErrorRequestHandler = (error, req, res, _next) => {
    if (error?.status >= 400 && error?.status < 500) return send(res, 404, unknownView(frame));
    log.error({ err: error, path: req.path }, 'page failed');
    if (res.headersSent) return void res.destroy();
    send(res, 500, faultView(frame, (res.get('x-request-id') as string | undefined) ?? null));
  };

  const router = express.Router();
  router.use(['/p', '/c', '/page'], strictHeaders);
  router.get(frame.assets.button.path, frame.assets.button.serve);
  router.get('/page/:file', frame.assets.serve);
  if (payerLedger) {
    const limitPayer = (req: Request) => limit(addressOfClient(req)) || limitWallet(addressOfClient(req));
    router.use(createWalletPayments({ payerLedger, find: linkOf, limit: limitPayer, clock, log }));
  }
  router.use(['/p', '/c'], (req, res, next) => {
    const waitSeconds = limit(addressOfClient(req));
    if (waitSeconds === 0) return next();
    res.set('retry-after', String(waitSeconds));
    send(res, 429, busyView(frame, waitSeconds));
  });
  router.get(
    ['/p/:slug', '/c/:slug'],
    withLink((req, res, link) => showPage(res, link, req.query, openerOf(link.checkout, req.get('referer')))),
  );
  router.get(
    ['/p/:slug/qr', '/c/:slug/qr'],
    withLink(async (req, res, link) => {
      const { entered, amount } = termsOf(link, req.query.amount);
      if (closedBecause(link) !== null || entered.state === 'wrong') return send(res, 404, unknownView(frame));
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
        if (closedBecause(link) !== null) return send(res, 404, unknownView(frame));
        const { entered, amount } = termsOf(link, req.query.amount);
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
      res.json(snapshot(link, await paymentsOf(link, since)));
    }),
  );
  router.get(['/p/:slug/events', '/c/:slug/events'], withLink(follow));
  router.post(
    ['/p/:slug/pay', '/c/:slug/pay'],
    express.urlencoded({ extended: false, limit: '4kb' }),
    withLink(payFromTestAccount),
  );
  router.use(['/p', '/c', '/page'], (_req, res) => send(res, 404, unknownView(frame)));
  router.use(['/p', '/c', '/page'], fault);

  return Object.assign(router, { close: streams.close, openStreams: streams.count });
}

/** For programs, in the envelope of the API. */
function refuseAmount(res: Response, problem: string): void {
  res.status(400).json({ data: null, error: { message: `amount: ${problem}`, code: 'bad_request' } });
}

/** What is to be paid: the price, or what the payer entered. */
function termsOf({ product }: PageLink, enteredAmount: unknown) {
  if (product.priceType === 'FIXED') return { entered: { state: 'none' } as const, amount: product.price };
  const entered = judgeEntered(enteredAmount, product);
  return { entered, amount: entered.state === 'valid' ? entered.amount : null };
}

const uriOf = ({ product, wallet, memo }: PageLink, amount: string | null): string =>
  payUri({
    destination: wallet.address,
    amount,
    asset: { code: product.assetCode, issuer: product.assetIssuer },
    memo,
    network: wallet.network,
  });

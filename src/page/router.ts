/** The hosted page over HTTP: the page, its QR code, its status to follow or poll, and on LOCAL a
 *  button that pays. */

import type { ErrorRequestHandler, Request, RequestHandler, Response, Router } from 'express';
import express from 'express';
import { ERRORS, type FieldError } from '../../contracts/errors.js';
import { ApiError, badRequest, invalid, notFound } from '../kit/api-error.js';
import type { TakeOrder } from '../selling/index.js';
import {
  addressOfPage,
  createPageContext,
  frameOf,
  LongClosed,
  linkOf,
  type PageContext,
  type PageDeps,
  paymentsOf,
  send,
  sendUnknown,
  setPolicy,
  sinceOf,
  snapshot,
  withLink,
  wordsFor,
} from './context.js';
import { busyView, faultView, longClosedView } from './document.js';
import { createFollow, createLinkUpdates, createStreams, type Known, type Streams } from './follow.js';
import { strictHeaders } from './headers.js';
import { type OrderBody, readOrder } from './order-form.js';
import { closedBecause } from './page-state.js';
import { createProofRoutes } from './proof.js';
import { createImages, MOST_PAYMENTS, payFromTestAccount, posterView, qrCode, receiptView, showPage } from './show.js';
import type { PageCheckout, PageLink, PageOrder } from './types.js';
import { createWalletPayments } from './wallet-payment.js';
import type { Words } from './words.js';

export type { PageDeps } from './context.js';

const MAX_STREAMS = 10_000;
const MAX_STREAMS_PER_ADDRESS = 20;

/** `close` ends the event streams; call it before the server waits for its connections to end. */
export type PageRouter = Router & { close(): void; openStreams(): number };

/** Everything of the router. */
const PATHS = ['/p', '/c', '/page', '/proof'];

/** @returns a router for the root: `/p/…`, `/c/…`, `/page/…` and `/proof`. */
export function createPageRouter(deps: PageDeps): PageRouter {
  const context = createPageContext(deps);
  const { assets, pages, payerLedger, limit, addressOf, clock, log } = context;
  const { maxStreams = MAX_STREAMS, maxStreamsPerAddress = MAX_STREAMS_PER_ADDRESS } = deps;
  const fed = () => deps.status.live();
  const streams = createStreams({ clock, limit: maxStreams, limitPerAddress: maxStreamsPerAddress, fed });

  const router = express.Router();
  router.use(PATHS, strictHeaders);
  router.use(['/p', '/c', '/proof'], (req, res, next) => {
    res.set('content-language', wordsFor(req).language).vary('Accept-Language');
    next();
  });
  router.get(assets.button.path, assets.button.serve);
  router.get('/page/:file', assets.serve);
  if (payerLedger) {
    const find = linkOf.bind(null, context);
    router.use(
      createWalletPayments({
        payerLedger,
        find,
        mostDue: pages.mostDue,
        limit,
        addressOf,
        wordsOf: wordsFor,
        clock,
        log,
      }),
    );
  }
  router.use(['/p', '/c', '/proof'], limitRequests(context));
  if (context.proofs) router.use(createProofRoutes(context, context.proofs));
  router.use(createOrders(context, context.takeOrder));
  router.use(createViews(context));
  router.use(createImages(context));
  router.use(createStatus(context, streams));
  router.post(
    ['/p/:slug/pay', '/c/:slug/pay'],
    express.urlencoded({ extended: false, limit: '4kb' }),
    keepFault,
    withLink(context, (req, res, link) => payFromTestAccount(context, req, res, link)),
  );
  router.use(PATHS, (req, res) => sendUnknown(context, req, res));
  router.use(PATHS, answerFault(context));

  return Object.assign(router, { close: streams.close, openStreams: streams.count });
}

/** A body that cannot be read, or is too large, is replaced by its fault: the route, which knows
 *  the page that it was sent from, shows it there. */
const keepFault: ErrorRequestHandler = (error, req, _res, next) => {
  if (!(error?.status >= 400 && error?.status < 500)) return next(error);
  req.body = badRequest(isJson(req) ? 'The body could not be read.' : wordsFor(req).say('badText'));
  next();
};

const limitRequests =
  (context: PageContext): RequestHandler =>
  (req, res, next) => {
    const waitSeconds = context.limit(context.addressOf(req));
    if (waitSeconds === 0) return next();
    res.set('retry-after', String(waitSeconds));
    send(res, 429, busyView(frameOf(context, req), waitSeconds));
  };

/** The page, the poster of a link and the receipt of a checkout. */
function createViews(context: PageContext): Router {
  const router = express.Router();
  router.get(
    ['/p/:slug', '/c/:slug'],
    withLink(context, (req, res, link) =>
      showPage(context, { req, res, link }, req.query, { opener: openerOf(link.checkout, refererOf(req)) }),
    ),
  );
  router.get(
    '/p/:slug/poster',
    withLink(context, async (req, res, link) => {
      const url = new URL(addressOfPage(context, link), context.publicUrl).href;
      setPolicy(res, link);
      send(res, 200, posterView(frameOf(context, req), link, url, await qrCode(url)));
    }),
  );
  router.get(
    '/c/:slug/receipt',
    withLink(context, async (req, res, link) => {
      if (link.checkout?.status !== 'PAID') return sendUnknown(context, req, res);
      setPolicy(res, link);
      send(res, 200, receiptView(frameOf(context, req), link, await context.pages.paidBy(link.slug, MOST_PAYMENTS)));
    }),
  );
  return router;
}

/** The status of a page, to poll and to follow. */
function createStatus(context: PageContext, streams: Streams): Router {
  const { status, addressOf, clock, log } = context;
  const router = express.Router();
  router.get(
    ['/p/:slug/status', '/c/:slug/status'],
    withLink(context, async (req, res, link) => {
      const since = sinceOf(context, req.query.since);
      res.json(snapshot(context, wordsFor(req), link, await paymentsOf(context, link, since)));
    }),
  );
  const follow = createFollow({
    status,
    streams,
    updates: createLinkUpdates<Known>({ clock, log }),
    find: (req) => linkOf(context, req),
    clock,
    sinceOf: (req) => sinceOf(context, req.query.since) ?? clock.now(),
    addressOf,
    snapshot: (words, link, payments) => JSON.stringify(snapshot(context, words, link, payments)),
    wordsOf: wordsFor,
  });
  router.get(['/p/:slug/events', '/c/:slug/events'], withLink(context, follow));
  return router;
}

/** A page that polls learns it like any other state. */
function answerLongClosed(context: PageContext, req: Request, res: Response): void {
  if (req.path.endsWith('/events')) return void res.status(410).end();
  if (!req.path.endsWith('/status')) return void send(res, 200, longClosedView(frameOf(context, req)));
  const title = wordsFor(req).say('longClosedTitle');
  res.json({ state: 'CLOSED', payable: false, title, announcement: '', html: '', payments: [] });
}

const answerFault =
  (context: PageContext): ErrorRequestHandler =>
  (error, req, res, _next) => {
    if (error instanceof LongClosed) return answerLongClosed(context, req, res);
    if (error?.status >= 400 && error?.status < 500) return sendUnknown(context, req, res);
    const isAway = error instanceof ApiError && error.code === 'unavailable';
    if (!isAway) context.log.error({ err: error, path: req.path }, 'page failed');
    if (res.headersSent) return void res.destroy();
    if (isAway) {
      res.set('retry-after', String(error.retryAfterSeconds));
      return send(res, 503, faultView(frameOf(context, req), null));
    }
    send(res, 500, faultView(frameOf(context, req), (res.get('x-request-id') as string | undefined) ?? null));
  };

// Determines the origin that may watch a checkout's page from the window that opened it: the
// shop's, as given by its return URLs.

/**
 * The origin that opened the page, when the checkout's `successUrl` or `cancelUrl` has that origin;
 * else null.
 *
 * The browser names the requesting page in `Referer`; no other page can send the shop's origin in
 * it. A shop whose pages send none (`no-referrer`) is not told.
 */
export function openerOf(checkout: PageCheckout | undefined, referer: unknown): string | null {
  const opener = originOf(referer);
  if (!checkout || opener === null) return null;
  return [checkout.successUrl, checkout.cancelUrl].some((url) => originOf(url) === opener) ? opener : null;
}

/** The requesting page. When the payer changes the language, the page requests itself: it sends no
 *  `Referer` and passes the opener on. */
const refererOf = (req: Request): unknown =>
  req.get('sec-fetch-site') === 'same-origin' ? req.query.opener : req.get('referer');

/** Null for other than web addresses: the origin of `data:` and the like is the text "null". */
function originOf(url: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null;
  const { protocol, origin } = new URL(url);
  return protocol === 'https:' || protocol === 'http:' ? origin : null;
}

// `POST /p/<slug>/orders`: a payer's order, sent by the form of the page or as JSON. It leads to
// the page of the checkout that it makes.

/** More than ten answers as long as the form lets them be, each UTF-16 unit as nine characters. */
const BODY_BYTES = 102_400;

type OrderLink = PageLink & { order: PageOrder };

function createOrders(context: PageContext, takeOrder: TakeOrder): Router {
  const router = express.Router();
  router.post(
    '/p/:slug/orders',
    express.urlencoded({ extended: false, limit: BODY_BYTES }),
    express.json({ limit: BODY_BYTES }),
    keepFault,
    async (req: Request, res: Response) => {
      const link = await linkOf(context, req);
      if (!link?.order) return isJson(req) ? sendFault(res, notFound('order link')) : sendUnknown(context, req, res);
      await order(context, takeOrder, { req, res, link: link as OrderLink });
    },
    answerProgram,
  );
  return router;
}

const isJson = (req: Request): boolean => req.accepts(['html', 'json']) === 'json';

const FORM = 'application/x-www-form-urlencoded';

/** What was sent: a fault where it would not be read, since an order without it may be one, too. */
function bodyOf(req: Request): OrderBody | ApiError {
  if (req.body instanceof ApiError) return req.body;
  if (req.get('content-length') === '0') return {};
  // Null without a body.
  if (isJson(req) && req.is('application/json') === false)
    return badRequest('The body must have Content-Type application/json.');
  if (req.is(['application/json', FORM]) === false) return badRequest('The body must be a form.');
  return Array.isArray(req.body) ? badRequest('The body must be a JSON object.') : (req.body ?? {});
}

async function order(
  context: PageContext,
  takeOrder: TakeOrder,
  asked: { req: Request; res: Response; link: OrderLink },
): Promise<void> {
  const { req, res, link } = asked;
  const words = wordsFor(req);
  const body = bodyOf(req);
  const read = readOrder(words, link, body instanceof ApiError ? {} : body, req.is('application/json') !== false);
  const refuse = (error: ApiError) => {
    if (isJson(req)) return sendFault(res, error);
    if (error.retryAfterSeconds !== undefined) res.set('retry-after', String(error.retryAfterSeconds));
    const faults = error.details ?? [{ path: '', message: error.message, code: error.code }];
    return showPage(context, asked, {}, { status: ERRORS[error.code].status, order: { ...read, faults } });
  };
  if (body instanceof ApiError) return refuse(body);
  const closed = closedBecause(link);
  if (closed !== null) return refuse(new ApiError('conflict', words.say(closed)));
  const [fault, ...others] = read.faults;
  if (fault) return refuse(invalid(fault, ...others));
  try {
    const payer = { address: context.addressOf(req), language: words.language };
    const made = await takeOrder(link.slug, read.sent, payer);
    if (!made) return refuse(new ApiError('conflict', words.say('linkOff')));
    const path = `/c/${made.slug}`;
    if (!isJson(req)) return res.redirect(303, words.here(`${context.base}${path}`));
    res.status(201).json({ data: { id: made._id, url: `${context.publicUrl}${path}` }, error: null });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code === 'unavailable') throw error;
    await refuse(toldIn(words, link, error));
  }
}

/** In the payer's words, at the fields of the form. */
function toldIn({ say }: Words, link: OrderLink, error: ApiError): ApiError {
  if (error.code === 'rate_limited')
    return new ApiError('rate_limited', say('tooManyOrders'), undefined, error.retryAfterSeconds);
  const fixed = link.product.priceType === 'FIXED';
  if (error.code !== 'validation_error') {
    const message = say(link.order.isStocked ? 'notEnough' : 'linkOff');
    return new ApiError(error.code, message);
  }
  const [first, ...rest] = (error.details ?? []).map(({ path, code }): FieldError => {
    if (path === 'couponCode')
      return { path, message: say(code === 'not_found' ? 'couponUnknown' : 'couponRefused'), code };
    if (code === 'too_small') return { path: 'couponCode', message: say('couponRefused'), code };
    return { path: fixed ? 'quantity' : 'amount', message: say('tooMuch'), code };
  });
  return first ? invalid(first, ...rest) : error;
}

function sendFault(res: Response, { code, message, details, retryAfterSeconds }: ApiError): void {
  if (retryAfterSeconds !== undefined) res.set('retry-after', String(retryAfterSeconds));
  const error = { message, code, ...(details && { details }) };
  res.status(ERRORS[code].status).json({ data: null, error });
}

const answerProgram: ErrorRequestHandler = (error, req, res, next) =>
  isJson(req) && error instanceof ApiError ? sendFault(res, error) : next(error);

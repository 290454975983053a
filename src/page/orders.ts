/** `POST /p/<slug>/orders`: a payer's order, sent by the form of the page or as JSON. It leads to
 *  the page of the checkout that it makes. */
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import { ERRORS, type FieldError } from '../../contracts/errors.js';
import { ApiError, badRequest, invalid, notFound } from '../kit/api-error.js';
import type { TakeOrder } from '../selling/index.js';
import { linkOf, type PageContext, sendUnknown, wordsFor } from './context.js';
import { type OrderBody, readOrder } from './order-form.js';
import { closedBecause } from './page-state.js';
import { showPage } from './show.js';
import type { PageLink, PageOrder } from './types.js';
import type { Words } from './words.js';

/** Ten answers of the greatest length, each character as nine. */
const BODY_BYTES = 102_400;

type OrderLink = PageLink & { order: PageOrder };

export function createOrders(context: PageContext, takeOrder: TakeOrder): Router {
  const router = express.Router();
  router.post(
    '/p/:slug/orders',
    express.urlencoded({ extended: false, limit: BODY_BYTES }),
    express.json({ limit: BODY_BYTES }),
    async (req: Request, res: Response) => {
      const link = await linkOf(context, req);
      if (!link?.order) return isJson(req) ? sendFault(res, notFound('order link')) : sendUnknown(context, req, res);
      await order(context, takeOrder, { req, res, link: link as OrderLink });
    },
    unreadable,
  );
  return router;
}

const isJson = (req: Request): boolean => req.accepts(['html', 'json']) === 'json';

async function order(
  context: PageContext,
  takeOrder: TakeOrder,
  asked: { req: Request; res: Response; link: OrderLink },
): Promise<void> {
  const { req, res, link } = asked;
  const words = wordsFor(req);
  const body: OrderBody = typeof req.body === 'object' && req.body !== null && !Array.isArray(req.body) ? req.body : {};
  const read = readOrder(words, link, body, req.is('application/json') !== false);
  const refuse = (error: ApiError) => {
    if (isJson(req)) return sendFault(res, error);
    if (error.retryAfterSeconds !== undefined) res.set('retry-after', String(error.retryAfterSeconds));
    const faults = error.details ?? [{ path: '', message: error.message, code: error.code }];
    return showPage(context, asked, { order: { ...read, faults, status: ERRORS[error.code].status } });
  };
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

/** A body that is no form and no JSON, or too large. */
const unreadable: ErrorRequestHandler = (error, req, res, next) => {
  if (!isJson(req)) return next(error);
  if (error instanceof ApiError) return sendFault(res, error);
  const isOfBody = error?.status >= 400 && error?.status < 500;
  return isOfBody ? sendFault(res, badRequest('The body could not be read.')) : next(error);
};

/** Determines the origin that may watch a checkout's page from the window that opened it: the
 *  shop's, as given by its return URLs. */
import type { Request } from 'express';
import type { PageCheckout } from './types.js';

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
export const refererOf = (req: Request): unknown =>
  req.get('sec-fetch-site') === 'same-origin' ? req.query.opener : req.get('referer');

/** Null for other than web addresses: the origin of `data:` and the like is the text "null". */
function originOf(url: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null;
  const { protocol, origin } = new URL(url);
  return protocol === 'https:' || protocol === 'http:' ? origin : null;
}

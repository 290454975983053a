/** Who may watch a checkout's page from the window that opened it: the shop that made the checkout, known by the addresses it gave for the way back. */
import type { Request } from 'express';
import type { PageCheckout } from './types.js';

/**
 * The origin that opened the page, when the checkout's `successUrl` or `cancelUrl` has that origin; else null.
 *
 * The browser names the page that asked in `Referer`; no other page can send the shop's origin in it. A shop whose pages send none (`no-referrer`) is
 * told nothing.
 */
export function openerOf(checkout: PageCheckout | undefined, referer: unknown): string | null {
  const opener = originOf(referer);
  if (!checkout || opener === null) return null;
  return [checkout.successUrl, checkout.cancelUrl].some((url) => originOf(url) === opener) ? opener : null;
}

/** Who asks for the page. The page itself does when its payer changes the language: it sends no `Referer`, and names the opener that it was told. */
export const refererOf = (req: Request): unknown =>
  req.get('sec-fetch-site') === 'same-origin' ? req.query.opener : req.get('referer');

/** Null for what is no address on the web: the origin of `data:` and its like is the text "null", which belongs to no site. */
function originOf(url: unknown): string | null {
  if (typeof url !== 'string' || !URL.canParse(url)) return null;
  const { protocol, origin } = new URL(url);
  return protocol === 'https:' || protocol === 'http:' ? origin : null;
}

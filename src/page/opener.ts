/** Who may watch a checkout's page from the window that opened it: the shop that made the checkout, known by the addresses it gave for the way back. */
import type { PageCheckout } from './types.js';

/**
 * The origin that opened the page, when the checkout's `successUrl` or `cancelUrl` has that origin; else null.
 *
 * The browser names the page that asked in `Referer`; no other page can send the shop's origin in it. A shop whose pages send none (`no-referrer`) is
 * told nothing.
 */
export function openerOf(checkout: PageCheckout | undefined, referer: string | undefined): string | null {
  const opener = originOf(referer);
  if (!checkout || opener === null) return null;
  return [checkout.successUrl, checkout.cancelUrl].some((url) => originOf(url) === opener) ? opener : null;
}

/** Null for what is no address on the web: the origin of `data:` and its like is the text "null", and nobody's. */
function originOf(url: string | null | undefined): string | null {
  if (!url || !URL.canParse(url)) return null;
  const { protocol, origin } = new URL(url);
  return protocol === 'https:' || protocol === 'http:' ? origin : null;
}

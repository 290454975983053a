/** The headers of all answers of the page's router: not cached, no foreign content, no framing. */
import type { RequestHandler } from 'express';

const policy = (imageOrigins: readonly string[], framedBy: readonly string[]): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    ["img-src 'self'", ...imageOrigins].join(' '),
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    ['frame-ancestors', ...(framedBy.length > 0 ? framedBy : ["'none'"])].join(' '),
  ].join('; ');

/** For a page that sends nothing anywhere: it connects to nothing, and shows its own style and
 *  script alone. */
export const strictPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'none'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** @param images on the page: the product's, the shop's logo @param framedBy origins whose pages
 *  may frame it */
export const contentSecurityPolicy = (
  images: readonly (ShownImage | null)[],
  framedBy: readonly string[] = [],
): { 'content-security-policy': string } => ({
  'content-security-policy': policy([...new Set(images.flatMap((image) => image?.origin ?? []))], framedBy),
});

export interface ShownImage {
  url: string;
  origin: string;
}

/** The image if allowed: https, with an origin that can be named in a policy, because URLs allow
 *  `;` and `*` in host names. */
export function shownImage(imageUrl: string | null): ShownImage | null {
  if (imageUrl === null || !URL.canParse(imageUrl)) return null;
  const { protocol, host, origin, href } = new URL(imageUrl);
  return protocol === 'https:' && /^[a-z0-9.[\]:-]+$/.test(host) ? { url: href, origin } : null;
}

/** For QR codes, which merchants' pages embed. */
export const embeddedAnywhere = { 'cross-origin-resource-policy': 'cross-origin' };

/** For a page whose opener may watch it: the usual policy would separate the two windows. */
export const watchedByOpener = { 'cross-origin-opener-policy': 'unsafe-none' };

/** For a page where the payer's wallet opens a window of its own: the two must communicate.
 *  Openers of the page still cannot. */
export const opensWallets = { 'cross-origin-opener-policy': 'same-origin-allow-popups' };

export const strictHeaders: RequestHandler = (_req, res, next) => {
  res.removeHeader('Content-Security-Policy-Report-Only');
  res.set({
    ...contentSecurityPolicy([]),
    'cache-control': 'no-store',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  });
  next();
};

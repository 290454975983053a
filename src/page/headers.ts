/** The headers of everything that the page's router answers: nothing is kept, nothing foreign is loaded, nobody may frame it. */
import type { RequestHandler } from 'express';

const policy = (imageOrigin: string | null): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self'${imageOrigin === null ? '' : ` ${imageOrigin}`}`,
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** @param image a product's image, or null. */
export const contentSecurityPolicy = (image: ShownImage | null): { 'content-security-policy': string } => ({
  'content-security-policy': policy(image?.origin ?? null),
});

export interface ShownImage {
  url: string;
  origin: string;
}

/** The image if it may be shown: https, and an origin that can be named in a policy, since URLs allow `;` and `*` in host names. */
export function shownImage(imageUrl: string | null): ShownImage | null {
  if (imageUrl === null || !URL.canParse(imageUrl)) return null;
  const { protocol, host, origin, href } = new URL(imageUrl);
  return protocol === 'https:' && /^[a-z0-9.[\]:-]+$/.test(host) ? { url: href, origin } : null;
}

/** For a page whose opener may watch it: with the usual policy the browser would cut the tie between the two windows. */
export const watchedByOpener = { 'cross-origin-opener-policy': 'unsafe-none' };

export const strictHeaders: RequestHandler = (_req, res, next) => {
  res.removeHeader('Content-Security-Policy-Report-Only');
  res.set({
    ...contentSecurityPolicy(null),
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

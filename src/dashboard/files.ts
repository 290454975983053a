/** The built application. Its files are named by their content, except for the page, which refers
 *  to them. */

import { readdir, readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { RequestHandler } from 'express';
import type { Language } from '../../contracts/languages.js';
import { PACKAGE_ROOT } from '../kit/package-root.js';

// Headers for all of `/dashboard`: no inline code, no foreign content but pictures, no framing.

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  // The preview of the brand shows the merchant's logo from where payers' browsers load it.
  "img-src 'self' https:",
  "connect-src 'self'",
  "manifest-src 'self'",
  "worker-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

export const strictHeaders: RequestHandler = (_req, res, next) => {
  res.set({
    'content-security-policy': POLICY,
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

// Detects requests from foreign pages. Only the dashboard's own pages may use a session: other
// sites, and other names of the same host, may not.

/** @param publicUrl its origin is allowed too, because behind a proxy the `Host` of a request
 *  may differ
 *  @returns whether the request comes from a foreign page; false where a browser's
 *  headers are missing */
export function createIsForeign(
  publicUrl: string,
): (req: Pick<IncomingMessage, 'headers'> & { protocol?: string }) => boolean {
  const publicOrigin = new URL(publicUrl).origin;
  return ({ headers, protocol = 'http' }) => {
    const site = headers['sec-fetch-site'];
    if (site !== undefined && site !== 'same-origin' && site !== 'none') return true;
    const { origin, host } = headers;
    if (origin === undefined || origin === publicOrigin) return false;
    return origin !== `${protocol}://${host}`;
  };
}

/** Also when the service runs from its sources, because the application is always built. */
const FOLDER = fileURLToPath(new URL('dist/src/dashboard/app/', PACKAGE_ROOT));
const NAME = /^[\w-]+\.(js|css|svg|png)$/;
/** Right to left. */
const RTL: readonly Language[] = ['ar'];
/** References of the built page, relative to it. */
const ASSETS = /(?<==")\.\/assets\//g;

/** Files whose names do not depend on their content, because browsers fetch them by name. */
export const FIXED_FILES = ['pos.webmanifest', 'pos-icon.svg', 'sw.js'] as const;
type FixedFile = (typeof FIXED_FILES)[number];

type Encoding = 'br' | 'gzip' | 'identity';

const compress: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
  identity: async (body) => body,
};

/** @param base the path of `PUBLIC_URL` */
export function createFiles(base: string, folder = FOLDER) {
  /** Holds only existing files, so it is bounded by the build. */
  const assets = new Map<string, Promise<Buffer>>();

  async function compressed(name: string, encoding: Encoding): Promise<Buffer> {
    return compress[encoding](await readFile(`${folder}assets/${name}`));
  }

  const textsOf = async (language: Language): Promise<string> =>
    (await readdir(`${folder}assets`)).find((name) => name.startsWith(`language-${language}-`))!;

  return {
    /** A file with a fixed name, for the till. @returns null when it has not been built */
    fixed: (name: FixedFile): Promise<Buffer | null> => readFile(`${folder}${name}`).catch(() => null),
    /** @returns the page with the texts of a language, or null when the application has not
     *  been built */
    async page(language: Language): Promise<string | null> {
      const page = await readFile(`${folder}index.html`, 'utf8').catch(() => null);
      if (page === null) return null;
      const direction = RTL.includes(language) ? 'rtl' : 'ltr';
      // Scripts run in their order, so the application finds its texts.
      const texts = `<script type="module" src="./assets/${await textsOf(language)}"></script>\n`;
      return page
        .replace('<html lang="en">', `<html lang="${language}" dir="${direction}">`)
        .replace(/(?=<script )/, texts)
        .replace(ASSETS, `${base}/dashboard/assets/`);
    },
    /** @returns null when there is no such file */
    async asset(name: string, encoding: Encoding): Promise<Buffer | null> {
      if (!NAME.test(name)) return null;
      const key = `${encoding} ${name}`;
      const known = assets.get(key);
      if (known) return known;
      const body = compressed(name, encoding);
      assets.set(key, body);
      return body.catch(() => {
        assets.delete(key);
        return null;
      });
    },
  };
}

/** QR codes of a link or checkout: one for the page itself, and two to embed elsewhere. */

import express, { type Response, type Router } from 'express';
import { qrPng, qrSvg } from '../selling/index.js';
import { type PageContext, sendUnknown, termsOf, uriOf, withCode } from './context.js';
import { embeddedAnywhere } from './headers.js';
import { closedBecause } from './page-state.js';
import { qrCode } from './qr.js';
import { wordsOf } from './words.js';

/** How long caches may show an embedded code after its link is deactivated. */
const QR_CACHE_SECONDS = 60;
/** Shops write these addresses, so their amounts do not depend on the language of the browser that loads them. */
const PROGRAMS = wordsOf('en');

export function createImages(context: PageContext): Router {
  const router = express.Router();
  router.get(
    ['/p/:slug/qr', '/c/:slug/qr'],
    withCode(context, async (req, res, link) => {
      const { entered, amount } = termsOf(PROGRAMS, link, req.query.amount);
      if (closedBecause(link) !== null || entered.state === 'wrong') return sendUnknown(context, req, res);
      res.type('svg').send((await qrCode(uriOf(context, link, amount))).text);
    }),
  );
  for (const [file, type, draw] of [
    ['qr.svg', 'svg', qrSvg],
    ['qr.png', 'png', qrPng],
  ] as const) {
    router.get(
      [`/p/:slug/${file}`, `/c/:slug/${file}`],
      withCode(context, async (req, res, link) => {
        res.set(embeddedAnywhere);
        if (closedBecause(link) !== null) return sendUnknown(context, req, res);
        const { entered, amount } = termsOf(PROGRAMS, link, req.query.amount);
        if (entered.state === 'wrong') return refuseAmount(res, entered.problem);
        res.set('cache-control', `public, max-age=${QR_CACHE_SECONDS}`);
        res.type(type).send(await draw(uriOf(context, link, amount)));
      }),
    );
  }
  return router;
}

/** For programs, in the envelope of the API. */
function refuseAmount(res: Response, problem: string): void {
  res.status(400).json({ data: null, error: { message: `amount: ${problem}`, code: 'bad_request' } });
}

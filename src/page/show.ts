/** Answers with the page of a link or checkout. */
import type { Request, Response } from 'express';
import { shownLogo } from './brand.js';
import {
  addressOfPage,
  frameOf,
  isTestPayable,
  type PageContext,
  paymentsOf,
  send,
  sinceOf,
  stateOf,
  termsOf,
  uriOf,
} from './context.js';
import { contentSecurityPolicy, opensWallets, shownImage, watchedByOpener } from './headers.js';
import { qrCode } from './qr.js';
import type { PageLink } from './types.js';
import { pageView } from './view.js';

export interface ShownFor {
  amount?: unknown;
  since?: unknown;
  /** Why a test payment failed; answered with 502. */
  problem?: string;
}

/** @param opener origin of the opening page, which is told how the checkout ends; null for none */
export async function showPage(
  context: PageContext,
  { req, res, link }: { req: Request; res: Response; link: PageLink },
  given: ShownFor,
  opener: string | null = null,
): Promise<void> {
  const { clock, payerLedger } = context;
  const since = sinceOf(context, given.since);
  const opened = since ?? clock.now();
  const payments = await paymentsOf(context, link, since);
  const frame = frameOf(context, req);
  const { words } = frame;
  const terms = termsOf(words, link, given.amount);
  const uri = uriOf(context, link, terms.amount);
  const image = shownImage(link.product.imageUrl);
  const view = pageView(frame, {
    words,
    link,
    ...terms,
    pageState: stateOf(context, words, link, payments),
    uri,
    qr: await qrCode(uri),
    image,
    address: addressOfPage(context, link),
    opened: opened.getTime(),
    nowMs: clock.nowMs(),
    looked: since !== null,
    testPayable: isTestPayable(context, link),
    walletPayable: payerLedger !== null,
    problem: given.problem ?? null,
    opener,
  });
  res.set({
    ...contentSecurityPolicy([image, shownLogo(link.brand)]),
    ...(payerLedger !== null && opensWallets),
    ...(opener !== null && watchedByOpener),
  });
  send(res, given.problem !== undefined ? 502 : terms.entered.state === 'wrong' ? 422 : 200, view);
}

/** The button that pays from a test account, on LOCAL. */
import type { Request, Response } from 'express';
import { readAlike } from '../domain/typed-amount.js';
import { addressOfPage, isTestPayable, type PageContext, sendUnknown, sinceOf, termsOf, wordsFor } from './context.js';
import { closedBecause } from './page-state.js';
import { refusalSentence } from './refusal.js';
import { type ShownFor, showPage } from './show.js';
import type { PageLink, TestPayment } from './types.js';

export async function payFromTestAccount(
  context: PageContext,
  req: Request,
  res: Response,
  link: PageLink,
): Promise<void> {
  const { testPayer, clock, log } = context;
  const { body = {} } = req as { body?: ShownFor };
  const foreign = !['same-origin', 'none', undefined].includes(req.get('sec-fetch-site'));
  if (!testPayer || !isTestPayable(context, link) || foreign) return sendUnknown(context, req, res);
  const words = wordsFor(req);
  const { entered, amount } = termsOf(words, link, body.amount);
  if (amount === null || closedBecause(link) !== null) return showPage(context, { req, res, link }, body);

  const { wallet, memo, product } = link;
  const { assetCode, assetIssuer } = product;
  const payment = await testPayer
    .pay({ destination: wallet.address, amount, assetCode, assetIssuer, memo })
    .catch((error: unknown): TestPayment => ({ paid: false, code: null, message: String(error) }));
  const isJson = req.accepts(['html', 'json']) === 'json';
  if (!payment.paid) {
    const { code, message } = payment;
    log.warn({ linkId: link.linkId, code, message }, 'test payment failed');
    const problem = code === null ? words.say('testFailed') : refusalSentence(words, code, link);
    return isJson
      ? void res.status(502).json({ paid: false, message: problem })
      : showPage(context, { req, res, link }, { ...body, problem });
  }
  if (isJson) return void res.json(payment);
  const since = sinceOf(context, body.since) ?? clock.now();
  const query = new URLSearchParams({
    since: String(since.getTime()),
    ...(entered.state === 'valid' ? { amount: readAlike(entered.amount) } : {}),
  });
  res.redirect(303, words.here(`${addressOfPage(context, link)}?${query}`));
}

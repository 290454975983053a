/** Answers with the pages of a link or checkout, and what hangs on them: receipt, poster, images,
 *  the test payment. */

import type { Request, Response, Router } from 'express';
import express from 'express';
import { formatAmount, parseSum } from '../domain/amount.js';
import { readAlike } from '../domain/typed-amount.js';
import { ApiError } from '../kit/api-error.js';
import { qrPng, qrSvg } from '../selling/index.js';
import { askShop, shopHead } from './brand.js';
import { refundedOf } from './checkout-state.js';
import {
  addressOfPage,
  frameOf,
  isTestPayable,
  type PageContext,
  paymentsOf,
  send,
  sendUnknown,
  setPolicy,
  sinceOf,
  stateOf,
  termsOf,
  uriOf,
  withCode,
  wordsFor,
} from './context.js';
import { documentOf, type Frame, moment, money, orderFacts, worth } from './document.js';
import { embeddedAnywhere, opensWallets, shownImage, watchedByOpener } from './headers.js';
import { type Html, html, trusted } from './html.js';
import { EMPTY_FORM, type FilledForm } from './order-form.js';
import { closedBecause } from './page-state.js';
import { refusalSentence } from './payer-answer.js';
import type { PageLink, PagePayment, PaidBy, TestPayment } from './types.js';
import { pageView } from './view.js';
import { wordsOf } from './words.js';

// A poster to print: shop, item, QR code of the page, address to type.

/** @param url of the page @param qr code of it */
export function posterView(frame: Frame, link: PageLink, url: string, qr: Html): Html {
  const { say } = frame.words;
  const { product, priced, brand } = link;
  // No amount at the current rate: a printed one would become wrong.
  const price = priced
    ? priced.due !== null && worth(frame.words, priced.due, priced.currency)
    : product.price !== null && money(product.price, product.assetCode);
  return documentOf(
    frame,
    `${say('poster')} · ${product.name}`,
    html`
<main class="sheet poster">
  ${closedBecause(link) !== null && html`<p class="callout screen">${say('closedTitle')}</p>`}
  ${shopHead(brand)}
  <h1><bdi>${product.name}</bdi></h1>
  ${price && html`<p class="price">${price}</p>`}
  <div class="qr" role="img" aria-label="${say('scanToPay')}">${qr}</div>
  <p class="scan-here">${say('scanToPay')}</p>
  <p><code dir="ltr">${url}</code></p>
  <p class="scripted screen"><button type="button" class="plain" id="print">${say('print')}</button></p>
</main>`,
    brand,
  );
}

// The receipt of a paid checkout: shop, item, price, and the transactions that paid it. Prints on
// one page.

/** As many payments as fit on the page. */
export const MOST_PAYMENTS = 8;

export function receiptView(frame: Frame, link: PageLink, { count, largest }: PaidBy): Html {
  const { words } = frame;
  const { say } = words;
  const { product, checkout, brand, accountName, wallet, priced } = link;
  const seller = { ...brand, name: brand.name ?? accountName };
  const { id, reference, paidAt, quantity, amount, price, received } = checkout!;
  const refunded = refundedOf(link, largest);
  const code = product.assetCode;
  const rows = orderFacts(words, link);
  return documentOf(
    frame,
    `${say('receipt')} · ${product.name}`,
    html`
<main class="sheet receipt">
  ${shopHead(seller)}
  <h1>${say('receipt')}</h1>
  <dl class="facts">
    ${rows.length > 0 ? rows : html`<div><dt>${say('what')}</dt><dd dir="auto">${product.name}${quantity !== null && quantity > 1 && ` × ${words.number(quantity)}`}</dd></div>`}
    ${reference !== null && html`<div><dt>${say('reference')}</dt><dd dir="auto">${reference}</dd></div>`}
    ${rows.length === 0 && html`<div><dt>${say('amount')}</dt><dd>${price === undefined ? money(amount!, code) : worth(words, price, priced!.currency)}</dd></div>`}
    ${received !== amount && html`<div><dt>${say('received')}</dt><dd>${money(received, code)}</dd></div>`}
    ${refunded > 0n && html`<div><dt>${say('sentBack')}</dt><dd>${money(formatAmount(refunded), code)}</dd></div>`}
    ${paidAt !== null && html`<div><dt>${say('paidAt')}</dt><dd>${moment(words, paidAt)}</dd></div>`}
    <div><dt>${say('paidTo')}</dt><dd><code>${wallet.address}</code></dd></div>
    ${product.assetIssuer !== null && html`<div><dt>${say('issuerOf', { code })}</dt><dd><code>${product.assetIssuer}</code></dd></div>`}
    <div><dt>${say('orderId')}</dt><dd><code>${id}</code></dd></div>
  </dl>
  <h2>${words.count('payments', count)}</h2>
  ${count > largest.length && html`<p class="quiet">${words.count('largestPayments', largest.length)}</p>`}
  <div class="payments">${largest.map((payment) => paymentOf(frame, link.slug, payment))}</div>
  <p class="quiet screen">${words.html('proofHint', { address: html`<a href="${frame.base}/proof" dir="ltr">${frame.base}/proof</a>` })}</p>
  ${askShop(words, seller)}
  <p class="scripted screen"><button type="button" class="plain" id="print">${say('print')}</button></p>
</main>`,
    brand,
  );
}

const paymentOf = (
  { base, words }: Frame,
  slug: string,
  { id, amount, assetCode, value, senderShort, closedAt, transactionHash, refundedAmount }: PagePayment,
): Html => html`
  <dl class="facts">
    <div><dt>${words.say('amount')}</dt><dd>${words.html('amountFrom', { amount: money(amount, assetCode), sender: html`<code>${senderShort}</code>` })}</dd></div>
    ${value && html`<div><dt>${words.say('value')}</dt><dd>${worth(words, value.amount, value.currency)}</dd></div>`}
    ${refundedAmount !== null && parseSum(refundedAmount) > 0n && html`<div><dt>${words.say('sentBack')}</dt><dd>${money(refundedAmount, assetCode)}</dd></div>`}
    <div><dt>${words.say('time')}</dt><dd>${moment(words, closedAt)}</dd></div>
    ${transactionHash !== undefined && html`<div><dt>${words.say('transaction')}</dt><dd><code>${transactionHash}</code></dd></div>`}
    <div class="screen"><dt>${words.say('proofOfPayment')}</dt><dd><a href="${base}/c/${slug}/proof?payment=${id}">${words.say('proofDownload')}</a></dd></div>
  </dl>`;

// QR codes of a link or checkout: one for the page itself, and two to embed elsewhere.

/** How long caches may show an embedded code after its link is deactivated. */
const QR_CACHE_SECONDS = 60;
/** Shops write these addresses, so their amounts do not depend on the language of the browser that
 *  loads them. */
const PROGRAMS = wordsOf('en');

export function createImages(context: PageContext): Router {
  const router = express.Router();
  router.get(
    ['/p/:slug/qr', '/c/:slug/qr'],
    withCode(context, async (req, res, link) => {
      const { entered, amount } = termsOf(PROGRAMS, link, req.query.amount);
      if (closedBecause(link) !== null || link.order || entered.state === 'wrong')
        return sendUnknown(context, req, res);
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
        if (closedBecause(link) !== null || link.order) return sendUnknown(context, req, res);
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

// The button that pays from a test account, on LOCAL.

export async function payFromTestAccount(
  context: PageContext,
  req: Request,
  res: Response,
  link: PageLink,
): Promise<void> {
  const { testPayer, clock, log } = context;
  const { body = {} } = req as { body?: ShownFor | ApiError };
  const foreign = !['same-origin', 'none', undefined].includes(req.get('sec-fetch-site'));
  if (!testPayer || !isTestPayable(context, link) || foreign) return sendUnknown(context, req, res);
  const isJson = req.accepts(['html', 'json']) === 'json';
  const refuse = (status: number, problem: string, sent: ShownFor = {}) =>
    isJson
      ? void res.status(status).json({ paid: false, message: problem })
      : showPage(context, { req, res, link }, sent, { status, problem });
  if (body instanceof ApiError) return refuse(400, body.message);
  const words = wordsFor(req);
  const { entered, amount } = termsOf(words, link, body.amount);
  if (amount === null || closedBecause(link) !== null) return showPage(context, { req, res, link }, body);

  const { wallet, memo, product } = link;
  const { assetCode, assetIssuer } = product;
  const payment = await testPayer
    .pay({ destination: wallet.address, amount, assetCode, assetIssuer, memo })
    .catch((error: unknown): TestPayment => ({ paid: false, code: null, message: String(error) }));
  if (!payment.paid) {
    const { code, message } = payment;
    log.warn({ linkId: link.linkId, code, message }, 'test payment failed');
    const problem = code === null ? words.say('testFailed') : refusalSentence(words, code, link);
    return refuse(502, problem, body);
  }
  if (isJson) return void res.json(payment);
  const since = sinceOf(context, body.since) ?? clock.now();
  const query = new URLSearchParams({
    since: String(since.getTime()),
    ...(entered.state === 'valid' ? { amount: readAlike(entered.amount) } : {}),
  });
  res.redirect(303, words.here(`${addressOfPage(context, link)}?${query}`));
}

/** What the request says: it may be anything. */
interface ShownFor {
  amount?: unknown;
  since?: unknown;
}

/** What the service says, which no request can. */
interface Answered {
  /** Without one, that of a page, or of an amount that cannot be paid. */
  status?: number;
  /** Why a test payment failed. */
  problem?: string | null;
  /** An order that was refused. */
  order?: FilledForm;
  /** Origin of the opening page, which is told how the checkout ends; null for none. */
  opener?: string | null;
}

export async function showPage(
  context: PageContext,
  { req, res, link }: { req: Request; res: Response; link: PageLink },
  given: ShownFor,
  { status, problem = null, order, opener = null }: Answered = {},
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
    problem,
    filled: order ?? {
      ...EMPTY_FORM,
      ...(typeof given.amount === 'string' && { typed: new Map([['amount', given.amount]]) }),
    },
    opener,
  });
  setPolicy(res, link, [image]);
  res.set({
    ...(payerLedger !== null && opensWallets),
    ...(opener !== null && watchedByOpener),
  });
  send(res, status ?? (terms.entered.state === 'wrong' ? 422 : 200), view);
}

// QR codes within a page.

export const qrCode = async (text: string): Promise<Html> => trusted(await qrSvg(text));

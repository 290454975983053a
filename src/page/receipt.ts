/** The receipt of a paid checkout: shop, item, price, and the transactions that paid it. Prints on one page. */
import { formatAmount, parseSum } from '../domain/amount.js';
import { askShop, shopHead } from './brand.js';
import { refundedOf } from './checkout-state.js';
import { documentOf, type Frame } from './document.js';
import { type Html, html } from './html.js';
import { moment, money, orderFacts, worth } from './parts.js';
import type { PageLink, PagePayment, PaidBy } from './types.js';

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

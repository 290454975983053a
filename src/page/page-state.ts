/** Where a page stands: what has come since it was opened, whether it still asks for money, and how that is told. */
import { type Html, html } from './html.js';
import { icon, money, shorten } from './parts.js';
import type { PageLink, PagePayment } from './types.js';

export interface PageState {
  /** CHECKING: the end of a checkout has come, and its ledgers are still being read. */
  state: 'WAITING' | 'CLOSED' | 'CHECKING' | 'PAID' | 'UNDERPAID' | 'REJECTED';
  /** Whether the payment details are shown. */
  payable: boolean;
  /** Of a checkout: what remains. The page draws its details anew when it changes. */
  due?: string;
  title: string;
  /** For screen readers, when it changes. */
  announcement: string;
  html: Html;
}

/** Why the link or checkout takes no payments, or null when it does. */
export function closedBecause({ active, product, wallet, checkout }: PageLink): string | null {
  if (checkout && checkout.status !== 'OPEN') return 'This order is closed.';
  if (checkout?.ended) return 'The time to pay is over.';
  if (!active) return 'This payment link is switched off.';
  if (!product.active) return 'This product is not offered at the moment.';
  return wallet.active ? null : 'The receiving account is not in use at the moment.';
}

/** @param payments those that came since the page was opened, in any order.
 *  @param address path of the page, for a fresh start. */
export function pageStateOf(link: PageLink, payments: readonly PagePayment[], address: string): PageState {
  const closed = closedBecause(link);
  // The first payment that is complete stays on top, a receipt; before that, the newest one tells most.
  const oldestFirst = [...payments].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  const paid = oldestFirst.find((payment) => payment.status === 'COMPLETED');
  const main = paid ?? oldestFirst.at(-1);
  const { name } = link.product;
  if (!main) {
    const shown = { title: `${requested(link)} · ${name}`, announcement: '' };
    return closed === null
      ? { ...shown, state: 'WAITING', payable: true, html: WAITING }
      : { ...shown, state: 'CLOSED', payable: false, title: `Not available · ${name}`, html: closedView(closed) };
  }
  const message = describe(main, link);
  const others = oldestFirst.filter((payment) => payment !== main).reverse();
  return {
    state: paid ? 'PAID' : (main.status as 'UNDERPAID' | 'REJECTED'),
    payable: closed === null && !paid,
    title: `${message.heading} · ${name}`,
    announcement: `${message.heading}. ${main.amount} ${main.assetCode} received. ${message.sentence}`,
    html: html`
${outcome(main, link)}
${
  paid &&
  closed === null &&
  html`<p class="again">Not you? Others can pay with this link, too. <a href="${address}">Back to the payment details</a></p>`
}
${closed !== null && !paid && closedView(closed)}
${
  others.length > 0 &&
  html`<details class="others"><summary>${others.length === 1 ? 'One more payment' : `${others.length} more payments`} since you opened this page</summary>${others.map((payment) => outcome(payment, link))}</details>`
}`,
  };
}

function requested({ product }: PageLink): string {
  return product.price === null ? `Pay in ${product.assetCode}` : `Pay ${product.price} ${product.assetCode}`;
}

export const WAITING = html`<p class="waiting scripted"><span class="pulse"></span><span class="online">Waiting for your payment…</span><span class="offline">No connection. Your payment is not lost: this page catches up when it is back.</span></p>`;

const closedView = (because: string): Html => html`
<div class="outcome closed">
  <span class="badge">${icon('pause')}</span>
  <h2>Payments are not accepted</h2>
  <p>${because} Please do not send anything to an address you noted earlier: it would not count as a payment.</p>
  <p>Ask the merchant who gave you this link.</p>
</div>`;

interface PaymentMessage {
  tone: 'paid' | 'short' | 'refused';
  heading: string;
  sentence: string;
}

function describe(payment: PagePayment, link: PageLink): PaymentMessage {
  const { assetCode: code } = payment;
  const { product } = link;
  const asked = payment.expectedAmount ?? product.price ?? product.minAmount;
  if (payment.status === 'COMPLETED') {
    const tone = 'paid';
    if (payment.reason === 'overpaid' && payment.excessAmount !== null) {
      return {
        tone,
        heading: `Paid, ${payment.excessAmount} ${code} too much`,
        sentence: `${link.checkout ? 'Due were' : 'The price is'} ${asked} ${code}. Ask the merchant if you want the rest back.`,
      };
    }
    if (payment.shortfallAmount !== null || !isAskedAsset(payment, product)) {
      return { tone, heading: 'Paid', sentence: 'The merchant has accepted your payment as it came.' };
    }
    return { tone, heading: 'Paid', sentence: 'The payment has arrived and is complete. You can close this page.' };
  }
  if (payment.reason === 'partial') {
    const sentence = `It is a part of the order: ${payment.shortfallAmount} ${code} were left to pay after it.`;
    return { tone: 'short', heading: 'A part', sentence };
  }
  if (payment.status === 'UNDERPAID') {
    const least = payment.reason === 'below_minimum' ? 'The minimum is' : 'The price is';
    return {
      tone: 'short',
      heading: `${payment.shortfallAmount} ${code} short`,
      sentence: `${least} ${asked} ${code}, so this payment is not complete. Contact the merchant, who can accept it or send it back. Sending only the rest does not help: every payment is judged on its own.`,
    };
  }
  const refused = (heading: string, sentence: string): PaymentMessage => ({
    tone: 'refused',
    heading,
    sentence: `${sentence} The money is in the merchant’s account: contact the merchant, who can send it back.`,
  });
  switch (payment.reason) {
    case 'wrong_asset':
      return refused(
        'Not accepted: wrong asset',
        code === product.assetCode
          ? `It came in an asset that is also called ${code}, but has another issuer than the one asked for.`
          : `It came in ${code}, but ${product.assetCode} is asked for.`,
      );
    case 'link_inactive':
      return refused('Not accepted', 'This payment link was switched off when it arrived.');
    case 'product_inactive':
      return refused('Not accepted', 'This product was not offered any more when it arrived.');
    case 'checkout_paid':
      return refused('Not accepted', 'The order was paid already when it arrived.');
    case 'checkout_expired':
      return refused('Not accepted: too late', 'It came after the time to pay was over.');
    case 'checkout_cancelled':
      return refused('Not accepted', 'The order was cancelled before it arrived.');
    default:
      return refused('Not accepted', 'It could not be taken as a payment for this link.');
  }
}

const isAskedAsset = (payment: PagePayment, product: PageLink['product']): boolean =>
  payment.assetCode === product.assetCode && payment.assetIssuer === product.assetIssuer;

const ICON_OF = { paid: 'check', short: 'part', refused: 'cross' } as const;

export function outcome(payment: PagePayment, link: PageLink): Html {
  const { tone, heading, sentence } = describe(payment, link);
  const moment = payment.createdAt.toISOString();
  const asset = payment.assetIssuer === null || isAskedAsset(payment, link.product) ? null : payment.assetIssuer;
  return html`<article class="outcome ${tone}">
  <span class="badge">${icon(ICON_OF[tone])}</span>
  <h2>${heading}</h2>
  <p class="received">${money(payment.amount, payment.assetCode)} received</p>
  <p>${sentence}</p>
  <dl class="facts">
    <div><dt>From</dt><dd><code>${payment.senderShort}</code></dd></div>
    ${asset !== null && html`<div><dt>Issuer</dt><dd><code>${shorten(asset)}</code></dd></div>`}
    <div><dt>Time</dt><dd><time datetime="${moment}">${moment.slice(0, 16).replace('T', ' ')} UTC</time></dd></div>
    ${payment.transactionHash !== undefined && html`<div><dt>Transaction</dt><dd>${transaction(payment.transactionHash, payment.explorerUrl)}</dd></div>`}
  </dl>
</article>`;
}

const transaction = (hash: string, explorerUrl: string | null): Html =>
  explorerUrl === null
    ? html`<details class="whole"><summary><code>${shorten(hash)}</code></summary><code>${hash}</code></details>`
    : html`<a href="${explorerUrl}" target="_blank" rel="noopener noreferrer"><code>${shorten(hash)}</code> in the explorer</a>`;

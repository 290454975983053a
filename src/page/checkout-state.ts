/** Where the page of a checkout stands. It is one payer's page, so it shows the whole order: what came, what remains, how it ended. */
import { type Html, html } from './html.js';
import { closedBecause, outcome, type PageState, WAITING } from './page-state.js';
import { icon, money } from './parts.js';
import { PAYMENTS_SHOWN, type PageCheckout, type PageLink, type PagePayment } from './types.js';

interface Message {
  state: PageState['state'];
  tone: 'paid' | 'short' | 'closed';
  heading: string;
  sentence: string;
}

/** @param payments of the checkout, in any order */
export function checkoutStateOf(link: PageLink, payments: readonly PagePayment[]): PageState {
  const checkout = link.checkout!;
  const { name, assetCode } = link.product;
  const payable = closedBecause(link) === null;
  const newestFirst = [...payments].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  const message = messageOf(link, checkout);
  // A payment that did not count says why, as long as the payer can still act on it.
  const refused = payable && newestFirst[0]?.status === 'REJECTED' ? newestFirst[0] : null;
  const title = message ? `${message.heading} · ${name}` : `Pay ${checkout.remaining} ${assetCode} · ${name}`;
  return {
    state: message?.state ?? (refused ? 'REJECTED' : 'WAITING'),
    payable,
    due: checkout.remaining,
    title,
    announcement: message ? `${message.heading}. ${message.sentence}` : refused ? 'A payment was not accepted.' : '',
    html: html`
${message && summary(message, link)}
${refused && outcome(refused, link)}
${payable && WAITING}
${checkout.status === 'PAID' && checkout.successUrl !== null && html`<p class="back"><a class="button" id="back" href="${withCheckout(checkout.successUrl, checkout.id)}">Back to the shop</a></p>`}
${checkout.status !== 'PAID' && checkout.cancelUrl !== null && html`<p class="back"><a href="${checkout.cancelUrl}">${payable ? 'Cancel and go back to the shop' : 'Back to the shop'}</a></p>`}
${
  newestFirst.length > 0 &&
  html`<details class="others"><summary>${countOf(newestFirst.length)}</summary>${newestFirst.map((payment) => outcome(payment, link))}</details>`
}`,
  };
}

/** Of very many payments the page shows the newest. */
function countOf(shown: number): string {
  if (shown >= PAYMENTS_SHOWN) return `The newest ${shown} payments`;
  return shown === 1 ? 'One payment' : `${shown} payments`;
}

/** Null while it is open and nothing has come. */
function messageOf(link: PageLink, checkout: PageCheckout): Message | null {
  const { status, received, remaining, excess } = checkout;
  const code = link.product.assetCode;
  const kept =
    received === '0'
      ? ''
      : ` ${received} ${code} had come by then: contact the merchant, who can accept it or send it back.`;
  if (status === 'PAID') {
    const tooMuch = excess === null ? '' : `, ${excess} ${code} too much`;
    const sentence =
      excess === null ? 'The order is paid. You can close this page.' : 'Ask the merchant if you want the rest back.';
    return { state: 'PAID', tone: 'paid', heading: `Paid${tooMuch}`, sentence };
  }
  const closed = (heading: string, sentence: string): Message => ({
    state: 'CLOSED',
    tone: 'closed',
    heading,
    sentence: `${sentence} Please do not send anything any more: it would not count.${kept}`,
  });
  if (status === 'CANCELLED') return closed('This order was cancelled', 'The merchant takes no payment for it.');
  if (status === 'EXPIRED') return closed('This order has expired', 'The time to pay it is over.');
  if (checkout.ended) {
    const heading = 'We are still checking the ledger';
    return {
      ...closed(heading, 'The time to pay is over. A payment that was in time still counts.'),
      state: 'CHECKING',
    };
  }
  const because = closedBecause(link);
  if (because !== null) return closed('Payments are not accepted', because);
  if (received === '0') return null;
  const sentence = 'Parts add up: send the rest to the same address, with the same memo.';
  return { state: 'UNDERPAID', tone: 'short', heading: `${remaining} ${code} still to pay`, sentence };
}

const ICON_OF = { paid: 'check', short: 'part', closed: 'pause' } as const;

function summary({ tone, heading, sentence }: Message, { checkout, product }: PageLink): Html {
  return html`<article class="outcome ${tone}">
  <span class="badge">${icon(ICON_OF[tone])}</span>
  <h2>${heading}</h2>
  ${checkout!.received !== '0' && html`<p class="received">${money(checkout!.received, product.assetCode)} received</p>`}
  <p>${sentence}</p>
</article>`;
}

/** The shop's URL with `checkout=<id>` added to its query, which stays as it is. */
export function withCheckout(url: string, id: string): string {
  const [whole = '', ...fragment] = url.split('#');
  const glue = !whole.includes('?') ? '?' : /[?&]$/.test(whole) ? '' : '&';
  return [`${whole}${glue}checkout=${encodeURIComponent(id)}`, ...fragment].join('#');
}

/** `2 d 3 h`, `3 h 20 min`, `12 min 5 s`, `45 s`. */
export function timeLeft(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const parts = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ] as const;
  const first = Math.max(
    0,
    parts.findIndex(([count]) => count > 0),
  );
  const shown = seconds === 0 ? parts.slice(-1) : parts.slice(first, first + 2);
  return shown.map(([count, unit]) => `${count} ${unit}`).join(' ');
}

/** The state of a page: payments since it was opened, whether it still asks for money, and
 *  its messages. */
import { parseSum } from '../domain/amount.js';
import { askShop } from './brand.js';
import { icon, moment, money, shorten } from './document.js';
import { type Html, html } from './html.js';
import type { PageLink, PagePayment } from './types.js';
import type { PlainKey, Words } from './words.js';

export interface PageState {
  /** CHECKING: a checkout has ended, and its ledgers are still being read. */
  state: 'WAITING' | 'CLOSED' | 'CHECKING' | 'PAID' | 'UNDERPAID' | 'REJECTED';
  /** Whether the payment details are shown. */
  payable: boolean;
  /** The remaining amount of a checkout; the page redraws its details when it changes. */
  due?: string;
  title: string;
  /** For screen readers, when it changes. */
  announcement: string;
  html: Html;
}

/** Why the link or checkout takes no payments, or null when it does. */
export function closedBecause(link: PageLink): PlainKey | null {
  return endedBecause(link) ?? (hasNoPrice(link) ? 'noPrice' : null);
}

/** The price is in a currency without a fresh rate. */
export const hasNoPrice = ({ priced, product, checkout }: PageLink): boolean =>
  priced !== undefined &&
  checkout?.status !== 'PAID' &&
  (priced.rate === null || (product.priceType === 'FIXED' && product.price === null));

/** Why nothing is accepted any more, regardless of the price. */
export function endedBecause({ active, product, wallet, checkout, over }: PageLink): PlainKey | null {
  if (checkout && checkout.status !== 'OPEN') return 'orderClosed';
  if (checkout?.ended) return 'timeOver';
  if (!active) return 'linkOff';
  if (over === 'linkEnded') return over;
  if (!product.active) return 'productOff';
  if (!wallet.active) return 'walletOff';
  return over ?? null;
}

/** @param payments since the page was opened, in any order
 *  @param address path of the page, for a fresh start. */
export function pageStateOf(
  words: Words,
  link: PageLink,
  payments: readonly PagePayment[],
  address: string,
): PageState {
  const closed = closedBecause(link);
  // The first complete payment stays on top as a receipt; without one, the newest is shown.
  const oldestFirst = [...payments].sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
  const paid = oldestFirst.find((payment) => payment.status === 'COMPLETED');
  const main = paid ?? oldestFirst.at(-1);
  const { name } = link.product;
  if (!main) {
    const shown = { title: `${requested(words, link)} · ${name}`, announcement: '', ...priceNow(link) };
    return closed === null
      ? { ...shown, state: 'WAITING', payable: true, html: link.order ? html`` : waiting(words) }
      : {
          ...shown,
          state: 'CLOSED',
          payable: false,
          title: `${words.say('titleOff')} · ${name}`,
          html: closedView(words, link, closed),
        };
  }
  const message = describe(words, main, link);
  const others = oldestFirst.filter((payment) => payment !== main).reverse();
  return {
    state: paid ? 'PAID' : (main.status as 'UNDERPAID' | 'REJECTED'),
    payable: closed === null && !paid,
    ...priceNow(link),
    title: `${message.heading} · ${name}`,
    announcement: `${message.heading}. ${words.say('came', { amount: `${main.amount} ${main.assetCode}` })}. ${message.sentence}`,
    html: html`
${outcome(words, main, link)}
${paid && afterPayment(words, link, link.afterPayment?.url ? withQuery(link.afterPayment.url, { payment: paid.id }) : null)}
${
  paid &&
  closed === null &&
  html`<p class="again">${words.html('notYou', { again: html`<a href="${words.here(address)}">${words.say('notYouAgain')}</a>` })}</p>`
}
${closed !== null && !paid && closedView(words, link, closed)}
${
  others.length > 0 &&
  html`<details class="others"><summary>${words.count('morePayments', others.length)}</summary>${others.map((payment) => outcome(words, payment, link))}</details>`
}`,
  };
}

/** The parts of the page that change with the rate. The amount shown for a payer's entered amount
 *  holds, so it stays. */
export function priceNow({ priced, product, order }: PageLink): { due?: string } {
  // A form that is being filled in stays as it is.
  if (!priced || order) return {};
  if (product.priceType === 'FIXED') return { due: product.price ?? '' };
  return { due: priced.rate ? 'open' : '' };
}

function requested(words: Words, { product }: PageLink): string {
  const { price, assetCode: code } = product;
  return price === null ? words.say('titlePayIn', { code }) : words.say('titlePay', { amount: `${price} ${code}` });
}

export const waiting = (words: Words): Html =>
  html`<p class="waiting scripted"><span class="pulse"></span><span class="online">${words.say('waiting')}</span><span class="offline">${words.say('offline')}</span></p>`;

/** A missing rate is temporary: the page checks for it by itself. */
const noPriceView = ({ say }: Words): Html => html`
<div class="outcome closed">
  <span class="badge">${icon('pause')}</span>
  <h2>${say('noPrice')}</h2>
  <p>${say('noPriceWhy')}</p>
</div>`;

const closedView = (words: Words, link: PageLink, because: PlainKey): Html =>
  endedBecause(link) === null ? noPriceView(words) : endedView(words, link, because);

/** What the link says once it is paid, and the way on. */
export const afterPayment = ({ say }: Words, { afterPayment: after }: PageLink, url: string | null): Html => html`
${after?.message && html`<p class="thanks" dir="auto">${after.message}</p>`}
${url !== null && html`<p class="back"><a class="button" id="back" href="${url}">${say('backToShop')}</a></p>`}`;

/** The shop's URL with these added to its query, which stays as it is. */
export function withQuery(url: string, added: Readonly<Record<string, string>>): string {
  const [whole = '', ...fragment] = url.split('#');
  const glue = !whole.includes('?') ? '?' : /[?&]$/.test(whole) ? '' : '&';
  return [`${whole}${glue}${new URLSearchParams(added)}`, ...fragment].join('#');
}

const endedView = (words: Words, { brand, inactiveText }: PageLink, because: PlainKey): Html => html`
<div class="outcome closed">
  <span class="badge">${icon('pause')}</span>
  <h2>${words.say(because === 'soldOut' ? 'soldOut' : 'closedTitle')}</h2>
  ${inactiveText !== undefined && html`<p dir="auto">${inactiveText}</p>`}
  <p>${because === 'soldOut' ? words.say('soldOutWhy') : `${words.say(because)} ${words.say('doNotSend')}`}</p>
  ${askShop(words, brand)}
</div>`;

interface PaymentMessage {
  tone: 'paid' | 'short' | 'refused';
  heading: string;
  sentence: string;
}

function describe(words: Words, payment: PagePayment, link: PageLink): PaymentMessage {
  const message = judgementOf(words, payment, link);
  const { say } = words;
  const { refundedAmount: refunded, assetCode: code } = payment;
  if (refunded === null) return message;
  const amount = `${refunded} ${code}`;
  if (parseSum(refunded) >= parseSum(payment.amount)) {
    return { tone: 'short', heading: say('sentBack'), sentence: say('sentBackAll', { amount }) };
  }
  if (payment.status !== 'COMPLETED') {
    return { ...message, sentence: `${message.sentence} ${say('sentBackAlready', { amount })}` };
  }
  return { ...message, heading: say('paidSentBack', { amount }), sentence: say('sentBackPart', { amount }) };
}

/** Why a payment was REJECTED; `wrong_asset` has two sentences. */
const REFUSALS: Partial<Record<NonNullable<PagePayment['reason']>, readonly [heading: PlainKey, sentence: PlainKey]>> =
  {
    link_inactive: ['refused', 'wasLinkOff'],
    link_ended: ['refusedLate', 'wasLinkEnded'],
    order_needed: ['refused', 'wasOrderNeeded'],
    product_inactive: ['refused', 'wasProductOff'],
    checkout_paid: ['refused', 'wasPaid'],
    checkout_expired: ['refusedLate', 'wasLate'],
    checkout_cancelled: ['refused', 'wasCancelled'],
  };

/** The outcome of a payment, regardless of refunds. */
function judgementOf({ say }: Words, payment: PagePayment, link: PageLink): PaymentMessage {
  const { assetCode: code, reason } = payment;
  const { product } = link;
  const asked = `${payment.expectedAmount ?? product.price ?? product.minAmount} ${code}`;
  if (payment.status === 'COMPLETED') {
    const tone = 'paid';
    if (reason === 'overpaid' && payment.excessAmount !== null) {
      const heading = say('paidTooMuch', { excess: `${payment.excessAmount} ${code}` });
      return { tone, heading, sentence: say(link.checkout ? 'dueWas' : 'priceWas', { asked }) };
    }
    const asItCame = (payment.shortfallAmount !== null && reason === null) || !isAskedAsset(payment, product);
    return { tone, heading: say('paid'), sentence: say(asItCame ? 'paidAsItCame' : 'paidComplete') };
  }
  const left = `${payment.shortfallAmount} ${code}`;
  if (reason === 'partial') return { tone: 'short', heading: say('part'), sentence: say('partOf', { left }) };
  if (reason === 'no_rate') return { tone: 'short', heading: say('noPrice'), sentence: say('merchantHasIt') };
  if (payment.status === 'UNDERPAID') {
    const sentence = say(reason === 'below_minimum' ? 'belowMinimum' : 'belowPrice', { asked });
    return { tone: 'short', heading: say('short', { amount: left }), sentence };
  }
  const refused = (heading: PlainKey, sentence: string): PaymentMessage => ({
    tone: 'refused',
    heading: say(heading),
    sentence: `${sentence} ${say('merchantHasIt')}`,
  });
  if (reason === 'wrong_asset') {
    const sentence =
      code === product.assetCode ? say('sameCode', { code }) : say('otherAsset', { code, asked: product.assetCode });
    return refused('refusedAsset', sentence);
  }
  const [heading, sentence] = (reason && REFUSALS[reason]) ?? (['refused', 'wasOther'] as const);
  return refused(heading, say(sentence));
}

const isAskedAsset = (payment: PagePayment, product: PageLink['product']): boolean =>
  payment.assetCode === product.assetCode && payment.assetIssuer === product.assetIssuer;

const ICON_OF = { paid: 'check', short: 'part', refused: 'cross' } as const;

export function outcome(words: Words, payment: PagePayment, link: PageLink): Html {
  const { say } = words;
  const { tone, heading, sentence } = describe(words, payment, link);
  const asset = payment.assetIssuer === null || isAskedAsset(payment, link.product) ? null : payment.assetIssuer;
  return html`<article class="outcome ${tone}">
  <span class="badge">${icon(ICON_OF[tone])}</span>
  <h2>${heading}</h2>
  <p class="received">${words.html('came', { amount: money(payment.amount, payment.assetCode) })}</p>
  <p>${sentence}</p>
  ${tone !== 'paid' && askShop(words, link.brand)}
  <dl class="facts">
    <div><dt>${say('from')}</dt><dd><code>${payment.senderShort}</code></dd></div>
    ${asset !== null && html`<div><dt>${say('issuer')}</dt><dd><code>${shorten(asset)}</code></dd></div>`}
    <div><dt>${say('time')}</dt><dd>${moment(words, payment.createdAt)}</dd></div>
    ${payment.transactionHash !== undefined && html`<div><dt>${say('transaction')}</dt><dd>${transaction(words, payment.transactionHash, payment.explorerUrl)}</dd></div>`}
  </dl>
</article>`;
}

const transaction = (words: Words, hash: string, explorerUrl: string | null): Html =>
  explorerUrl === null
    ? html`<details class="whole"><summary><code>${shorten(hash)}</code></summary><code>${hash}</code></details>`
    : html`<a href="${explorerUrl}" target="_blank" rel="noopener noreferrer">${words.html('inExplorer', { hash: html`<code>${shorten(hash)}</code>` })}</a>`;

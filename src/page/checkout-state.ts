/** The state of a checkout's page. It has one payer, so it shows the whole order: what was paid,
 *  what remains, how it ended. */
import { formatAmount, parseSum } from '../domain/amount.js';
import { askShop } from './brand.js';
import { icon, money } from './document.js';
import { type Html, html } from './html.js';
import {
  afterPayment,
  closedBecause,
  endedBecause,
  hasNoPrice,
  outcome,
  type PageState,
  priceNow,
  waiting,
  withQuery,
} from './page-state.js';
import { PAYMENTS_SHOWN, type PageCheckout, type PageLink, type PagePayment } from './types.js';
import type { PlainKey, Words } from './words.js';

interface Message {
  state: PageState['state'];
  tone: 'paid' | 'short' | 'closed';
  heading: string;
  sentence: string;
}

/** @param payments of the checkout, in any order @param address path of the page */
export function checkoutStateOf(
  words: Words,
  link: PageLink,
  payments: readonly PagePayment[],
  address: string,
): PageState {
  const { say } = words;
  const checkout = link.checkout!;
  const { name, assetCode } = link.product;
  const payable = closedBecause(link) === null;
  const newestFirst = [...payments].sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime());
  const receipt = words.here(`${address}/receipt`);
  const message = messageOf(words, link, checkout, refundedOf(link, payments));
  // A payment that did not count shows why, as long as the payer can still act on it.
  const refused = payable && newestFirst[0]?.status === 'REJECTED' ? newestFirst[0] : null;
  const title = message
    ? `${message.heading} · ${name}`
    : `${say('titlePay', { amount: `${checkout.remaining} ${assetCode}` })} · ${name}`;
  return {
    state: message?.state ?? (refused ? 'REJECTED' : 'WAITING'),
    payable,
    due: priceNow(link).due ?? checkout.remaining!,
    title,
    announcement: message ? `${message.heading}. ${message.sentence}` : refused ? say('onePaymentRefused') : '',
    html: html`
${message && summary(words, message, link)}
${refused && outcome(words, refused, link)}
${payable && waiting(words)}
${checkout.status === 'PAID' && html`<p class="to-receipt"><a href="${receipt}" target="_blank" rel="noopener noreferrer">${say('receipt')}</a></p>`}
${checkout.status === 'PAID' && afterPayment(words, link, successUrlOf(checkout, payments))}
${!payable && checkout.status !== 'PAID' && checkout.cancelUrl !== null && html`<p class="back"><a href="${checkout.cancelUrl}">${say('backToShop')}</a></p>`}
${
  newestFirst.length > 0 &&
  html`<details class="others"><summary>${words.count(newestFirst.length >= PAYMENTS_SHOWN ? 'newestPayments' : 'payments', newestFirst.length)}</summary>${newestFirst.map((payment) => outcome(words, payment, link))}</details>`
}`,
  };
}

/** Refunded stroops in the checkout's asset: of all its payments, or of those shown if they
 *  are newer. */
export function refundedOf({ product, checkout }: PageLink, payments: readonly PagePayment[]): bigint {
  const all = parseSum(checkout!.refunded);
  const shown = payments
    .filter(({ assetCode, assetIssuer }) => assetCode === product.assetCode && assetIssuer === product.assetIssuer)
    .reduce((sum, { refundedAmount }) => sum + parseSum(refundedAmount ?? '0'), 0n);
  return shown > all ? shown : all;
}

/** Null while it is open without payments. */
function messageOf(words: Words, link: PageLink, checkout: PageCheckout, refunded: bigint): Message | null {
  const { say } = words;
  const { status, received, remaining, excess } = checkout;
  const code = link.product.assetCode;
  const kept = received === '0' ? '' : ` ${say('hadCome', { amount: `${received} ${code}` })}`;
  if (status === 'PAID' && refunded > 0n) {
    const back = `${formatAmount(refunded)} ${code}`;
    const isWhole = refunded >= parseSum(received);
    const heading = isWhole ? say('sentBack') : say('paidSentBack', { amount: back });
    return {
      state: 'PAID',
      tone: isWhole ? 'short' : 'paid',
      heading,
      sentence: say('sentBackAll', { amount: back }),
    };
  }
  if (status === 'PAID') {
    const heading = excess === null ? say('paid') : say('paidTooMuch', { excess: `${excess} ${code}` });
    return { state: 'PAID', tone: 'paid', heading, sentence: say(excess === null ? 'orderPaid' : 'restBack') };
  }
  const closed = (heading: PlainKey, sentence: PlainKey): Message => ({
    state: 'CLOSED',
    tone: 'closed',
    heading: say(heading),
    sentence: `${say(sentence)} ${say('sendNoMore')}${kept}`,
  });
  if (status === 'CANCELLED') return closed('cancelled', 'cancelledWhy');
  if (status === 'EXPIRED') return closed('expired', 'expiredWhy');
  if (checkout.ended) {
    return { ...closed('checking', 'checkingWhy'), state: 'CHECKING' };
  }
  const because = endedBecause(link);
  if (because !== null) return closed('closedTitle', because);
  if (hasNoPrice(link))
    return { state: 'CLOSED', tone: 'closed', heading: say('noPrice'), sentence: say('noPriceWhy') };
  if (received === '0') return null;
  const sentence = say('partsAddUp');
  return {
    state: 'UNDERPAID',
    tone: 'short',
    heading: say('stillToPay', {
      amount: link.priced ? words.money(link.priced.due!, link.priced.currency) : `${remaining} ${code}`,
    }),
    sentence,
  };
}

const ICON_OF = { paid: 'check', short: 'part', closed: 'pause' } as const;

function summary(words: Words, { tone, heading, sentence }: Message, { checkout, product, brand }: PageLink): Html {
  return html`<article class="outcome ${tone}">
  <span class="badge">${icon(ICON_OF[tone])}</span>
  <h2>${heading}</h2>
  ${checkout!.received !== '0' && html`<p class="received">${words.html('came', { amount: money(checkout!.received, product.assetCode) })}</p>`}
  <p>${sentence}</p>
  ${tone !== 'paid' && askShop(words, brand)}
</article>`;
}

/** The shop's URL, with the ids of the checkout and, of an order link's, of the payment that
 *  completed it. */
function successUrlOf(
  { id, successUrl, isOrdered, paidAt }: PageCheckout,
  payments: readonly PagePayment[],
): string | null {
  if (successUrl === null) return null;
  const completed = payments.filter(({ status }) => status === 'COMPLETED');
  const payment = completed.find(({ closedAt }) => closedAt.getTime() === paidAt?.getTime()) ?? completed[0];
  return withQuery(successUrl, { checkout: id, ...(isOrdered && payment && { payment: payment.id }) });
}

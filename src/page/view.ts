/** The page as HTML: what is bought, how it is paid, and where the payment stands. Complete without
 *  the script. */
import { networkInfo } from '../../contracts/networks.js';
import { withMinorDigits } from '../domain/money-text.js';
import { formatRate } from '../domain/rate.js';
import { readAlike } from '../domain/typed-amount.js';
import { type AssetName, WALLET_SCRIPTS } from './assets.js';
import { askShop, shopHead } from './brand.js';
import {
  copyButton,
  documentOf,
  type Frame,
  figure,
  icon,
  moment,
  money,
  orderFacts,
  shorten,
  spelled,
  worth,
} from './document.js';
import type { EnteredAmount } from './entered-amount.js';
import type { ShownImage } from './headers.js';
import { type Html, html } from './html.js';
import { type FilledForm, orderForm } from './order-form.js';
import type { PageState } from './page-state.js';
import type { PageLink, PagePrice, PageWarning } from './types.js';
import type { PlainKey, Words } from './words.js';

// The part of the page for paying with a wallet in the browser, and its scripts' settings. Hidden
// without the script.

const SWITCH_TO = { PUBLIC: 'switchPublic', TESTNET: 'switchTest', LOCAL: 'switchLocal' } as const;

/** Null while the payer has not chosen an amount. */
function walletButton(words: Words, link: PageLink, amount: string | null): Html | null {
  if (amount === null) return null;
  const { say } = words;
  const pay = say('titlePay', { amount: `${amount} ${link.product.assetCode}` });
  return html`<div class="by-wallet scripted"><button type="button" data-amount="${amount}" data-pay="${pay}">${icon('wallet')}<span>${say('payByWallet')}</span></button><p class="problem" role="alert"></p>${askShop(words, link.brand)}</div>`;
}

/** URLs of the scripts, and the network. */
function walletData({ assets, base }: Frame, { network }: PageLink['wallet']): Html {
  const address = (file: AssetName) => `${base}/page/${assets.nameOf(file)}`;
  const scripts = WALLET_SCRIPTS.map((name) => [name, address(`wallets-${name}.js`)]);
  const files = { ...Object.fromEntries(scripts), style: address('wallets.css') };
  return html` data-files="${JSON.stringify(files)}" data-passphrase="${networkInfo[network].passphrase}"`;
}

/** The script fills in the name of the wallet. */
export function walletTexts({ say }: Words, link: PageLink): Record<string, string> {
  const wallet = '{wallet}';
  const host = '{host}';
  return {
    payByWallet: say('payByWallet'),
    close: say('close'),
    lookingForWallets: say('lookingForWallets'),
    walletHere: say('walletHere'),
    walletOpens: say('walletOpens', { host }),
    walletGet: say('walletGet', { host }),
    anotherWallet: say('anotherWallet'),
    payIn: say('titlePay', { amount: '{amount}' }),
    otherAssets: say('otherAssets'),
    wayMost: say('wayMost', { most: '{most}', balance: '{balance}' }),
    pricesNew: say('pricesNew'),
    noWallets: say('noWallets'),
    waitingFor: say('waitingFor', { wallet }),
    sending: say('sending'),
    declined: say('declined', { wallet }),
    locked: say('locked', { wallet }),
    notHere: say('notHere', { wallet }),
    noReply: say('noReply', { wallet }),
    windowBlocked: say('windowBlocked', { wallet }),
    windowClosed: say('windowClosed', { wallet }),
    otherNetwork: say(SWITCH_TO[link.wallet.network], { wallet }),
    networkUnknown: say('networkUnknown', { wallet }),
    signedElse: say('signedElse', { wallet }),
    walletSays: say('walletSays', { wallet, message: '{message}' }),
  };
}

interface PageModel {
  words: Words;
  link: PageLink;
  pageState: PageState;
  entered: EnteredAmount;
  /** The amount to pay, canonical; null while the payer has not chosen. */
  amount: string | null;
  uri: string;
  qr: Html;
  image: ShownImage | null;
  /** Path of this page. */
  address: string;
  /** When it was opened, milliseconds since the epoch. */
  opened: number;
  nowMs: number;
  /** Whether a payer without the script asked if the payment arrived. */
  looked: boolean;
  testPayable: boolean;
  /** A wallet in the browser may pay. */
  walletPayable: boolean;
  /** The failure of a test payment. */
  problem: string | null;
  /** The form of an order link. */
  filled: FilledForm;
  /** The origin to tell how a checkout ended. */
  opener: string | null;
}

export function pageView(frame: Frame, model: PageModel): Html {
  const { words, link, pageState, image, address, opened } = model;
  const { name, description } = link.product;
  return documentOf(
    frame,
    pageState.title,
    html`
${networkNotice(words, link)}
<main class="checkout" data-address="${address}"${words.asked !== null && html` data-lang="${words.asked}"`} data-texts="${scriptTexts(model)}" data-opened="${opened}" data-state="${pageState.state}"${pageState.due !== undefined && html` data-due="${pageState.due}"`}${pageState.payable && model.walletPayable && walletData(frame, link.wallet)}${model.opener !== null && html` data-opener="${model.opener}" data-checkout="${link.checkout!.id}"`}${link.embedOrigins.length > 0 && html` data-embed="${link.embedOrigins.join(' ')}"${link.checkout && model.opener === null && html` data-checkout="${link.checkout.id}"`}`}>
  <header class="summary">
    ${shopHead(link.brand)}
    ${image && html`<img class="picture" src="${image.url}" alt="" referrerpolicy="no-referrer" width="320" height="320">`}
    <div>
      <h1><bdi>${name}</bdi></h1>
      ${link.checkout && link.checkout.reference !== null && html`<p class="least reference">${words.html('order', { reference: html`<bdi>${link.checkout.reference}</bdi>` })}</p>`}
      <div id="price">${price(model)}</div>
      ${pageState.payable && countdown(model)}
    </div>
  </header>
  <section class="card" aria-label="${words.say('payment')}">
    <p id="announcement" class="unseen" role="status" aria-live="polite"></p>
    <div id="status">${pageState.html}</div>
    <div id="ask">${pageState.payable && ask(model)}</div>
  </section>
  ${description !== null && description.trim() !== '' && html`<section class="about" aria-label="${words.say('description')}"><p dir="auto">${description}</p></section>`}
</main>`,
    link.brand,
    headOf(frame, link),
  );
}

/** Style and scripts that few pages need. */
function headOf({ assets, base }: Frame, { order, embedOrigins }: PageLink): Html {
  const script = (file: AssetName) => html`<script type="module" src="${base}/page/${assets.nameOf(file)}"></script>`;
  const style = order && html`<link rel="stylesheet" href="${base}/page/${assets.nameOf('order.css')}">`;
  return html`${style}${order && script('order.js')}${embedOrigins.length > 0 && script('embed.js')}`;
}

const WARNINGS: Readonly<Record<PageWarning, PlainKey>> = {
  no_account: 'noAccount',
  no_trustline: 'noTrustline',
  unknown: 'notChecked',
};

/** The countdown is highlighted this long before the end. */
const SOON_MS = 5 * 60_000;

/** Texts for the page's scripts, as JSON. */
function scriptTexts({ words, link, testPayable, walletPayable }: PageModel): string {
  const { say } = words;
  return JSON.stringify({
    copy: say('copy'),
    copied: say('copied'),
    selectIt: say('selectIt'),
    cannotCopy: say('cannotCopy'),
    paidArriving: say('paidArriving'),
    noAnswer: say('noAnswer'),
    notSent: say('notSent'),
    ...(testPayable && { paying: say('paying') }),
    ...(walletPayable && {
      ...walletTexts(words, link),
    }),
  });
}

function networkNotice({ say }: Words, { wallet: { network } }: PageLink): Html | null {
  if (network === 'PUBLIC') return null;
  return html`<aside class="network"><strong>${say(network === 'TESTNET' ? 'testNetwork' : 'localNetwork')}</strong> ${say('noRealMoney')}</aside>`;
}

/** By the server's clock: the script counts from the time given. */
function countdown({ words, link: { checkout }, nowMs }: PageModel): Html | null {
  if (!checkout) return null;
  const endsMs = checkout.expiresAt.getTime();
  return html`<p id="countdown" class="countdown"${endsMs - nowMs < SOON_MS && html` data-soon`} data-ends="${endsMs}" data-now="${nowMs}">${words.html('payUntil', { time: moment(words, checkout.expiresAt), left: html`<span role="timer">${words.timeLeft(endsMs - nowMs)}</span>` })}</p>`;
}

function price({ words, link, amount: asked, entered, pageState }: PageModel): Html {
  const { product, checkout, priced } = link;
  const { assetCode, assetIssuer, minAmount } = product;
  const amount = checkout && !pageState.payable ? checkout.amount : link.order && !priced ? product.price : asked;
  const whole =
    checkout?.price !== undefined
      ? worth(words, checkout.price, priced!.currency)
      : checkout && money(checkout.amount!, assetCode);
  return html`
<p class="price">${priceOf(words, amount, whole ?? null, product, priced)}</p>
${priced && pageState.payable && inCurrency(words, priced, entered)}
${checkout && pageState.payable && checkout.received !== '0' && html`<p class="least">${words.html('leftOf', { amount: whole! })}</p>`}
${checkout && orderOf(words, link)}
${product.priceType === 'CUSTOM' && minAmount !== null && html`<p class="least">${words.html('atLeast', { amount: priced ? worth(words, priced.minAmount!, priced.currency) : money(minAmount, assetCode) })}</p>`}
${
  assetIssuer === null
    ? html`<p class="asset">${words.say('native')}</p>`
    : html`<details class="asset"><summary>${words.html('issuedBy', { code: assetCode, issuer: html`<code>${shorten(assetIssuer)}</code>` })}</summary>
<p>${words.say('sameName', { code: assetCode })}</p>
<p>${spelled(assetIssuer)} ${copyButton(words, assetIssuer, 'copyIssuer')}</p></details>`
}`;
}

/** What it consists of, or how many of one thing. */
function orderOf(words: Words, link: PageLink): Html | null {
  const rows = orderFacts(words, link);
  if (rows.length > 0) return html`<dl class="facts order">${rows}</dl>`;
  const quantity = link.checkout!.quantity ?? 1;
  return quantity > 1 ? html`<p class="least">${words.count('pieces', quantity)}</p>` : null;
}

function priceOf(
  words: Words,
  amount: string | null,
  whole: Html | null,
  { priceType, assetCode }: PageLink['product'],
  priced: PagePrice | undefined,
): Html | null {
  if (amount !== null) return money(amount, assetCode);
  if (whole) return whole;
  if (priceType === 'CUSTOM') return html`<span class="open">${words.say('chooseAmount')}</span>`;
  return priced?.due ? worth(words, priced.due, priced.currency) : null;
}

/** The amount's value, and the rate used. */
function inCurrency(words: Words, { currency, due, rate }: PagePrice, entered: EnteredAmount): Html | null {
  const value = due ?? (entered.state === 'valid' ? entered.amount : null);
  if (!rate || value === null) return null;
  return html`<p class="least" id="worth">${words.html('worthAt', { worth: worth(words, value, currency), rate: worth(words, formatRate(rate.rate), currency) })}</p>`;
}

function ask(model: PageModel): Html {
  const { words, link, entered, pageState } = model;
  const { order } = link;
  if (order) return orderForm(words, { ...link, order }, model.filled, model.address);
  const waiting = pageState.state === 'WAITING' || link.checkout !== undefined;
  return html`
<details class="ask"${waiting && html` open`}>
<summary>${words.say('newPayment')}</summary>
${waiting && check(model)}
${link.product.priceType === 'CUSTOM' && amountForm(model)}
<div id="details">${entered.state !== 'wrong' && details(model)}</div>
</details>
${link.checkout && link.checkout.cancelUrl !== null && html`<p class="back cancel"><a href="${link.checkout.cancelUrl}">${words.say('cancelBack')}</a></p>`}`;
}

const check = ({ words, address, opened, amount: asked, entered, looked, pageState }: PageModel): Html => {
  const amount = entered.state === 'valid' ? entered.amount : asked;
  return html`
<form class="check scriptless" action="${address}" method="get">${words.asked !== null && html`<input type="hidden" name="lang" value="${words.asked}">`}
  <input type="hidden" name="since" value="${opened}">${amount !== null && html`<input type="hidden" name="amount" value="${readAlike(amount)}">`}
  <p>${looked && pageState.state === 'WAITING' ? words.say('nothingYet') : words.say('lookHere')}</p>
  <button class="plain">${words.say(looked ? 'lookAgain' : 'hasArrived')}</button>
</form>`;
};

function amountForm({ words, link: { product, priced }, entered, address }: PageModel): Html {
  const unit = priced?.currency ?? product.assetCode;
  const wrong = entered.state === 'wrong';
  const amount = entered.state === 'valid' ? entered.amount : '';
  const shown = priced && amount !== '' ? withMinorDigits(amount, priced.currency) : amount;
  const value = wrong ? entered.text : readAlike(shown);
  return html`
<form class="amount" action="${address}" method="get" novalidate>${words.asked !== null && html`<input type="hidden" name="lang" value="${words.asked}">`}
  <label for="amount">${words.say('amountIn', { code: unit })}</label>
  <div class="entry">
    <span><input id="amount" name="amount" value="${value}" inputmode="decimal" autocomplete="off" spellcheck="false" maxlength="40"
      aria-describedby="amount-problem"${wrong && html` aria-invalid="true"`}><span class="code" aria-hidden="true">${unit}</span></span>
    <button>${words.say(entered.state === 'none' ? 'setAmount' : 'changeAmount')}</button>
  </div>
  <p id="amount-problem" class="problem" role="alert">${wrong && html`${icon('warning')}${entered.problem}`}</p>
</form>`;
}

function details(model: PageModel): Html {
  const { words, link, uri, qr, amount, walletPayable } = model;
  const { say } = words;
  const { product, wallet, memo, warnings = [] } = link;
  return html`
${warnings.map((warning) => html`<div class="callout">${icon('warning')}<div><p>${say(WARNINGS[warning])}</p>${askShop(words, link.brand)}</div></div>`)}
<div class="scan">
  <div class="qr" role="img" aria-label="${say('qrLabel')}">${qr}</div>
  <a class="button open" href="${uri}">${icon('wallet')}${say('openInWallet')}</a>
  <p class="no-answer" role="status" aria-live="polite"></p>
  ${walletPayable && walletButton(words, link, amount)}
  <p class="hint">${say(amount === null ? 'scanHint' : 'scanHintAmount')}</p>
</div>
${testButton(model)}
<h2 class="or"><span>${say('byHand')}</span></h2>
<dl class="by-hand">
  <div><dt>${say('amount')}</dt><dd>${
    amount === null
      ? html`<span>${product.minAmount === null ? say('yourChoice') : words.html('yourChoiceLeast', { amount: money(product.minAmount, product.assetCode) })}</span>`
      : html`${money(amount, product.assetCode)} ${copyButton(words, amount, 'copyAmount')}`
  }</dd></div>
  <div><dt>${say('to')}</dt><dd>${spelled(wallet.address)} ${copyButton(words, wallet.address, 'copyAddress')}</dd></div>
  <div class="memo"><dt>${say('memo')} <b>${say('required')}</b></dt><dd><code>${memo}</code> ${copyButton(words, memo, 'copyMemo')}</dd></div>
</dl>
${withoutMemo(words, link)}
<p class="callout">${icon('warning')}<span><strong>${say('keepMemo')}</strong> ${say('keepMemoWhy')}</span></p>`;
}

/** For wallets that cannot send a text memo: smart wallets, and exchanges that take a
 *  number only. */
function withoutMemo(words: Words, { memoId, muxedAddress }: PageLink): Html {
  return html`
<details class="without-memo"><summary>${words.say('noTextMemo')}</summary>
<p>${words.say('muxedHow')}</p>
<p>${spelled(muxedAddress)} ${copyButton(words, muxedAddress, 'copyMuxed')}</p>
<p>${words.html('memoIdHow', { memo: html`<code>${memoId}</code> ${copyButton(words, memoId, 'copyMemoId')}` })}</p>
</details>`;
}

function testButton({ words, testPayable, link, amount, entered, address, opened, problem }: PageModel): Html | null {
  if (!testPayable) return null;
  return html`
<form class="test" action="${words.here(`${address}/pay`)}" method="post">
  <input type="hidden" name="since" value="${opened}">
  ${
    amount === null
      ? html`<p>${words.say('setToTest')}</p>`
      : html`<input type="hidden" name="amount" value="${readAlike(entered.state === 'valid' ? entered.amount : amount)}">
  <button><span>${words.html('payTest', { amount: html`<bdi>${figure(amount)} ${link.product.assetCode}</bdi>` })}</span></button>`
  }
  <p class="problem" role="alert">${problem !== null && html`${icon('warning')}${problem}`}</p>
</form>`;
}

/** The page as HTML: what is bought, how it is paid, and where the payment stands. Complete without the script. */

import { type Network, networkInfo } from '../../contracts/networks.js';
import { timeLeft } from './checkout-state.js';
import { documentOf, type Frame } from './document.js';
import type { EnteredAmount } from './entered-amount.js';
import type { ShownImage } from './headers.js';
import { type Html, html } from './html.js';
import type { PageState } from './page-state.js';
import { copyButton, figure, icon, money, shorten, spelled } from './parts.js';
import type { PageLink } from './types.js';

export interface PageModel {
  link: PageLink;
  pageState: PageState;
  entered: EnteredAmount;
  /** What is to be paid, canonical; null while the payer has not chosen. */
  amount: string | null;
  uri: string;
  qr: Html;
  image: ShownImage | null;
  /** Path of this page. */
  address: string;
  /** When it was opened, milliseconds since the epoch. */
  opened: number;
  nowMs: number;
  /** Whether somebody without the script has asked if the payment has arrived. */
  looked: boolean;
  testPayable: boolean;
  /** A wallet in the browser may pay. */
  walletPayable: boolean;
  /** What became of a press on the test button, if it failed. */
  problem: string | null;
  /** The origin that may be told how a checkout ended. */
  opener: string | null;
}

export function pageView(frame: Frame, model: PageModel): Html {
  const { link, pageState, image, address, opened } = model;
  const { name, description } = link.product;
  return documentOf(
    frame,
    pageState.title,
    html`
${networkNotice(link)}
<main class="checkout" data-address="${address}" data-opened="${opened}" data-state="${pageState.state}"${pageState.due !== undefined && html` data-due="${pageState.due}"`}${pageState.payable && walletData(frame, model)}${model.opener !== null && html` data-opener="${model.opener}" data-checkout="${link.checkout!.id}"`}>
  <header class="summary">
    ${image && html`<img class="picture" src="${image.url}" alt="" referrerpolicy="no-referrer" width="320" height="320">`}
    <div>
      <h1 dir="auto">${name}</h1>
      <div id="price">${price(model)}</div>
      ${pageState.payable && countdown(model)}
    </div>
  </header>
  <section class="card" aria-label="Payment">
    <p id="announcement" class="unseen" role="status" aria-live="polite"></p>
    <div id="status">${pageState.html}</div>
    <div id="ask">${pageState.payable && ask(model)}</div>
  </section>
  ${description !== null && description.trim() !== '' && html`<section class="about" aria-label="Description"><p dir="auto">${description}</p></section>`}
</main>`,
  );
}

/** What the script needs to find a wallet in the browser and to pay from it. */
function walletData({ assets, base }: Frame, { walletPayable, link: { wallet } }: PageModel): Html | null {
  if (!walletPayable) return null;
  const [wallets, freighter] = [assets.nameOf('wallet.js'), assets.nameOf('freighter.js')];
  return html` data-wallet="${base}/page/${wallets}" data-freighter="${base}/page/${freighter}" data-passphrase="${networkInfo[wallet.network].passphrase}" data-network="${NETWORK_NAMES[wallet.network]}"`;
}

const NETWORK_NAMES: Record<Network, string> = {
  PUBLIC: 'the public network',
  TESTNET: 'the test network',
  LOCAL: 'this local network',
};

function networkNotice({ wallet: { network } }: PageLink): Html | null {
  if (network === 'PUBLIC') return null;
  const where = network === 'TESTNET' ? 'Stellar’s test network' : 'A local test ledger';
  return html`<aside class="network"><strong>${where}.</strong> No real money moves here.</aside>`;
}

/** By the server's clock: the script counts on from the time that it was told. */
function countdown({ link: { checkout }, nowMs }: PageModel): Html | null {
  if (!checkout) return null;
  const iso = checkout.expiresAt.toISOString();
  const endsMs = checkout.expiresAt.getTime();
  return html`<p id="countdown" class="least" data-ends="${endsMs}" data-now="${nowMs}">Pay until <time datetime="${iso}">${iso.slice(0, 16).replace('T', ' ')} UTC</time>, <span role="timer">${timeLeft(endsMs - nowMs)}</span> left</p>`;
}

function price({ link: { product, checkout }, amount: asked, pageState }: PageModel): Html {
  const { assetCode, assetIssuer, minAmount } = product;
  const amount = checkout && !pageState.payable ? checkout.amount : asked;
  const quantity = checkout?.quantity ?? 1;
  return html`
<p class="price">${amount === null ? html`<span class="open">You choose the amount</span>` : money(amount, assetCode)}</p>
${checkout && pageState.payable && checkout.received !== '0' && html`<p class="least">Left of ${money(checkout.amount, assetCode)}</p>`}
${quantity > 1 && html`<p class="least">For ${quantity.toLocaleString('en')} pieces</p>`}
${product.priceType === 'CUSTOM' && minAmount !== null && html`<p class="least">At least ${money(minAmount, assetCode)}</p>`}
${
  assetIssuer === null
    ? html`<p class="asset">Stellar lumens, the native asset</p>`
    : html`<details class="asset"><summary>${assetCode} issued by <code>${shorten(assetIssuer)}</code></summary>
<p>Assets of other issuers may also be called ${assetCode}. Only this issuer’s is accepted:</p>
<p>${spelled(assetIssuer)} ${copyButton(assetIssuer, 'issuer')}</p></details>`
}`;
}

function ask(model: PageModel): Html {
  const { link, entered, pageState } = model;
  const waiting = pageState.state === 'WAITING' || link.checkout !== undefined;
  return html`
<details class="ask"${waiting && html` open`}>
<summary>Make a new payment</summary>
${waiting && check(model)}
${link.product.priceType === 'CUSTOM' && amountForm(model)}
<div id="details">${entered.state !== 'wrong' && details(model)}</div>
</details>`;
}

const check = ({ address, opened, amount, looked, pageState }: PageModel): Html => html`
<form class="check scriptless" action="${address}" method="get">
  <input type="hidden" name="since" value="${opened}">${amount !== null && html`<input type="hidden" name="amount" value="${amount}">`}
  <p>${looked && pageState.state === 'WAITING' ? 'Nothing has arrived yet. A payment takes a few seconds.' : 'When you have paid, look here whether it has arrived.'}</p>
  <button class="plain">${looked ? 'Look again' : 'Has my payment arrived?'}</button>
</form>`;

function amountForm({ link: { product }, entered, address }: PageModel): Html {
  const wrong = entered.state === 'wrong';
  const value = wrong ? entered.text : entered.state === 'valid' ? entered.amount : '';
  return html`
<form class="amount" action="${address}" method="get" novalidate>
  <label for="amount">Amount in ${product.assetCode}</label>
  <div class="entry">
    <span><input id="amount" name="amount" value="${value}" inputmode="decimal" autocomplete="off" spellcheck="false" maxlength="40"
      aria-describedby="amount-problem"${wrong && html` aria-invalid="true"`}><span class="code" aria-hidden="true">${product.assetCode}</span></span>
    <button>${entered.state === 'none' ? 'Set amount' : 'Change'}</button>
  </div>
  <p id="amount-problem" class="problem" role="alert">${wrong && html`${icon('warning')}${entered.problem}`}</p>
</form>`;
}

function details(model: PageModel): Html {
  const { link, uri, qr, amount } = model;
  const { product, wallet, memo, warnings = [] } = link;
  return html`
${warnings.map((warning) => html`<p class="callout">${icon('warning')}<span>${warning}</span></p>`)}
<div class="scan">
  <div class="qr" role="img" aria-label="QR code of the payment request, for a Stellar wallet">${qr}</div>
  <a class="button" href="${uri}">${icon('wallet')}Open in wallet</a>
  ${freighterButton(model)}
  <p class="hint">Scan with a Stellar wallet, or open the wallet on this device. Address${amount !== null && ', amount'} and memo are filled in.</p>
</div>
${testButton(model)}
<h2 class="or"><span>or pay by hand</span></h2>
<dl class="by-hand">
  <div><dt>Amount</dt><dd>${
    amount === null
      ? html`<span>Your choice${product.minAmount !== null && html`, at least ${money(product.minAmount, product.assetCode)}`}</span>`
      : html`${money(amount, product.assetCode)} ${copyButton(amount, 'amount')}`
  }</dd></div>
  <div><dt>To</dt><dd>${spelled(wallet.address)} ${copyButton(wallet.address, 'address')}</dd></div>
  <div class="memo"><dt>Memo <b>required</b></dt><dd><code>${memo}</code> ${copyButton(memo, 'memo')}</dd></div>
</dl>
${withoutMemo(link)}
<p class="callout">${icon('warning')}<span><strong>Do not leave out the memo.</strong> Without it nobody can tell that the payment is yours. From an exchange, enter it as a text memo.</span></p>`;
}

/** Shown once the script has found the wallet. */
function freighterButton({ walletPayable, amount }: PageModel): Html | null {
  if (!walletPayable || amount === null) return null;
  return html`<div class="freighter"><button type="button" data-amount="${amount}">${icon('wallet')}<span>Pay with Freighter</span></button><p class="problem" role="alert"></p></div>`;
}

/** For wallets that cannot send a text memo: smart wallets, and exchanges that take a number only. */
function withoutMemo({ memoId, muxedAddress }: PageLink): Html {
  return html`
<details class="without-memo"><summary>Your wallet cannot send a text memo?</summary>
<p>Pay this address instead. It holds the memo, so none is needed. Older wallets do not know addresses that begin with M.</p>
<p>${spelled(muxedAddress)} ${copyButton(muxedAddress, 'address without a memo')}</p>
<p>If only a number fits, send an <em>id memo</em> to the address above: <code>${memoId}</code> ${copyButton(memoId, 'memo id')}</p>
</details>`;
}

function testButton({ testPayable, link, amount, address, opened, problem }: PageModel): Html | null {
  if (!testPayable) return null;
  return html`
<form class="test" action="${address}/pay" method="post">
  <input type="hidden" name="since" value="${opened}">
  ${
    amount === null
      ? html`<p>Set an amount to pay it from a test account.</p>`
      : html`<input type="hidden" name="amount" value="${amount}">
  <button><span>Pay ${figure(amount)} ${link.product.assetCode} from a test account</span></button>`
  }
  <p class="problem" role="alert">${problem !== null && html`${icon('warning')}${problem}`}</p>
</form>`;
}

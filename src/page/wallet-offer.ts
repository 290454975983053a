/** The part of the page for paying with a wallet in the browser, and its scripts' settings. Hidden without the script. */
import { networkInfo } from '../../contracts/networks.js';
import { type AssetName, WALLET_SCRIPTS } from './assets.js';
import { askShop } from './brand.js';
import type { Frame } from './document.js';
import { type Html, html } from './html.js';
import { icon } from './parts.js';
import type { PageLink } from './types.js';
import type { Words } from './words.js';

const SWITCH_TO = { PUBLIC: 'switchPublic', TESTNET: 'switchTest', LOCAL: 'switchLocal' } as const;

/** Null while the payer has not chosen an amount. */
export function walletButton(words: Words, link: PageLink, amount: string | null): Html | null {
  if (amount === null) return null;
  const { say } = words;
  const pay = say('titlePay', { amount: `${amount} ${link.product.assetCode}` });
  return html`<div class="by-wallet scripted"><button type="button" data-amount="${amount}" data-pay="${pay}">${icon('wallet')}<span>${say('payByWallet')}</span></button><p class="problem" role="alert"></p>${askShop(words, link.brand)}</div>`;
}

/** URLs of the scripts, and the network. */
export function walletData({ assets, base }: Frame, { network }: PageLink['wallet']): Html {
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

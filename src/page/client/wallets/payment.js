// A wallet is connected: which account pays, the button that does, and what else the account can pay with. What is asked is taken when it is pressed.
import { element, letters, shorten } from './dialog.js';
import { otherWays } from './ways.js';

/** @param offer the page's button, which says what is asked at the moment. @returns nodes for the dialog */
export function payment({ texts, wallet, offer, askWays, pay, say, showChoices }) {
  const account = element({ tag: 'code', dir: 'ltr', title: wallet.account }, shorten(wallet.account));
  const words = element({ tag: 'span' }, element({ tag: 'b' }, wallet.name), account);
  const from = element({ tag: 'p', className: 'account' }, letters(wallet), words);
  const button = element({ tag: 'button', type: 'button', className: 'pay' }, offer.dataset.pay);
  button.addEventListener('click', () => pay(wallet, { amount: offer.dataset.amount }));
  const other = element({ tag: 'button', type: 'button', className: 'plain' }, texts.anotherWallet);
  other.addEventListener('click', showChoices);
  queueMicrotask(() => button.focus());
  const { amount } = offer.dataset;
  const box = element({ tag: 'div', className: 'other-ways' });
  const ask = () => askWays({ account: wallet.account, amount });
  otherWays({ box, texts, ask, pay: (terms) => pay(wallet, { amount, ...terms }), say })();
  return [from, element({ tag: 'div', className: 'ways' }, button, box), other];
}

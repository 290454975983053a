// Hana, by the object that its extension puts into the page.
import { fault } from './fault.js';

function hana() {
  if (!window.hanaWallet?.stellar) throw fault('notHere');
  return window.hanaWallet.stellar;
}

export const connect = async () => hana().getPublicKey();

export const sign = async (xdr, { account, passphrase }) =>
  hana().signTransaction({ xdr, accountToSign: account, networkPassphrase: passphrase });

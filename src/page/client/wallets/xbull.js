// xBull: by the object that its extension puts into the page, else by its page in a window of its own, where both sides seal what they say.
import nacl from 'tweetnacl';
import { fault } from './fault.js';
import { openWindow } from './other-window.js';

const PAGE = 'https://wallet.xbull.app/connect';

export async function connect(passphrase) {
  if (!window.xBullSDK) return (await ask('CONNECT', { canRequestPublicKey: true, canRequestSign: true })).publicKey;
  const { address } = answerOf(await window.xBullSDK.getAddress());
  const { networkPassphrase } = answerOf((await window.xBullSDK.getNetwork?.()) ?? {});
  if (networkPassphrase !== undefined && networkPassphrase !== passphrase) throw fault('otherNetwork');
  return address;
}

export async function sign(xdr, { account, passphrase }) {
  if (!window.xBullSDK) return (await ask('SIGN', { xdr, publicKey: account, network: passphrase })).xdr;
  const opts = { networkPassphrase: passphrase, address: account };
  return answerOf(await window.xBullSDK.signTransaction({ xdr, opts })).signedTxXdr;
}

/** It reports failures as values. */
function answerOf({ error, ...answer }) {
  if (error) throw error;
  return answer;
}

async function ask(kind, request) {
  const ours = nacl.box.keyPair();
  const session = toBase64(nacl.randomBytes(24));
  const query = new URLSearchParams({ public: toBase64(ours.publicKey), session });
  const wallet = openWindow(`${PAGE}?${query}`, 'xBull_Wallet_app');
  try {
    const hello = await wallet.hear((message) => message.type === 'XBULL_INITIAL_RESPONSE' && message);
    const theirs = fromBase64(hello.publicKey);
    const open = ({ message, oneTimeCode }) => {
      const text = nacl.box.open(fromBase64(message), fromBase64(oneTimeCode), theirs, ours.secretKey);
      if (!text) throw fault('notSent');
      return JSON.parse(new TextDecoder().decode(text));
    };
    if (open(hello).providedSession !== session) throw fault('notSent');
    const answer = wallet.hear((message) => message.type === `XBULL_${kind}_RESPONSE` && message);
    const oneTimeCode = nacl.randomBytes(nacl.box.nonceLength);
    const sealed = nacl.box(new TextEncoder().encode(JSON.stringify(request)), oneTimeCode, theirs, ours.secretKey);
    wallet.tell({ type: `XBULL_${kind}`, message: toBase64(sealed), oneTimeCode: toBase64(oneTimeCode) });
    const { success, ...result } = await answer;
    if (!success) throw fault('declined');
    return open(result);
  } finally {
    wallet.close();
  }
}

const toBase64 = (bytes) => btoa(String.fromCharCode(...bytes));
const fromBase64 = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));

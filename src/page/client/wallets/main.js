// "Pay with a wallet": the payer chooses one, it tells its account, the service makes the payment, the wallet signs it, the service hands it over.
// Closing the window ends it at any moment before that: what a wallet answers later goes nowhere.
import { choices } from './choices.js';
import { createDialog } from './dialog.js';
import { fault, faultOf } from './fault.js';
import { payment } from './payment.js';

/** A payer may have to unlock a wallet first. */
const WALLET_MS = 180_000;
/** The network's words for a signature of another account, or for another network. */
const BAD_SIGNATURES = ['tx_bad_auth', 'tx_bad_auth_extra', 'op_bad_auth'];

/**
 * @param {object} page
 * @param {(path: string) => string} page.at an address of the page
 * @param {string} page.passphrase of the page's network
 * @param {Record<string, string>} page.texts
 * @param {Record<string, string>} page.files addresses of the wallets' scripts and of the style, by name
 * @param {HTMLElement} page.main hears `turned` when a payment has arrived
 */
export function createWallets({ at, passphrase, texts, files, main }) {
  /** Counts what was begun: an answer to what is no longer asked is dropped. */
  let turn = 0;
  let isSent = false;
  const dialog = createDialog({ texts, style: files.style, onClose: end });

  function end() {
    turn += 1;
    isSent = false;
  }

  /** Runs what asks a wallet, and says what goes wrong. @param {(isWanted: () => boolean) => Promise<void>} work */
  async function attempt(wallet, work) {
    const ours = ++turn;
    // A dialog tells of its end a moment after it has closed.
    const isWanted = () => turn === ours && dialog.isOpen();
    dialog.say(texts.waitingFor.replaceAll('{wallet}', wallet.name));
    dialog.rest(true);
    try {
      await work(isWanted);
    } catch (error) {
      if (!isWanted()) return;
      isSent = false;
      dialog.complain(sentenceOf(error, wallet));
      dialog.rest(false);
    }
  }

  function sentenceOf(error, wallet) {
    if (error instanceof Refused && !BAD_SIGNATURES.includes(error.code)) return error.message;
    const { kind, message } = error instanceof Refused ? { kind: 'signedElse', message: '' } : faultOf(error);
    return texts[kind].replaceAll('{wallet}', wallet.name).replace('{message}', () => message);
  }

  /** @returns what the wallet answers, unless it takes too long */
  const ask = (answer) =>
    new Promise((resolve, reject) => {
      setTimeout(() => reject(fault('noReply')), WALLET_MS);
      answer.then(resolve, reject);
    });

  const choose = (wallet) =>
    attempt(wallet, async (isWanted) => {
      const module = await import(files[wallet.id]);
      const account = await ask(module.connect(passphrase));
      if (isWanted()) showPayment({ ...wallet, account, sign: module.sign });
    });

  /** @param {{amount: string}} terms what the service makes the payment of */
  const pay = (wallet, terms) =>
    attempt(wallet, async (isWanted) => {
      const { account } = wallet;
      const made = await post(at('/transaction'), { account, ...terms });
      if (!isWanted()) return;
      const signed = await ask(wallet.sign(made.xdr, { account, passphrase: made.networkPassphrase }));
      if (!isWanted()) return;
      dialog.say(texts.sending);
      isSent = true;
      await post(at('/submit'), { xdr: signed });
      if (isWanted()) dialog.say(texts.paidArriving);
    });

  const offer = () => main.querySelector('.by-wallet button');
  const showChoices = () => {
    dialog.show(...choices({ texts, choose }));
    dialog.rest(false);
  };
  const showPayment = (wallet) => {
    const askWays = (terms) => post(at('/ways'), terms);
    dialog.show(...payment({ texts, wallet, offer: offer(), askWays, pay, say: dialog.say, showChoices }));
    dialog.rest(false);
  };

  main.addEventListener('turned', () => {
    // What remains of a checkout has changed; on a link's page others may have paid.
    if (isSent || main.dataset.due !== undefined) dialog.close();
  });

  return {
    async open() {
      showChoices();
      await dialog.open(main.querySelector('.by-wallet .support'));
    },
  };
}

/** Its message is for the payer. */
class Refused extends Error {
  constructor({ message, details }) {
    super(message);
    this.code = details?.[0]?.code;
  }
}

async function post(path, body) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const { data, error } = await answer.json();
  if (error) throw new Refused(error);
  return data;
}

// Pays from Freighter, a wallet in the browser: asks it for an account, has the service make the payment, has the wallet sign it, hands it over.
// The button is shown once the wallet is found. What goes wrong is said beside it, and nothing is paid then.

const DECLINED = -4;

/**
 * @param {object} page
 * @param {string} page.script of the wallet's own interface
 * @param {(path: string) => string} page.at an address of the page
 * @param {string} page.passphrase of the page's network
 * @param {Record<string, string>} page.texts
 * @param {(words: string) => void} page.say tells screen readers
 * @param {HTMLElement} page.main hears `turned` when a payment has arrived
 */
export async function offerFreighter({ script, at, passphrase, texts: given, say, main }) {
  const texts = Object.fromEntries(
    Object.entries(given).map(([key, text]) => [key, text.replaceAll('{wallet}', 'Freighter')]),
  );
  const freighter = await load(script);
  const { isConnected } = await freighter.isConnected();
  if (!isConnected) return;
  document.documentElement.classList.add('has-freighter');

  let paying = false;

  /** @param {HTMLButtonElement} button */
  async function pay(button) {
    if (paying) return;
    paying = true;
    const label = button.querySelector('span');
    const problem = button.parentElement.querySelector('.problem');
    const words = label.textContent;
    const tell = (text) => {
      label.textContent = text;
      say(text);
    };
    const offerAgain = () => {
      paying = false;
      label.textContent = words;
      button.disabled = false;
    };
    button.disabled = true;
    problem.textContent = '';
    try {
      tell(texts.waitingFor);
      const account = answerOf(await freighter.requestAccess()).address;
      const details = answerOf(await freighter.getNetworkDetails());
      if (details.networkPassphrase !== passphrase) throw new Refused(texts.otherNetwork);
      const { amount } = button.dataset;
      const made = await post(at('/transaction'), { account, ...(amount ? { amount } : {}) });
      const signed = answerOf(
        await freighter.signTransaction(made.xdr, { networkPassphrase: made.networkPassphrase, address: account }),
      );
      tell(texts.sending);
      await post(at('/submit'), { xdr: signed.signedTxXdr });
      tell(texts.paidArriving);
      main.addEventListener('turned', offerAgain, { once: true });
    } catch (error) {
      problem.textContent = error instanceof Refused ? error.message : texts.notSent;
      offerAgain();
    }
  }

  /** The wallet reports failures as values. */
  function answerOf({ error, ...answer }) {
    if (!error) return answer;
    if (error.code === DECLINED) throw new Refused(texts.declined);
    throw new Refused(texts.walletSays.replace('{message}', () => error.message));
  }

  document.addEventListener('click', (event) => {
    const button = event.target.closest('.freighter button');
    if (button) pay(button);
  });
}

/** Its message is for the payer. */
class Refused extends Error {}

async function post(path, body) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  });
  const { data, error } = await answer.json();
  if (error) throw new Refused(error.message);
  return data;
}

/** It is no module: it leaves one global name. */
function load(script) {
  return new Promise((resolve, reject) => {
    const element = Object.assign(document.createElement('script'), { src: script });
    element.addEventListener('load', () => resolve(globalThis.freighterApi));
    element.addEventListener('error', reject);
    document.head.append(element);
  });
}

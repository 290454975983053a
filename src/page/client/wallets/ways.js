// What else the payer's account can pay with: a button for each asset that it holds enough of, with the cost and the most that it may come to.
import { element } from './dialog.js';

/** A price that was shown longer ago is asked for anew before anything is signed. */
const FRESH_MS = 30_000;
const UNITS = 10_000_000n;
/** The service lets a payment become so much dearer. */
const LEEWAY = 100n;

/** Stroops: amounts are exact. */
function stroopsOf(amount) {
  const [whole, fraction = ''] = amount.split('.');
  return BigInt(whole) * UNITS + BigInt(fraction.padEnd(7, '0'));
}

function amountOf(stroops) {
  const fraction = String(stroops % UNITS)
    .padStart(7, '0')
    .replace(/0+$/, '');
  return `${stroops / UNITS}${fraction && `.${fraction}`}`;
}

/** Stands as it is in a text that runs from right to left. */
const apart = (text) => `\u2068${text}\u2069`;

/**
 * @param {Element} box where the buttons stand
 * @param {() => Promise<object[]>} ask answers the ways
 * @param {(terms: object) => Promise<void>} pay ends when it is paid, or when it failed
 * @param {(words: string) => void} say
 * @returns loads the ways, and loads them again when it is called again
 */
export function otherWays({ box, texts, ask, pay, say }) {
  let shownAt = 0;

  async function load() {
    // The page works without: the asset itself can be paid in.
    const ways = await ask().catch(() => []);
    const [, ...others] = ways;
    const payable = others.filter(({ balance, cost }) => stroopsOf(balance) >= stroopsOf(cost));
    shownAt = performance.now();
    box.replaceChildren();
    if (payable.length > 0) box.append(element({ tag: 'p' }, texts.otherAssets), ...payable.map(button));
  }

  function button({ assetCode, assetIssuer, balance, cost }) {
    const most = stroopsOf(cost) + (stroopsOf(cost) + LEEWAY - 1n) / LEEWAY;
    const label = texts.payIn.replace('{amount}', () => apart(`${cost} ${assetCode}`));
    const bounds = texts.wayMost
      .replace('{most}', () => apart(amountOf(most)))
      .replace('{balance}', () => apart(balance));
    const about = { tag: 'button', type: 'button', className: 'way', title: assetIssuer ?? '' };
    const made = element(about, label, element({ tag: 'small' }, bounds));
    made.addEventListener('click', async () => {
      if (performance.now() - shownAt > FRESH_MS) {
        await load();
        say(texts.pricesNew);
        return;
      }
      await pay({ sendAsset: { assetCode, assetIssuer } });
      // It failed, perhaps because the price has moved.
      if (made.isConnected && !made.disabled) await load();
    });
    return made;
  }

  return load;
}

// The list of wallets: those of this browser first, then those that open as a page, then where to get the others. No link is followed by itself.
import { element, letters } from './dialog.js';
import { WALLETS } from './known.js';

/** The list is shown by then: an extension that answers later gets its button where it stands. */
const LOOK_MS = 400;

/** @returns nodes for the dialog, the list filled in as soon as it is known */
export function choices({ texts, choose }) {
  const looking = element({ tag: 'p', className: 'looking' }, texts.lookingForWallets);
  const list = element({ tag: 'ul', className: 'choices', hidden: true });
  const rows = WALLETS.map((wallet) => ({
    wallet,
    item: element({ tag: 'li' }),
    isHere: false,
    // What an extension put into the page may do anything when it is read.
    looked: Promise.resolve(wallet.isHere?.()).catch(() => false),
  }));
  const draw = (row) => row.item.replaceChildren(choice(texts, row, choose));
  const show = () => {
    if (!list.hidden) return;
    const rank = ({ isHere, wallet }) => (isHere ? 0 : wallet.host ? 1 : 2);
    rows.sort((a, b) => rank(a) - rank(b));
    for (const row of rows) draw(row);
    list.append(...rows.map(({ item }) => item));
    looking.remove();
    list.hidden = false;
  };
  for (const row of rows) {
    row.looked.then((isHere) => {
      row.isHere = isHere === true;
      if (row.isHere && !list.hidden) draw(row);
    });
  }
  Promise.all(rows.map(({ looked }) => looked)).then(show);
  setTimeout(show, LOOK_MS);
  return [looking, list];
}

function choice(texts, { wallet, isHere }, choose) {
  const name = element({ tag: 'b' }, wallet.name);
  if (isHere || wallet.host) {
    const how = isHere ? texts.walletHere : texts.walletOpens.replace('{host}', wallet.host);
    const words = element({ tag: 'span' }, name, element({ tag: 'small' }, how));
    const button = element({ tag: 'button', type: 'button', className: 'choice' }, letters(wallet), words);
    button.addEventListener('click', () => choose(wallet));
    return button;
  }
  const how = texts.walletGet.replace('{host}', new URL(wallet.home).host);
  const words = element({ tag: 'span' }, name, element({ tag: 'small' }, how));
  const link = { tag: 'a', className: 'choice', href: wallet.home, target: '_blank', rel: 'noopener noreferrer' };
  return element(link, letters(wallet), words);
}

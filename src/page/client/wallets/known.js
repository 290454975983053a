// The wallets that a payer can choose from, and whether one is in this browser. Looking loads nothing of a wallet and asks nobody else.

/** An extension that sleeps wakes up by then. */
const ANSWER_MS = 3_000;

/** `host`: where it also opens as a page of its own, without an extension. In this order where nothing else tells them apart. */
export const WALLETS = [
  { id: 'freighter', name: 'Freighter', letters: 'Fr', home: 'https://www.freighter.app', isHere: hasFreighter },
  { id: 'lobstr', name: 'LOBSTR', letters: 'Lo', home: 'https://lobstr.co', isHere: () => answers('LOBSTR') },
  {
    ...{ id: 'xbull', name: 'xBull', letters: 'xB', home: 'https://xbull.app', host: 'wallet.xbull.app' },
    isHere: async () => Boolean(window.xBullSDK),
  },
  { id: 'albedo', name: 'Albedo', letters: 'Al', home: 'https://albedo.link', host: 'albedo.link' },
  {
    ...{ id: 'hana', name: 'Hana', letters: 'Ha', home: 'https://www.hanawallet.io' },
    isHere: async () => Boolean(window.hanaWallet?.stellar),
  },
  {
    ...{ id: 'rabet', name: 'Rabet', letters: 'Ra', home: 'https://rabet.io' },
    isHere: async () => Boolean(window.rabet),
  },
];

/** Inside its phone app Freighter answers no extension's messages. */
async function hasFreighter() {
  const { provider, platform } = window.stellar ?? {};
  if (provider === 'freighter' && platform === 'mobile') return false;
  return Boolean(window.freighter) || answers('FREIGHTER');
}

/** LOBSTR's extension began as Freighter's, and both answer this message. */
function answers(name) {
  const messageId = Date.now() + Math.random();
  return new Promise((resolve) => {
    const end = (isHere) => {
      removeEventListener('message', hear);
      clearTimeout(timer);
      resolve(isHere);
    };
    const hear = ({ source, data }) => {
      if (source !== window || data?.source !== `${name}_EXTERNAL_MSG_RESPONSE`) return;
      if (data.messagedId === messageId) end(data.isConnected === true);
    };
    const timer = setTimeout(end, ANSWER_MS, false);
    addEventListener('message', hear);
    const type = 'REQUEST_CONNECTION_STATUS';
    postMessage({ source: `${name}_EXTERNAL_MSG_REQUEST`, messageId, type, version: 1 }, location.origin);
  });
}

/** What wallets of payers answer when something goes wrong, as far as it is known, and what the
 *  page makes of it. */
import t from 'tap';
import { CATALOGUES } from '../../src/page/texts/index.js';
import { walletTexts } from '../../src/page/view.js';
import { wordsOf } from '../../src/page/words.js';
import { pageLink } from '../helpers/browser.js';

const { fault, faultOf } = await import(new URL('../../src/page/client/wallets/fault.js', import.meta.url).href);

t.test('a failure is known by its code, its words, or as one of our own', async (t) => {
  for (const [kind, error] of [
    ['declined', { code: -4, message: 'The user rejected this request.' }],
    ['declined', { error: { code: -4, message: 'Action request was rejected by the user.' } }],
    ['declined', 'User declined access'],
    ['declined', { error: 'Transaction cancelled' }],
    ['declined', new Error('Request denied')],
    ['locked', new Error('Wallet is locked')],
    ['locked', { error: 'Please unlock the extension' }],
    ['locked', { code: -1, message: 'The user is not logged in' }],
    ['otherNetwork', new Error('Wrong network selected')],
    ['otherNetwork', { code: -3, message: 'network mismatch' }],
    ['walletSays', new Error('Network error')],
    ['walletSays', { code: -1, message: 'This account is blocked' }],
    ['walletSays', 'odd'],
    ['windowClosed', fault('windowClosed')],
    ...[undefined, null, {}, '', 7, new Error(''), { error: null }, { error: {} }].map((each) => ['notSent', each]),
  ] as [string, unknown][])
    t.equal(faultOf(error).kind, kind, JSON.stringify(error) ?? String(error));
  t.equal(faultOf(new Error('x'.repeat(10_000))).message.length, 200);
});

t.test('each kind has a sentence on the page, of every network', async (t) => {
  const kinds = ['declined', 'locked', 'otherNetwork', 'networkUnknown', 'signedElse', 'notHere', 'noReply'];
  for (const network of ['PUBLIC', 'TESTNET', 'LOCAL'] as const)
    for (const kind of [...kinds, 'windowBlocked', 'windowClosed', 'walletSays'])
      t.match(walletTexts(wordsOf('ja'), pageLink('x', { wallet: { network } }))[kind], '{wallet}', kind);
  t.ok(CATALOGUES.en.notSent);
});

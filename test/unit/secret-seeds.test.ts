/** A secret seed is refused wherever it is the whole of a value, and never told back. */
import t from 'tap';
import { contract } from '../../contracts/index.js';
import { checkInput } from '../../src/api/input.js';

const SEED = 'SB3KJRBBJ6PHNDVXZEOABFFVGLIFMFHWXKHTQB6J7MSG4RS54DKWTQCT';

/** Any seed whose checksum is right. */
const seedOf = async (): Promise<string> => (await import('@stellar/stellar-sdk')).Keypair.random().secret();

t.test('a seed is a value → refused by its place, in bodies, lists and queries', async (t) => {
  const seed = await seedOf();
  const context = { now: new Date(), networks: ['LOCAL' as const], allowPrivate: false };
  for (const [operation, input, path] of [
    [contract.wallets.create, { name: 'x', address: seed, network: 'LOCAL' }, 'address'],
    [contract.wallets.create, { name: ` ${seed}\n`, address: 'x', network: 'LOCAL' }, 'name'],
    [contract.checkouts.create, { productId: 'prod_x', metadata: { note: seed } }, 'metadata.note'],
    [contract.notifications.set, { recipients: [seed], kinds: [] }, 'recipients.0'],
    [contract.payments.list, { search: seed }, 'search'],
    [contract.products.list, { search: seed }, 'search'],
  ] as const) {
    const { parsed, faults } = checkInput(operation as never, input, context);
    t.equal(parsed, null);
    t.match(faults.list()[0], { path, code: 'secret_seed', message: /secret seed/ });
    t.notOk(JSON.stringify(faults.list()).includes(seed), 'it is not told back');
  }
  const { faults } = checkInput(contract.payments.list as never, { search: SEED.replace(/.$/, 'A') }, context);
  t.same(faults.list(), [], 'what only looks like one is searched for');
});

t.test('a search has more than ten words → refused', (t) => {
  const context = { now: new Date(), networks: ['LOCAL' as const], allowPrivate: false };
  const faultsOf = (search: string) => checkInput(contract.checkouts.list as never, { search }, context).faults.list();
  t.same(faultsOf('a b c d e f g h i j'), []);
  t.match(faultsOf('a b c d e f g h i j k'), [{ path: 'search', code: 'too_big' }]);
  t.end();
});

/** What a payment page is told about the shop's account, on a clock that is moved by hand. */
import t from 'tap';
import { createDestinationCheck } from '../../src/asking/destination-check.js';
import { BudgetUsedUp, LedgerUnavailable } from '../../src/ledger/source.js';
import { manualClock } from '../helpers/manual-clock.js';

const ASSET = { code: 'USDC', issuer: 'GISSUER' };
const TRUSTS = { trusts: true };

/** @param answer what the ledger says to this visitor */
function setUp(answer: (visitor: string) => Promise<unknown>) {
  const clock = manualClock();
  const asked: { purpose: string; by: string }[] = [];
  const ledger = {
    session(asker: { purpose: string; by: string }) {
      asked.push(asker);
      return { account: () => answer(asker.by) } as never;
    },
  };
  const check = createDestinationCheck({ ledgers: new Map([['PUBLIC', ledger as never]]), clock });
  const look = (visitor = 'one', address = 'GSHOP') => check.to('PUBLIC', address, ASSET, visitor);
  return { clock, asked, look };
}

t.test('a look-up that failed is unknown, never good, and is made again within 30 s', async (t) => {
  let answer: () => Promise<unknown> = () => Promise.reject(new LedgerUnavailable('away', 1000));
  const { clock, look } = setUp(() => answer());
  t.equal(await look(), 'unknown');
  answer = async () => ({ trusts: false });
  clock.advance(30_000);
  t.equal(await look(), 'no_trustline');
});

t.test('good answers are remembered ten minutes, for every visitor', async (t) => {
  const { clock, asked, look } = setUp(async () => TRUSTS);
  t.equal(await look('one'), 'ready');
  clock.advance(599_000);
  t.equal(await look('two'), 'ready');
  t.strictSame(asked, [{ purpose: 'pages', by: 'one' }]);
});

t.test('a visitor who may ask no more keeps no other from asking', async (t) => {
  const { look } = setUp((visitor) =>
    visitor === 'greedy' ? Promise.reject(new BudgetUsedUp(60_000)) : Promise.resolve(TRUSTS),
  );
  t.equal(await look('greedy'), 'unknown');
  t.equal(await look('other'), 'ready');
  t.equal(await look('greedy'), 'ready', 'and learns from it');
});

t.test('a page does not wait for a ledger that does not answer', async (t) => {
  const { clock, look } = setUp(() => new Promise(() => undefined));
  const looking = look();
  await new Promise(setImmediate);
  clock.advance(1000);
  t.equal(await looking, 'unknown');
});

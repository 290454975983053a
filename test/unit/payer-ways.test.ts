/** In which assets a payer can pay: what is asked of the network's market, what is remembered of
 *  it, and what a wrong answer comes to. */
import { Keypair, type Transaction } from '@stellar/stellar-sdk';
import t from 'tap';
import { networkInfo } from '../../contracts/networks.js';
import { buildPayment, parseTransaction, sendMaxOf } from '../../src/asking/pay-transaction.js';
import { createPayerWays, FRESH_MS } from '../../src/asking/payer-ways.js';
import { NATIVE } from '../../src/domain/asset.js';
import { readWays } from '../../src/ledger/horizon/source.js';
import { type Holding, LedgerUnavailable, MOST_WAYS, SourceError } from '../../src/ledger/source.js';
import { refusalSentence } from '../../src/page/payer-answer.js';
import { wordsOf } from '../../src/page/words.js';
import { pageLink } from '../helpers/browser.js';

const [issuer, account] = [Keypair.random().publicKey(), Keypair.random().publicKey()];
const assetOf = (code: string) => ({ code, issuer });
const held = (asset: Holding['asset'], stroops: bigint, authorized = true): Holding => ({ asset, stroops, authorized });
const EURC = assetOf('EURC');
const due = { asset: NATIVE, stroops: 250_000_000n };

/** A market in which everything costs the tenth of it. */
function market(balances: Holding[], finders: string[] = ['horizon'], away: string[] = []) {
  const asked: string[][] = [];
  const clock = { ms: 0 };
  const sessionOn = (server: string) => ({
    on: sessionOn,
    async holdings(_address: string, assets: readonly { code: string }[]) {
      if (away.includes(server)) throw new LedgerUnavailable('away', 0);
      // A server without histories tells of the assets that it is asked for, and of lumens.
      const isNamed = (code: string) => code === 'XLM' || assets.some((each) => each.code === code);
      const isListed = finders.includes(server);
      const shown = balances.filter(({ asset }) => isListed || isNamed(asset.code));
      return { balances: shown, changedLedger: 1, latestLedger: 1 };
    },
    async waysTo(_due: unknown, from: readonly { code: string; issuer: string | null }[]) {
      asked.push(from.map(({ code }) => code));
      const leading = from.filter(({ code }) => code !== 'DEAD');
      return leading.map((asset) => ({ asset, cost: 25_000_000n, path: [] }));
    },
  });
  const ledger = { finders, session: () => sessionOn('rpc') };
  const ways = createPayerWays({
    ledgers: new Map([['PUBLIC', ledger as never]]),
    monotonic: { nowMs: () => clock.ms },
  });
  return { ways, asked, clock };
}

t.test('the asset itself comes first, then what leads to it, by code, each with what is held', async (t) => {
  const balances = [held(assetOf('ZED'), 5n), held(EURC, 70n), held(assetOf('DEAD'), 9n), held(NATIVE, 30n)];
  const { ways, asked } = market([...balances, held(assetOf('EMPTY'), 0n), held(assetOf('FROZEN'), 5n, false)]);
  t.strictSame(await ways.waysOf('PUBLIC', account, due, 'v'), {
    state: 'known',
    ways: [
      { asset: NATIVE, balance: 30n, cost: due.stroops },
      { asset: EURC, balance: 70n, cost: 25_000_000n },
      { asset: assetOf('ZED'), balance: 5n, cost: 25_000_000n },
    ],
  });
  t.strictSame(asked, [['DEAD', 'EURC', 'ZED']], 'nothing is asked for what cannot pay');
  t.match(
    await ways.waysOf('PUBLIC', issuer, due, 'v'),
    { ways: [{ asset: NATIVE }] },
    'an issuer’s own is no balance',
  );
  t.match(await ways.waysOf('TESTNET', account, due, 'v'), { state: 'unavailable' });
  t.match(await market([]).ways.waysOf('PUBLIC', account, due, 'v'), { state: 'no_account' });
});

t.test('one request asks for as many assets as it can, lumens and known ones first', async (t) => {
  const many = Array.from({ length: 20 }, (_, index) => held(assetOf(`A${String(index).padStart(2, '0')}`), 1n));
  const usdc = { code: 'USDC', issuer: 'GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN' };
  const { ways, asked } = market([...many, held(usdc, 1n), held(NATIVE, 1n)]);
  const answer = await ways.waysOf('PUBLIC', account, { asset: EURC, stroops: 5n }, 'v');
  t.equal(asked[0]!.length, MOST_WAYS);
  t.strictSame(asked[0]!.slice(0, 3), ['XLM', 'USDC', 'A00']);
  t.match(answer, { ways: [{ asset: EURC, balance: 0n }] }, 'what is asked for is told though nothing of it is held');
});

t.test('an answer is used once, and asked for again when it is older than 30 seconds', async (t) => {
  const { ways, asked, clock } = market([held(NATIVE, 1n), held(EURC, 1n), held(assetOf('DEAD'), 1n)]);
  const from = (asset = EURC, of = due) => ways.wayFrom('PUBLIC', account, asset, of, 'v');
  const asks = async (work: () => Promise<unknown>) => {
    const before = asked.length;
    await work();
    return asked.length - before;
  };
  t.match(await from(), { state: 'known', way: { cost: 25_000_000n } });
  await ways.waysOf('PUBLIC', account, due, 'v');
  clock.ms += FRESH_MS;
  t.equal(await asks(from), 0, 'as told');
  t.equal(await asks(from), 1, 'once');
  await ways.waysOf('PUBLIC', account, due, 'v');
  t.equal(await asks(() => from(EURC, { ...due, stroops: 1n })), 1, 'another amount is another question');
  t.equal(await asks(() => ways.wayFrom('PUBLIC', issuer, EURC, due, 'v')), 1, 'and so is another account');
  clock.ms += FRESH_MS + 1;
  t.equal(await asks(from), 1, 'too old');
  await ways.waysOf('PUBLIC', account, due, 'v');
  for (let stroops = 1n; stroops <= 1000n; stroops++) {
    await ways.waysOf('PUBLIC', account, { ...due, stroops }, 'v');
  }
  t.equal(await asks(from), 1, 'old answers are forgotten where there are many');
  t.match(await from(assetOf('DEAD')), { state: 'known', way: null });
});

t.test('without a Horizon there is the asset itself, and one that is away is passed over', async (t) => {
  const balances = [held(NATIVE, 30n), held(EURC, 70n)];
  const alone = market(balances, []);
  t.strictSame(await alone.ways.waysOf('PUBLIC', account, due, 'v'), {
    state: 'known',
    ways: [{ asset: NATIVE, balance: 30n, cost: due.stroops }],
  });
  const inEurc = await alone.ways.waysOf('PUBLIC', account, { asset: EURC, stroops: 5n }, 'v');
  t.strictSame(inEurc, { state: 'known', ways: [{ asset: EURC, balance: 70n, cost: 5n }] });
  t.strictSame(await alone.ways.wayFrom('PUBLIC', account, EURC, due, 'v'), { state: 'known', way: null });
  t.strictSame(alone.asked, []);
  const second = market(balances, ['a', 'b'], ['a']);
  t.match(await second.ways.waysOf('PUBLIC', account, due, 'v'), { ways: [{ asset: NATIVE }, { asset: EURC }] });
  const none = market(balances, ['a'], ['a']);
  t.match(await none.ways.waysOf('PUBLIC', account, due, 'v'), { ways: [{ asset: NATIVE }] });
});

t.test('the cheapest of several ways from an asset counts, and an answer to another question is refused', async (t) => {
  const native = { destination_asset_type: 'native', destination_amount: '25.0000000' };
  const eurc = { source_asset_type: 'credit_alphanum4', source_asset_code: 'EURC', source_asset_issuer: issuer };
  const record = { ...native, ...eurc, source_amount: '5.0000000', path: [] as unknown[] };
  const answer = (records: unknown[]) => async () => ({
    ...{ status: 200 as const, latestLedger: null, tookMs: 0 },
    body: { _embedded: { records } },
  });
  const path = [{ asset_type: 'native' }, { asset_type: 'credit_alphanum4', asset_code: 'USDC', asset_issuer: issuer }];
  const found = await readWays(answer([record, { ...record, source_amount: '4.9', path }]), due, [EURC]);
  t.strictSame(found, [{ asset: EURC, cost: 49_000_000n, path: [NATIVE, assetOf('USDC')] }]);
  t.strictSame(await readWays(answer([]), due, [EURC]), []);
  const wrong: object[] = [
    { ...record, source_asset_code: 'USDC' },
    { ...record, destination_amount: '24.0000000' },
    {
      ...record,
      destination_asset_type: 'credit_alphanum4',
      destination_asset_code: 'X',
      destination_asset_issuer: issuer,
    },
    { ...record, source_amount: '0.0000000' },
    { ...record, source_amount: '-1' },
    { ...record, source_asset_issuer: 'G' },
    { ...record, path: [...path, ...path, ...path] },
    { ...record, path: 'none' },
  ];
  for (const each of wrong) {
    await t.rejects(readWays(answer([each]), due, [EURC]), LedgerUnavailable, JSON.stringify(each));
  }
  // One that looks for no paths may be read all the same; one that asks for a pause gets it.
  const failing = (error: Error) => readWays(() => Promise.reject(error), due, [EURC]);
  const gone = { status: 404 as const, body: null, latestLedger: null };
  await t.rejects(
    readWays(async () => gone, due, [EURC]),
    LedgerUnavailable,
  );
  await t.rejects(failing(new SourceError('status 503')), LedgerUnavailable);
  await t.rejects(failing(new SourceError('status 429', { retryAfterMs: 5000 })), SourceError);
});

t.test('at most one per cent more than the cost can leave the payer', async (t) => {
  for (const [cost, most] of [
    [1n, 2n],
    [100n, 101n],
    [101n, 103n],
    [28_571_429n, 28_857_144n],
    [9_223_372_036_854_775_807n, 9_223_372_036_854_775_807n],
  ] as const) {
    t.equal(sendMaxOf(cost), most);
  }
  const payable = {
    destination: Keypair.random().publicKey(),
    memo: 'ABC',
    asset: NATIVE,
    networkPassphrase: networkInfo.LOCAL.passphrase,
  };
  const detour = { asset: EURC, cost: 28_571_429n, path: [assetOf('USDC')] };
  const xdr = buildPayment(payable, { payer: account, sequence: '7', amount: '10', detour }, new Date());
  const { operations } = parseTransaction(xdr, payable.networkPassphrase) as Transaction;
  t.match(operations, [
    {
      type: 'pathPaymentStrictReceive',
      sendMax: '2.8857144',
      destAmount: '10.0000000',
      destination: payable.destination,
    },
  ]);
});

t.test('what the ledger refuses of a payment in another asset is said of that asset', async (t) => {
  const words = wordsOf('en');
  const say = (code: string) => refusalSentence(words, code, pageLink('x'), EURC);
  t.match(say('op_over_source_max'), /price has moved.*Nothing was paid/);
  t.match(say('op_too_few_offers'), /^Paying in EURC/);
  t.match(say('op_cross_self'), /EURC/);
  t.match(say('op_src_no_trust'), /EURC/);
  t.equal(say('op_underfunded'), 'Your account does not hold enough EURC.');
  t.match(say('op_no_trust'), /XLM/, 'the shop’s side is about what is asked for');
});

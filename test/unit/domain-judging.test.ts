/** Every outcome of SPEC 5.5, one test each, and what stands before the judgement: the memo's
 *  meaning, the terms in force, the windows of watching. */
import t from 'tap';
import { PAYMENT_REASONS } from '../../contracts/payments.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../../src/domain/amount.js';
import { type Asset, assetName, NATIVE, sameAsset } from '../../src/domain/asset.js';
import {
  type CreditMemo,
  createMemo,
  memoIdOf,
  memosNamedBy,
  normalizeMemo,
  unmatchedReason,
} from '../../src/domain/memo.js';
import { OUTCOMES, type Verdict, verdictOf } from '../../src/domain/outcomes.js';
import {
  isWatched,
  type LedgerStamp,
  type LinkTerms,
  mayBeInForce,
  type ProductTerms,
  sideOf,
  type Versioned,
} from '../../src/domain/terms.js';
import { judgeByTerms, judgeForLink } from '../../src/payments/judge.js';
import type { StoredTerms } from '../../src/selling/product-document.js';

const ISSUER = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const OTHER_ISSUER = 'GDI53A4VSMMYMVVTLO3X4SMZXWIPWN3ETEKTFVPOYO67A5FPLLK4T3YR';
const USDC: Asset = { code: 'USDC', issuer: ISSUER };

const amount = (text: string): bigint => parseAmount(text)!;
const fixed = (price: string, terms: Partial<ProductTerms> = {}): ProductTerms => {
  return {
    active: true,
    asset: NATIVE,
    priceType: 'FIXED',
    price: amount(price),
    minAmount: null,
    tolerance: 0n,
    ...terms,
  };
};
const custom = (minAmount: string | null, terms: Partial<ProductTerms> = {}): ProductTerms => {
  return {
    ...fixed('1'),
    priceType: 'CUSTOM',
    price: null,
    minAmount: minAmount && amount(minAmount),
    ...terms,
  } as ProductTerms;
};

interface Outcome {
  guarantee: string;
  product: ProductTerms;
  link?: Partial<LinkTerms>;
  pays: string;
  asset?: Asset;
  expect: [
    status: Verdict['status'],
    reason: Verdict['reason'],
    expected: string | null,
    excess?: string,
    shortfall?: string,
  ];
}

const closedAt = new Date('2026-01-01T00:00:10Z');
const outcomes: Outcome[] = [
  { guarantee: 'the exact price is COMPLETED', product: fixed('10'), pays: '10', expect: ['COMPLETED', null, '10'] },
  {
    guarantee: 'one stroop more than the price is COMPLETED, overpaid by it',
    product: fixed('10'),
    pays: '10.0000001',
    expect: ['COMPLETED', 'overpaid', '10', '0.0000001'],
  },
  {
    guarantee: 'one stroop less than the price is UNDERPAID by it',
    product: fixed('10'),
    pays: '9.9999999',
    expect: ['UNDERPAID', 'below_price', '10', undefined, '0.0000001'],
  },
  {
    guarantee: 'the largest price is compared to the stroop',
    product: fixed('922337203685.4775807'),
    pays: '922337203685.4775806',
    expect: ['UNDERPAID', 'below_price', '922337203685.4775807', undefined, '0.0000001'],
  },
  {
    guarantee: 'the largest amount for the smallest price is overpaid exactly',
    product: fixed('0.0000001'),
    pays: '922337203685.4775807',
    expect: ['COMPLETED', 'overpaid', '0.0000001', '922337203685.4775806'],
  },
  { guarantee: 'the exact minimum is COMPLETED', product: custom('5'), pays: '5', expect: ['COMPLETED', null, '5'] },
  {
    guarantee: 'more than the minimum is COMPLETED and not overpaid',
    product: custom('5'),
    pays: '500',
    expect: ['COMPLETED', null, '5'],
  },
  {
    guarantee: 'less than the minimum is UNDERPAID',
    product: custom('5'),
    pays: '4',
    expect: ['UNDERPAID', 'below_minimum', '5', undefined, '1'],
  },
  {
    guarantee: 'without a minimum one stroop is COMPLETED',
    product: custom(null),
    pays: '0.0000001',
    expect: ['COMPLETED', null, null],
  },
  {
    guarantee: 'an inactive link is REJECTED',
    product: fixed('10'),
    link: { active: false },
    pays: '10',
    expect: ['REJECTED', 'link_inactive', '10'],
  },
  {
    guarantee: 'an inactive product is REJECTED',
    product: fixed('10', { active: false }),
    pays: '10',
    expect: ['REJECTED', 'product_inactive', '10'],
  },
  {
    guarantee: 'another asset is REJECTED',
    product: fixed('10', { asset: USDC }),
    pays: '10',
    expect: ['REJECTED', 'wrong_asset', '10'],
  },
  {
    guarantee: 'the code of another issuer is REJECTED',
    product: fixed('10', { asset: USDC }),
    asset: { code: 'USDC', issuer: OTHER_ISSUER },
    pays: '10',
    expect: ['REJECTED', 'wrong_asset', '10'],
  },
  {
    guarantee: 'an asset that only calls itself XLM is REJECTED',
    product: fixed('10'),
    asset: { code: 'XLM', issuer: ISSUER },
    pays: '10',
    expect: ['REJECTED', 'wrong_asset', '10'],
  },
  {
    guarantee: 'a code in another case is another asset',
    product: fixed('10', { asset: USDC }),
    asset: { code: 'usdc', issuer: ISSUER },
    pays: '10',
    expect: ['REJECTED', 'wrong_asset', '10'],
  },
  {
    guarantee: 'of all reasons at once the link comes first',
    product: fixed('10', { active: false, asset: USDC }),
    link: { active: false },
    pays: '1',
    expect: ['REJECTED', 'link_inactive', '10'],
  },
  {
    guarantee: 'then the end of the link, at its second',
    link: { endsAt: closedAt, takesOrders: true },
    product: fixed('10', { active: false }),
    pays: '10',
    expect: ['REJECTED', 'link_ended', '10'],
  },
  {
    guarantee: 'a second before its end a link takes payments',
    link: { endsAt: new Date(closedAt.getTime() + 1) },
    product: fixed('10'),
    pays: '10',
    expect: ['COMPLETED', null, '10'],
  },
  {
    guarantee: 'then that an order link needs an order',
    link: { takesOrders: true },
    product: fixed('10', { active: false }),
    pays: '10',
    expect: ['REJECTED', 'order_needed', '10'],
  },
  {
    guarantee: 'then the product',
    product: fixed('10', { active: false, asset: USDC }),
    pays: '1',
    expect: ['REJECTED', 'product_inactive', '10'],
  },
  {
    guarantee: 'then the asset, before the amount',
    product: fixed('10', { asset: USDC }),
    pays: '1',
    expect: ['REJECTED', 'wrong_asset', '10'],
  },
];

const OPEN_LINK = { active: true, endsAt: null, takesOrders: false };

for (const { guarantee, product, link = {}, pays, asset = NATIVE, expect } of outcomes) {
  t.test(guarantee, async (t) => {
    const verdict = judgeByTerms({ ...OPEN_LINK, ...link }, product, {
      ...{ asset, amount: amount(pays), closedAt },
    });
    const [status, reason, expected, excess = null, shortfall = null] = expect;
    const text = (stroops: bigint | null) => (stroops === null ? null : formatAmount(stroops));
    t.strictSame(
      [
        verdict.status,
        verdict.reason,
        text(verdict.expectedAmount),
        text(verdict.excessAmount),
        text(verdict.shortfallAmount),
      ],
      [status, reason, expected, excess, shortfall],
    );
  });
}

t.test('a FIXED product without a price judges nothing', async (t) => {
  const product = { ...fixed('1'), price: null };
  t.throws(() => judgeByTerms(OPEN_LINK, product, { asset: NATIVE, amount: 1n, closedAt }), RangeError);
});

t.test('an unmatched payment has a reason and no amounts', async (t) => {
  t.strictSame(verdictOf('unknown_memo', null), {
    outcome: 'unknown_memo',
    status: 'UNMATCHED',
    reason: 'unknown_memo',
    expectedAmount: null,
    excessAmount: null,
    shortfallAmount: null,
    value: null,
  });
});

t.test('every reason of the contract belongs to one outcome, with its meaning', async (t) => {
  const outcomes = Object.values(OUTCOMES);
  const reasons = outcomes.flatMap(({ reason }) => reason ?? []);
  t.strictSame([...reasons].sort(), [...PAYMENT_REASONS].sort());
  for (const { meaning } of outcomes) t.match(meaning, /^[A-Z].+\.$/);
});

t.test('an asset is its code and its issuer', async (t) => {
  t.ok(sameAsset(NATIVE, { code: 'XLM', issuer: null }));
  t.notOk(sameAsset(NATIVE, { code: 'XLM', issuer: ISSUER }));
  t.equal(assetName(NATIVE), 'XLM');
  t.equal(assetName(USDC), `USDC:${ISSUER}`);
});

t.test('an amount is plain decimal text up to what the ledger can hold', async (t) => {
  t.equal(parseAmount('922337203685.4775807'), MAX_STROOPS);
  t.equal(parseAmount('922337203685.4775808'), null);
  for (const text of ['.5', '5.', '007', '1e3', '-1', '+1', ' 1', '1 ', '', '1.00000000', '0x1', '1,5', 'NaN', '١']) {
    t.equal(parseAmount(text), null, JSON.stringify(text));
  }
  t.throws(() => formatAmount(-1n), RangeError);
});

const memoFrom = (bytes: number[]) =>
  createMemo({ randomBytes: (size) => Buffer.from(bytes).subarray(0, size) }, 'link');

t.test('a person writes a memo in small letters, with O for 0 or blanks → it is the memo', async (t) => {
  const memo = memoFrom([0, 1, 10, 11, 22, 31, 5, 7, 0, 1, 29]);
  t.match(memo, /^01ABPZ5701X[0-9A-HJKMNP-TV-Z]$/);
  const byHand = memo.toLowerCase().replaceAll('0', 'o').replace('1', 'l').replace('1', 'I');
  t.not(byHand, memo);
  t.equal(normalizeMemo(byHand), memo, 'O for 0, l and I for 1, small letters');
  t.equal(normalizeMemo(` \t${memo}\n`), memo, 'blanks around it');
  t.equal(normalizeMemo(`\u00a0${memo}\u3000`), memo, 'whatever blanks');
});

t.test('a text that is not a memo of this service is not normalised', async (t) => {
  const memo = memoFrom([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 31]);
  const swapped = memo[1]! + memo[0] + memo.slice(2);
  for (const text of [
    '',
    ' ',
    memo.slice(1),
    `${memo}0`,
    `${memo.slice(0, 5)} ${memo.slice(5)}`,
    `${memo}\0`,
    swapped,
    `U${memo.slice(1)}`,
  ]) {
    t.equal(normalizeMemo(text), null, JSON.stringify(text));
  }
  // 'ı'.toUpperCase() is 'I' and 'ſ'.toUpperCase() is 'S': letters of other alphabets must not
  // become ours.
  const withOne = memoFrom([1, 25, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  t.equal(normalizeMemo(withOne.replace('1', 'ı')), null);
  t.equal(normalizeMemo(withOne.replace('S', 'ſ')), null);
  t.equal(normalizeMemo(withOne.replace('1', '１')), null);
});

t.test('what a payment names: its muxed destination first, then its memo, in any of the three spellings', async (t) => {
  const memo = memoFrom([9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 31]);
  const other = memoFrom([1, 1, 2, 3, 5, 8, 13, 21, 3, 24, 27]);
  const [id, otherId] = [memoIdOf(memo), memoIdOf(other)];
  const none: CreditMemo = { type: 'none', text: null };
  const text = (value: string): CreditMemo => ({ type: 'text', text: value, valid: true });
  const hash = 'AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=';
  const cases: [CreditMemo, string | null, string[], string][] = [
    [none, null, [], 'no_memo'],
    [text(''), null, [], 'no_memo'],
    [{ type: 'text', text: '\u{FFFD}', valid: false }, null, [], 'unknown_memo'],
    [{ type: 'text', text: memo, valid: false }, null, [], 'unknown_memo'],
    [text('thanks'), null, [], 'unknown_memo'],
    [text('   '), null, [], 'unknown_memo'],
    [text(memo.toLowerCase()), null, [memo], 'unknown_memo'],
    // A number in a text memo is no id.
    [text(id), null, [], 'unknown_memo'],
    [{ type: 'id', text: id }, null, [memo], 'unknown_memo'],
    [{ type: 'id', text: '123' }, null, [], 'unknown_memo'],
    [{ type: 'id', text: '18446744073709551615' }, null, [], 'unknown_memo'],
    [{ type: 'hash', text: hash }, null, [], 'unsupported_memo'],
    [{ type: 'return', text: hash }, null, [], 'unsupported_memo'],
    [none, id, [memo], 'no_memo'],
    [none, '0', [memoFrom(Array(11).fill(0))], 'no_memo'],
    [none, '5', [], 'no_memo'],
    [text(other), id, [memo, other], 'unknown_memo'],
    [text(memo), id, [memo], 'unknown_memo'],
    [text(other), '5', [other], 'unknown_memo'],
    [{ type: 'id', text: otherId }, id, [memo, other], 'unknown_memo'],
    [{ type: 'hash', text: hash }, id, [memo], 'unsupported_memo'],
  ];
  for (const [given, destinationMuxedId, named, reason] of cases) {
    const label = `${JSON.stringify(given)} ${destinationMuxedId}`;
    t.strictSame(memosNamedBy({ memo: given, destinationMuxedId }), named, label);
    t.equal(unmatchedReason(given), reason, label);
  }
});

const at = (iso: string, ledger: number | null): LedgerStamp => ({ at: new Date(iso), ledger });
const closed = (ledger: number, iso: string) => ({ ledger, closedAt: new Date(iso) });

t.test('a change counts from the first ledger that is certain to have closed after it', async (t) => {
  const stamp = at('2026-01-01T00:00:10.900Z', 100);
  t.equal(sideOf(closed(100, '2026-01-01T00:00:10Z'), stamp), 'before', 'known to have closed, in the same second');
  t.equal(sideOf(closed(101, '2026-01-01T00:00:10Z'), stamp), 'either', 'the next one, of the same second');
  t.equal(
    sideOf(closed(101, '2026-01-01T00:00:10Z'), { ...stamp, isNewest: true }),
    'after',
    'unless 100 was the newest',
  );
  t.equal(sideOf(closed(101, '2026-01-01T00:00:09Z'), stamp), 'before', 'of the second before');
  t.equal(sideOf(closed(102, '2026-01-01T00:00:11Z'), stamp), 'after');
  const untold = at('2026-01-01T00:00:10.900Z', null);
  t.equal(sideOf(closed(1, '2026-01-01T00:00:10Z'), untold), 'either', 'by time alone when no ledger is known');
  t.equal(sideOf(closed(1, '2026-01-01T00:00:10Z'), { ...untold, isNewest: true }), 'either');
});

t.test('a ledger number from before a reset does not mislead the verdict', async (t) => {
  const stamp = at('2026-01-01T00:00:10Z', 1_204_331);
  t.equal(sideOf(closed(3, '2026-01-01T00:00:12Z'), stamp), 'after');
  t.equal(sideOf(closed(3, '2026-01-01T00:00:09Z'), stamp), 'before');
});

t.test('the terms in force are those of the last version that was reached', async (t) => {
  const history: Versioned<string> = [
    { from: null, terms: 'first' },
    { from: at('2026-01-01T00:00:10Z', 100), terms: 'second' },
    { from: at('2026-01-01T00:00:20Z', 102), terms: 'third' },
    { from: at('2026-01-01T00:00:20.500Z', 102), terms: 'fourth' },
  ];
  const inForce = (ledger: number, iso: string) => mayBeInForce(history, closed(ledger, iso));
  t.strictSame(inForce(1, '2015-01-01T00:00:00Z'), ['first'], 'a payment older than the product');
  t.strictSame(inForce(100, '2026-01-01T00:00:10Z'), ['first']);
  t.strictSame(inForce(101, '2026-01-01T00:00:15Z'), ['second']);
  t.strictSame(inForce(103, '2026-01-01T00:00:20Z'), ['second', 'third', 'fourth'], 'each may have come after it');
  t.strictSame(inForce(104, '2026-01-01T00:00:21Z'), ['fourth']);
  t.throws(() => mayBeInForce([], closed(1, '2026-01-01T00:00:00Z')), RangeError);
});

t.test('the payer has the best of the terms that may be in force', async (t) => {
  const change = at('2026-01-01T00:00:10.500Z', 100);
  const paid = { asset: NATIVE, amount: amount('10') };
  const judged = (
    ledger: number,
    iso: string,
    before: Partial<StoredTerms>,
    after: Partial<StoredTerms>,
    link = true,
  ) => {
    const terms = (changes: Partial<StoredTerms>): StoredTerms => ({
      ...{
        active: true,
        assetCode: 'XLM',
        assetIssuer: null,
        priceType: 'FIXED',
        price: '10',
        minAmount: null,
        tolerancePercent: '0',
      },
      ...changes,
    });
    const network = 'TESTNET' as const;
    const product = [
      { from: null, terms: terms(before), network },
      { from: change, terms: terms(after), network },
    ];
    const switched = [
      { from: null, terms: OPEN_LINK },
      { from: change, terms: { ...OPEN_LINK, active: link } },
    ];
    const history = {
      ...{ link: { history: switched }, product: { history: product } },
      wallet: { network },
    };
    const { status, reason } = judgeForLink(history, { ...closed(ledger, iso), ...paid }, () => []);
    return reason === null ? status : `${status} ${reason}`;
  };
  const unsure = [101, '2026-01-01T00:00:10Z'] as const;
  const sure = [102, '2026-01-01T00:00:11Z'] as const;
  t.equal(judged(...unsure, {}, {}, false), 'COMPLETED', 'a link that was made inactive');
  t.equal(judged(...sure, {}, {}, false), 'REJECTED link_inactive');
  t.equal(judged(...unsure, {}, { active: false }), 'COMPLETED', 'a product that was made inactive');
  t.equal(judged(...sure, {}, { active: false }), 'REJECTED product_inactive');
  t.equal(judged(...unsure, {}, { price: '11' }), 'COMPLETED', 'a price that was raised');
  t.equal(judged(...sure, {}, { price: '11' }), 'UNDERPAID below_price');
  t.equal(judged(...unsure, { price: '11' }, {}), 'COMPLETED', 'a price that was lowered');
  t.equal(judged(100, '2026-01-01T00:00:10Z', { price: '11' }, {}), 'UNDERPAID below_price');
  t.equal(judged(...unsure, { active: false }, {}), 'COMPLETED', 'a product that was made active');
  t.equal(judged(...unsure, { price: '12' }, { price: '11' }), 'UNDERPAID below_price', 'too little either way');
});

t.test('a wallet counts what came in its windows, no more and no less', async (t) => {
  const windows = [
    { from: at('2026-01-01T00:00:10Z', 100), until: at('2026-01-01T00:00:30Z', 104) },
    { from: at('2026-01-01T00:01:00Z', 110), until: null },
  ];
  const watched = (ledger: number, iso: string) => isWatched(windows, closed(ledger, iso));
  t.notOk(watched(100, '2026-01-01T00:00:09Z'), 'before its creation');
  t.ok(watched(101, '2026-01-01T00:00:10Z'), 'of the second of its creation');
  t.ok(watched(105, '2026-01-01T00:00:30Z'), 'in the second in which it was made inactive');
  t.ok(watched(101, '2026-01-01T00:00:14Z'));
  t.ok(watched(104, '2026-01-01T00:00:29Z'), 'in the last ledger before it was made inactive');
  t.notOk(watched(106, '2026-01-01T00:00:34Z'), 'while inactive');
  t.notOk(watched(110, '2026-01-01T00:00:59Z'));
  t.ok(watched(111, '2026-01-01T00:01:04Z'), 'active again');
  t.notOk(isWatched([], closed(1, '2026-01-01T00:00:00Z')));
});

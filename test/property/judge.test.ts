/** Judgements for all inputs: amounts add up to the stroop, and terms count exactly while they are in force. */
import fc from 'fast-check';
import t from 'tap';
import { PAYMENT_REASONS, PAYMENT_STATUSES } from '../../contracts/payments.js';
import { MAX_STROOPS } from '../../src/domain/amount.js';
import { type Asset, sameAsset } from '../../src/domain/asset.js';
import { judge } from '../../src/domain/judge.js';
import { inForce, isAtOrAfter, isWatched, type ProductTerms } from '../../src/domain/terms.js';

const stroops = fc.oneof(
  fc.bigInt({ min: 1n, max: MAX_STROOPS }),
  fc.bigInt({ min: 1n, max: 20n }),
  fc.constantFrom(1n, MAX_STROOPS - 1n, MAX_STROOPS),
);
const asset: fc.Arbitrary<Asset> = fc.record({
  code: fc.constantFrom('XLM', 'USDC'),
  issuer: fc.constantFrom(null, 'GA', 'GB'),
});
const product: fc.Arbitrary<ProductTerms> = fc.oneof(
  fc.record({
    active: fc.boolean(),
    asset,
    priceType: fc.constant('FIXED' as const),
    price: stroops,
    minAmount: fc.constant(null),
  }),
  fc.record({
    active: fc.boolean(),
    asset,
    priceType: fc.constant('CUSTOM' as const),
    price: fc.constant(null),
    minAmount: fc.option(stroops),
  }),
);
const payment = fc.record({ link: fc.record({ active: fc.boolean() }), product, asset, amount: stroops });

t.test('shortfall and excess add up to what was expected, to the stroop', async () => {
  fc.assert(
    fc.property(payment, (given) => {
      const { status, reason, expectedAmount, excessAmount, shortfallAmount } = judge(given);
      const { product, amount } = given;
      if (expectedAmount !== (product.priceType === 'FIXED' ? product.price : product.minAmount)) return false;
      // Each of the two exactly with its own outcome, and never nothing.
      if ((shortfallAmount !== null) !== (status === 'UNDERPAID')) return false;
      if ((excessAmount !== null) !== (reason === 'overpaid')) return false;
      if (shortfallAmount !== null && (shortfallAmount <= 0n || amount + shortfallAmount !== expectedAmount))
        return false;
      return excessAmount === null || (excessAmount > 0n && amount - excessAmount === expectedAmount);
    }),
    { numRuns: 5000 },
  );
});

t.test('a payment is COMPLETED exactly when all is active, the asset is right, and the amount suffices', async () => {
  fc.assert(
    fc.property(payment, (given) => {
      const { link, product, asset, amount } = given;
      const enough = amount >= (product.price ?? product.minAmount ?? 1n);
      const acceptable = link.active && product.active && sameAsset(asset, product.asset);
      const expected = !acceptable ? 'REJECTED' : enough ? 'COMPLETED' : 'UNDERPAID';
      return judge(given).status === expected;
    }),
    { numRuns: 5000 },
  );
});

t.test('every verdict is made of the words of the contract, and the same payment is judged the same', async () => {
  fc.assert(
    fc.property(payment, (given) => {
      const verdict = judge(given);
      const again = judge(structuredClone(given));
      return (
        PAYMENT_STATUSES.includes(verdict.status) &&
        (verdict.reason === null ? verdict.status === 'COMPLETED' : PAYMENT_REASONS.includes(verdict.reason)) &&
        Object.entries(again).every(([key, value]) => verdict[key as keyof typeof verdict] === value)
      );
    }),
  );
});

t.test('paying more never makes a payment worse', async () => {
  const rank = { REJECTED: 0, UNMATCHED: 0, UNDERPAID: 1, COMPLETED: 2 };
  fc.assert(
    fc.property(payment, stroops, (given, other) => {
      const [less, more] = given.amount < other ? [given.amount, other] : [other, given.amount];
      return rank[judge({ ...given, amount: less }).status] <= rank[judge({ ...given, amount: more }).status];
    }),
  );
});

/** A chain of ledgers, and what its ledgers show: moments that a clock marked between them. */
const SECOND = 1000;
const chain = fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 2, maxLength: 12 }).map((gaps) => {
  let ms = 1_700_000_000_000;
  return gaps.map((gap, i) => {
    ms += gap * SECOND;
    return { ledger: 100 + i, closedAt: new Date(ms) };
  });
});
/** A moment within the chain, with the newest ledger that had closed before it, or one that an older reading knew, or none. */
const marked = chain.chain((ledgers) =>
  fc
    .record({
      ms: fc.integer({ min: ledgers[0]!.closedAt.getTime() + 1, max: ledgers.at(-1)!.closedAt.getTime() + 5 * SECOND }),
      behind: fc.option(fc.nat({ max: 3 })),
    })
    .map(({ ms, behind }) => {
      const closed = ledgers.filter(({ closedAt }) => closedAt.getTime() < ms).at(-1)!.ledger;
      return { ledgers, stamp: { at: new Date(ms), ledger: behind === null ? null : closed - behind } };
    }),
);

t.test('terms hold from the first ledger that closes at or after them, and from then on', async () => {
  fc.assert(
    fc.property(marked, ({ ledgers, stamp }) => {
      const reached = ledgers.map((position) => isAtOrAfter(position, stamp));
      const after = ledgers.map(({ closedAt }) => closedAt.getTime() >= stamp.at.getTime());
      const sameSecond = ledgers.map(
        ({ closedAt }) => Math.floor(stamp.at.getTime() / SECOND) * SECOND === closedAt.getTime(),
      );
      return reached.every(
        (each, i) => (i === 0 || each || !reached[i - 1]) && (each === after[i] || (each && sameSecond[i]!)),
      );
    }),
    { numRuns: 2000 },
  );
});

t.test('a change of terms divides the payments: before it the old ones, after it the new', async () => {
  fc.assert(
    fc.property(marked, ({ ledgers, stamp }) => {
      const history = [
        { from: null, terms: 'old' },
        { from: stamp, terms: 'new' },
      ];
      return ledgers.every((at) => inForce(history, at) === (isAtOrAfter(at, stamp) ? 'new' : 'old'));
    }),
  );
});

t.test('a window that closes and opens at once leaves no ledger out and counts none twice', async () => {
  fc.assert(
    fc.property(marked, ({ ledgers, stamp }) => {
      const from = { at: new Date(0), ledger: null };
      const [before, after] = [[{ from, until: stamp }], [{ from: stamp, until: null }]];
      return ledgers.every(
        (at) => isWatched(before, at) !== isWatched(after, at) && isWatched([...before, ...after], at),
      );
    }),
  );
});

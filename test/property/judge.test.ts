/** Judgements for all inputs: amounts add up to the stroop, and terms count exactly while they are
 *  in force. */
import fc from 'fast-check';
import t from 'tap';
import { PAYMENT_REASONS, PAYMENT_STATUSES } from '../../contracts/payments.js';
import { MAX_STROOPS } from '../../src/domain/amount.js';
import { type Asset, sameAsset } from '../../src/domain/asset.js';
import { isWatched, type LinkTerms, mayBeInForce, type ProductTerms, sideOf } from '../../src/domain/terms.js';
import { judgeByTerms } from '../../src/payments/judge.js';
import { draws } from '../helpers/long.js';

const stroops = fc.oneof(
  fc.bigInt({ min: 1n, max: MAX_STROOPS }),
  fc.bigInt({ min: 1n, max: 20n }),
  fc.constantFrom(1n, MAX_STROOPS - 1n, MAX_STROOPS),
);
const asset: fc.Arbitrary<Asset> = fc.record({
  code: fc.constantFrom('XLM', 'USDC'),
  issuer: fc.constantFrom(null, 'GA', 'GB'),
});
/** Hundredths of a percent. */
const tolerance = fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 500n }));
const product: fc.Arbitrary<ProductTerms> = fc.oneof(
  fc.record({
    active: fc.boolean(),
    asset,
    priceType: fc.constant('FIXED' as const),
    price: stroops,
    minAmount: fc.constant(null),
    tolerance,
  }),
  fc.record({
    active: fc.boolean(),
    asset,
    priceType: fc.constant('CUSTOM' as const),
    price: fc.constant(null),
    minAmount: fc.option(stroops),
    tolerance,
  }),
);
const closedAt = new Date('2026-01-01T00:00:00Z');
const link = fc.record({
  active: fc.boolean(),
  endsAt: fc.constantFrom(null, new Date(closedAt.getTime() - 1), closedAt, new Date(closedAt.getTime() + 1)),
  takesOrders: fc.boolean(),
});
const payment = fc.record({ link, product, asset, amount: stroops });
const judge = ({ link, product, ...paid }: { link: LinkTerms; product: ProductTerms; asset: Asset; amount: bigint }) =>
  judgeByTerms(link, product, { ...paid, closedAt });

t.test('shortfall and excess add up to what was expected, to the stroop', async () => {
  fc.assert(
    fc.property(payment, (given) => {
      const { status, reason, expectedAmount, excessAmount, shortfallAmount } = judge(given);
      const { product, amount } = given;
      if (expectedAmount !== (product.priceType === 'FIXED' ? product.price : product.minAmount)) return false;
      // Each of the two exactly with its own outcome, and never nothing.
      const isShort = status === 'UNDERPAID' || reason === 'within_tolerance';
      if ((shortfallAmount !== null) !== isShort) return false;
      if ((excessAmount !== null) !== (reason === 'overpaid')) return false;
      if (shortfallAmount !== null && (shortfallAmount <= 0n || amount + shortfallAmount !== expectedAmount))
        return false;
      return excessAmount === null || (excessAmount > 0n && amount - excessAmount === expectedAmount);
    }),
    draws(5000),
  );
});

t.test('a payment is COMPLETED exactly when all is active, the asset is right, and the amount suffices', async () => {
  fc.assert(
    fc.property(payment, (given) => {
      const { link, product, asset, amount } = given;
      const asked = product.price ?? product.minAmount ?? 1n;
      const enough = amount * 10_000n >= asked * (10_000n - product.tolerance);
      const inTime = link.endsAt === null || closedAt < link.endsAt;
      const open = link.active && inTime && !link.takesOrders;
      const acceptable = open && product.active && sameAsset(asset, product.asset);
      const expected = !acceptable ? 'REJECTED' : enough ? 'COMPLETED' : 'UNDERPAID';
      return judge(given).status === expected;
    }),
    draws(5000),
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

/** A chain of ledgers whose close times are rounded down, up to ten in a second, and a moment that
 *  a clock marked between them. */
const SECOND = 1000;
const chain = fc.array(fc.integer({ min: 100, max: 7000 }), { minLength: 2, maxLength: 40 }).map((gaps) => {
  let ms = 1_700_000_000_000;
  return gaps.map((gap, i) => {
    ms += gap;
    return { ms, ledger: 100 + i, closedAt: new Date(Math.floor(ms / SECOND) * SECOND) };
  });
});
/** A moment within the chain, with the newest ledger that had closed before it, or one that an
 *  older reading knew, or none. */
const marked = chain.chain((ledgers) =>
  fc
    .record({
      ms: fc.integer({ min: ledgers[0]!.ms + 1, max: ledgers.at(-1)!.ms + 5 * SECOND }),
      behind: fc.option(fc.nat({ max: 30 })),
    })
    .map(({ ms, behind }) => {
      const closed = ledgers.filter((each) => each.ms < ms).at(-1)!.ledger;
      const ledger = behind === null ? null : closed - behind;
      return { ledgers, ms, stamp: { at: new Date(ms), ledger, isNewest: behind === 0 } };
    }),
);

t.test('a ledger is on the side of a moment on which it closed, or on neither for certain', async () => {
  fc.assert(
    fc.property(marked, ({ ledgers, ms, stamp }) =>
      ledgers.every((close, i) => {
        const side = sideOf(close, stamp);
        const isUnsure = side === 'either';
        if (i > 0 && sideOf(ledgers[i - 1]!, stamp) === 'after' && side !== 'after') return false;
        if (isUnsure) return !stamp.isNewest && Math.floor(ms / SECOND) === Math.floor(close.ms / SECOND);
        return side === (close.ms < ms ? 'before' : 'after');
      }),
    ),
    draws(5000),
  );
});

t.test('a change of terms divides the payments: before it the old ones, after it the new', async () => {
  fc.assert(
    fc.property(marked, ({ ledgers, stamp }) => {
      const history = [
        { from: null, terms: 'old' },
        { from: stamp, terms: 'new' },
      ];
      const expected = { before: 'old', either: 'old,new', after: 'new' };
      return ledgers.every((at) => mayBeInForce(history, at).join() === expected[sideOf(at, stamp)]);
    }),
  );
});

t.test('a window that closes and opens at once leaves no ledger out', async () => {
  fc.assert(
    fc.property(marked, ({ ledgers, stamp }) => {
      const from = { at: new Date(0), ledger: null };
      const [before, after] = [[{ from, until: stamp }], [{ from: stamp, until: null }]];
      return ledgers.every((at) => {
        const isBoth = isWatched(before, at) && isWatched(after, at);
        return isWatched([...before, ...after], at) && isBoth === (sideOf(at, stamp) === 'either');
      });
    }),
  );
});

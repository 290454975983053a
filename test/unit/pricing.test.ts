/** Judging by rates: what may have been shown, what it was enough for, and what it counts for. */
import fc from 'fast-check';
import t from 'tap';
import { formatAmount, parseAmount } from '../../src/domain/amount.js';
import { NATIVE } from '../../src/domain/asset.js';
import { type Checkout, type CheckoutPayment, judgeForCheckout, remainingOf } from '../../src/domain/checkout.js';
import { type Counted, Later } from '../../src/domain/later.js';
import { measure } from '../../src/domain/pricing.js';
import { askedFor, compareRates, formatRate, parseRate, type Rate, toRate } from '../../src/domain/rate.js';
import { type RateHistory, type ShownRate, shownWithin, spansOf, worthAt } from '../../src/domain/shown-rates.js';
import { beginAfter } from '../../src/domain/terms.js';
import { judgeByTerms } from '../../src/payments/judge.js';
import { draws } from '../helpers/long.js';

const T = Date.parse('2026-01-01T12:00:00Z');
const MINUTE = 60_000;
const LOCK = 15 * MINUTE;
/** Minutes before the ledger closes. */
const ago = (minutes: number) => new Date(T - minutes * MINUTE);
const stampAt = (at: Date, ledger: number | null = 1) => ({ at, ledger });
const units = (text: string) => (text === '0' ? 0n : parseAmount(text)!);
const of = (text: string): Rate => parseRate(text)!;
const sample = (rate: string, minutes: number) => ({
  rate: of(rate),
  at: ago(minutes),
  from: stampAt(ago(minutes)),
  source: 'kraken',
});
const own = (rate: string | null, minutes: number, until: Date | null = null) => ({
  rate: rate === null ? null : of(rate),
  at: ago(minutes),
  from: stampAt(ago(minutes)),
  until,
});
const history = (parts: Partial<RateHistory>): RateHistory => ({ samples: [], own: [], markups: [], ...parts });
const shown = (parts: Partial<RateHistory>, closedAt = new Date(T)) =>
  shownWithin(history(parts), { ledger: 100, closedAt }, LOCK).map(({ rate }) => formatRate(rate));
const lowestFirst = (texts: readonly string[]) => [...texts].sort((a, b) => Number(a) - Number(b));

t.test('what is read of the spans decides as all that there is', async () => {
  const minutes = fc.integer({ min: 0, max: 3 * 24 * 60 });
  const rising = fc.uniqueArray(minutes, { maxLength: 40 }).map((list) => list.sort((a, b) => b - a));
  fc.assert(
    fc.property(rising, rising, fc.array(minutes, { minLength: 1, maxLength: 6 }), (sampled, set, paid) => {
      const samples = sampled.map((minute, nth) => ({
        ...sample(`0.${nth + 10}`, minute),
        from: stampAt(ago(minute), nth % 4 === 0 ? null : 1),
      }));
      const ownRates = set.map((minute, nth) => own(nth % 3 === 2 ? null : `1.${nth + 10}`, minute));
      const closes = paid.map((minute, ledger) => ({ ledger, closedAt: ago(minute) }));
      const spans = spansOf(
        closes.map(({ closedAt }) => closedAt),
        LOCK,
      );
      const readOf = <Each extends { from: { at: Date } }>(list: Each[]) =>
        list.filter(({ from }, nth) =>
          spans.some(
            (span) =>
              from.at <= span.to && (from.at > span.from || !list[nth + 1] || list[nth + 1]!.from.at > span.from),
          ),
        );
      const read = { samples: readOf(samples), own: readOf(ownRates), markups: [] };
      const whole = { samples, own: ownRates, markups: [] };
      for (const [nth, { to }] of spans.entries()) t.ok(!spans[nth + 1] || to < spans[nth + 1]!.from);
      for (const close of closes) {
        t.same(shownWithin(read, close, LOCK), shownWithin(whole, close, LOCK));
        t.same(worthAt(read, close), worthAt(whole, close));
      }
    }),
  );
});

t.test('a rate counts for a payment if it was shown within the lock', async (t) => {
  const cases: [what: string, parts: Partial<RateHistory>, rates: string[]][] = [
    ['nothing, where there is no sample', {}, []],
    ['the one sample, however early in the lock', { samples: [sample('0.25', 10)] }, ['0.25']],
    [
      'each that was the newest',
      { samples: [sample('0.25', 10), sample('0.26', 5), sample('0.27', 0)] },
      ['0.25', '0.26', '0.27'],
    ],
    [
      'the one that was the newest when the lock began',
      { samples: [sample('0.2', 30), sample('0.25', 20), sample('0.26', 5)] },
      ['0.25', '0.26'],
    ],
    ['a minute more, for clocks', { samples: [sample('0.2', 30), sample('0.25', 15.5)] }, ['0.2', '0.25']],
    ['no longer', { samples: [sample('0.2', 30), sample('0.25', 16)] }, ['0.25']],
    ['not what comes after the close', { samples: [sample('0.25', 5), sample('0.3', -0.1)] }, ['0.25']],
    ['the newest before, up to a day', { samples: [sample('0.25', 24 * 60)] }, ['0.25']],
    ['nothing that is older', { samples: [sample('0.25', 24 * 60 + 1)] }, []],
    ['an own rate in place of all samples', { samples: [sample('0.25', 10)], own: [own('0.5', 60)] }, ['0.5']],
    [
      'an own rate, and what was shown before it',
      { samples: [sample('0.25', 10)], own: [own('0.5', 5)] },
      ['0.25', '0.5'],
    ],
    [
      'what is shown after an own rate ended',
      { samples: [sample('0.25', 10)], own: [own('0.5', 60), own(null, 5)] },
      ['0.5', '0.25'],
    ],
    [
      'what is shown after an own rate expired',
      { samples: [sample('0.25', 10)], own: [own('0.5', 60, ago(5))] },
      ['0.5', '0.25'],
    ],
    [
      'what a clock that is ahead has shown already: an own rate that expires within the minute after the close',
      { samples: [sample('0.25', 10)], own: [own('0.5', 60, ago(-0.9))] },
      ['0.5', '0.25'],
    ],
    ['and nothing of later', { samples: [sample('0.25', 10)], own: [own('0.5', 60, ago(-1.1))] }, ['0.5']],
    [
      'a markup that changes within that minute, the old one and the new one',
      { samples: [sample('0.25', 10)], markups: [{ from: ago(-0.9), percent: of('2') }] },
      ['0.25', '0.245'],
    ],
    [
      'what a clock that is behind still showed when the lock began',
      { samples: [sample('0.25', 30)], markups: [{ from: ago(15.9), percent: of('2') }] },
      ['0.25', '0.245'],
    ],
    [
      'a sample less the markup of before, where a clock that is behind begins the next one ahead of the sample',
      { samples: [sample('0.25', 5)], markups: [{ from: ago(5.9), percent: of('2') }] },
      ['0.25', '0.245'],
    ],
    [
      'and not where it is too far behind',
      { samples: [sample('0.25', 5)], markups: [{ from: ago(6.1), percent: of('2') }] },
      ['0.245'],
    ],
    ['an own rate of long ago', { own: [own('0.5', 100_000)] }, ['0.5']],
    [
      'samples less the markup',
      { samples: [sample('0.25', 10)], markups: [{ from: ago(60), percent: of('2') }] },
      ['0.245'],
    ],
    [
      'before and after the markup changed',
      { samples: [sample('0.25', 10)], markups: [{ from: ago(5), percent: of('2') }] },
      ['0.25', '0.245'],
    ],
    [
      'an own rate as it is, whatever the markup',
      { own: [own('0.5', 60)], markups: [{ from: ago(60), percent: of('2') }] },
      ['0.5'],
    ],
  ];
  for (const [what, parts, rates] of cases) t.same(shown(parts), lowestFirst(rates), what);
  const late = { samples: [{ ...sample('0.25', 0), from: stampAt(new Date(T + 900)) }] };
  t.same(shown(late), ['0.25'], 'what began within the second of the close may have been seen');
  t.same(shown({ samples: [{ ...sample('0.25', 0), from: stampAt(new Date(T + 1000)) }] }), []);
});

t.test('what a clock alone dates may have been shown a minute earlier, and the one before it until then', async (t) => {
  const byClock = (minutes: number) => ({ ...sample('0.2', minutes), from: stampAt(ago(minutes), null) });
  t.same(shown({ samples: [sample('0.25', 30), byClock(-0.9)] }), ['0.2', '0.25']);
  t.same(shown({ samples: [byClock(-0.9)] }), ['0.2']);
  t.same(shown({ samples: [sample('0.25', 30), byClock(-1.1)] }), ['0.25']);
  t.same(shown({ samples: [sample('0.25', 30), byClock(15.9)] }), ['0.2', '0.25']);
  t.same(shown({ samples: [sample('0.25', 30)], own: [{ ...own('0.5', -0.9), from: stampAt(ago(-0.9), null) }] }), [
    '0.25',
    '0.5',
  ]);
});

t.test('a rate that follows one which a clock alone dated may have been shown as early', async (t) => {
  // Sampled at 20 and 10 seconds before the close; the clock was 42 seconds ahead, and no ledger
  // was known at first.
  const first = { ...sample('0.25', 0), from: stampAt(new Date(T + 22_000), null) };
  const second = { ...sample('0.2', 0), from: beginAfter(first, stampAt(new Date(T - 10_000), 99)) };
  t.same(shown({ samples: [first, second] }), ['0.2', '0.25']);
  const known = { from: stampAt(ago(0), 99) };
  t.same(beginAfter(known, stampAt(ago(0), 99)), stampAt(new Date(T + 1), 99), 'what a ledger dated stays certain');
});

t.test('what begins at one moment was each shown for an instant', async (t) => {
  t.same(shown({ samples: [sample('0.25', 30), sample('0.2', 5)], own: [own('0.5', 5)] }), ['0.2', '0.25', '0.5']);
  t.same(shown({ samples: [sample('0.25', 30)], own: [own('0.5', 5), own('0.6', 5)] }), ['0.25', '0.5', '0.6']);
});

/** Lowest first. */
const rates = (...texts: string[]): ShownRate[] =>
  texts.map((text, nth) => ({ rate: of(text), at: ago(9 - nth), source: 'kraken' }));
const closedAt = new Date('2026-01-01T00:00:00Z');
const OPEN_LINK = { active: true, endsAt: null, takesOrders: false };
const product = (fields: Partial<Parameters<typeof judgeByTerms>[1]> = {}) => ({
  ...{ active: true, asset: NATIVE, priceType: 'FIXED' as const, price: units('10'), minAmount: null, tolerance: 0n },
  ...fields,
});
const custom = (minAmount: string | null) =>
  product({ priceType: 'CUSTOM', price: null, minAmount: minAmount && units(minAmount) } as never);

t.test('a link is priced in EUR → a payment is judged by the best of the rates that were shown', async (t) => {
  // 10 EUR are 40 at the one, 50 at the other.
  const fixed = product();
  const tolerant = product({ tolerance: 200n });
  const cases: [
    what: string,
    terms: ReturnType<typeof product>,
    paid: string,
    verdict: unknown[],
    value: string | null,
  ][] = [
    ['the least that was asked', fixed, '40', ['COMPLETED', null, '40', null, null], '10'],
    ['between', fixed, '45', ['COMPLETED', null, '40', null, null], '10'],
    ['the most that was asked', fixed, '50', ['COMPLETED', null, '40', null, null], '10'],
    [
      'a stroop less than the least',
      fixed,
      '39.9999999',
      ['UNDERPAID', 'below_price', '40', null, '0.0000001'],
      '9.99',
    ],
    ['a stroop more than the most', fixed, '50.0000001', ['COMPLETED', 'overpaid', '40', '0.0000001', null], '10'],
    ['twice the most', fixed, '100', ['COMPLETED', 'overpaid', '40', '50', null], '20'],
    ['inactive', product({ active: false }), '40', ['REJECTED', 'product_inactive', '40', null, null], '10'],
    ['any amount where the payer chooses', custom(null), '30', ['COMPLETED', null, null, null, null], '6'],
    ['below a minimum of 10 EUR', custom('10'), '30', ['UNDERPAID', 'below_minimum', '40', null, '10'], '7.5'],
    [
      'the least that is within the tolerance',
      tolerant,
      '39.2',
      ['COMPLETED', 'within_tolerance', '40', null, '0.8'],
      '9.8',
    ],
    ['a stroop less than that', tolerant, '39.1999999', ['UNDERPAID', 'below_price', '40', null, '0.8000001'], '9.79'],
    [
      'within the tolerance of a minimum',
      { ...custom('10'), tolerance: 500n },
      '38',
      ['COMPLETED', 'within_tolerance', '40', null, '2'],
      '9.5',
    ],
    ['above it', custom('10'), '60', ['COMPLETED', null, '40', null, null], '12'],
  ];
  for (const [what, terms, paid, verdict, value] of cases) {
    const by = { currency: 'EUR', rates: rates('0.2', '0.25') };
    const judged = judgeByTerms(OPEN_LINK, terms, { asset: NATIVE, amount: units(paid), closedAt, by });
    const text = (amount: bigint | null) => amount && formatAmount(amount);
    const { status, reason, expectedAmount, excessAmount, shortfallAmount } = judged;
    t.same([status, reason, text(expectedAmount), text(excessAmount), text(shortfallAmount)], verdict, what);
    t.equal(judged.value && formatAmount(judged.value.amount), value, `${what}: value`);
  }
  const none = judgeByTerms(OPEN_LINK, fixed, { asset: NATIVE, amount: 1n, closedAt, by: 'no_rate' });
  t.match(none, { status: 'UNDERPAID', reason: 'no_rate', expectedAmount: null, value: null });
  const wrong = judgeByTerms(OPEN_LINK, fixed, {
    ...{ asset: { code: 'USDC', issuer: 'GA' }, amount: units('40'), closedAt },
    by: { currency: 'EUR', rates: rates('0.25') },
  });
  t.match(wrong, { status: 'REJECTED', reason: 'wrong_asset', value: null });
});

const rate = fc
  .tuple(fc.bigInt({ min: 1n, max: 999_999n }), fc.nat({ max: 8 }))
  .map(([top, scale]) => toRate(top, 10n ** BigInt(scale))!);
const shownRates = fc
  .array(rate, { minLength: 1, maxLength: 5 })
  .map((all) =>
    all.sort(compareRates).map((each, nth): ShownRate => ({ rate: each, at: ago(5 - nth), source: 'kraken' })),
  );
const cents = fc.bigInt({ min: 1n, max: 10n ** 9n }).map((count) => count * 100_000n);

t.test('what any of the shown rates asked is exactly paid, and a stroop less than the least is not', async () => {
  fc.assert(
    fc.property(shownRates, cents, fc.nat(), (all, due, nth) => {
      const by = { currency: 'EUR', rates: all };
      const asked = all.map((each) => askedFor(due, each.rate));
      const paid = measure(by, due, asked[nth % asked.length]!);
      const least = asked.reduce((a, b) => (a < b ? a : b));
      const less = measure(by, due, least - 1n);
      return paid.side === 'exact' && paid.counts === due && less.side === 'short' && less.counts < due;
    }),
    draws(2000),
  );
});

t.test('what lies beyond the most that was asked never counts for less than the price', async () => {
  fc.assert(
    fc.property(shownRates, cents, fc.bigInt({ min: 1n, max: 10n ** 12n }), (all, due, more) => {
      const by = { currency: 'EUR', rates: all };
      const { most } = measure(by, due, 0n).asked;
      const over = measure(by, due, most + more);
      return over.side === 'over' && over.counts >= due;
    }),
  );
});

const order = (price: bigint): Checkout => ({
  ...{
    status: 'OPEN',
    asset: NATIVE,
    amount: price,
    enough: price,
    received: 0n,
    paidIn: 0n,
    excess: 0n,
    returned: [],
  },
  ...{ expiresAt: new Date(T + 100 * MINUTE), cancelledFrom: null, acceptedFrom: null, paidAt: null },
});
interface Part {
  rates: ShownRate[] | 'no_rate';
  amount: bigint;
}
/** The nth on the ledger, read in its order. */
const paidIn = ({ rates, amount }: Part, nth: number): CheckoutPayment => ({
  ...{ ledger: 100 + nth, closedAt: new Date(T + nth * 1000), operationId: `${nth + 1}` },
  ...{ asset: NATIVE, amount, productActive: true, later: Later.none },
  by: rates === 'no_rate' ? rates : { currency: 'EUR', rates },
});

/** In the order of `read`, each with what counts already of those that come after it on
 *  the ledger. */
function payParts(price: bigint, parts: readonly Part[], read: readonly number[]) {
  let checkout = order(price);
  const counted: Counted[] = [];
  for (const nth of read) {
    const payment = paidIn(parts[nth]!, nth);
    const later = Later.of(counted).after(payment);
    const { verdict, after } = judgeForCheckout(checkout, { ...payment, later });
    if (verdict.status !== 'REJECTED') counted.push({ ...payment, amount: verdict.value!.amount });
    checkout = after;
  }
  return checkout;
}

t.test('parts complete an order whatever the order in which their ledgers are read', async () => {
  const part = fc.record({ rates: shownRates, amount: fc.bigInt({ min: 1n, max: 10n ** 11n }) });
  const all = fc.array(part, { minLength: 1, maxLength: 5 }).chain((parts) =>
    fc.record({
      parts: fc.constant(parts),
      read: fc.shuffledSubarray([...parts.keys()], { minLength: parts.length }),
    }),
  );
  fc.assert(
    fc.property(cents, all, (price, { parts, read }) => {
      const inOrder = payParts(price, parts, [...parts.keys()]);
      const shuffled = payParts(price, parts, read);
      // Once it is PAID, `paidAt` stays: it tells which payment completed it as far as was
      // read then.
      return inOrder.status === shuffled.status;
    }),
    draws(3000),
  );
});

t.test('a payer who pays the shortfall of a part, by the rates of the part, completes the order', async () => {
  fc.assert(
    fc.property(cents, shownRates, fc.bigInt({ min: 1n, max: 10n ** 9n }), (price, rates, amount) => {
      const part = judgeForCheckout(order(price), paidIn({ rates, amount }, 0));
      if (part.verdict.status !== 'UNDERPAID') return true;
      const rest = judgeForCheckout(part.after, paidIn({ rates, amount: part.verdict.shortfallAmount! }, 1));
      return rest.after.status === 'PAID';
    }),
    draws(2000),
  );
});

t.test('what is paid too much is exact in the asset, whatever the value rounds to', async () => {
  const some = fc.bigInt({ min: 1n, max: 10n ** 9n });
  fc.assert(
    fc.property(cents, shownRates, some, some, (price, rates, unrated, beyond) => {
      const most = rates.map(({ rate }) => askedFor(price, rate)).reduce((a, b) => (a > b ? a : b));
      const without = judgeForCheckout(order(price), paidIn({ rates: 'no_rate', amount: unrated }, 0)).after;
      const { after } = judgeForCheckout(without, paidIn({ rates, amount: most + beyond }, 1));
      const { excess, paidIn: came } = after;
      return after.status === 'PAID' && excess === unrated + beyond && came - excess === most;
    }),
    draws(2000),
  );
});

t.test('a part that pays what the page asks for the rest always completes the order', async () => {
  const part = fc.record({ rates: shownRates, amount: fc.bigInt({ min: 1n, max: 10n ** 10n }) });
  fc.assert(
    fc.property(cents, fc.array(part, { maxLength: 4 }), shownRates, fc.nat(), (price, parts, last, nth) => {
      const before = payParts(price, parts, [...parts.keys()]);
      if (before.status === 'PAID') return true;
      const asked = askedFor(remainingOf(before), last[nth % last.length]!.rate);
      const after = payParts(price, [...parts, { rates: last, amount: asked }], [...parts.keys(), parts.length]);
      return after.status === 'PAID' && after.received === price && after.excess === 0n;
    }),
    draws(2000),
  );
});

/** Checkouts: every outcome of a payment by a table, what cancel and accept do, when a checkout is
 *  proven unpaid; then sums for all inputs. */
import fc from 'fast-check';
import t from 'tap';
import { formatAmount, parseAmount } from '../../src/domain/amount.js';
import { type Asset, NATIVE, sameAsset } from '../../src/domain/asset.js';
import {
  accept,
  type Checkout,
  type CheckoutPayment,
  cancel,
  excessOf,
  isReadToEnd,
  judgeForCheckout,
  remainingOf,
} from '../../src/domain/checkout.js';
import { Later } from '../../src/domain/later.js';
import { draws } from '../helpers/long.js';

const USDC: Asset = { code: 'USDC', issuer: 'GA' };
const xlm = (text: string): bigint => (text === '0' ? 0n : parseAmount(text)!);
/** Second `s` of the checkout's life; it ends at 100. */
const second = (s: number) => new Date(1_700_000_000_000 + s * 1000);
const open = (changes: Partial<Checkout> = {}): Checkout => ({
  status: 'OPEN',
  asset: NATIVE,
  amount: xlm('50'),
  enough: changes.amount ?? xlm('50'),
  received: 0n,
  paidIn: 0n,
  excess: 0n,
  returned: [],
  expiresAt: second(100),
  cancelledFrom: null,
  acceptedFrom: null,
  paidAt: null,
  ...changes,
});
const paid = (changes: Partial<Checkout> = {}) =>
  open({ status: 'PAID', received: xlm('50'), paidAt: second(20), ...changes });
/** 49 of 50 are enough. */
const tolerant = (changes: Partial<Checkout> = {}) => open({ enough: xlm('49'), ...changes });
const PAID_49 = { status: 'PAID', received: xlm('49'), paidIn: xlm('49'), paidAt: second(20) } as const;
const cancelled = (changes: Partial<Checkout> = {}) =>
  open({ status: 'CANCELLED', cancelledFrom: { at: second(40), ledger: 1040 }, ...changes });
/** In second 40, with 20. */
const accepted = (changes: Partial<Checkout> = {}) =>
  open({
    status: 'PAID',
    received: xlm('20'),
    acceptedFrom: { at: second(40), ledger: 1040 },
    paidAt: second(40),
    ...changes,
  });
const expired = (changes: Partial<Checkout> = {}) => open({ status: 'EXPIRED', ...changes });
/** As what is left of it. */
const asSum = ({ asset, amount }: CheckoutPayment) => ({ asset, stroops: amount, counts: amount });
/** Counts already, of a ledger that closed in second `s`. */
const counts = (text: string, s: number) => ({
  amount: xlm(text),
  closedAt: second(s),
  operationId: String((1000 + s) * 2 ** 32 + 4097),
});
/** Closed in second `s`, in ledger 1000 + s. */
const pays = (text: string, s = 30, changes: Partial<CheckoutPayment> = {}): CheckoutPayment => ({
  ledger: 1000 + s,
  closedAt: second(s),
  operationId: String((1000 + s) * 2 ** 32 + 4097),
  asset: NATIVE,
  amount: xlm(text),
  productActive: true,
  later: Later.none,
  ...changes,
});

type Case = [
  guarantee: string,
  before: Checkout,
  payment: CheckoutPayment,
  verdict: string,
  amounts: [expected: string, excess: string | null, shortfall: string | null],
  after: string,
];
// biome-ignore format: one case a line
const cases: Case[] = [
  ['the exact amount completes', open(), pays('50'), 'COMPLETED', ['50', null, null], 'PAID 50'],
  ['more than the amount completes, overpaid by the rest', open(), pays('50.0000001'), 'COMPLETED overpaid', ['50', '0.0000001', null], 'PAID 50.0000001'],
  ['one stroop less is a part', open(), pays('49.9999999'), 'UNDERPAID partial', ['50', null, '0.0000001'], 'OPEN 49.9999999'],
  ['a part is judged by what was due before it', open({ received: xlm('20') }), pays('10'), 'UNDERPAID partial', ['30', null, '20'], 'OPEN 30'],
  ['the last part completes', open({ received: xlm('20') }), pays('30'), 'COMPLETED', ['30', null, null], 'PAID 50'],
  ['the last part overpays by what was not due', open({ received: xlm('20') }), pays('31'), 'COMPLETED overpaid', ['30', '1', null], 'PAID 51'],
  ['the largest amount on the ledger is taken', open(), pays('922337203685.4775807'), 'COMPLETED overpaid', ['50', '922337203635.4775807', null], 'PAID 922337203685.4775807'],
  ['another asset is rejected and does not count', open(), pays('50', 30, { asset: USDC }), 'REJECTED wrong_asset', ['50', null, null], 'OPEN 0'],
  ['an asset of the same code by another issuer is rejected', open({ asset: USDC }), pays('50', 30, { asset: { code: 'USDC', issuer: 'GB' } }), 'REJECTED wrong_asset', ['50', null, null], 'OPEN 0'],
  ['an inactive product rejects', open(), pays('50', 30, { productActive: false }), 'REJECTED product_inactive', ['50', null, null], 'OPEN 0'],
  ['an inactive product comes before a wrong asset', open(), pays('50', 30, { productActive: false, asset: USDC }), 'REJECTED product_inactive', ['50', null, null], 'OPEN 0'],
  ['a second payment is rejected: nothing was due', paid(), pays('50'), 'REJECTED checkout_paid', ['0', null, null], 'PAID 50'],
  ['paid already comes before an inactive product', paid(), pays('50', 30, { productActive: false }), 'REJECTED checkout_paid', ['0', null, null], 'PAID 50'],
  ['a ledger that closes one second before the end is in time', open(), pays('50', 99), 'COMPLETED', ['50', null, null], 'PAID 50'],
  ['a ledger that closes at the end is late', open(), pays('50', 100), 'REJECTED checkout_expired', ['50', null, null], 'OPEN 0'],
  ['a late payment is rejected although nothing else came', open(), pays('50', 500), 'REJECTED checkout_expired', ['50', null, null], 'OPEN 0'],
  ['late comes before paid already', paid(), pays('50', 100), 'REJECTED checkout_expired', ['0', null, null], 'PAID 50'],
  ['what is due of a late payment is what the parts left', open({ received: xlm('20') }), pays('50', 100), 'REJECTED checkout_expired', ['30', null, null], 'OPEN 20'],
  ['late for an EXPIRED checkout stays EXPIRED', expired(), pays('50', 101), 'REJECTED checkout_expired', ['50', null, null], 'EXPIRED 0'],
  ['in time for an EXPIRED checkout makes it PAID', expired(), pays('50', 99), 'COMPLETED', ['50', null, null], 'PAID 50'],
  ['a part in time for an EXPIRED checkout counts', expired({ received: xlm('1') }), pays('9', 99), 'UNDERPAID partial', ['49', null, '40'], 'EXPIRED 10'],
  ['after the cancellation it is rejected', cancelled(), pays('50', 41), 'REJECTED checkout_cancelled', ['50', null, null], 'CANCELLED 0'],
  ['cancelled comes before late', cancelled(), pays('50', 120), 'REJECTED checkout_cancelled', ['50', null, null], 'CANCELLED 0'],
  ['closed before the cancellation and read after it, it counts', cancelled(), pays('50', 39), 'COMPLETED', ['50', null, null], 'PAID 50'],
  ['a part from before the cancellation counts', cancelled(), pays('20', 39), 'UNDERPAID partial', ['50', null, '30'], 'CANCELLED 20'],
  ['the ledger that was the newest at the cancellation is before it', cancelled(), pays('50', 40), 'COMPLETED', ['50', null, null], 'PAID 50'],
  ['closed before an acceptance and read after it, the rest completes', accepted(), pays('30', 39), 'COMPLETED', ['30', null, null], 'PAID 50'],
  ['a part from before an acceptance that is read after it is accepted with the others', accepted(), pays('10', 39), 'COMPLETED', ['30', null, '20'], 'PAID 30'],
  ['so is one whose ledger may have closed before it', accepted({ acceptedFrom: { at: second(40), ledger: 1030 } }), pays('10', 40), 'COMPLETED', ['30', null, '20'], 'PAID 30'],
  ['so is one from after a cancellation, which an acceptance takes as well', accepted({ cancelledFrom: { at: second(30), ledger: 1030 } }), pays('10', 35), 'COMPLETED', ['30', null, '20'], 'PAID 30'],
  ['after an acceptance nothing is due', accepted(), pays('30', 41), 'REJECTED checkout_paid', ['0', null, null], 'PAID 20'],
  ['late and read after an acceptance it stays rejected', accepted({ acceptedFrom: { at: second(140), ledger: 1140 } }), pays('30', 120), 'REJECTED checkout_expired', ['30', null, null], 'PAID 20'],
  ['in another asset it stays rejected', accepted(), pays('30', 39, { asset: USDC }), 'REJECTED wrong_asset', ['30', null, null], 'PAID 20'],
  ['what was accepted is more than the amount: one from before it is taken too', accepted({ received: xlm('60') }), pays('30', 39), 'COMPLETED overpaid', ['0', '30', null], 'PAID 90'],
  ['older than what made it PAID and read later, it counts as if it had been read before', paid(), pays('50', 10, { later: Later.of([counts('50', 20)]) }), 'COMPLETED', ['50', null, null], 'PAID 100'],
  ['a part that is older than what made it PAID counts too', paid(), pays('20', 10, { later: Later.of([counts('50', 20)]) }), 'UNDERPAID partial', ['50', null, '30'], 'PAID 70'],
  ['between the parts it is judged by what was due between them', paid(), pays('20', 15, { later: Later.of([counts('40', 20)]) }), 'UNDERPAID partial', ['40', null, '20'], 'PAID 70'],
  ['after an accepted cancellation it stays rejected as cancelled', cancelled({ status: 'PAID', received: xlm('20') }), pays('30', 50), 'REJECTED checkout_cancelled', ['0', null, null], 'PAID 20'],
  ['what is enough within the tolerance completes', tolerant(), pays('49'), 'COMPLETED within_tolerance', ['50', null, '1'], 'PAID 49'],
  ['one stroop less than enough is a part', tolerant(), pays('48.9999999'), 'UNDERPAID partial', ['50', null, '1.0000001'], 'OPEN 48.9999999'],
  ['the tolerance is of the whole, not of the last part', tolerant({ received: xlm('48') }), pays('1'), 'COMPLETED within_tolerance', ['2', null, '1'], 'PAID 49'],
  ['the whole completes with a tolerance too', tolerant(), pays('50'), 'COMPLETED', ['50', null, null], 'PAID 50'],
  ['what exceeds the whole is too much with a tolerance too', tolerant(), pays('51'), 'COMPLETED overpaid', ['50', '1', null], 'PAID 51'],
  ['after what was enough nothing is due', tolerant(PAID_49), pays('1', 30), 'REJECTED checkout_paid', ['0', null, null], 'PAID 49'],
  ['a part that is older than what was enough and read later counts', tolerant(PAID_49), pays('10', 10, { later: Later.of([counts('49', 20)]) }), 'UNDERPAID partial', ['50', null, '40'], 'PAID 59'],
  ['what comes after it on the ledger and before others that were read finds nothing due', tolerant({ ...PAID_49, received: xlm('59') }), pays('1', 21, { later: Later.of([counts('10', 22)]) }), 'REJECTED checkout_paid', ['0', null, null], 'PAID 59'],
];

for (const [guarantee, before, payment, verdict, amounts, after] of cases) {
  t.test(guarantee, async (t) => {
    const found = judgeForCheckout(before, payment);
    const text = (stroops: bigint | null) => (stroops === null ? null : formatAmount(stroops));
    const { status, reason, expectedAmount, excessAmount, shortfallAmount } = found.verdict;
    t.equal(reason === null ? status : `${status} ${reason}`, verdict);
    t.strictSame([expectedAmount, excessAmount, shortfallAmount].map(text), amounts);
    t.equal(`${found.after.status} ${formatAmount(found.after.received)}`, after);
    t.strictSame(found.after.paidAt, found.after.status === before.status ? before.paidAt : payment.closedAt);
  });
}

t.test(
  'a payment that completes it and was read late: it was PAID when the parts of the ledger reached the amount',
  async (t) => {
    const parts = open({ received: xlm('42') });
    const paidAt = (text: string, later: [string, number][]) =>
      judgeForCheckout(parts, pays(text, 10, { later: Later.of(later.map(([each, s]) => counts(each, s))) })).after
        .paidAt;
    t.strictSame(paidAt('8', []), second(10));
    t.strictSame(paidAt('8', [['20', 20]]), second(20));
    t.strictSame(
      paidAt('30', [
        ['22', 20],
        ['10', 25],
      ]),
      second(20),
      'the last one was not needed',
    );
  },
);

t.test('an assigned payment is judged by what is due at that moment', async (t) => {
  const judged = (checkout: Checkout) => judgeForCheckout(checkout, pays('10', 30, { later: null })).verdict;
  t.match(judged(open({ received: xlm('45') })), { status: 'COMPLETED', expectedAmount: xlm('5') });
  t.match(judged(accepted()), { status: 'REJECTED', reason: 'checkout_paid', expectedAmount: 0n });
});

t.test('cancel: OPEN once, CANCELLED again changes nothing, PAID and EXPIRED refuse', async (t) => {
  const from = { at: second(60), ledger: 1060 };
  t.match(cancel(open(), from), { outcome: 'cancelled', after: { status: 'CANCELLED', cancelledFrom: from } });
  t.strictSame(cancel(cancelled(), from), { outcome: 'unchanged' });
  t.strictSame(cancel(paid(), from), { outcome: 'refused' });
  t.strictSame(cancel(expired(), from), { outcome: 'refused' });
});

t.test('accept takes what came in the right asset, whatever it was judged, and refuses without', async (t) => {
  const now = { at: second(200), ledger: 1200 };
  const came = [pays('10', 30), pays('50', 35, { asset: USDC }), pays('5', 150)].map(asSum);
  for (const before of [open({ received: xlm('10') }), expired({ received: xlm('10') }), cancelled()]) {
    const result = accept(before, came, now, second(200));
    t.match(result, { outcome: 'accepted', after: { status: 'PAID', received: xlm('15'), paidAt: second(200) } });
    t.strictSame(result.outcome === 'accepted' && result.payments, [came[0], came[2]]);
    t.equal(result.outcome === 'accepted' && remainingOf(result.after), 0n);
  }
  t.strictSame(accept(paid(), came, now, second(200)), { outcome: 'refused', because: 'paid' });
  t.strictSame(accept(open(), [], now, second(200)), { outcome: 'refused', because: 'nothing' });
  t.strictSame(accept(open(), [came[1]!], now, second(200)), { outcome: 'refused', because: 'nothing' });
  const tooMuch = accept(open(), [pays('30'), pays('40', 150)].map(asSum), now, second(200));
  t.equal(tooMuch.outcome === 'accepted' && excessOf(tooMuch.after), xlm('20'));
});

t.test('a checkout is proven unpaid only when all that could pay it has been read', async (t) => {
  const checkout = { ...open(), createdAt: second(0) };
  const proven = (readTo: number | null, gap: number | null = null, status: Checkout['status'] = 'OPEN') =>
    isReadToEnd(
      { ...checkout, status },
      { readTo: readTo === null ? null : second(readTo), gapFoundAt: gap === null ? null : second(gap) },
    );
  t.notOk(proven(null), 'nothing was read');
  t.notOk(proven(99), 'read to one second before the end');
  t.ok(proven(100), 'read to the end');
  t.notOk(proven(1000, 50), 'ledgers are missing from its time');
  t.notOk(proven(1000, 0), 'ledgers went missing in the moment it was made');
  t.ok(proven(1000, -1), 'ledgers were missing before it was made');
  for (const status of ['PAID', 'EXPIRED', 'CANCELLED'] as const) t.notOk(proven(1000, null, status), status);

  const noted = (gap: number | null, gapBefore: number | null) =>
    isReadToEnd(
      { ...checkout, gapBefore: gapBefore === null ? null : second(gapBefore) },
      { readTo: second(100), gapFoundAt: gap === null ? null : second(gap) },
    );
  t.ok(noted(50, 50), 'the gap was there already, whatever its clock said');
  t.notOk(noted(-30, null), 'a gap found since, by a clock that is behind');
  t.notOk(noted(-20, -30), 'another one');
  t.ok(noted(null, -30), 'it was mended');
});

const payment = fc.record({
  s: fc.integer({ min: 0, max: 120 }),
  amount: fc.bigInt({ min: 1n, max: 60n }),
  asset: fc.constantFrom(NATIVE, NATIVE, NATIVE, USDC),
  productActive: fc.constantFrom(true, true, true, false),
});
const history = fc.record({
  amount: fc.bigInt({ min: 1n, max: 100n }),
  slack: fc.oneof(fc.constant(0n), fc.bigInt({ min: 0n, max: 5n })),
  payments: fc.array(payment, { maxLength: 12 }),
  cancelledAt: fc.option(fc.integer({ min: 0, max: 120 })),
});

t.test(
  'however money comes: parts add up exactly, PAID comes once and stays, and nothing late or foreign counts',
  async () => {
    fc.assert(
      fc.property(history, ({ amount, slack, payments, cancelledAt }) => {
        const enough = amount > slack ? amount - slack : amount;
        let checkout = open({
          amount,
          enough,
          ...(cancelledAt === null
            ? {}
            : { status: 'CANCELLED', cancelledFrom: { at: second(cancelledAt), ledger: 1000 + cancelledAt } }),
        });
        let counted = 0n;
        let completions = 0;
        for (const { s, ...each } of payments) {
          const before = checkout;
          const { verdict, after } = judgeForCheckout(before, { ...pays('1', s), ...each });
          if (verdict.status !== 'REJECTED') {
            counted += each.amount;
            if (s >= 100 || !sameAsset(each.asset, NATIVE) || !each.productActive || before.status === 'PAID')
              return false;
            if (cancelledAt !== null && s > cancelledAt) return false;
          } else if (after !== before) return false;
          if (verdict.status === 'COMPLETED') completions += 1;
          if (verdict.status === 'UNDERPAID' && remainingOf(after) !== verdict.shortfallAmount) return false;
          if (verdict.expectedAmount !== remainingOf(before)) return false;
          checkout = after;
        }
        const isPaid = checkout.status === 'PAID';
        const forgone = isPaid && counted < amount ? amount - counted : 0n;
        return (
          checkout.received === counted &&
          completions === (isPaid ? 1 : 0) &&
          isPaid === counted >= enough &&
          remainingOf(checkout) + counted + forgone === amount + (excessOf(checkout) ?? 0n)
        );
      }),
      draws(5000),
    );
  },
);

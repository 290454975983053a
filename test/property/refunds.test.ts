/** What was sent back, in any amounts and in any order: nothing of it is lost or counted twice. */
import fc from 'fast-check';
import t from 'tap';
import {
  type Checkout,
  type CheckoutPayment,
  judgeForCheckout,
  type Returned,
  withReturned,
} from '../../src/domain/checkout.js';
import { type Counted, Later } from '../../src/domain/later.js';
import { shareOut } from '../../src/domain/refund.js';
import { draws, IS_LONG } from '../helpers/long.js';

/** So many draws at least must meet the rare case. */
const LEAST = IS_LONG ? 100 : 20;

const MOST = 2n ** 63n - 1n;
const stroops = fc.oneof(fc.bigInt(1n, 1000n), fc.bigInt(1n, MOST));
/** What is left of payments: below 0 where more was sent back than came. */
const left = fc.array(fc.oneof(fc.bigInt(-1000n, 1000n), fc.bigInt(0n, MOST)), { minLength: 1, maxLength: 12 });
const sum = (amounts: readonly bigint[]) => amounts.reduce((total, each) => total + each, 0n);
const room = (each: bigint) => (each > 0n ? each : 0n);

t.test('shares of what was sent back add up to it, and only what all have left goes beyond what one has left', (t) => {
  fc.assert(
    fc.property(fc.oneof(stroops, fc.constant(0n)), left, (amount, each) => {
      const shares = shareOut(amount, each);
      const beyond = amount - sum(each.map(room));
      return (
        shares.length === each.length &&
        sum(shares) === amount &&
        shares.every((share, index) => share >= 0n && (index === 0 || share <= room(each[index]!))) &&
        shares[0]! <= room(each[0]!) + room(beyond) &&
        (beyond <= 0n || shares[0] === room(each[0]!) + beyond)
      );
    }),
    draws(2000),
  );
  t.end();
});

t.test('in whichever order money is sent back, the payments have the same left', (t) => {
  const shuffled = fc
    .array(stroops, { maxLength: 8 })
    .chain((amounts) => fc.tuple(fc.constant(amounts), fc.shuffledSubarray(amounts, { minLength: amounts.length })));
  const after = (amounts: readonly bigint[], each: readonly bigint[]) =>
    amounts.reduce((rest: readonly bigint[], amount) => {
      const shares = shareOut(amount, rest);
      return rest.map((one, index) => one - shares[index]!);
    }, each);
  fc.assert(
    fc.property(left, shuffled, (each, [amounts, others]) => {
      const one = after(amounts, each);
      return String(one) === String(after(others, each)) && sum(one) === sum(each) - sum(amounts);
    }),
    draws(2000),
  );
  t.end();
});

const XLM = { code: 'XLM', issuer: null };
const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
const open = (amount: bigint, received: bigint): Checkout => ({
  status: 'OPEN',
  asset: XLM,
  amount,
  enough: amount,
  received,
  paidIn: received,
  excess: 0n,
  returned: [],
  expiresAt: at(10_000),
  cancelledFrom: null,
  acceptedFrom: null,
  paidAt: null,
});
/** Read in its place. */
const sentBack = (checkout: Checkout, back: Returned): Checkout => withReturned(checkout, back, Later.none);
const returned = fc
  .record({ second: fc.integer({ min: 1, max: 50 }), stroops: fc.bigInt(1n, 100n), operation: fc.nat(99) })
  .map(({ second, operation, ...rest }): Returned => {
    const operationId = String(BigInt(1000 + second) * 2n ** 32n + BigInt(operation));
    return { ledger: 1000 + second, closedAt: at(second), operationId, counted: rest.stroops, ...rest };
  });

t.test(
  'what was sent back of an open order no longer counts, in any order; of a paid one all goes on counting',
  (t) => {
    fc.assert(
      fc.property(fc.array(returned, { maxLength: 20 }), fc.bigInt(2000n, 5000n), (each, received) => {
        const checkout = open(10_000n, received);
        const [one, other] = [each, each.toReversed()].map((order) => order.reduce(sentBack, checkout));
        const total = sum(each.map((back) => back.stroops));
        const paid: Checkout = { ...checkout, status: 'PAID', paidAt: at(60) };
        return (
          one!.received === other!.received &&
          one!.received + total === received &&
          sum(one!.returned.map((back) => back.stroops)) === total &&
          each.reduce(sentBack, paid).received === received &&
          sentBack(checkout, {
            ...(each[0] ?? { ledger: 1, closedAt: at(1), operationId: '1', counted: 0n }),
            stroops: 0n,
          }) === checkout
        );
      }),
      draws(1000),
    );
    t.end();
  },
);

t.test(
  'a payment that completes an order is judged alike, whether what was sent back after it was read before it',
  (t) => {
    const second = fc.integer({ min: 1, max: 50 });
    fc.assert(
      fc.property(fc.array(returned, { maxLength: 10 }), second, fc.bigInt(0n, 50n), (each, paidAt, beyond) => {
        const payment = { closedAt: at(paidAt), operationId: String(BigInt(1000 + paidAt) * 2n ** 32n + 50n) };
        const isSince = (back: Returned) =>
          back.closedAt > payment.closedAt ||
          (+back.closedAt === +payment.closedAt && BigInt(back.operationId) > BigInt(payment.operationId));
        const earlier = each.filter((back) => !isSince(back)).reduce(sentBack, open(10_000n, 5000n));
        const credit: CheckoutPayment = {
          ledger: 1000 + paidAt,
          ...payment,
          asset: XLM,
          amount: 10_000n - earlier.received + beyond,
          productActive: true,
          later: Later.none,
        };
        const read = judgeForCheckout(earlier, credit);
        const first = { ...read, after: each.filter(isSince).reduce(sentBack, read.after) };
        const late = judgeForCheckout(each.filter(isSince).reduce(sentBack, earlier), credit);
        const shown = ({ verdict, after }: typeof read) =>
          JSON.stringify([verdict, after], (_name, value) => (typeof value === 'bigint' ? String(value) : value));
        return first.after.status === 'PAID' && shown(first) === shown(late);
      }),
      draws(1000),
    );
    t.end();
  },
);

/** Payments and what was sent back of them, in the order of the ledger, the nth in second n; or
 *  read in another order. */
type Step = { nth: number; pays: bigint } | { nth: number; sendsBack: bigint };
const COSTS = 1000n;

function readAll(steps: readonly Step[]) {
  let checkout = open(COSTS, 0n);
  const counted: Counted[] = [];
  const verdicts = new Map<number, string>();
  for (const step of steps) {
    const { nth } = step;
    const place = { ledger: 1000 + nth, closedAt: at(nth), operationId: String(BigInt(1000 + nth) << 32n) };
    const later = Later.of(counted).after(place);
    if ('sendsBack' in step)
      checkout = withReturned(checkout, { ...place, stroops: step.sendsBack, counted: step.sendsBack }, later);
    else {
      const payment = { ...place, asset: XLM, amount: step.pays, productActive: true, later };
      const { verdict, after } = judgeForCheckout(checkout, payment);
      checkout = after;
      if (verdict.status !== 'REJECTED') counted.push({ amount: step.pays, ...place });
      verdicts.set(nth, [verdict.status, verdict.expectedAmount, verdict.excessAmount, verdict.shortfallAmount].join());
    }
  }
  return { checkout, verdicts };
}

t.test('what comes after a refund is judged by what was due then, however late the refund is read', (t) => {
  const pays = fc.bigInt(1n, 600n);
  const first = fc.bigInt(1n, COSTS - 1n).chain((paid) => fc.tuple(fc.constant(paid), fc.bigInt(1n, paid)));
  let lateAndPaid = 0;
  fc.assert(
    fc.property(first, fc.array(pays, { minLength: 1, maxLength: 5 }), fc.nat(4), ([paid, back], others, late) => {
      const payments: Step[] = others.map((each, index) => ({ nth: index + 3, pays: each }));
      const refund: Step = { nth: 2, sendsBack: back };
      const inOrder = readAll([{ nth: 1, pays: paid }, refund, ...payments]);
      const before = readAll([{ nth: 1, pays: paid }, ...payments.slice(0, late)]);
      // What was refused as not due any more was judged once.
      if ([...before.verdicts.values()].some((verdict) => verdict.startsWith('REJECTED'))) return true;
      const read = readAll([{ nth: 1, pays: paid }, ...payments.slice(0, late), refund, ...payments.slice(late)]);
      if (before.checkout.status === 'PAID') lateAndPaid += 1;
      const isAlike = payments.slice(late).every(({ nth }) => read.verdicts.get(nth) === inOrder.verdicts.get(nth));
      const stays = before.checkout.status !== 'PAID' || read.checkout.status === 'PAID';
      return isAlike && stays && read.checkout.received === inOrder.checkout.received;
    }),
    draws(3000),
  );
  t.ok(lateAndPaid > LEAST, `${lateAndPaid} were PAID before`);
  t.end();
});

t.test('what counts of a paid order is the same, whichever of two refunds is read first', (t) => {
  const pays = fc.bigInt(1n, 800n);
  let lateAndPaid = 0;
  fc.assert(
    fc.property(pays, pays, fc.array(pays, { minLength: 1, maxLength: 3 }), pays, (paid, back, others, back2) => {
      const refund: Step = { nth: 2, sendsBack: back < paid ? back : paid };
      const payments: Step[] = others.map((each, index) => ({ nth: index + 3, pays: each }));
      const second: Step = { nth: 9, sendsBack: back2 < others[0]! ? back2 : others[0]! };
      const first: Step = { nth: 1, pays: paid };
      const inOrder = readAll([first, refund, ...payments, second]);
      const before = readAll([first, ...payments, second]);
      if ([...before.verdicts.values()].some((verdict) => verdict.startsWith('REJECTED'))) return true;
      const late = readAll([first, ...payments, second, refund]);
      if (before.checkout.status === 'PAID' && inOrder.checkout.status === 'OPEN') lateAndPaid += 1;
      return late.checkout.received === inOrder.checkout.received;
    }),
    draws(3000),
  );
  t.ok(lateAndPaid > LEAST, `${lateAndPaid} would not have been PAID in order`);
  t.end();
});

/** What orders come to, for all orders: sums that hold whatever is rounded, and that no order of
 *  the lines changes. */
import fc from 'fast-check';
import t from 'tap';
import { type Discount, type Order, type OrderLine, totalsOf, unitOf } from '../../src/domain/order.js';
import { draws } from '../helpers/long.js';

const currency = fc.constantFrom(null, 'EUR', 'JPY', 'KWD');
const tax = fc.option(fc.bigInt({ min: 0n, max: 100_000n }));
const discount: fc.Arbitrary<Discount | null> = fc.oneof(
  fc.constant(null),
  fc.record({ percent: fc.bigInt({ min: 1n, max: 10_000n }) }),
  fc.record({ amount: fc.bigInt({ min: 1n, max: 5_000_000n }) }),
);
const line = fc.record({
  price: fc.oneof(fc.bigInt({ min: 1n, max: 20n }), fc.bigInt({ min: 1n, max: 1_000_000n })),
  quantity: fc.bigInt({ min: 1n, max: 12n }),
  tax,
});

/** Drawn in smallest units of its currency. */
const order: fc.Arbitrary<Order & { taken: Set<number> }> = fc
  .record({
    lines: fc.array(line, { minLength: 1, maxLength: 50 }),
    taxIncluded: fc.boolean(),
    discount,
    taken: fc.uniqueArray(fc.nat({ max: 49 })),
    some: fc.boolean(),
    tip: fc.oneof(fc.bigInt({ min: 0n, max: 1000n }), fc.record({ percent: fc.bigInt({ min: 1n, max: 10_000n }) })),
    currency,
  })
  .map(({ lines, discount, taken, some, tip, ...rest }) => {
    const unit = unitOf(rest.currency);
    const those = new Set(taken);
    return {
      ...rest,
      lines: lines.map((each): OrderLine => ({ ...each, price: each.price * unit })),
      discount: discount && 'amount' in discount ? { amount: discount.amount * unit } : discount,
      taken: those,
      takesFrom: some ? (index: number) => those.has(index) : () => true,
      tip: typeof tip === 'bigint' ? tip * unit : tip,
    };
  });

const sum = (amounts: bigint[]) => amounts.reduce((all, each) => all + each, 0n);
const RUNS = draws(2000);

t.test('the sum of lines, less the discount, with the tax on top and the tip, is the total', async () => {
  fc.assert(
    fc.property(order, (order) => {
      const { lines, subtotal, discount, tax, tip, total } = totalsOf(order);
      const onTop = order.taxIncluded ? 0n : tax;
      return (
        subtotal === sum(lines.map((each) => each.total)) &&
        tax === sum(lines.map((each) => each.tax)) &&
        total === subtotal - discount + onTop + tip &&
        total === sum(lines.map((each) => each.net + each.tax)) + tip
      );
    }),
    RUNS,
  );
});

t.test('a discount takes from its own lines alone, all of itself, and from none more than it costs', async () => {
  fc.assert(
    fc.property(order, (order) => {
      const { lines, discount } = totalsOf(order);
      const shares = lines.map(({ total, net, tax }) => total - net - (order.taxIncluded ? tax : 0n));
      return (
        sum(shares) === discount &&
        shares.every((share, index) => share >= 0n && share <= lines[index]!.total) &&
        shares.every((share, index) => share === 0n || order.takesFrom!(index))
      );
    }),
    RUNS,
  );
});

t.test("a line's share is less than one smallest unit from its exact part", async () => {
  fc.assert(
    fc.property(order, (order) => {
      const { lines, discount } = totalsOf(order);
      const bases = lines.map(({ total }, index) => (order.takesFrom!(index) ? total : 0n));
      const whole = sum(bases);
      return lines.every(({ total, net, tax }, index) => {
        const share = total - net - (order.taxIncluded ? tax : 0n);
        const off = share * whole - discount * bases[index]!;
        return (off < 0n ? -off : off) < unitOf(order.currency) * whole || whole === 0n;
      });
    }),
    RUNS,
  );
});

t.test('every sum is of whole smallest units', async () => {
  fc.assert(
    fc.property(order, (order) => {
      const { lines, ...sums } = totalsOf(order);
      const amounts = [...lines.flatMap(({ total, net, tax }) => [total, net, tax]), ...Object.values(sums)];
      return amounts.every((amount) => amount >= 0n && amount % unitOf(order.currency) === 0n);
    }),
    RUNS,
  );
});

t.test('tax that is added to net prices is the tax that the gross prices contain', async () => {
  fc.assert(
    fc.property(order, (order) => {
      const added = totalsOf({ ...order, taxIncluded: false, discount: null, tip: 0n });
      const gross = order.lines.map(({ tax: percent }, index): OrderLine => {
        const { net, tax } = added.lines[index]!;
        return { price: net + tax, quantity: 1n, tax: percent };
      });
      const included = totalsOf({ ...order, lines: gross, taxIncluded: true, discount: null, tip: 0n });
      return (
        included.tax === added.tax &&
        included.total === added.total &&
        included.lines.every(({ net, tax }, index) => {
          const other = added.lines[index]!;
          return net === other.net && tax === other.tax;
        })
      );
    }),
    RUNS,
  );
});

t.test('no order of the lines changes subtotal and discount, nor the total where prices contain the tax', async () => {
  fc.assert(
    fc.property(order, fc.infiniteStream(fc.nat()), (order, numbers) => {
      const places = order.lines.map((_, index) => ({ index, at: numbers.next().value! }));
      const mixed = places.sort((a, b) => a.at - b.at).map(({ index }) => index);
      const one = totalsOf(order);
      const other = totalsOf({
        ...order,
        lines: mixed.map((index) => order.lines[index]!),
        takesFrom: (place) => order.takesFrom!(mixed[place]!),
      });
      const isSame = one.subtotal === other.subtotal && one.discount === other.discount;
      const hasNoShares = order.discount === null;
      return isSame && (!(order.taxIncluded || hasNoShares) || one.total === other.total);
    }),
    RUNS,
  );
});

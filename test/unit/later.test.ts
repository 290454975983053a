/** What counts after a place on the ledger, against the same by lists. */
import fc from 'fast-check';
import t from 'tap';
import { type Counted, comparePlaces, Later } from '../../src/domain/later.js';
import { draws } from '../helpers/long.js';

/** Ledgers may share a second, and operations of a ledger its close. */
const place = fc.record({
  closedAt: fc.integer({ min: 0, max: 5 }).map((second) => new Date(second * 1000)),
  operationId: fc.nat(40).map((id) => `${4_294_967_296n * 60_000_000n + BigInt(id)}`),
});
const counted: fc.Arbitrary<Counted> = fc
  .tuple(place, fc.oneof(fc.constant(0n), fc.bigInt(0n, 50n), fc.bigInt(0n, 2n ** 63n - 1n)))
  .map(([at, amount]) => ({ ...at, amount }));

t.test('read in any order, it is the sum of what comes after the place, and says which of it was enough', (t) => {
  fc.assert(
    fc.property(
      fc.array(counted, { maxLength: 40 }),
      fc.array(place, { maxLength: 3 }),
      fc.bigInt(0n, 200n),
      (all, places, least) => {
        let later = Later.of(all);
        let list = all.toSorted(comparePlaces);
        for (const each of places) {
          later = later.after(each);
          list = list.filter((one) => comparePlaces(one, each) > 0);
        }
        const sumOf = (some: readonly Counted[]) => some.reduce((sum, { amount }) => sum + amount, 0n);
        const enough = list.find((_one, index) => sumOf(list.slice(0, index + 1)) >= least);
        t.equal(later.isEmpty, list.length === 0);
        t.equal(later.sum, sumOf(list));
        t.strictSame(later.lastClosedAt, list.at(-1)?.closedAt ?? null);
        t.strictSame(later.closeOf(least), enough?.closedAt ?? null);
      },
    ),
    draws(300),
  );
  t.end();
});

t.test('a place that is itself counted does not come after itself', (t) => {
  const one = { closedAt: new Date(0), operationId: '7', amount: 5n };
  t.ok(Later.of([one]).after(one).isEmpty);
  t.equal(Later.of([one]).after({ ...one, operationId: '6' }).sum, 5n);
  t.end();
});

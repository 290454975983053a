/** Which rates were shown within the lock, for all histories: what the service finds in little
 *  time, and what the definition says word for word. */
import fc from 'fast-check';
import t from 'tap';
import { NATIVE } from '../../src/domain/asset.js';
import { formatRate, lowerRate, parseRate } from '../../src/domain/rate.js';
import { type RateHistory, type ShownRate, shownWithin } from '../../src/domain/shown-rates.js';
import { type LedgerClose, type LedgerStamp, sideOf } from '../../src/domain/terms.js';
import { judgeForLink } from '../../src/payments/judge.js';
import type { StoredTerms } from '../../src/selling/product-document.js';
import { draws } from '../helpers/long.js';

const T = Date.parse('2026-01-01T12:00:00Z');
const MINUTE_MS = 60_000;
const LOCK_MS = 15 * MINUTE_MS;
const DAY_MS = 24 * 60 * MINUTE_MS;
const CLOSE: LedgerClose = { ledger: 100, closedAt: new Date(T) };
const of = (text: string) => parseRate(text)!;

/** The definition, without any thought for time: at each moment at which something begins, and by
 *  each clock that may have been in use then, what was in force is shown. */
function plainlyShown(history: RateHistory, close: LedgerClose): ShownRate[] {
  const shown = [history, dated(history, -MINUTE_MS)].flatMap((each) => plainlyShownOnce(each, close));
  const newest = new Map<string, ShownRate>();
  for (const each of shown) {
    const known = newest.get(formatRate(each.rate));
    if (!known || known.at <= each.at) newest.set(formatRate(each.rate), each);
  }
  return [...newest.values()].sort((a, b) => Number(formatRate(a.rate)) - Number(formatRate(b.rate)));
}

function dated({ samples, own, markups }: RateHistory, byMs: number): RateHistory {
  const moved = <Each extends { from: LedgerStamp }>(each: Each): Each =>
    each.from.ledger === null ? { ...each, from: { ...each.from, at: new Date(each.from.at.getTime() + byMs) } } : each;
  return { samples: samples.map(moved), own: own.map(moved), markups };
}

function plainlyShownOnce(history: RateHistory, close: LedgerClose): ShownRate[] {
  const beginMs = T - LOCK_MS - MINUTE_MS;
  const begun = <Each extends { from: LedgerStamp }>(list: readonly Each[]) => {
    const held = list.findLastIndex(({ from }) => from.at.getTime() <= beginMs);
    return list.filter(({ from }, nth) => nth >= held && sideOf(close, from) !== 'before');
  };
  const [samples, own] = [begun(history.samples), begun(history.own)];
  const beginsMs = [...samples, ...own].map(({ from }) => from.at.getTime()).filter((ms) => ms > beginMs);
  const clocksMs = [...own.flatMap(({ until }) => until ?? []), ...history.markups.map(({ from }) => from)].map(Number);
  const inForce = <Each extends { from: LedgerStamp }>(list: readonly Each[], atMs: number) =>
    atMs === beginMs
      ? [list.findLast(({ from }) => from.at.getTime() <= atMs)]
      : [
          list.findLast(({ from }) => from.at.getTime() < atMs),
          ...list.filter(({ from }) => from.at.getTime() === atMs),
        ];
  return [beginMs, ...beginsMs].flatMap((atMs) => {
    const firstMs = Math.max(beginMs, atMs - MINUTE_MS);
    const nextMs = Math.min(...beginsMs.filter((ms) => ms > atMs));
    const lastMs = (Number.isFinite(nextMs) ? nextMs : T) + MINUTE_MS;
    return [firstMs, ...clocksMs.filter((ms) => ms > firstMs && ms <= lastMs)].flatMap((clockMs) =>
      inForce(own, atMs).flatMap((set) => {
        if (set?.rate && (set.until === null || set.until.getTime() > clockMs))
          return { rate: set.rate, at: set.at, source: 'own' };
        const percent = history.markups.findLast(({ from }) => from.getTime() <= clockMs)?.percent ?? null;
        return inForce(samples, atMs).flatMap((sample) => {
          if (!sample || sample.from.at.getTime() < T - DAY_MS) return [];
          return { rate: lowerRate(sample.rate, percent)!, at: sample.at, source: sample.source };
        });
      }),
    );
  });
}

/** Seconds before the close; some after it. Few moments, so that several things begin
 *  together. */
const second = fc.oneof(
  fc.integer({ min: -70, max: 1100 }),
  fc.integer({ min: -2, max: 36 }).map((n) => n * 30),
);
const times = fc.uniqueArray(second, { maxLength: 12 }).map((list) => list.sort((a, b) => b - a));
const ledgers = fc.constantFrom(1, 1, 1, null, 99, 101);
const begins = times.chain((list) =>
  fc.tuple(...list.map((ago) => fc.tuple(fc.constant(new Date(T - ago * 1000)), ledgers, fc.boolean()))),
);
const history: fc.Arbitrary<RateHistory> = fc
  .tuple(begins, begins, times, fc.infiniteStream(fc.nat({ max: 4 })))
  .map(([sampled, set, marked, draws]) => {
    const draw = () => draws.next().value as number;
    return {
      samples: sampled.map(([at, ledger, isNewest], nth) => ({
        ...{ rate: of(`0.2${nth + 10}`), at, source: 'kraken' },
        from: { at, ledger, isNewest },
      })),
      own: set.map(([at, ledger, isNewest], nth) => ({
        ...{ rate: draw() < 2 ? null : of(`0.${nth + 51}`), at, from: { at, ledger, isNewest } },
        until: draw() < 2 ? new Date(at.getTime() + draw() * 40_000) : null,
      })),
      markups: marked.map((ago, nth) => ({
        from: new Date(T - ago * 1000),
        percent: draw() === 0 ? null : of(`${nth + 1}`),
      })),
    };
  });

const asText = (all: readonly ShownRate[]) => all.map(({ rate, at, source }) => [formatRate(rate), at, source]);

t.test('what is found is what the definition says, whatever was set, sampled and marked up', async (t) => {
  fc.assert(
    fc.property(history, (each) => {
      t.same(asText(shownWithin(each, CLOSE, LOCK_MS)), asText(plainlyShown(each, CLOSE)));
    }),
    draws(700),
  );
});

/** Counts how often an entry of the history is looked at. */
function counting() {
  const seen = { looks: 0 };
  const looked = <Each extends { from: unknown }>(entry: Each): Each => {
    const { from } = entry;
    const get = () => {
      seen.looks += 1;
      return from;
    };
    return Object.defineProperty(entry, 'from', { enumerable: true, get });
  };
  return { seen, looked };
}

/** As many own rates and markups in this time before the close, and a sample each minute. */
function busy(count: number, [fromMs, toMs]: readonly [number, number]) {
  const { seen, looked } = counting();
  const at = (nth: number, of: number) => new Date(T - fromMs + ((fromMs - toMs) * nth) / of);
  const stamp = (begin: Date): LedgerStamp => ({ at: begin, ledger: 1 });
  const many = Array.from({ length: count }, (_, nth) => at(nth, count));
  const minutes = Array.from(
    { length: Math.ceil(fromMs / MINUTE_MS) },
    (_, nth) => new Date(T - fromMs + nth * MINUTE_MS),
  );
  const rates: RateHistory = {
    samples: minutes.map((begin, nth) =>
      looked({ rate: of(`0.3${(nth % 89) + 10}`), at: begin, from: stamp(begin), source: 'kraken' }),
    ),
    own: many.map((begin, nth) =>
      looked({ rate: nth % 2 ? null : of(`0.1${nth + 1000}`), at: begin, from: stamp(begin), until: null }),
    ),
    markups: many.map((from, nth) => looked({ from, percent: of(`${1 + nth / 10_000}`) })),
  };
  return { rates, seen };
}

t.test('the work does not grow with what was in force before or after the lock', async (t) => {
  const looksAt = (count: number) => {
    const { rates, seen } = busy(count, [30 * DAY_MS, DAY_MS / 2]);
    shownWithin(rates, CLOSE, LOCK_MS);
    return seen.looks;
  };
  const [few, many] = [looksAt(100), looksAt(20_000)];
  t.ok(many < 2 * few + 200, `${few} looks at 100 rates and markups, ${many} at 20,000`);
});

t.test('the work grows no faster than what was in force within the lock', async (t) => {
  const looksAt = (count: number) => {
    const { rates, seen } = busy(count, [LOCK_MS, 0]);
    t.ok(shownWithin(rates, CLOSE, LOCK_MS).length > 0);
    return seen.looks;
  };
  const [some, all] = [looksAt(250), looksAt(1000)];
  t.ok(all < 6 * some, `${some} looks at 250 rates and markups, ${all} at 1,000`);
  t.ok(all < 50 * 1000, `${all}`);
});

t.test('a payment is judged by the versions of terms in force alone', async (t) => {
  const terms: StoredTerms = {
    ...{
      active: true,
      assetCode: 'XLM',
      assetIssuer: null,
      priceType: 'FIXED',
      price: '10',
      minAmount: null,
      tolerancePercent: '0',
    },
    currency: 'EUR',
  };
  const history = Array.from({ length: 50 }, (_, nth) => ({
    from: nth === 0 ? null : { at: new Date(T - (50 - nth) * MINUTE_MS), ledger: 1 },
    terms: { ...terms, price: `${nth + 1}` },
    network: 'LOCAL' as const,
  }));
  let asked = 0;
  const verdict = judgeForLink(
    {
      link: { history: [{ from: null, terms: { active: true, endsAt: null, takesOrders: false } }] },
      product: { history },
      wallet: { network: 'LOCAL' },
    },
    { ...CLOSE, asset: NATIVE, amount: 1n },
    () => {
      asked += 1;
      return [{ rate: of('0.25'), at: new Date(T), source: 'kraken' }];
    },
  );
  t.equal(asked, 1);
  t.equal(verdict.expectedAmount, 200n * 10n ** 7n);
});

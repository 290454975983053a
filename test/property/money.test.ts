/** Money for all inputs: amounts as text, whatever Horizon may send as a record, the search for a
 *  ledger, and the request budget. */
import { Memo } from '@stellar/stellar-sdk';
import fc from 'fast-check';
import t from 'tap';
import { formatAmount, MAX_STROOPS, parseAmount } from '../../src/domain/amount.js';
import { parsePage } from '../../src/ledger/horizon/page.js';
import { parseRecord } from '../../src/ledger/horizon/record.js';
import type { Credit } from '../../src/ledger/records.js';
import { type ClosedLedger, findLedgerAtOrBefore } from '../../src/ledger/session.js';
import { rateOf, spend } from '../../src/watching/poll-scheduler.js';
import {
  accountMerge,
  change,
  createAccount,
  effectsOf,
  hostFunction,
  type Json,
  page,
  pathPayment,
  payment,
  SHOP,
  toid,
} from '../helpers/horizon-records.js';
import { draws } from '../helpers/long.js';

const stroops = fc.oneof(fc.bigInt({ min: 0n, max: MAX_STROOPS }), fc.bigInt({ min: 0n, max: 200_000_000n }));

t.test('an amount is the same after text and back, and its text is canonical', async () => {
  fc.assert(
    fc.property(stroops, (amount) => {
      const text = formatAmount(amount);
      return parseAmount(text) === amount && /^(0|[1-9]\d*)(\.\d{0,6}[1-9])?$/.test(text);
    }),
    draws(2000),
  );
});

t.test("Horizon's seven decimals and any fewer zeros are the same amount", async () => {
  fc.assert(
    fc.property(stroops, fc.nat({ max: 7 }), (amount, digits) => {
      const [whole, fraction = ''] = formatAmount(amount).split('.');
      const padded = fraction.padEnd(Math.max(digits, fraction.length), '0');
      return parseAmount(padded === '' ? whole! : `${whole}.${padded}`) === amount;
    }),
  );
});

t.test('nothing above the maximum is an amount', async () => {
  fc.assert(
    fc.property(fc.bigInt({ min: MAX_STROOPS + 1n, max: MAX_STROOPS * 1000n }), (amount) => {
      return parseAmount(formatAmount(amount)) === null;
    }),
  );
});

t.test('any text is an amount or none, and an amount keeps its value', async () => {
  const text = fc.oneof(fc.string(), fc.stringMatching(/^[-+]?[0-9]{0,14}[.,]?[0-9]{0,9}([eE][0-9])?$/));
  fc.assert(
    fc.property(text, (given) => {
      const amount = parseAmount(given);
      // Texts of one number are read as one double.
      return amount === null || Number(formatAmount(amount)) === Number(given);
    }),
    draws(5000),
  );
});

const RECORDS: Json[] = [
  payment({}, { memo: Memo.text('hello') }),
  pathPayment('path_payment_strict_send', {}, { memo: Memo.id('7') }),
  createAccount({}, { feeBump: true }),
  accountMerge(),
  hostFunction([change(), change({ type: 'mint' }), change({ type: 'burn' })]),
];

/** Each place in a record: the keys on the way to it. */
function places(value: unknown, at: string[] = []): string[][] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, each]) => places(each, [...at, key]))];
}

function put(value: unknown, [key, ...rest]: string[], junk: unknown): unknown {
  if (key === undefined) return junk;
  const copy = Array.isArray(value) ? [...value] : { ...(value as Json) };
  if (rest.length === 0 && junk === undefined) delete (copy as Json)[key];
  else (copy as Json)[key] = put((value as Json)[key], rest, junk);
  return copy;
}

const junk = fc.oneof(
  fc.constant(undefined),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(
    '',
    '0',
    '-1.0000000',
    '922337203685.4775808',
    'now',
    SHOP,
    SHOP.slice(1),
    toid(1),
    '\0',
    '\u{D800}',
    '__proto__',
    true,
    1e308,
  ),
  fc.constantFrom('AAAA', 'AAAAAAAAAGT/////AAAAAQAAAAAAAAAB/////gAAAAA=', Buffer.alloc(200, 255).toString('base64')),
);
const mutated = fc
  .constantFrom(...RECORDS)
  .chain((record) =>
    fc.tuple(fc.constant(record), fc.array(fc.tuple(fc.constantFrom(...places(record)), junk), { maxLength: 3 })),
  )
  .map(([record, changes]) => changes.reduce<unknown>((value, [place, each]) => reach(value, place, each), record));

/** A place may be gone after an earlier mutation. */
function reach(value: unknown, place: string[], junk: unknown): unknown {
  const exists = place.slice(0, -1).reduce<unknown>((at, key) => (at as Json | undefined)?.[key], value);
  return typeof exists === 'object' && exists !== null ? put(value, place, junk) : value;
}

const sound = (credit: Credit): boolean =>
  credit.amount > 0n &&
  credit.amount <= MAX_STROOPS &&
  /^G[A-Z2-7]{55}$/.test(credit.receiver) &&
  credit.receiver !== credit.sender &&
  credit.ledger === Number(BigInt(credit.operationId) >> 32n) &&
  credit.ledger > 0 &&
  /^[0-9a-f]{64}$/.test(credit.transactionHash) &&
  !Number.isNaN(credit.closedAt.getTime());

t.test('whatever a record holds it has one outcome, and every credit that comes of it is sound', async () => {
  fc.assert(
    fc.property(
      fc.oneof(mutated, fc.jsonValue(), fc.anything()),
      fc.option(fc.oneof(mutated, fc.constant(effectsOf(SHOP, '1.0000000')))),
      (raw, extra) => {
        for (const supplement of [{}, { transaction: extra, effects: extra }]) {
          const outcome = parseRecord(raw, supplement);
          if (outcome.kind === 'parked' && outcome.fault === 'parser_failed') return false;
          if (
            outcome.kind === 'credits' &&
            !(outcome.credits.every(sound) && outcome.credits.length + outcome.parked.length > 0)
          )
            return false;
          if (outcome.kind === 'incomplete' && outcome.receivers.length === 0) return false;
        }
        return true;
      },
    ),
    draws(4000),
  );
});

t.test('a page has an outcome for each record, and the broken ones leave the others as they are', async () => {
  fc.assert(
    fc.property(fc.array(mutated, { maxLength: 5 }), fc.nat({ max: 5 }), (broken, at) => {
      const whole = payment({}, { ledger: 5_000_000 });
      const records = [...broken.slice(0, at), whole, ...broken.slice(at)];
      const parsed = parsePage(page(records));
      const own = parsed?.records[Math.min(at, broken.length)]?.outcome;
      return parsed?.records.length === records.length && own?.kind === 'credits' && own.credits[0]?.receiver === SHOP;
    }),
    draws(300),
  );
});

const ledgers = fc
  .record({
    first: fc.integer({ min: 2, max: 60_000_000 }),
    gaps: fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 1, maxLength: 400, size: 'max' }),
  })
  .map(({ first, gaps }) => {
    let ms = 1_700_000_000_000;
    return gaps.map((gap, i): ClosedLedger => {
      ms += gap * 1000;
      return { sequence: first + i, closedAt: new Date(ms) };
    });
  });

t.test('the ledger at or before a time is found, with history dropped on the way or not', async () => {
  const gone = fc.nat({ max: 400 });
  const beside = fc.oneof(fc.constantFrom(-1000, -1, 0, 1, 999), fc.integer({ min: -60_000, max: 60_000 }));
  await fc.assert(
    fc.asyncProperty(ledgers, fc.nat(), beside, gone, async (chain, at, ms, dropped) => {
      const time = new Date(chain[at % chain.length]!.closedAt.getTime() + ms);
      const kept = chain.slice(Math.min(dropped, chain.length - 1));
      const expected = kept.findLast(({ closedAt }) => closedAt <= time) ?? null;
      const found = await findLedgerAtOrBefore(time, chain[0]!.sequence, chain.at(-1)!, async (sequence) => {
        return kept.find((ledger) => ledger.sequence === sequence) ?? null;
      });
      return found?.sequence === expected?.sequence;
    }),
    draws(500),
  );
});

t.test('the search takes few questions, on a network of millions of ledgers too', async (t) => {
  const close = (sequence: number) =>
    new Date(1_443_654_954_000 + sequence * 5_400 - Math.round(Math.sin(sequence / 1e6) * 3e8));
  const latest = { sequence: 60_000_000, closedAt: close(60_000_000) };
  const counts = [];
  for (let sequence = 1_000; sequence < latest.sequence; sequence += 1_234_567) {
    let asked = 0;
    const time = new Date(close(sequence).getTime() + 100);
    const found = await findLedgerAtOrBefore(time, 2, latest, async (each) => {
      asked += 1;
      return { sequence: each, closedAt: close(each) };
    });
    t.equal(found?.sequence, sequence);
    counts.push(asked);
  }
  t.ok(Math.max(...counts) <= 16, `at most ${Math.max(...counts)} questions`);
});

const HOUR_MICROS = 3_600_000_000;
/** Steps between attempts: a storm, a steady reader, long silences. */
const attempts = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constant(0), fc.nat({ max: 50 }), fc.nat({ max: 3_000 }), fc.nat({ max: 3_700_000 })),
    count: fc.integer({ min: 1, max: 3 }),
  }),
  { minLength: 1, maxLength: 800 },
);

t.test('the rate of any budget grants at most the budget in an hour', async () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 1, max: 1_000_000_000 }), fc.integer({ min: 1, max: 2_000_000 })),
      (perHour) => {
        const { burst, intervalMicros } = rateOf(perHour);
        return burst + Math.floor(HOUR_MICROS / intervalMicros) <= perHour && burst <= 100;
      },
    ),
    draws(5000),
  );
});

t.test('in no hour are more requests granted than the budget has, in no instant more than the burst', async () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.integer({ min: 1, max: 300 }), fc.constantFrom(3600, 100_000)),
      attempts,
      (perHour, steps) => {
        const rate = rateOf(perHour);
        let [now, wholeAt] = [1_700_000_000_000_000, 0];
        const granted: number[] = [];
        for (const { afterMs, count } of steps) {
          now += afterMs * 1000;
          const wanted = Math.min(count, rate.burst);
          const { wholeAtMicros, waitMs } = spend(wholeAt, now, wanted, rate);
          wholeAt = wholeAtMicros;
          if (waitMs === 0) granted.push(...Array<number>(wanted).fill(now));
        }
        return withinAnySpan(granted, HOUR_MICROS, perHour) && withinAnySpan(granted, 0, Math.min(100, rate.burst));
      },
    ),
    draws(500),
  );
});

t.test('a caller that waits as told is granted then, and a greedy reader gets nearly all of the budget', async (t) => {
  for (const perHour of [1, 2, 10, 99, 3600, 17_280]) {
    const rate = rateOf(perHour);
    let [now, wholeAt] = [1_700_000_000_000_000, 0];
    const granted: number[] = [];
    while (now < 1_700_000_000_000_000 + 3 * HOUR_MICROS) {
      const { wholeAtMicros, waitMs } = spend(wholeAt, now, 1, rate);
      wholeAt = wholeAtMicros;
      if (waitMs === 0) granted.push(now);
      now += waitMs * 1000;
      if (waitMs > 0 && spend(wholeAt, now, 1, rate).waitMs > 0) return t.fail('told to wait too short');
    }
    t.ok(withinAnySpan(granted, HOUR_MICROS, perHour), `${perHour} an hour, never more`);
    t.ok(
      granted.filter((at) => at < 1_700_000_000_000_000 + HOUR_MICROS).length >= perHour * 0.97 - 1,
      'and not much less',
    );
  }
});

t.test('a clock that went back leaves the budget spent, not shut', async (t) => {
  const rate = rateOf(3600);
  const yearAhead = 1_700_000_000_000_000 + 365 * 24 * HOUR_MICROS;
  t.ok(spend(yearAhead, 1_700_000_000_000_000, 1, rate).waitMs < 2_000);
});

/** Whether every closed span of this length holds at most `most` of the ordered moments. */
function withinAnySpan(moments: readonly number[], span: number, most: number): boolean {
  return moments.every((at, i) => i + most >= moments.length || moments[i + most]! - at > span);
}

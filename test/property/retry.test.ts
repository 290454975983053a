/** The schedule of retries, over all settings and answers. */
import fc from 'fast-check';
import t from 'tap';
import {
  isTimeToPause,
  judgeAttempt,
  MAX_WAIT_MS,
  parseRetryAfter,
  retryDelayMs,
  withFailure,
} from '../../src/domain/retry.js';

const DAY_MS = 86_400_000;
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
const base = fc.integer({ min: 1, max: DAY_MS });
const settings = fc.record({ retryBaseMs: base, maxAttempts: fc.integer({ min: 1, max: 100 }) });
const failure = fc.record({
  responseStatus: fc.option(fc.integer({ min: 300, max: 599 })),
  error: fc.constant('answered'),
  retryAfterMs: fc.option(fc.integer({ min: 0, max: 10 * DAY_MS })),
});

t.test('retry n comes base·4^(n-1) after the failure, within 10 %, never after more than 24 h', (t) => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 100 }), base, random, (n, baseMs, random) => {
      const delay = retryDelayMs(n, baseMs, random);
      const exact = Math.min(baseMs * 4 ** (n - 1), DAY_MS);
      // Half a millisecond is lost to rounding.
      return Math.abs(delay - exact) <= exact * 0.1 + 0.5 && delay <= DAY_MS;
    }),
  );
  t.equal(retryDelayMs(1, 5000, 0.5), 5000);
  t.equal(retryDelayMs(2, 5000, 0), 18_000);
  t.ok(retryDelayMs(2, 5000, 0.999_999) > 21_990);
  t.not(retryDelayMs(12, 5000, 0.1), retryDelayMs(12, 5000, 0.9), 'the longest waits are spread too');
  t.end();
});

t.test('with the defaults 11 attempts take about 78 h', (t) => {
  const waits = Array.from({ length: 10 }, (_, index) => retryDelayMs(index + 1, 5000, 0.5));
  const hours = waits.reduce((sum, wait) => sum + wait) / 3_600_000;
  t.ok(hours > 74 && hours < 80, `${hours} h`);
  t.end();
});

t.test('a failure is tried again until the last attempt, and then FAILED, except after 410', (t) => {
  fc.assert(
    fc.property(failure, fc.integer({ min: 1, max: 120 }), random, settings, (answer, attempt, random, settings) => {
      const verdict = judgeAttempt(answer, attempt, 1000, random, settings);
      if (answer.responseStatus === 410) return verdict.status === 'PENDING' && verdict.gone;
      return verdict.status === (attempt >= settings.maxAttempts ? 'FAILED' : 'PENDING') && !verdict.gone;
    }),
  );
  const delivered = judgeAttempt({ responseStatus: 204, error: null, retryAfterMs: null }, 200, 0, 0, {
    retryBaseMs: 1,
    maxAttempts: 1,
  });
  t.match(delivered, { status: 'DELIVERED', nextAttemptAt: null });
  t.end();
});

t.test('Retry-After and the schedule: the later of the two, at most 24 h', (t) => {
  fc.assert(
    fc.property(failure, fc.integer({ min: 1, max: 50 }), random, base, (answer, attempt, random, retryBaseMs) => {
      const nowMs = 1_800_000_000_000;
      const verdict = judgeAttempt(answer, attempt, nowMs, random, { retryBaseMs, maxAttempts: 100 });
      if (!verdict.nextAttemptAt) return false;
      const wait = verdict.nextAttemptAt.getTime() - nowMs;
      const own = retryDelayMs(attempt, retryBaseMs, random);
      return wait === Math.max(own, Math.min(answer.retryAfterMs ?? 0, MAX_WAIT_MS)) && wait <= DAY_MS;
    }),
  );
  const now = Date.UTC(2026, 10, 21, 9, 0, 0);
  for (const [value, expected] of [
    ['120', 120_000],
    [' 0 ', 0],
    ['Sat, 21 Nov 2026 09:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 08:00:00 GMT', 0],
    ['Saturday, 21-Nov-26 09:00:30 GMT', 30_000],
    ['-5', null],
    ['1.5', null],
    ['soon', null],
    ['2026-11-21', null],
    ['', null],
  ] as const) {
    t.equal(parseRetryAfter(value, now), expected, JSON.stringify(value));
  }
  t.end();
});

t.test('a webhook is paused after 10 failures in a row over 5 days, and never after fewer', (t) => {
  const row = { since: new Date(0), attempts: 10 };
  t.ok(isTimeToPause(row, new Date(5 * DAY_MS)));
  t.notOk(isTimeToPause(row, new Date(5 * DAY_MS - 1)));
  t.notOk(isTimeToPause({ ...row, attempts: 9 }, new Date(100 * DAY_MS)), 'one failure 30 days ago and one today');
  t.same(withFailure(withFailure(null, new Date(7)), new Date(9)), { since: new Date(7), attempts: 2 });
  t.end();
});

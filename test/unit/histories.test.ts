/** The histories that an account keeps of its markup and its books' currency. */
import t from 'tap';
import { withNewest } from '../../src/accounts/account-store.js';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const DAY_MS = 24 * 3_600_000;
const entry = (agoMs: number, percent = '0') => ({ percent, from: new Date(NOW - agoMs) });

t.test('a change begins now, or after the one before it where another clock was ahead', async (t) => {
  t.same(withNewest([entry(1000)], entry(0, '2')), [entry(1000), entry(0, '2')]);
  t.same(withNewest([entry(-5000)], entry(0, '2')), [entry(-5000), entry(-5001, '2')]);
  t.same(
    withNewest([entry(-5000), entry(1000)], entry(0, '2')),
    [entry(1000), entry(-5000), entry(-5001, '2')],
    'also one that is stored out of order',
  );
});

t.test('what ended more than 100 days ago is cut, and at most 1,000 are kept', async (t) => {
  const [older, old] = [entry(300 * DAY_MS), entry(200 * DAY_MS)];
  t.same(withNewest([older, old], entry(0)), [old, entry(0)], 'the last one before that stays: it was in force then');
  const many = Array.from({ length: 1000 }, (_, nth) => entry(2000 - nth));
  t.same(withNewest(many, entry(0)), [...many.slice(1), entry(0)]);
});

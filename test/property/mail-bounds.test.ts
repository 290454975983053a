/** Bounds of notifications and security notices, over all sequences of happenings. */
import fc from 'fast-check';
import t from 'tap';
import { allowedOf, MOST_OF_DAY, MOST_OF_HOUR, type Sent } from '../../src/mail/bounded.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

t.test('whatever happens, an hour has at most 20, a day 200, and each one is told or counted once', (t) => {
  const happenings = fc.array(
    fc.record({ afterMs: fc.integer({ min: 0, max: 3 * HOUR_MS }), wanted: fc.integer({ min: 1, max: 70 }) }),
    { maxLength: 80 },
  );
  fc.assert(
    fc.property(happenings, (all) => {
      let [sent, nowMs]: [Sent | null, number] = [null, Date.UTC(2026, 10, 21)];
      const told = { wanted: 0, sent: 0, left: 0 };
      for (const { afterMs, wanted } of all) {
        nowMs += afterMs;
        const { count, left, until, after } = allowedOf(sent, wanted, new Date(nowMs));
        if (after.hour.count > MOST_OF_HOUR || after.day.count > MOST_OF_DAY || count < 0 || count > wanted)
          return false;
        if (count < wanted && !(until && until.getTime() > nowMs)) return false;
        told.wanted += wanted;
        told.sent += count;
        if (count > 0) told.left += left;
        sent = after;
      }
      return told.wanted === told.sent + told.left + (sent?.left ?? 0);
    }),
  );
  t.end();
});

t.test('sixty at once: 20 go out, the next one after the hour says 40, and after 200 the day is over', (t) => {
  const at = (hours: number) => new Date(Date.UTC(2026, 10, 21) + hours * HOUR_MS);
  const first = allowedOf(null, 60, at(0));
  t.match(first, { count: 20, left: 0, until: at(1), after: { left: 40 } });
  t.match(allowedOf(first.after, 1, at(0.99)), { count: 0, after: { left: 41 } });
  t.match(allowedOf(first.after, 1, at(1)), { count: 1, left: 40, until: null, after: { left: 0 } });
  let sent = first.after;
  for (let hour = 1; hour < 10; hour += 1) sent = allowedOf(sent, 20, at(hour)).after;
  t.match(allowedOf(sent, 5, at(10)), { count: 0, until: at(24) });
  t.match(allowedOf(sent, 5, at(24)), { count: 5 });
  t.end();
});

t.test('a clock that is set back does not silence anything', (t) => {
  const full = allowedOf(null, 30, new Date(Date.UTC(2030, 0, 1))).after;
  t.match(allowedOf(full, 1, new Date(Date.UTC(2026, 0, 1))), { count: 1, left: 10 });
  t.end();
});

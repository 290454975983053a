/** Days of every zone against ICU itself, which is asked for dates as people read them. */
import fc from 'fast-check';
import t from 'tap';
import { calendarOf } from '../../src/kit/calendar.js';
import { draws, IS_LONG } from '../helpers/long.js';

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;
const zones = Intl.supportedValuesOf('timeZone');

const dates = new Map<string, Intl.DateTimeFormat>();
/** `2026-11-21`, by another way of ICU than the calendar's own. */
function shownDate(zone: string, ms: number): string {
  const format = dates.get(zone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short' });
  dates.set(zone, format);
  return format.format(ms);
}
const isoDate = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const days = (from: number, to: number) =>
  fc.integer({ min: Date.UTC(from) / DAY_MS, max: Date.UTC(to) / DAY_MS }).map((day) => isoDate(day * DAY_MS));

/** The day of a moment, by the offsets that a report's groups go by. */
function dayOf(zone: string, ms: number): string {
  const { offsetMs } = calendarOf(zone)!.offsets.findLast(({ fromMs }, index) => index === 0 || fromMs <= ms)!;
  return isoDate(ms + offsetMs);
}

t.test('a day begins with the first moment that ICU shows of it, or of a later one', (t) => {
  fc.assert(
    fc.property(fc.constantFrom(...zones), days(1970, 2062), (zone, day) => {
      const startMs = calendarOf(zone)!.startOf(day);
      if (shownDate(zone, startMs) < day) return false;
      if (shownDate(zone, startMs - 1) >= day) return false;
      for (let ms = startMs - 13 * MINUTE_MS; ms > startMs - 1.2 * DAY_MS; ms -= 13 * MINUTE_MS) {
        if (shownDate(zone, ms) >= day) return false;
      }
      return true;
    }),
    draws(800),
  );
  t.end();
});

t.test('a group begins and ends exactly where its day does', (t) => {
  const moments = fc.integer({ min: Date.UTC(2015, 0, 3), max: Date.UTC(2062) });
  const nearMidnight = fc.tuple(days(2015, 2062), fc.integer({ min: -3 * 60, max: 3 * 60 }));
  fc.assert(
    fc.property(fc.constantFrom(...zones), moments, nearMidnight, (zone, anyMs, [near, minutes]) => {
      const { startOf } = calendarOf(zone)!;
      return [anyMs, startOf(near) + minutes * MINUTE_MS, startOf(near), startOf(near) - 1].every((ms) => {
        const day = dayOf(zone, ms);
        return startOf(day) <= ms && ms < startOf(isoDate(Date.parse(day) + DAY_MS));
      });
    }),
    draws(250),
  );
  t.end();
});

t.test('no change of a clock is missed, and each comes at a whole minute', (t) => {
  // The zones that change most often; of all others some in the long tests, few in every run.
  const [since, until] = IS_LONG ? [2015, 2062] : [2024, 2028];
  for (const zone of ['Asia/Gaza', 'Africa/Casablanca']) {
    for (let ms = Date.UTC(since, 0, 2); ms < Date.UTC(until); ms += DAY_MS / 2) {
      if (dayOf(zone, ms) !== shownDate(zone, ms)) return t.fail(`${zone} ${new Date(ms).toISOString()}`);
    }
  }
  for (const zone of zones.filter((_, index) => index % (IS_LONG ? 8 : 80) === 0)) {
    const { offsets } = calendarOf(zone)!;
    const odd = offsets.filter(({ fromMs, offsetMs }) => fromMs % MINUTE_MS !== 0 || offsetMs % MINUTE_MS !== 0);
    t.same(odd, [], zone);
  }
  t.end();
});

t.test('a zone skips, repeats or moves a midnight → its day begins where the zone’s law says', (t) => {
  for (const [zone, day, start] of [
    // Two midnights: at one o'clock it is midnight again.
    ['America/Havana', '2027-11-07', '2027-11-07T04:00:00.000Z'],
    ['America/Havana', '2027-11-08', '2027-11-08T05:00:00.000Z'],
    // The law of 2024: summer time all year.
    ['America/Asuncion', '2026-07-01', '2026-07-01T03:00:00.000Z'],
    // No midnight.
    ['America/Sao_Paulo', '2018-11-04', '2018-11-04T03:00:00.000Z'],
    // A day that was left out.
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
    // At one minute past midnight the clock returned to the day before.
    ['America/St_Johns', '2010-11-07', '2010-11-07T02:30:00.000Z'],
    ['utc', '2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['Z', '2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['+05:30', '2026-11-21', '2026-11-20T18:30:00.000Z'],
    ['-0330', '2026-11-21', '2026-11-21T03:30:00.000Z'],
    ['+14', '2026-11-21', '2026-11-20T10:00:00.000Z'],
    ['europe/berlin', '0001-01-01', '0000-12-31T23:06:32.000Z'],
  ] as const) {
    t.equal(new Date(calendarOf(zone)!.startOf(day)).toISOString(), start, `${zone} ${day}`);
  }
  for (const none of ['+99:99', '+14:01', '-15:00', '+05:60', '+5', 'Europe/Atlantis', '', '+', 'GMT+5']) {
    t.equal(calendarOf(none), null, none);
  }
  t.end();
});

/** Days in a time zone, by Node's ICU: one calendar for the start of a report and for the days of
 *  its rows. A day begins at its first midnight; if the clock skips midnight, with the first moment
 *  after it. */
import { FIRST_MOMENT_MS, LAST_MOMENT_MS } from '../../contracts/primitives.js';
import { badRequest } from './api-error.js';

// The calendar that a caller names.

/** @throws ApiError `bad_request` when there is no such time zone */
export function calendarNamed(parameter: string, timezone: string): Calendar {
  const calendar = calendarOf(timezone);
  if (calendar) return calendar;
  throw badRequest(
    `${parameter}: There is no such time zone: use a name such as Europe/Berlin, or an offset of at most 14 h such as +05:30.`,
  );
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** The largest offset of a zone in use, Kiribati's. */
const MAX_OFFSET_MS = 14 * HOUR_MS;
/** A local time is searched within this window: offsets have reached 16 h, and a clock was once set
 *  by 24 h. */
const WINDOW_MS = 2 * DAY_MS;
const WINDOW_STEP_MS = 12 * HOUR_MS;
/** The years of possible ledgers. */
const FIRST_MS = Date.UTC(2015);
const LAST_MS = Date.UTC(2065);
/** No zone changes its offset twice within this time in those years, as a test verifies. */
const STEP_MS = 3 * DAY_MS;
/** Earlier moments get the offset of this one: there was no standard time yet, and ICU's earlier
 *  dates are unreliable. */
const STANDARD_TIME_MS = Date.UTC(1850);

const DATE_LENGTH = '2026-11-21'.length;

/** From `fromMs` on (milliseconds since the epoch), local time is UTC plus `offsetMs`. */
export interface OffsetSpan {
  fromMs: number;
  offsetMs: number;
}

interface Calendar {
  /** The start of a day such as `2026-11-21`, in milliseconds since the epoch. A day that the zone
   *  skipped starts with the next one. */
  startOf(day: string): number;
  /** The offsets in the years of ledgers, oldest first. Never empty; the first also applies to all
   *  earlier times. */
  readonly offsets: readonly OffsetSpan[];
}

type OffsetAt = (ms: number) => number;

/** By the zone's canonical name; ICU knows some hundred. */
const known = new Map<string, readonly OffsetSpan[]>();

/** @param timezone a name such as `Europe/Berlin`, `UTC`, `Z`, or an offset such as `+05:30`.
 *  @returns null for anything but a time zone */
export function calendarOf(timezone: string): Calendar | null {
  const fixedMs = fixedOffsetOf(timezone);
  if (fixedMs !== null) return fixedCalendar(fixedMs);
  const format = formatOf(timezone);
  if (!format) return null;
  const offsetAt = offsetBy(format);
  const name = format.resolvedOptions().timeZone;
  return {
    startOf(day) {
      const midnightMs = Date.parse(day);
      return firstAt(midnightMs, spansOf(offsetAt, midnightMs - WINDOW_MS, midnightMs + WINDOW_MS, WINDOW_STEP_MS));
    },
    get offsets() {
      const offsets = known.get(name) ?? spansOf(offsetAt, FIRST_MS, LAST_MS, STEP_MS);
      known.set(name, offsets);
      return offsets;
    },
  };
}

/** A caller's moment: a date means the beginning of its day, a timestamp has its own offset. The
 *  first and the last day of all begin no earlier or later than a timestamp can say. */
export function momentIn(calendar: Calendar | null, text: string): Date {
  const ms = calendar && text.length === DATE_LENGTH ? calendar.startOf(text) : Date.parse(text);
  return new Date(Math.min(LAST_MOMENT_MS, Math.max(FIRST_MOMENT_MS, ms)));
}

/** Writes a UTC timestamp as the zone's clocks show that moment, with their offset:
 *  `2026-11-21T10:30:00.000+01:00`. In UTC it stays as it is.
 *  @throws RangeError when there is no such time zone */
export function localTimeIn(timezone: string): (utc: string) => string {
  const fixedMs = fixedOffsetOf(timezone);
  if (fixedMs === 0) return (utc) => utc;
  const format = fixedMs === null ? formatOf(timezone) : null;
  if (fixedMs === null && !format) throw new RangeError(`no time zone: ${timezone}`);
  const offsetAt: OffsetAt = format ? offsetBy(format) : () => fixedMs!;
  return (utc) => {
    const ms = Date.parse(utc);
    const offsetMs = offsetAt(ms);
    return `${new Date(ms + offsetMs).toISOString().slice(0, -1)}${offsetText(offsetMs)}`;
  };
}

function offsetText(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / MINUTE_MS);
  const two = (number: number) => String(number).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}

const fixedCalendar = (offsetMs: number): Calendar => ({
  startOf: (day) => Date.parse(day) - offsetMs,
  offsets: [{ fromMs: FIRST_MS, offsetMs }],
});

/** Milliseconds; null for text that is not an offset, and for an offset larger than that of
 *  any zone. */
function fixedOffsetOf(timezone: string): number | null {
  if (/^(?:utc|z)$/i.test(timezone)) return 0;
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d)(?::?([0-5]\d))?$/.exec(timezone) ?? [];
  if (sign === undefined) return null;
  const offsetMs = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS;
  if (offsetMs > MAX_OFFSET_MS) return null;
  return sign === '-' ? -offsetMs : offsetMs;
}

function formatOf(timeZone: string): Intl.DateTimeFormat | null {
  // Newer versions of Node accept offsets of up to 24 h as names.
  if (/^[+-]/.test(timeZone)) return null;
  const parts = ['year', 'month', 'day', 'hour', 'minute', 'second'].map((part) => [part, 'numeric']);
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', ...Object.fromEntries(parts) });
  } catch {
    return null;
  }
}

/** The zone's local time less UTC. */
const offsetBy =
  (format: Intl.DateTimeFormat): OffsetAt =>
  (ms) => {
    const wholeMs = Math.floor(Math.max(ms, STANDARD_TIME_MS) / SECOND_MS) * SECOND_MS;
    const [month, day, year, hour, minute, second] = format.format(wholeMs).match(/\d+/g)!.map(Number);
    return Date.UTC(year!, month! - 1, day, hour, minute, second) - wholeMs;
  };

function spansOf(offsetAt: OffsetAt, fromMs: number, toMs: number, stepMs: number): OffsetSpan[] {
  const spans = [{ fromMs, offsetMs: offsetAt(fromMs) }];
  for (let ms = fromMs; ms < toMs; ms += stepMs) {
    const [before, after] = [spans.at(-1)!.offsetMs, offsetAt(ms + stepMs)];
    if (before === after) continue;
    const changeMs = changeBetween(offsetAt, ms, ms + stepMs);
    spans.push({ fromMs: withoutReturn(changeMs, before, after), offsetMs: after });
  }
  return spans;
}

/** The second in which the offset changed. */
function changeBetween(offsetAt: OffsetAt, fromMs: number, toMs: number): number {
  const before = offsetAt(fromMs);
  let [low, high] = [fromMs / SECOND_MS, toMs / SECOND_MS];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * SECOND_MS) === before) low = middle;
    else high = middle;
  }
  return high * SECOND_MS;
}

/** A clock set back over midnight would return to the previous day. The change then counts from the
 *  second midnight on, so that the day began at the first. */
function withoutReturn(changeMs: number, before: number, after: number): number {
  const dayBefore = Math.floor((changeMs - 1 + before) / DAY_MS);
  const dayAfter = Math.floor((changeMs + after) / DAY_MS);
  return dayAfter < dayBefore ? dayBefore * DAY_MS - after : changeMs;
}

/** The first moment at which the clock shows this local time or a later one. */
function firstAt(localMs: number, spans: readonly OffsetSpan[]): number {
  for (const [index, { fromMs, offsetMs }] of spans.entries()) {
    const ms = Math.max(fromMs, localMs - offsetMs);
    if (ms < (spans[index + 1]?.fromMs ?? Number.POSITIVE_INFINITY)) return ms;
  }
  throw new RangeError(`no moment shows ${localMs}`);
}

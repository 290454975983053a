/** Bounds of notifications and security notices, for each address and kind: an address gets so many of a kind in an hour and in a day, and the next one says
 *  how many were left out. Another kind, account or address has no part in it. */
export const MOST_OF_HOUR = 20;
export const MOST_OF_DAY = 200;

const HOUR_MS = 3_600_000;

/** Begins with the first e-mail in it. */
interface Span {
  from: Date;
  count: number;
}

/** What an address was sent of a kind. */
export interface Sent {
  hour: Span;
  day: Span;
  /** Left out since the last e-mail. */
  left: number;
}

/** An address of an account, and a kind. */
export interface Told {
  accountId: string;
  kind: string;
  address: string;
}

/** Names it; two spellings of an address are one. */
export const toldId = ({ accountId, kind, address }: Told): string => `${accountId}:${kind}:${address.toLowerCase()}`;

export interface Allowed {
  /** How many of the wanted ones go out, the first ones. */
  count: number;
  /** Left out before: the first one says so. */
  left: number;
  /** With the last one a bound is reached, and none goes out until then. */
  until: Date | null;
  after: Sent;
}

export function allowedOf(before: Sent | null, wanted: number, now: Date): Allowed {
  const hour = spanAt(before?.hour, HOUR_MS, now);
  const day = spanAt(before?.day, 24 * HOUR_MS, now);
  const left = before?.left ?? 0;
  const count = Math.min(wanted, MOST_OF_HOUR - hour.count, MOST_OF_DAY - day.count);
  hour.count += count;
  day.count += count;
  const ends = [
    ...(hour.count < MOST_OF_HOUR ? [] : [hour.from.getTime() + HOUR_MS]),
    ...(day.count < MOST_OF_DAY ? [] : [day.from.getTime() + 24 * HOUR_MS]),
  ];
  const after = { hour, day, left: (count > 0 ? 0 : left) + wanted - count };
  return { count, left, until: ends.length === 0 ? null : new Date(Math.max(...ends)), after };
}

/** The span that `now` is in. One that lies ahead is of before the clock was set back. */
function spanAt(span: Span | undefined, lengthMs: number, now: Date): Span {
  const ageMs = span ? now.getTime() - span.from.getTime() : lengthMs;
  return span && ageMs >= 0 && ageMs < lengthMs ? { ...span } : { from: now, count: 0 };
}

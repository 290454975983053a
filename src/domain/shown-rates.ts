/** Rates that a page may have shown: those that an account's prices went by at some time. A payment
 *  is judged by all rates shown within the lock before its ledger closed, so that the result
 *  depends neither on which of them the payer saw nor on when the ledger is read. Pure. */
import { compareRates, lowerRate, type Rate } from './rate.js';
import { type LedgerClose, type LedgerStamp, sideOf } from './terms.js';

/** A rate as it was shown. */
export interface ShownRate {
  rate: Rate;
  /** When it was sampled or set. */
  at: Date;
  source: string;
}

interface Begun {
  /** Since when it applies, as the ledger sees it. */
  from: LedgerStamp;
}

/** All lists are oldest first. */
export interface WorthHistory {
  samples: readonly (Begun & ShownRate)[];
  /** Rates that the account set itself. `rate` is null where one ended; `until` is null without
   *  an end. */
  own: readonly (Begun & { rate: Rate | null; at: Date; until: Date | null })[];
}

/** All lists are oldest first. */
export interface RateHistory extends WorthHistory {
  /** The percentages by which the account's rates are lower, oldest first by `from`; null
   *  for none. */
  markups: readonly { from: Date; percent: Rate | null }[];
}

/** The source of a rate set by `PUT /rates`. */
export const OWN_SOURCE = 'own';

/** The most by which clocks that are compared differ. */
export const CLOCKS_MS = 60_000;
/** Older samples do not count for a payment. */
const OLDEST_MS = 24 * 3_600_000;

/** Spans no further apart are read as one: reading the samples between them costs less than
 *  another query. */
const APART_MS = 3_600_000;

/** Both ends are included. */
export interface Span {
  from: Date;
  to: Date;
}

/** The spans in which rates may have begun that decide payments of these times, besides those in
 *  force at the start of each span. Oldest first, without overlaps. */
export function spansOf(closes: readonly Date[], lockMs: number): Span[] {
  const spans: Span[] = [];
  for (const closedMs of closes.map((at) => at.getTime()).sort((a, b) => a - b)) {
    const from = closedMs - lockMs - CLOCKS_MS;
    const to = new Date(closedMs + CLOCKS_MS);
    const last = spans.at(-1);
    if (last && from <= last.to.getTime() + APART_MS) last.to = to;
    else spans.push({ from: new Date(from), to });
  }
  return spans;
}

/** All rates shown within the lock before the ledger closed, the lowest first; of equal ones the
 *  newest alone. Samples more than a day older than the close do not count. The work grows with
 *  what was in force within the lock, never with what was before or after it. */
export function shownWithin(history: RateHistory, close: LedgerClose, lockMs: number): ShownRate[] {
  const closedMs = close.closedAt.getTime();
  const beginMs = closedMs - lockMs - CLOCKS_MS;
  const near = <T extends Begun>(list: readonly T[]) =>
    inForceWithin(list, beginMs, closedMs + CLOCKS_MS, ({ from }) => from.at);
  const within: RateHistory = { ...history, samples: near(history.samples), own: near(history.own) };
  const isByClock = [...within.samples, ...within.own].some(({ from }) => from.ledger === null);
  const distinct = new Map<string, ShownRate>();
  for (const each of isByClock ? [within, withEarlyBegins(within)] : [within]) {
    for (const shown of shownBy(each, close, beginMs)) {
      const key = `${shown.rate.units} ${shown.rate.scale}`;
      const known = distinct.get(key);
      if (!known || known.at <= shown.at) distinct.set(key, shown);
    }
  }
  return [...distinct.values()].sort((a, b) => compareRates(a.rate, b.rate));
}

/** The entry in force at the first moment, and all that begin later, up to the last moment. @param
 *  list oldest first */
function inForceWithin<T>(list: readonly T[], fromMs: number, toMs: number, beginOf: (entry: T) => Date): T[] {
  const begunBy = (ms: number) => {
    let [least, most] = [0, list.length];
    while (least < most) {
      const middle = (least + most) >>> 1;
      if (beginOf(list[middle]!).getTime() <= ms) least = middle + 1;
      else most = middle;
    }
    return least;
  };
  return list.slice(Math.max(0, begunBy(fromMs) - 1), begunBy(toMs));
}

/** Entries from a time when no ledger was known are dated by the host's clock alone, which may have
 *  been ahead. */
function withEarlyBegins({ samples, own, markups }: RateHistory): RateHistory {
  const early = <T extends Begun>(each: T): T =>
    each.from.ledger === null
      ? { ...each, from: { ...each.from, at: new Date(each.from.at.getTime() - CLOCKS_MS) } }
      : each;
  return { samples: samples.map(early), own: own.map(early), markups };
}

/** From one moment to another, both included. */
type Time = readonly [fromMs: number, toMs: number];

function shownBy({ samples, own, markups }: RateHistory, close: LedgerClose, beginMs: number): ShownRate[] {
  const closedMs = close.closedAt.getTime();
  // Ledgers of one second may have closed before or after a moment in it, so that the payer may
  // have seen the rate.
  const mayHaveBegun = ({ from }: Begun) => sideOf(close, from) !== 'before';
  const sets = walk(own.filter(mayHaveBegun), beginMs);
  const sampled = walk(samples.filter(mayHaveBegun), beginMs);
  const moments = [...new Set([beginMs, ...sets.begins, ...sampled.begins])].sort((a, b) => a - b);
  const shown: ShownRate[] = [];
  /** When each sample was shown, by the clock that ends own rates and begins markups. */
  const times = new Map<RateHistory['samples'][number], Time[]>();
  for (const [index, atMs] of moments.entries()) {
    // Until the next entry begins, that clock may have been a minute behind or ahead of
    // the ledger's.
    const firstMs = Math.max(beginMs, atMs - CLOCKS_MS);
    const lastMs = (moments[index + 1] ?? closedMs) + CLOCKS_MS;
    const newest = sampled.inForceAt(atMs);
    for (const set of sets.inForceAt(atMs)) {
      const untilMs = set?.rate ? (set.until?.getTime() ?? Number.POSITIVE_INFINITY) : firstMs;
      if (set?.rate && untilMs > firstMs) shown.push({ rate: set.rate, at: set.at, source: OWN_SOURCE });
      if (untilMs > lastMs) continue;
      for (const sample of newest) {
        if (!sample || sample.from.at.getTime() < closedMs - OLDEST_MS) continue;
        const known = times.get(sample) ?? [];
        times.set(sample, known);
        known.push([Math.max(firstMs, untilMs), lastMs]);
      }
    }
  }
  for (const [{ rate, at, source }, during] of times) {
    for (const percent of percentsIn(markups, during)) {
      const lowered = lowerRate(rate, percent);
      if (lowered) shown.push({ rate: lowered, at, source });
    }
  }
  return shown;
}

/** Goes through a list from moment to moment. Where several have begun, the last in the list is in
 *  force, however they are dated. */
function walk<T extends Begun>(list: readonly T[], beginMs: number) {
  let last = list.findLastIndex(({ from }) => from.at.getTime() <= beginMs);
  const coming = list
    .map(({ from }, place) => ({ place, ms: from.at.getTime() }))
    .slice(last + 1)
    .sort((a, b) => a.ms - b.ms);
  let next = 0;
  return {
    begins: coming.map(({ ms }) => ms),
    /** The entry in force until the moment, undefined for none, and each that begins at it. Call it
     *  for every moment, in order. */
    inForceAt(atMs: number): (T | undefined)[] {
      const found = [list[last]];
      for (; coming[next]?.ms === atMs; next++) {
        const { place } = coming[next]!;
        found.push(list[place]!);
        last = Math.max(last, place);
      }
      return found;
    },
  };
}

/** The markups in force at some of these times; null for none. @param during the times, which
 *  are sorted */
function percentsIn(markups: RateHistory['markups'], during: Time[]): (Rate | null)[] {
  const percents = new Map<string, Rate | null>();
  let atMs = Number.NEGATIVE_INFINITY;
  for (const [fromMs, toMs] of during.sort((one, other) => one[0] - other[0])) {
    // Times overlap: go on where the last one ended.
    const startMs = Math.max(atMs, fromMs);
    if (startMs > toMs) continue;
    const held = inForceWithin(markups, startMs, toMs, ({ from }) => from);
    if (!held[0] || held[0].from.getTime() > startMs) percents.set('', null);
    for (const { percent } of held) percents.set(percent ? `${percent.units} ${percent.scale}` : '', percent);
    atMs = toMs;
  }
  return [...percents.values()];
}

/** The rate by which books value a payment: the rate that the account had set when the ledger
 *  closed, otherwise the newest sample of the last day. No markup lowers it: it tells what the
 *  money was worth. */
export function worthAt({ samples, own }: WorthHistory, close: LedgerClose): ShownRate | null {
  const hasBegun = ({ from }: Begun) => sideOf(close, from) !== 'before';
  const set = own.findLast(hasBegun);
  if (set?.rate && (set.until === null || set.until > close.closedAt))
    return { rate: set.rate, at: set.at, source: OWN_SOURCE };
  const sample = samples.findLast(hasBegun);
  if (!sample || sample.from.at.getTime() < close.closedAt.getTime() - OLDEST_MS) return null;
  const { rate, at, source } = sample;
  return { rate, at, source };
}

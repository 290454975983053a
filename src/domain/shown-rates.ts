/** Rates that a page may have shown: those that an account's prices went by at some time. A payment is judged by all rates shown within the lock
 *  before its ledger closed, so that the result depends neither on which of them the payer saw nor on when the ledger is read. Pure. */
import { lowerRate, type Rate } from './rate.js';
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
  /** Rates that the account set itself. `rate` is null where one ended; `until` is null without an end. */
  own: readonly (Begun & { rate: Rate | null; at: Date; until: Date | null })[];
}

/** All lists are oldest first. */
export interface RateHistory extends WorthHistory {
  /** The percentages by which the account's rates are lower; null for none. */
  markups: readonly { from: Date; percent: Rate | null }[];
}

/** The source of a rate set by `PUT /rates`. */
export const OWN_SOURCE = 'own';

/** The most by which clocks that are compared differ. */
export const CLOCKS_MS = 60_000;
/** Older samples do not count for a payment. */
const OLDEST_MS = 24 * 3_600_000;

/** Spans no further apart are read as one: reading the samples between them costs less than another query. */
const APART_MS = 3_600_000;

/** Both ends are included. */
export interface Span {
  from: Date;
  to: Date;
}

/** The spans in which rates may have begun that decide payments of these times, besides those in force at the start of each span. Oldest first,
 *  without overlaps. */
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

/** The entry in force at the moment, and all that began later. @param list oldest first */
function heldFrom<T extends Begun>(list: readonly T[], ms: number): readonly T[] {
  const held = list.findLastIndex(({ from }) => from.at.getTime() <= ms);
  return held > 0 ? list.slice(held) : list;
}

/** The entries in force at the moment: the last that had begun before, undefined for none, and each that began at that very moment. @param list
 *  oldest first */
const inForce = <T extends Begun>(list: readonly T[], atMs: number): (T | undefined)[] => [
  list.findLast(({ from }) => from.at.getTime() < atMs),
  ...list.filter(({ from }) => from.at.getTime() === atMs),
];

/** The rates shown at a moment.
 *  @param atMs the moment in the ledger's time
 *  @param clockMs the same moment by the clock that ends own rates and begins markups
 *  @param notBefore older samples do not count */
function shownAt(
  { samples, own, markups }: RateHistory,
  { atMs, clockMs }: { atMs: number; clockMs: number },
  notBefore: number,
): ShownRate[] {
  const percent = markups.findLast(({ from }) => from.getTime() <= clockMs)?.percent ?? null;
  return inForce(own, atMs).flatMap((set) => {
    if (set?.rate && (set.until === null || set.until.getTime() > clockMs))
      return { rate: set.rate, at: set.at, source: OWN_SOURCE };
    return inForce(samples, atMs).flatMap((sample) => {
      if (!sample || sample.from.at.getTime() < notBefore) return [];
      const rate = lowerRate(sample.rate, percent);
      return rate ? { rate, at: sample.at, source: sample.source } : [];
    });
  });
}

/** All rates shown within the lock before the ledger closed, without duplicates, oldest first. Samples more than a day older than the close do not
 *  count. */
export function shownWithin(history: RateHistory, close: LedgerClose, lockMs: number): ShownRate[] {
  const shown = [history, withEarlyBegins(history)].flatMap((each) => shownBy(each, close, lockMs));
  const keyOf = ({ at, rate, source }: ShownRate) => `${at.getTime()} ${rate.units} ${rate.scale} ${source}`;
  const distinct = [...new Map(shown.map((each) => [keyOf(each), each])).values()];
  return distinct.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** Entries from a time when no ledger was known are dated by the host's clock alone, which may have been ahead. */
function withEarlyBegins({ samples, own, markups }: RateHistory): RateHistory {
  const early = <T extends Begun>(each: T): T =>
    each.from.ledger === null
      ? { ...each, from: { ...each.from, at: new Date(each.from.at.getTime() - CLOCKS_MS) } }
      : each;
  return { samples: samples.map(early), own: own.map(early), markups };
}

function shownBy(history: RateHistory, close: LedgerClose, lockMs: number): ShownRate[] {
  const closedMs = close.closedAt.getTime();
  const beginMs = closedMs - lockMs - CLOCKS_MS;
  // Ledgers of one second may have closed before or after a moment in it, so that the payer may have seen the rate.
  const mayHaveBegun = ({ from }: Begun) => sideOf(close, from) !== 'before';
  const begun: RateHistory = {
    samples: heldFrom(history.samples, beginMs).filter(mayHaveBegun),
    own: heldFrom(history.own, beginMs).filter(mayHaveBegun),
    markups: history.markups,
  };
  const byClock = [
    ...begun.own.flatMap(({ until }) => until?.getTime() ?? []),
    ...begun.markups.map(({ from }) => from.getTime()),
  ];
  const begins = [...begun.samples, ...begun.own].map(({ from }) => from.at.getTime()).filter((ms) => ms > beginMs);
  return [beginMs, ...begins.sort((a, b) => a - b)].flatMap((atMs, index, all) => {
    // Until the next entry begins, the clock that dates markups may have been a minute behind or ahead of the ledger's.
    const firstMs = Math.max(beginMs, atMs - CLOCKS_MS);
    const lastMs = (all[index + 1] ?? closedMs) + CLOCKS_MS;
    const clocks = [firstMs, ...byClock.filter((ms) => ms > firstMs && ms <= lastMs).sort((a, b) => a - b)];
    return clocks.flatMap((clockMs) => shownAt(begun, { atMs, clockMs }, closedMs - OLDEST_MS));
  });
}

/** The rate by which books value a payment: the rate that the account had set when the ledger closed, otherwise the newest sample of the last day.
 *  No markup lowers it: it tells what the money was worth. */
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

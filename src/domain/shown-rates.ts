/** Which rates a page may have shown: those that an account's prices went by at some time. A payment is judged by all that were shown within the lock
 *  before its ledger closed, so that it does not matter which of them the payer saw, who reads the ledger, or when. Pure. */
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
  /** Since when it holds, as the ledger sees it. */
  from: LedgerStamp;
}

/** Each list oldest first. */
export interface WorthHistory {
  samples: readonly (Begun & ShownRate)[];
  /** What the account set itself. `rate` is null where it ended; `until` is null without an end. */
  own: readonly (Begun & { rate: Rate | null; at: Date; until: Date | null })[];
}

/** Each list oldest first. */
export interface RateHistory extends WorthHistory {
  /** By how many percent the account's rates are lower; null for none. */
  markups: readonly { from: Date; percent: Rate | null }[];
}

/** By `PUT /rates`. */
export const OWN_SOURCE = 'own';

/** Clocks that are compared differ by at most so much. */
export const CLOCKS_MS = 60_000;
/** An older sample says nothing of a payment. */
const OLDEST_MS = 24 * 3_600_000;

/** Spans that are no further apart are read as one: between them lie fewer samples than a query of its own is worth. */
const APART_MS = 3_600_000;

/** From one moment to another, both included. */
export interface Span {
  from: Date;
  to: Date;
}

/** When began what may decide payments of these times, apart from what held at the beginning of each span. Oldest first, none overlaps another. */
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

/** What held at the moment, and what has begun since. @param list oldest first */
function heldFrom<T extends Begun>(list: readonly T[], ms: number): readonly T[] {
  const held = list.findLastIndex(({ from }) => from.at.getTime() <= ms);
  return held > 0 ? list.slice(held) : list;
}

/** What was in force at the moment: what had begun last, undefined for nothing, and each that began at that very moment. @param list oldest first */
const inForce = <T extends Begun>(list: readonly T[], atMs: number): (T | undefined)[] => [
  list.findLast(({ from }) => from.at.getTime() < atMs),
  ...list.filter(({ from }) => from.at.getTime() === atMs),
];

/** What was shown at a moment.
 *  @param atMs of the ledger's time
 *  @param clockMs the same moment by the clock that ends own rates and begins markups
 *  @param notBefore samples of before do not count */
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

/** All that were shown at some time of the lock before the ledger closed, each once, oldest first. Empty where nothing was, and nothing had been for a
 *  day. */
export function shownWithin(history: RateHistory, close: LedgerClose, lockMs: number): ShownRate[] {
  const shown = [history, withEarlyBegins(history)].flatMap((each) => shownBy(each, close, lockMs));
  const keyOf = ({ at, rate, source }: ShownRate) => `${at.getTime()} ${rate.units} ${rate.scale} ${source}`;
  const distinct = [...new Map(shown.map((each) => [keyOf(each), each])).values()];
  return distinct.sort((a, b) => a.at.getTime() - b.at.getTime());
}

/** What began while no ledger was known is dated by the host's clock alone, which may have been ahead. */
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
  // Ledgers of one second may have closed before or after a moment in it: then the payer may have seen it.
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
    // From here to the next beginning, the clock that dates markups may have shown a minute less or more than the ledger's.
    const firstMs = Math.max(beginMs, atMs - CLOCKS_MS);
    const lastMs = (all[index + 1] ?? closedMs) + CLOCKS_MS;
    const clocks = [firstMs, ...byClock.filter((ms) => ms > firstMs && ms <= lastMs).sort((a, b) => a - b)];
    return clocks.flatMap((clockMs) => shownAt(begun, { atMs, clockMs }, closedMs - OLDEST_MS));
  });
}

/** By which books value a payment: the rate that the account had set when the ledger closed, else the newest sample, of the last day. No markup lowers it:
 *  it says what the money was worth. */
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

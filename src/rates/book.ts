/** The rates of accounts from stored data: current ones, and those that may have been shown when a
 *  payment was made. It asks no source. */

import type { Network } from '../../contracts/networks.js';
import type { AccountDoc, AccountStore } from '../accounts/index.js';
import { formatAmount, MAX_STROOPS } from '../domain/amount.js';
import type { Asset } from '../domain/asset.js';
import { askedFor, formatRate, lowerRate, type Pair, pairKey, parseRate, type Rate } from '../domain/rate.js';
import {
  OWN_SOURCE,
  type RateHistory,
  type ShownRate,
  type Span,
  shownWithin,
  spansOf,
  type WorthHistory,
  worthAt,
} from '../domain/shown-rates.js';
import { type LedgerClose, sideOf } from '../domain/terms.js';
import type { Clock } from '../kit/clock.js';
import type { Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';
import type { OwnRateDoc, OwnRateStore } from './own.js';
import type { RateSampleDoc, RateSampleStore } from './rate-samples.js';

// Amounts asked by a current rate.

interface Quote {
  /** Null if the payer chooses. */
  amount: string | null;
  rate: string;
  source: string;
  at: string;
  validUntil: string;
}

/** Null for a stale rate, and for an amount that exceeds what the ledger can hold.
 *  @param price in 10^-7 units of the currency; null if the payer chooses */
export function quoteOf({ rate, source, at, validUntil, stale }: CurrentRate, price: bigint | null): Quote | null {
  const stroops = price === null ? null : askedFor(price, rate);
  if (stale || (stroops !== null && stroops > MAX_STROOPS)) return null;
  return {
    amount: stroops === null ? null : formatAmount(stroops),
    rate: formatRate(rate),
    source,
    at: at.toISOString(),
    validUntil: validUntil.toISOString(),
  };
}

/** A current rate. */
export interface CurrentRate extends ShownRate {
  /** Too old to be shown. */
  stale: boolean;
  /** A payment by this rate must come before. */
  validUntil: Date;
}

/** A pair whose rates an account needs, as of a ledger's close. */
interface RatesAsked {
  accountId: string;
  pair: Pair;
  close: LedgerClose;
}

/** Money that came to an account. */
export interface Came {
  accountId: string;
  asset: Asset;
  network: Network;
  close: LedgerClose;
}

/** Null if the account kept no books in a currency then, or no rate is known. */
export type WorthOf = (came: Came) => { currency: string; rate: ShownRate } | null;

/** Empty if no rate is known. */
export type RatesOf = (asked: RatesAsked) => readonly ShownRate[];
export type LoadRates = (asked: readonly RatesAsked[], session: Session) => Promise<RatesOf>;

export type RateBook = ReturnType<typeof createRateBook>;

interface RateBookDeps {
  rateSamples: Pick<RateSampleStore, 'newest' | 'held'>;
  ownRates: OwnRateStore;
  accounts: Pick<AccountStore, 'markupOf' | 'withBooks' | 'withMarkups'>;
  clock: Pick<Clock, 'now'>;
  lockMs: number;
  maxAgeMs: number;
}

export function createRateBook(deps: RateBookDeps) {
  const { accounts, lockMs } = deps;

  async function load(asked: readonly RatesAsked[], session?: Session): Promise<RatesOf> {
    if (asked.length === 0) return () => [];
    const historyOf = await histories(deps, asked, session);
    const found = await accounts.withMarkups(accountsOf(asked), session);
    const markups = new Map(found.map((account) => [account._id, markupsOf(account)]));
    return eachOnce(askedKeyOf, (each) =>
      shownWithin({ ...historyOf(each), markups: markups.get(each.accountId) ?? [] }, each.close, lockMs),
    );
  }

  return {
    current: (accountId: string, pair: Pair) => current(deps, accountId, pair),

    /** The rates that pages may have shown within the lock until now, the lowest first. */
    async shown(accountId: string, pair: Pair): Promise<readonly ShownRate[]> {
      const asked = { accountId, pair, close: { ledger: Number.MAX_SAFE_INTEGER, closedAt: deps.clock.now() } };
      return (await load([asked]))(asked);
    },

    /** Loads the rates by which payments at these closes are judged. Those of a ledger are found
     *  once, however many payments it has. */
    load,

    /** Loads the rates by which the accounts' books value this money. */
    async loadWorth(came: readonly Came[], session: Session): Promise<WorthOf> {
      if (came.length === 0) return () => null;
      const found = await accounts.withBooks(accountsOf(came), session);
      if (found.length === 0) return () => null;
      const byId = new Map(found.map((account) => [account._id, account]));
      const currencyAt = eachOnce(
        ({ accountId, close }: Came) => `${accountId} ${closeKeyOf(close)}`,
        ({ accountId, close }) => booksAt(byId.get(accountId), close),
      );
      const askedOf = (each: Came): RatesAsked | null => {
        const { accountId, asset, network, close } = each;
        const currency = currencyAt(each);
        return currency === null ? null : { accountId, pair: { currency, asset, network }, close };
      };
      const historyOf = await histories(
        deps,
        came.flatMap((each) => askedOf(each) ?? []),
        session,
      );
      const worthOf = eachOnce(askedKeyOf, (asked) => worthAt(historyOf(asked), asked.close));
      return (each) => {
        const asked = askedOf(each);
        const rate = asked && worthOf(asked);
        return rate && { currency: asked.pair.currency, rate };
      };
    },
  };
}

/** The same function, which is called once for each key. */
function eachOnce<T, Result>(keyOf: (each: T) => string, find: (each: T) => Result): (each: T) => Result {
  const known = new Map<string, Result>();
  return (each) => {
    const key = keyOf(each);
    if (!known.has(key)) known.set(key, find(each));
    return known.get(key)!;
  };
}

/** Null if the pair was never sampled and the account has set no rate. */
async function current(
  { clock, lockMs, ownRates, rateSamples, accounts, maxAgeMs }: RateBookDeps,
  accountId: string,
  pair: Pair,
): Promise<CurrentRate | null> {
  const now = clock.now();
  const ahead = (from: Date) => new Date(from.getTime() + lockMs);
  const [own, sample, markup] = await Promise.all([
    ownRates.newest(accountId, pairKey(pair)),
    rateSamples.newest(pairKey(pair)),
    accounts.markupOf(accountId),
  ]);
  if (own?.rate && (own.until === null || own.until > now)) {
    const shown = { rate: parseRate(own.rate)!, at: own.at, source: OWN_SOURCE };
    return { ...shown, stale: false, validUntil: ahead(now) };
  }
  const rate = sample && lowerRate(parseRate(sample.rate)!, percentOf(markup));
  if (!rate) return null;
  const stale = now.getTime() - sample.at.getTime() > maxAgeMs;
  const at = sample.answeredAt ?? sample.at;
  return { rate, at, source: sample.source, stale, validUntil: ahead(sample.at) };
}

/** Reads the samples of a pair once for all accounts, without those between payments that are far
 *  apart in time. */
async function histories(
  deps: RateBookDeps,
  asked: readonly RatesAsked[],
  session?: Session,
): Promise<(of: RatesAsked) => WorthHistory> {
  const samples = await readOnce(
    deps,
    asked,
    ({ pair }) => pairKey(pair),
    (each, span) => deps.rateSamples.held(pairKey(each.pair), span, session),
  );
  const own = await readOnce(deps, asked, keyOf, ({ accountId, pair }, span) =>
    deps.ownRates.held({ accountId, pair: pairKey(pair) }, span, session),
  );
  const sampled = new Map([...samples].map(([key, docs]) => [key, docs.map(toSample)]));
  const set = new Map([...own].map(([key, docs]) => [key, docs.map(toOwn)]));
  return (each) => {
    const history = { samples: sampled.get(pairKey(each.pair)), own: set.get(keyOf(each)) };
    if (!history.samples || !history.own) throw new Error(`the rates of ${keyOf(each)} were not loaded`);
    return { samples: history.samples, own: history.own };
  };
}

/** Reads the spans of each group, oldest first. */
async function readOnce<Doc extends { _id: string }>(
  { lockMs }: RateBookDeps,
  asked: readonly RatesAsked[],
  groupOf: (asked: RatesAsked) => string,
  read: (of: RatesAsked, span: Span) => Promise<Doc[]>,
): Promise<Map<string, Doc[]>> {
  const groups = new Map<string, RatesAsked[]>();
  for (const each of asked) {
    const group = groups.get(groupOf(each));
    if (group) group.push(each);
    else groups.set(groupOf(each), [each]);
  }
  const found = new Map<string, Doc[]>();
  for (const [key, group] of groups) {
    const docs = new Map<string, Doc>();
    const closes = group.map(({ close }) => close.closedAt);
    // One by one, as a transaction requires.
    for (const span of spansOf(closes, lockMs)) for (const doc of await read(group[0]!, span)) docs.set(doc._id, doc);
    found.set(key, [...docs.values()]);
  }
  return found;
}

/** The currency of the books when the ledger closed. */
function booksAt(account: Pick<AccountDoc, 'booksCurrencies'> | undefined, close: LedgerClose): string | null {
  const begun = account?.booksCurrencies?.findLast(({ from: at }) => sideOf(close, { at, ledger: null }) !== 'before');
  return begun?.currency ?? null;
}

const keyOf = ({ accountId, pair }: RatesAsked) => `${accountId} ${pairKey(pair)}`;
const closeKeyOf = ({ ledger, closedAt }: LedgerClose) => `${ledger} ${closedAt.getTime()}`;
const askedKeyOf = (asked: RatesAsked) => `${keyOf(asked)} ${closeKeyOf(asked.close)}`;

const toSample = ({ rate, at, from, source }: RateSampleDoc) => ({ rate: parseRate(rate)!, at, from, source });
const toOwn = ({ rate, at, from, until }: OwnRateDoc) => ({
  rate: rate === null ? null : parseRate(rate),
  at,
  from,
  until,
});
/** 0 means none. */
const percentOf = (percent: string | undefined): Rate | null => (percent === undefined ? null : parseRate(percent));
/** Oldest first: a clock that was ahead may have dated one after those that follow it. */
const markupsOf = ({ rateMarkups = [] }: Pick<AccountDoc, 'rateMarkups'>): RateHistory['markups'] =>
  rateMarkups
    .map(({ from, percent }) => ({ from, percent: percentOf(percent) }))
    .sort((a, b) => a.from.getTime() - b.from.getTime());

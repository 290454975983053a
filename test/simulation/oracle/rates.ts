/** What must hold of prices in a currency: what a payer was shown is enough, less than the least
 *  that was shown is not, and a rate is shown only when sources agree and confirm it. What was
 *  shown is known from the moments at which it was stored, not from how the service dates it. */
import type { Paid } from '../chain.js';
import { type Doc, type Knowledge, possible, type Terms } from '../knowledge.js';
import { INTERVAL_MS, RATE_TIMES } from '../market.js';
import { refusalBy, slackOf, stroops } from './verdicts.js';

/** What an account's pages go by from this moment on. */
interface Shown {
  atMs: number;
  /** No ledger was known when it was stored: a clock alone dates it. */
  isByClock: boolean;
  sample: string | null;
  own: string | null;
  markup: string;
}

/** What a visitor saw on a page. */
export interface Look {
  atMs: number;
  /** The link's or checkout's. */
  id: string;
  /** Stroops that the page asked for. */
  asked: bigint;
}

const SCALE = 10n ** 14n;
/** For clocks, as the service promises it. */
const CLOCKS_MS = 60_000;
/** A close time has whole seconds. */
const SECOND_MS = 1000;
/** Between the stamp of a rate and the moment at which it is stored lie a question for the newest
 *  ledger and slow commands. */
const STORING_MS = 6000;
const STALLED_MS = 25_000;
/** Prices of the market, and what one of them and another make together, lie between. */
const LEAST_RATE = '0.12';
const MOST_RATE = '0.42';
const ROUNDS_TO_SAMPLE = 4;
/** Samples that show how often a pair is sampled: a claim that stalls for longer than two intervals
 *  leads to one or two more. */
const MANY = 10;

const scaled = (rate: string): bigint => {
  const [whole = '0', fraction = ''] = rate.split('.');
  return BigInt(whole + fraction.padEnd(14, '0').slice(0, 14));
};
/** Rates and markups of the simulation have so few digits that nothing is rounded. */
const lowered = (rate: string, percent: string): bigint => (scaled(rate) * (100n - BigInt(percent))) / 100n;
/** @param price in 10^-7 of the currency */
const askedBy = (price: bigint, rate: bigint): bigint => (price * SCALE + rate - 1n) / rate;
const CENT = 100_000n;
const worthBy = (amount: bigint, rate: bigint): bigint => ((amount * rate) / SCALE / CENT) * CENT;
const least = (all: readonly bigint[]): bigint => all.reduce((a, b) => (b < a ? b : a));
const most = (all: readonly bigint[]): bigint => all.reduce((a, b) => (b > a ? b : a));

/** What an account's pages go by at first: a clock that begins its first markup late still goes
 *  by none. */
const FIRST: Shown = { atMs: Number.NEGATIVE_INFINITY, isByClock: false, sample: null, own: null, markup: '0' };

/** Watches what is stored of rates. */
export class RateObserver {
  readonly #shown = new Map<string, Shown[]>();
  readonly #samples = new Map<string, Doc>();
  readonly looks: Look[] = [];

  /** @returns what is wrong at once */
  see({ rateSamples, ownRates, accounts }: Record<string, readonly Doc[]>, nowMs: number): string[] {
    const faults: string[] = [];
    for (const sample of rateSamples!) {
      if (this.#samples.has(sample._id)) continue;
      const last = [...this.#samples.values()].at(-1);
      this.#samples.set(sample._id, { ...sample, storedMs: nowMs });
      // Nothing tells that the first one is wrong, nor that a source which repeats it is.
      if (!last || last.rate === sample.rate) continue;
      if (scaled(sample.rate) < scaled(LEAST_RATE) || scaled(sample.rate) > scaled(MOST_RATE))
        faults.push(`the sample ${sample.rate} is none that two answers confirm`);
    }
    const newest = [...this.#samples.values()].at(-1);
    for (const { _id, rateMarkups = [] } of accounts!) {
      const own = ownRates!.filter(({ accountId }) => accountId === _id).at(-1);
      const now = {
        isByClock: [newest, own].some((each) => each?.from.ledger === null),
        ...{ sample: newest?.rate ?? null, own: own?.rate ?? null, markup: rateMarkups.at(-1)?.percent ?? '0' },
      };
      const before = this.#shown.get(_id) ?? [FIRST];
      const { atMs: _, ...last } = before.at(-1)!;
      if (JSON.stringify(last) !== JSON.stringify(now)) this.#shown.set(_id, [...before, { atMs: nowMs, ...now }]);
    }
    return faults;
  }

  /** Every rate that may have been shown at some time between; what clocks begin counts for a
   *  minute more.
   *  @param orderMs an own rate and a sample that changed within that time are dated in either
   *  order; those that a clock alone dates within `clocksMs` */
  #between(
    accountId: string,
    [fromMs, untilMs]: readonly [number, number],
    { clocksMs, orderMs }: { clocksMs: number; orderMs: number },
  ): bigint[] {
    const shown = this.#shown.get(accountId) ?? [];
    const endMs = (index: number) => shown[index + 1]?.atMs ?? Number.POSITIVE_INFINITY;
    const within = (slackMs: number, [from, until] = [fromMs, untilMs]) =>
      shown.filter(
        ({ atMs, isByClock }, index) =>
          atMs <= until + Math.max(slackMs, isByClock ? clocksMs : 0) && endMs(index) >= from - slackMs,
      );
    const markups = [...new Set(within(clocksMs).map(({ markup }) => markup))];
    const order = within(clocksMs).some(({ isByClock }) => isByClock) ? clocksMs : orderMs;
    const rates = within(0).flatMap((each) => {
      const around = order === 0 ? [each] : within(order, [each.atMs, Math.min(untilMs, endMs(shown.indexOf(each)))]);
      const samples = around.flatMap(({ sample }) => sample ?? []);
      return around.flatMap(({ own }) =>
        own !== null ? [scaled(own)] : samples.flatMap((sample) => markups.map((markup) => lowered(sample, markup))),
      );
    });
    return [...new Set(rates)];
  }

  /** Those that must count for a payment, and those that may. */
  #ratesFor(known: Knowledge, accountId: string, closedMs: number): { sure: bigint[]; possible: bigint[] } {
    const slackMs = (known.stalls ? STALLED_MS : STORING_MS) + (known.skewMs === 0 ? 0 : STORING_MS);
    const { lockMs } = RATE_TIMES;
    const shown = this.#shown.get(accountId) ?? [];
    // Where nothing changed, the one rate that was shown is known.
    const sure = shown.flatMap(({ atMs, own, sample, markup }, index) => {
      const endMs = shown[index + 1]?.atMs ?? Number.POSITIVE_INFINITY;
      const isWithin = atMs < closedMs && endMs > closedMs + SECOND_MS - lockMs;
      if (!isWithin) return [];
      return own !== null ? [scaled(own)] : sample !== null ? [lowered(sample, markup)] : [];
    });
    const fromMs = closedMs - lockMs - CLOCKS_MS - slackMs;
    const possibly = this.#between(accountId, [fromMs, closedMs + SECOND_MS + slackMs], {
      clocksMs: CLOCKS_MS + Math.abs(known.skewMs) + SECOND_MS,
      orderMs: known.skewMs === 0 ? 0 : STORING_MS,
    });
    return { sure, possible: [...new Set([...possibly, ...sure])] };
  }

  /** Whether a payment of a link that is priced in the currency is judged as it may be. */
  linkFaults(known: Knowledge, doc: Doc, linkId: string): string[] {
    const name = `payment ${doc.operationId}[${doc.changeIndex}] of ${doc.amount}`;
    const closedMs = doc.ledgerClosedAt.getTime();
    const link = known.links.get(linkId)!;
    const states = possible(link.terms, closedMs);
    const terms = possible(known.products.get(link.productId)!.terms, closedMs);
    const rates = this.#ratesFor(known, doc.accountId, closedMs);
    const judged = states.flatMap((state) => {
      const refusal = refusalBy(state, closedMs);
      return terms.map((each) => (refusal === null ? this.#judgedWrongly(doc, each, rates) : refused(doc, refusal)));
    });
    const faults = judged.includes(null) ? [] : [`${name} is ${judged.join(' and ')}`];
    if (terms.length === 1 && states.length === 1 && doc.status === 'UNDERPAID') {
      const { lockMs } = RATE_TIMES;
      const look = this.looks.find(
        ({ id, asked, atMs }) =>
          id === linkId &&
          stroops(doc.amount)! >= asked &&
          atMs < closedMs &&
          atMs > closedMs + SECOND_MS - lockMs &&
          possible(known.products.get(link.productId)!.terms, atMs).every(
            (each) => JSON.stringify(each) === JSON.stringify(terms[0]),
          ),
      );
      if (look) faults.push(`${name} is too little, though ${look.asked} stroops were shown within the lock`);
    }
    return faults;
  }

  /** Null where it is judged as these terms allow. */
  #judgedWrongly(doc: Doc, terms: Terms, rates: { sure: bigint[]; possible: bigint[] }): string | null {
    if (!terms.active) return refused(doc, 'product_inactive');
    if (doc.assetCode !== terms.assetCode || doc.assetIssuer !== terms.assetIssuer) return refused(doc, 'wrong_asset');
    const amount = stroops(doc.amount)!;
    const price = stroops(terms.priceType === 'FIXED' ? terms.price : terms.minAmount) ?? 0n;
    if (doc.reason === 'no_rate') return rates.sure.length === 0 ? null : 'without a rate, though one was shown';
    if (rates.possible.length === 0) return 'judged by a rate that never was shown';
    const enough = price - slackOf(price, terms.tolerancePercent, CENT);
    const mostGenerous = least(rates.possible.map((rate) => askedBy(enough, rate)));
    const sureLeast = rates.sure.length === 0 ? null : least(rates.sure.map((rate) => askedBy(enough, rate)));
    if (doc.status === 'UNDERPAID') {
      if (sureLeast !== null && amount >= sureLeast) return `too little, though ${sureLeast} stroops were shown`;
      const sureWorth = worthOfAll(amount, rates.sure);
      const allowed = worthOfAll(amount, rates.possible).filter((each) => sureWorth.every((sure) => each >= sure));
      return valueFault(doc, allowed);
    }
    if (doc.status !== 'COMPLETED') return `${doc.status} ${doc.reason}`;
    if (amount < mostGenerous) return `enough, though no page asked for less than ${mostGenerous} stroops`;
    if (doc.reason === 'within_tolerance') {
      const isWhole = rates.sure.some((rate) => amount >= askedBy(price, rate));
      return isWhole ? 'short, though as much was asked for' : valueFault(doc, worthOfAll(amount, rates.possible));
    }
    if (doc.reason === null && rates.possible.every((rate) => amount < askedBy(price, rate)))
      return 'the whole price, though every page asked for more';
    if (terms.priceType !== 'FIXED') return null;
    const mostAsked = most(rates.possible.map((rate) => askedBy(price, rate)));
    if (doc.reason === 'overpaid')
      return rates.sure.length > 0 && amount <= most(rates.sure.map((rate) => askedBy(price, rate)))
        ? 'too much, though so much was asked for'
        : valueFault(
            doc,
            worthOfAll(amount, rates.possible).filter((each) =>
              worthOfAll(amount, rates.sure).every((sure) => each <= sure),
            ),
          );
    if (amount > mostAsked) return `no overpayment, though no page asked for more than ${mostAsked} stroops`;
    return valueFault(doc, [price]);
  }

  /** Whether orders in the currency are paid by what was shown. */
  checkoutFaults(known: Knowledge, checkout: Doc, payments: readonly Doc[]): string[] {
    const name = `checkout ${checkout._id.slice(-6)} of ${checkout.price} ${checkout.currency}`;
    const whole = stroops(checkout.price)!;
    const price = whole - slackOf(whole, checkout.tolerancePercent, CENT);
    const counted = payments.filter(({ status, afterAcceptance }) => status !== 'REJECTED' && !afterAcceptance);
    const sums = counted.map((doc) => {
      const { sure, possible: all } = this.#ratesFor(known, doc.accountId, doc.ledgerClosedAt.getTime());
      const amount = stroops(doc.amount)!;
      const worth = (rates: readonly bigint[]) =>
        rates.length === 0 ? 0n : most(rates.map((rate) => worthBy(amount, rate)));
      return { sure: worth(sure), possible: worth(all) };
    });
    const sum = (of: 'sure' | 'possible') => sums.reduce((total, each) => total + each[of], 0n);
    const isDecided = checkout.acceptedFrom || checkout.cancelledFrom || (checkout.returned ?? []).length > 0;
    const faults = isDecided
      ? []
      : [...this.#looksUnheeded(name, checkout, counted), ...this.#excessFaults(known, name, checkout, counted)];
    if (checkout.status === 'PAID' && !checkout.acceptedFrom && sum('possible') < price)
      faults.push(`${name} is PAID, though what came was never worth more than ${sum('possible')}`);
    if (checkout.status !== 'PAID' && !isDecided && sum('sure') >= price)
      faults.push(`${name} is ${checkout.status}, though what came was shown to be worth ${sum('sure')}`);
    return faults;
  }

  /** What a PAID order keeps was enough by the best rate that was shown, and is no more than the
   *  worst one asked for. All else that came is its excess, also parts that came without
   *  a rate. */
  #excessFaults(known: Knowledge, name: string, checkout: Doc, counted: readonly Doc[]): string[] {
    if (checkout.status !== 'PAID') return [];
    const rates = counted.flatMap(
      ({ accountId, ledgerClosedAt }) => this.#ratesFor(known, accountId, ledgerClosedAt.getTime()).possible,
    );
    const whole = stroops(checkout.price)!;
    const kept = counted.reduce((sum, { amount }) => sum + stroops(amount)!, -BigInt(checkout.excess ?? 0));
    const isEnough = rates.some(
      (rate) => worthBy(kept, rate) >= whole - slackOf(whole, checkout.tolerancePercent, CENT),
    );
    // Each part counts in whole cents.
    const asked = whole + BigInt(counted.length) * CENT;
    const isTooMuch = rates.every((rate) => worthBy(kept - 1n, rate) > asked);
    return isEnough && !isTooMuch
      ? []
      : [`${name} keeps ${kept} stroops and gives ${checkout.excess ?? 0} as its excess`];
  }

  /** Payments of what a page asked for the rest, within the lock, that did not complete
   *  the order. */
  #looksUnheeded(name: string, checkout: Doc, counted: readonly Doc[]): string[] {
    return counted
      .filter(({ status }) => status === 'UNDERPAID')
      .flatMap((doc) => {
        const closedMs = doc.ledgerClosedAt.getTime();
        const isEnough = ({ id, asked, atMs }: Look) =>
          id === checkout._id &&
          stroops(doc.amount)! >= asked &&
          atMs < closedMs &&
          atMs > closedMs + SECOND_MS - RATE_TIMES.lockMs;
        const look = this.looks.find(isEnough);
        return look
          ? [`${name} took ${doc.amount} for a part, though its page asked ${look.asked} stroops for the rest`]
          : [];
      });
  }

  /** Once everything is at rest. */
  check(stored: { ratePairs: readonly Doc[] }, nowMs: number): string[] {
    const newest = [...this.#samples.values()].at(-1)?.storedMs ?? Number.NEGATIVE_INFINITY;
    const isOld = stored.ratePairs.length > 0 && nowMs - newest > ROUNDS_TO_SAMPLE * INTERVAL_MS;
    const times = [...this.#samples.values()].map(({ storedMs }) => storedMs as number);
    const tooOften = times.some((ms, index) => index >= MANY && ms - times[index - MANY]! < (MANY / 2) * INTERVAL_MS);
    return [
      ...(isOld ? ['a pair is sampled no longer'] : []),
      ...(tooOften ? ['a pair is sampled more often than its interval lets it be'] : []),
    ];
  }
}

const refused = (doc: Doc, reason: string): string | null =>
  doc.status === 'REJECTED' && doc.reason === reason ? null : `${doc.status} ${doc.reason}, not ${reason}`;
const worthOfAll = (amount: bigint, rates: readonly bigint[]): bigint[] => rates.map((rate) => worthBy(amount, rate));
const valueFault = ({ value }: Doc, allowed: readonly bigint[]): string | null =>
  value && allowed.includes(stroops(value.amount)!) ? null : `of the value ${value?.amount}`;

/** Whether a payment belongs to a link whose product may have been priced in a currency then. */
export const isPriced = (known: Knowledge, linkId: string | null, paid: Pick<Paid, 'closedMs'>): boolean => {
  const link = linkId === null ? undefined : known.links.get(linkId);
  const terms = link && known.products.get(link.productId)?.terms;
  return terms !== undefined && possible(terms, paid.closedMs).some(({ currency }) => currency !== null);
};

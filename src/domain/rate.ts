/** Rates: the worth of one unit of an asset in a currency. Exact decimals on BigInt with at most 12
 *  significant digits; floats are never used.
 *
 *  Amounts of a currency are in 10^-7 units, like those of an asset, so `parseAmount` and
 *  `formatAmount` serve both. */

import { minorDigits } from '../../contracts/currencies.js';
import type { Network } from '../../contracts/networks.js';
import type { Asset } from './asset.js';

// A pair: an asset on a network, and a currency.

export interface Pair {
  currency: string;
  asset: Asset;
  network: Network;
}

/** The most pairs that one account may be the first to need: opening a pair is cheap, but each one
 *  costs requests. */
export const MAX_PAIRS_PER_ACCOUNT = 100;

/** The key of the pair's samples. */
export const pairKey = ({ currency, asset, network }: Pair): string =>
  [network, currency, asset.code, ...(asset.issuer === null ? [] : [asset.issuer])].join(' ');

/** `units / 10^scale`, greater than 0, without trailing zeros after the point. */
export interface Rate {
  units: bigint;
  /** At least 0. */
  scale: number;
}

/** The most decimal places. This bounds the numbers that a server can make the service
 *  calculate with. */
const MOST_PLACES = 24;
const SIGNIFICANT_DIGITS = 12;
/** The most digits before the point, so that sums of values stay exact. */
const MOST_WHOLE_DIGITS = 12;
const AMOUNT_SCALE = 7;

const POWERS = Array.from({ length: 64 }, (_, exponent) => 10n ** BigInt(exponent));
const pow10 = (exponent: number): bigint => POWERS[exponent] ?? 10n ** BigInt(exponent);

/** Rounded up. @param divisor greater than 0 */
const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/** The rate `dividend / divisor`, rounded to 12 significant digits (half up). Null when it is not
 *  greater than 0, or out of bounds. */
export function toRate(dividend: bigint, divisor: bigint): Rate | null {
  if (dividend <= 0n || divisor <= 0n) return null;
  const places = SIGNIFICANT_DIGITS - (digitsOf(dividend) - digitsOf(divisor));
  // The quotient has 12 or 13 digits at this scale.
  const rate = roundedAt(dividend, divisor, places);
  return digitsOf(rate.units) <= SIGNIFICANT_DIGITS
    ? canonical(rate)
    : canonical(roundedAt(dividend, divisor, places - 1));
}

const digitsOf = (value: bigint): number => value.toString().length;

function roundedAt(dividend: bigint, divisor: bigint, places: number): Rate {
  const [top, bottom] = places >= 0 ? [dividend * pow10(places), divisor] : [dividend, divisor * pow10(-places)];
  return { units: (2n * top + bottom) / (2n * bottom), scale: places };
}

function canonical({ units, scale }: Rate): Rate | null {
  let [least, places] = [units, scale];
  while (places > 0 && least % 10n === 0n) {
    least /= 10n;
    places -= 1;
  }
  if (places < 0) [least, places] = [least * pow10(-places), 0];
  const isOutOfBounds = places > MOST_PLACES || digitsOf(least) - places > MOST_WHOLE_DIGITS;
  return least <= 0n || isOutOfBounds ? null : { units: least, scale: places };
}

/** Plain decimal text with at most 12 significant digits: the form of storage and API. Null for any
 *  other text. */
export function parseRate(text: string): Rate | null {
  const match = /^(0|[1-9]\d{0,11})(?:\.(\d{1,24}))?$/.exec(text);
  if (!match) return null;
  const [, whole = '', fraction = ''] = match;
  const rate = canonical({ units: BigInt(whole + fraction), scale: fraction.length });
  if (!rate) return null;
  const significant = rate.units.toString().replace(/0+$/, '');
  return significant.length <= SIGNIFICANT_DIGITS ? rate : null;
}

/** A number as a server writes it, perhaps with an exponent, rounded to 12 significant digits. Null
 *  for anything but a rate: text, 0, less. */
export function readRate(text: string): Rate | null {
  const match = /^(\d{1,40})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text);
  if (!match) return null;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const places = fraction.length - Number(exponent);
  const units = BigInt(whole + fraction);
  return places >= 0 ? toRate(units, pow10(places)) : toRate(units * pow10(-places), 1n);
}

/** Canonical plain decimal text. */
export function formatRate({ units, scale }: Rate): string {
  if (scale === 0) return units.toString();
  const digits = units.toString().padStart(scale + 1, '0');
  return `${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

/** Less than 0 if the first is less. */
export function compareRates(one: Rate, other: Rate): number {
  const difference = one.units * pow10(other.scale) - other.units * pow10(one.scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** The worth of one unit in a third currency, from its rate in a second and the second's rate in
 *  the third. Null when out of bounds. */
export const crossRate = (one: Rate, other: Rate): Rate | null =>
  toRate(one.units * other.units, pow10(one.scale + other.scale));

/** How much of the second currency one unit of the first is worth, from rates of the same unit
 *  in both. */
export const rateBetween = (from: Rate, to: Rate): Rate | null =>
  toRate(to.units * pow10(from.scale), from.units * pow10(to.scale));

/** Lowers a rate by a percentage. @param percent less than 100; null for none */
export function lowerRate(rate: Rate, percent: Rate | null): Rate | null {
  if (percent === null) return rate;
  const hundred = 100n * pow10(percent.scale);
  return toRate(rate.units * (hundred - percent.units), pow10(rate.scale) * hundred);
}

/** The stroops that a price asks for, rounded up. @param price in 10^-7 units of the currency */
export const askedFor = (price: bigint, { units, scale }: Rate): bigint => divideUp(price * pow10(scale), units);

/** The worth of stroops, rounded down to the currency's minor digits. @returns 10^-7 units of
 *  the currency */
export function worthOf(stroops: bigint, { units, scale }: Rate, currency: string): bigint {
  const grid = pow10(AMOUNT_SCALE - minorDigits(currency));
  return ((stroops * units) / (pow10(scale) * grid)) * grid;
}

/** Whether the higher rate is more than this percentage above the lower. */
export function differBy(percent: bigint, one: Rate, other: Rate): boolean {
  const [low, high] = compareRates(one, other) < 0 ? [one, other] : [other, one];
  return high.units * pow10(low.scale) * 100n > low.units * pow10(high.scale) * (100n + percent);
}

/** The middle rate; for an even number the mean of the middle two. @param rates never empty */
export function medianOf(rates: readonly Rate[]): Rate {
  const sorted = [...rates].sort(compareRates);
  const upper = sorted[Math.floor(sorted.length / 2)]!;
  if (sorted.length % 2 === 1) return upper;
  const lower = sorted[sorted.length / 2 - 1]!;
  const sum = lower.units * pow10(upper.scale) + upper.units * pow10(lower.scale);
  return toRate(sum, 2n * pow10(lower.scale + upper.scale))!;
}

/** Two sources that differ by more percent yield no sample. */
const AGREE_WITHIN = 5n;
/** A sample that differs by more percent from the last must be confirmed by a second one. */
const JUMP = 20n;

type Agreement = { outcome: 'agreed'; rate: Rate } | { outcome: 'none' } | { outcome: 'disagreed' };

/** The common rate of the sources' answers. */
export function agree(rates: readonly Rate[]): Agreement {
  if (rates.length === 0) return { outcome: 'none' };
  if (rates.length === 2 && differBy(AGREE_WITHIN, rates[0]!, rates[1]!)) return { outcome: 'disagreed' };
  return { outcome: 'agreed', rate: medianOf(rates) };
}

/** An answer that a sample is made of. */
export interface RateAnswer {
  /** The source, and what it was asked for. */
  of: string;
  rate: Rate;
  /** The source's time, otherwise the time of the answer. */
  at: Date;
}

/** A rate that was found to be a jump from the newest sample. */
interface Jumped {
  rate: Rate;
  /** The answers that may be wrong. */
  suspects: readonly RateAnswer[];
}

/** Whether a rate counts now, or must be confirmed first: by newer answers than those that jumped,
 *  not by the same ones taken again.
 *  @param last rate of the newest sample
 *  @param jumped what was last found to be a jump from it; null for none */
export function countsNow(
  { rate, answers }: { rate: Rate; answers: readonly RateAnswer[] },
  last: Rate | null,
  jumped: Jumped | null,
): boolean {
  if (last === null || !jumps(last, rate)) return true;
  if (jumped === null || jumps(jumped.rate, rate)) return false;
  return jumped.suspects.every((suspect) => answers.every(({ of, at }) => of !== suspect.of || at > suspect.at));
}

/** Answers that are older by more than this than the newest one are of a source that answers once
 *  a day. */
const OFTEN_MS = 3_600_000;

/** The answers of a jump that may be wrong: those that moved by more than 5 % from what their
 *  sources said for the last sample; if none did, all that differ from it.
 *  @param last what the last sample was made of. Empty when that is not known any more: then only
 *  sources that answer often are suspected, or another day of a bank would be waited for */
export function suspectsOf(answers: readonly RateAnswer[], last: readonly RateAnswer[]): RateAnswer[] {
  if (last.length === 0) {
    const newestMs = Math.max(...answers.map(({ at }) => at.getTime()));
    return answers.filter(({ at }) => newestMs - at.getTime() <= OFTEN_MS);
  }
  const before = new Map(last.map((answer) => [answer.of, answer]));
  const isNew = ({ of, at, rate }: RateAnswer) =>
    before.get(of)?.at.getTime() !== at.getTime() || compareRates(before.get(of)!.rate, rate) !== 0;
  const moved = answers.filter(({ of, rate }) => {
    const known = before.get(of);
    return !known || differBy(AGREE_WITHIN, known.rate, rate);
  });
  return moved.length > 0 ? moved : answers.filter(isNew);
}

export function jumps(from: Rate, to: Rate): boolean {
  const [before, after] = [from.units * pow10(to.scale), to.units * pow10(from.scale)];
  const change = after > before ? after - before : before - after;
  return change * 100n > before * JUMP;
}

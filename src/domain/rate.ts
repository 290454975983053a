/** Rates: what one unit of an asset is worth in a currency. Exact decimals on BigInt, of at most 12 significant digits; a float never exists.
 *
 *  An amount of a currency has the same form as one of an asset: 10^7 units each, so `parseAmount` and `formatAmount` serve both. */
import { minorDigits } from '../../contracts/currencies.js';

/** `units / 10^scale`, greater than 0, without trailing zeros behind the point. */
export interface Rate {
  units: bigint;
  /** From 0. */
  scale: number;
}

/** Nothing is worth more, or less than its reciprocal. It bounds what a server can make us calculate with. */
const MOST_PLACES = 24;
const SIGNIFICANT_DIGITS = 12;
/** So that sums of values stay exact. */
const MOST_WHOLE_DIGITS = 12;
const AMOUNT_SCALE = 7;

const pow10 = (exponent: number): bigint => 10n ** BigInt(exponent);

/** Rounded up. @param divisor greater than 0 */
const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/** The rate `dividend / divisor`, rounded to 12 significant digits (half up). Null when it is not greater than 0, or out of all bounds. */
export function toRate(dividend: bigint, divisor: bigint): Rate | null {
  if (dividend <= 0n || divisor <= 0n) return null;
  const places = SIGNIFICANT_DIGITS - (digitsOf(dividend) - digitsOf(divisor));
  // The quotient has 12 or 13 digits there.
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

/** Plain decimal text of at most 12 significant digits, as it is stored and as the API takes it. Null for anything else. */
export function parseRate(text: string): Rate | null {
  const match = /^(0|[1-9]\d{0,11})(?:\.(\d{1,24}))?$/.exec(text);
  if (!match) return null;
  const [, whole = '', fraction = ''] = match;
  const rate = canonical({ units: BigInt(whole + fraction), scale: fraction.length });
  if (!rate) return null;
  const significant = rate.units.toString().replace(/0+$/, '');
  return significant.length <= SIGNIFICANT_DIGITS ? rate : null;
}

/** A number as a server writes it, with or without an exponent, rounded to 12 significant digits. Null for anything that is no rate: text, 0, less. */
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

/** Less than 0 when the first is less. */
export function compareRates(one: Rate, other: Rate): number {
  const difference = one.units * pow10(other.scale) - other.units * pow10(one.scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** What one unit is worth in a third currency. Null when that is out of all bounds. */
export const crossRate = (one: Rate, other: Rate): Rate | null =>
  toRate(one.units * other.units, pow10(one.scale + other.scale));

/** How much of the second's currency one unit of the first's is, where both rates are of the same unit. */
export const rateBetween = (from: Rate, to: Rate): Rate | null =>
  toRate(to.units * pow10(from.scale), from.units * pow10(to.scale));

/** Lower by so many percent. @param percent canonical text of an amount, less than 100 */
export function lowerRate(rate: Rate, percent: Rate | null): Rate | null {
  if (percent === null) return rate;
  const hundred = 100n * pow10(percent.scale);
  return toRate(rate.units * (hundred - percent.units), pow10(rate.scale) * hundred);
}

/** The stroops that are asked for a price: rounded up. @param price 10^7 units of the currency each */
export const askedFor = (price: bigint, { units, scale }: Rate): bigint => divideUp(price * pow10(scale), units);

/** What stroops are worth, rounded down to the currency's minor digits. @returns 10^7 units of the currency each */
export function worthOf(stroops: bigint, { units, scale }: Rate, currency: string): bigint {
  const grid = pow10(AMOUNT_SCALE - minorDigits(currency));
  return ((stroops * units) / (pow10(scale) * grid)) * grid;
}

/** Whether the higher is more than so many percent above the lower. */
export function differBy(percent: bigint, one: Rate, other: Rate): boolean {
  const [low, high] = compareRates(one, other) < 0 ? [one, other] : [other, one];
  return high.units * pow10(low.scale) * 100n > low.units * pow10(high.scale) * (100n + percent);
}

/** The rate in the middle; with an even number the mean of the two there. @param rates never empty */
export function medianOf(rates: readonly Rate[]): Rate {
  const sorted = [...rates].sort(compareRates);
  const upper = sorted[Math.floor(sorted.length / 2)]!;
  if (sorted.length % 2 === 1) return upper;
  const lower = sorted[sorted.length / 2 - 1]!;
  const sum = lower.units * pow10(upper.scale) + upper.units * pow10(lower.scale);
  return toRate(sum, 2n * pow10(lower.scale + upper.scale))!;
}

/** Two sources that differ by more make no sample. */
const AGREE_WITHIN = 5n;
/** A sample that differs by more from the one before has to be confirmed by a second. */
const JUMP = 20n;

export type Agreement = { outcome: 'agreed'; rate: Rate } | { outcome: 'none' } | { outcome: 'disagreed' };

/** The rate that the sources' answers make together. */
export function agree(rates: readonly Rate[]): Agreement {
  if (rates.length === 0) return { outcome: 'none' };
  if (rates.length === 2 && differBy(AGREE_WITHIN, rates[0]!, rates[1]!)) return { outcome: 'disagreed' };
  return { outcome: 'agreed', rate: medianOf(rates) };
}

/** Whether a rate counts now, or has to be confirmed first.
 *  @param last of the newest sample
 *  @param unconfirmed that was last found to be a jump from it; null for none */
export function countsNow(rate: Rate, last: Rate | null, unconfirmed: Rate | null): boolean {
  if (last === null || !jumps(last, rate)) return true;
  return unconfirmed !== null && !jumps(unconfirmed, rate);
}

function jumps(from: Rate, to: Rate): boolean {
  const [before, after] = [from.units * pow10(to.scale), to.units * pow10(from.scale)];
  const change = after > before ? after - before : before - after;
  return change * 100n > before * JUMP;
}

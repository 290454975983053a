/** What a payment counts for, where its price is in a currency or in the asset itself. Pure.
 *
 *  A payment that is judged by several rates is judged for the payer's good: the least that any of them asked is enough, and what lies between the least
 *  and the most is exactly paid. What is more was paid by the rate that asked most; what is less counts by the one that asked least. So an amount that
 *  a page asked for within the lock always pays what was due then. */
import { askedFor, compareRates, worthOf } from './rate.js';
import type { ShownRate } from './shown-rates.js';

/** By what a price is paid: rates that were shown, never empty, or null where the price is in the asset itself. */
export type PaidBy = { currency: string; rates: readonly ShownRate[] } | null;

/** Stroops that were asked for what is due. */
interface Asked {
  least: bigint;
  most: bigint;
}

/** What a payment counted for in its currency. `amount`: 10^7 units of it each. */
export interface Value extends ShownRate {
  currency: string;
  amount: bigint;
}

/** A payment measured against what is due. Everything but `asked` is in the units of the price: stroops, or 10^7 units of the currency each. */
interface Measured {
  asked: Asked;
  side: 'short' | 'exact' | 'over';
  /** What it counts for. */
  counts: bigint;
  /** Null where the price is in the asset itself. */
  value: Value | null;
}

/** @param due in the units of the price; 0 where any amount will do */
export function measure(by: PaidBy, due: bigint, amount: bigint): Measured {
  if (!by) {
    const side = amount < due ? 'short' : amount === due ? 'exact' : 'over';
    return { asked: { least: due, most: due }, side, counts: amount, value: null };
  }
  const { currency, rates } = by;
  const best = extreme(rates, 1);
  const worst = extreme(rates, -1);
  const asked = { least: askedFor(due, best.rate), most: askedFor(due, worst.rate) };
  const valued = (side: Measured['side'], rate: ShownRate, counts: bigint): Measured => ({
    asked,
    side,
    counts,
    value: { ...rate, currency, amount: counts },
  });
  if (amount < asked.least) return valued('short', best, worthOf(amount, best.rate, currency));
  if (amount > asked.most) return valued('over', worst, worthOf(amount, worst.rate, currency));
  return valued('exact', closest(rates, due, amount), due);
}

/** The highest rate asks least. Of those that are alike the newest. */
const extreme = (rates: readonly ShownRate[], sign: 1 | -1): ShownRate =>
  rates.reduce((found, each) => (sign * compareRates(each.rate, found.rate) >= 0 ? each : found));

/** The rate that the payer most likely saw: of those that the amount was enough for, the one that asked most. */
function closest(rates: readonly ShownRate[], due: bigint, amount: bigint): ShownRate {
  const enough = rates.filter(({ rate }) => askedFor(due, rate) <= amount);
  return extreme(enough, -1);
}

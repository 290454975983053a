/** What a payment counts for, with a price in a currency or in the asset itself. Pure.
 *
 *  If several rates may apply, the payer benefits: the least amount that any of them asked is
 *  enough, and an amount between the least and the most is an exact payment. A larger amount was
 *  paid by the rate that asked most; a smaller one counts by the rate that asked least. So an
 *  amount that a page showed within the lock always pays what was due then. */
import { unitOf } from './order.js';
import { askedFor, worthOf } from './rate.js';
import type { ShownRate } from './shown-rates.js';

/** How a price is paid: by rates that were shown, each another, the lowest first, never empty; null
 *  for a price in the asset itself. */
export type PaidBy = { currency: string; rates: readonly ShownRate[] } | null;

/** Stroops asked for the amount due. */
interface Asked {
  least: bigint;
  most: bigint;
}

/** What a payment counted for in its currency. `amount` is in 10^-7 units of the currency. */
export interface Value extends ShownRate {
  currency: string;
  amount: bigint;
}

const ALL = 10_000n;

/** The least that is enough for a price: the price less the tolerance, rounded up to the
 *  smallest unit.
 *  @param tolerance in hundredths of a percent @param currency null for a price in the
 *  asset itself */
export function enoughFor(price: bigint, tolerance: bigint, currency: string | null): bigint {
  const unit = unitOf(currency);
  const enough = (price * (ALL - tolerance) + ALL * unit - 1n) / (ALL * unit);
  return enough * unit < price ? enough * unit : price;
}

/** A payment measured against the amount due. Everything but `asked` is in units of the price:
 *  stroops, or 10^-7 units of the currency. */
interface Measured {
  asked: Asked;
  side: 'short' | 'exact' | 'over';
  /** What it counts for. */
  counts: bigint;
  /** Null for a price in the asset itself. */
  value: Value | null;
}

/** @param due in units of the price; 0 accepts any amount */
export function measure(by: PaidBy, due: bigint, amount: bigint): Measured {
  if (!by) {
    const side = amount < due ? 'short' : amount === due ? 'exact' : 'over';
    return { asked: { least: due, most: due }, side, counts: amount, value: null };
  }
  const { currency, rates } = by;
  const [worst, best] = [rates[0]!, rates.at(-1)!];
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

/** The rate that the payer most likely saw: of those for which the amount was enough, the one that
 *  asked most. */
function closest(rates: readonly ShownRate[], due: bigint, amount: bigint): ShownRate {
  let [least, most] = [0, rates.length - 1];
  while (least < most) {
    const middle = (least + most) >>> 1;
    if (askedFor(due, rates[middle]!.rate) <= amount) most = middle;
    else least = middle + 1;
  }
  return rates[least]!;
}

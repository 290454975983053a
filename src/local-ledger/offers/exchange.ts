/** Core's arithmetic of two crossing offers. Prices are fractions and amounts whole stroops:
 *  rounding favours the offer that stays, by at most 1 %, beyond which nothing is exchanged. A path
 *  payment has its own bound and may lose more. */
import { MAX_INT64 } from '../stroops.js';

/** `strict_receive` meets the wanted amount to the stroop, `strict_send` the amount to pay. */
export type Rounding = 'normal' | 'strict_receive' | 'strict_send';

/** Units bought for one unit sold, as a fraction of two positive 31-bit integers. */
export interface Price {
  n: number;
  d: number;
}

/** Stroops. */
export interface Bounds {
  /** What the standing offer can give, and take in return. */
  canGive: bigint;
  canTake: bigint;
  /** What the taker wants, and can pay in return. */
  wanted: bigint;
  canPay: bigint;
}

export interface Exchange {
  /** By the taker. */
  received: bigint;
  paid: bigint;
  /** Whether the standing offer is the larger one and stays. The smaller one is used up. */
  stands: boolean;
}

/** The reciprocal of the largest deviation from a price by rounding. */
const PRICE_TOLERANCE = 100n;

export const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const ceil = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

/** Like `exchange`, however large the rounding. */
function exchangeAtAnyPrice({ n: over, d: under }: Price, bounds: Bounds, rounding: Rounding): Exchange {
  const [n, d] = [BigInt(over), BigInt(under)];
  const { canGive, canTake, wanted, canPay } = bounds;
  // Both offers in a common unit without fractions.
  const [standing, taking] = [least(canGive * n, canTake * d), least(canPay * d, wanted * n)];
  const stands = standing > taking;
  if (!stands) {
    if (n > d) {
      const received = standing / n;
      return { received, paid: (received * n) / d, stands };
    }
    const paid = standing / d;
    return { received: ceil(paid * d, n), paid, stands };
  }
  if (rounding === 'strict_send') return { received: taking / n, paid: least(canPay, canTake), stands };
  if (n > d || rounding === 'strict_receive') {
    const received = taking / n;
    return { received, paid: ceil(received * n, d), stands };
  }
  const paid = taking / d;
  return { received: (paid * d) / n, paid, stands };
}

/** Whether the exchange deviates from the price by at most 1 %. */
function isNear({ n, d }: Price, { received, paid }: Exchange): boolean {
  const [wanted, given] = [BigInt(n) * received, BigInt(d) * paid];
  const difference = wanted > given ? wanted - given : given - wanted;
  return PRICE_TOLERANCE * difference <= wanted;
}

export function exchange(price: Price, bounds: Bounds, rounding: Rounding): Exchange {
  const exchanged = exchangeAtAnyPrice(price, bounds, rounding);
  const nothing = { received: 0n, paid: 0n, stands: exchanged.stands };
  if (exchanged.received > 0n && exchanged.paid > 0n) {
    return rounding !== 'normal' || isNear(price, exchanged) ? exchanged : nothing;
  }
  // The sender of an exact amount may get nothing for the last stroop.
  return rounding === 'strict_send' ? exchanged : nothing;
}

const unbounded = (canGive: bigint, canTake: bigint): Bounds => ({
  canGive,
  canTake,
  wanted: MAX_INT64,
  canPay: MAX_INT64,
});

/** How much an offer can sell at its price to an unlimited taker; 0 if rounding leaves nothing. */
export const sellable = (price: Price, canGive: bigint, canTake: bigint): bigint =>
  exchange(price, unbounded(canGive, canTake), 'normal').received;

/** The most that an offer within these bounds takes from its account and brings to it. */
export function owedBy(price: Price, { canGive = MAX_INT64, canTake = MAX_INT64 }: Partial<Bounds>) {
  const { received, paid } = exchangeAtAnyPrice(price, unbounded(canGive, canTake), 'normal');
  return { selling: received, buying: paid };
}

/** Negative if `a` is the lower price. */
export function comparePrices(a: Price, b: Price): number {
  const difference = BigInt(a.n) * BigInt(b.d) - BigInt(b.n) * BigInt(a.d);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

export const inverse = ({ n, d }: Price): Price => ({ n: d, d: n });

/** Seven decimals, rounded half up, as Horizon writes it. */
export function priceText({ n, d }: Price): string {
  const scaled = (BigInt(n) * 20_000_000n + BigInt(d)) / (2n * BigInt(d));
  const digits = scaled.toString().padStart(8, '0');
  return `${digits.slice(0, -7)}.${digits.slice(-7)}`;
}

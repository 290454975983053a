/** Amounts asked by a current rate. */
import { formatAmount, MAX_STROOPS } from '../domain/amount.js';
import { askedFor, formatRate } from '../domain/rate.js';
import type { CurrentRate } from './book.js';

export interface Quote {
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

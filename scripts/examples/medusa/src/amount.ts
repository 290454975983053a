/** Converts amounts between Medusa and stellar-collect exactly: as decimal text, and as integers of
 *  a ten-millionth for calculations, never as floats. */
import type { BigNumberInput } from '@medusajs/framework/types';

const DECIMALS = 7;

interface Exact {
  value: string | number;
}

/** The decimal text of an amount in any of Medusa's forms. @throws Error when it has none that
 *  is exact */
export function decimalOf(amount: BigNumberInput): string {
  if (typeof amount === 'object') {
    if ('toFixed' in amount && typeof amount.toFixed === 'function') return decimalOf(amount.toFixed());
    // The exact value comes beside a float, or alone.
    const { raw, value, numeric } = amount as { raw?: Exact; value?: Exact['value']; numeric?: number };
    return decimalOf(raw?.value ?? value ?? numeric ?? '');
  }
  const text = String(amount);
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`${text} is no amount that Stellar can pay`);
  return text;
}

/** @param decimal amount of stellar-collect, with at most 7 decimals */
export function stroopsOf(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  if (fraction.length > DECIMALS) throw new Error(`${decimal} has more than ${DECIMALS} decimals`);
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
}

/** The canonical form of stellar-collect: `10.5`. */
export function decimalOfStroops(stroops: bigint): string {
  const digits = stroops.toString().padStart(DECIMALS + 1, '0');
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, '');
}

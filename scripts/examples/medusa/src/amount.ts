/** Amounts between Medusa and stellar-collect, exact: decimal text here, integers of a ten-millionth to calculate with. No float is calculated with. */
import type { BigNumberInput } from '@medusajs/framework/types';

const DECIMALS = 7;

interface Exact {
  value: string | number;
}

/** Decimal text of an amount in whichever of Medusa's forms. @throws Error where it has no exact one */
export function decimalOf(amount: BigNumberInput): string {
  if (typeof amount === 'object') {
    if ('toFixed' in amount && typeof amount.toFixed === 'function') return decimalOf(amount.toFixed());
    // The exact value stands beside a float, or alone.
    const { raw, value, numeric } = amount as { raw?: Exact; value?: Exact['value']; numeric?: number };
    return decimalOf(raw?.value ?? value ?? numeric ?? '');
  }
  const text = String(amount);
  if (!/^\d+(\.\d+)?$/.test(text)) throw new Error(`${text} is no amount that Stellar can pay`);
  return text;
}

/** @param decimal at most 7 decimals, as stellar-collect writes it */
export function stroopsOf(decimal: string): bigint {
  const [whole = '', fraction = ''] = decimal.split('.');
  if (fraction.length > DECIMALS) throw new Error(`${decimal} has more than ${DECIMALS} decimals`);
  return BigInt(whole + fraction.padEnd(DECIMALS, '0'));
}

/** `10.5`, as stellar-collect writes it. */
export function decimalOfStroops(stroops: bigint): string {
  const digits = stroops.toString().padStart(DECIMALS + 1, '0');
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`.replace(/\.?0+$/, '');
}

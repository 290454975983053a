/** Money is an integer number of stroops (1 unit = 10^7 stroops) in a BigInt. Text is its only
 *  other form; floats are never used. */

import { AMOUNT_PATTERN } from '../../contracts/currencies.js';

/** int64 max: the largest amount the ledger can hold, `922337203685.4775807`. */
export const MAX_STROOPS = 9_223_372_036_854_775_807n;
const SCALE = 10_000_000n;

/** `"10.50"` → `105000000n`. Null for text that is not an amount or exceeds int64. Zero is allowed;
 *  callers judge it. */
export function parseAmount(text: string): bigint | null {
  if (!AMOUNT_PATTERN.test(text)) return null;
  const [whole = '0', fraction = ''] = text.split('.');
  const stroops = BigInt(whole) * SCALE + BigInt(fraction.padEnd(7, '0'));
  return stroops <= MAX_STROOPS ? stroops : null;
}

/** Reads canonical text of any size, such as a sum of amounts. @throws RangeError for any
 *  other text */
export function parseSum(text: string): bigint {
  const [, whole, fraction = ''] = /^(\d+)(?:\.(\d{1,7}))?$/.exec(text) ?? [];
  if (whole === undefined) throw new RangeError(`no amount: ${text}`);
  return BigInt(whole) * SCALE + BigInt(fraction.padEnd(7, '0'));
}

/** `105000000n` → `"10.5"`: canonical, without trailing zeros. */
export function formatAmount(stroops: bigint): string {
  if (stroops < 0n) throw new RangeError(`negative amount: ${stroops}`);
  const fraction = (stroops % SCALE).toString().padStart(7, '0').replace(/0+$/, '');
  const whole = (stroops / SCALE).toString();
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** The same with a `-` for negative stroops. */
export const formatSigned = (stroops: bigint): string =>
  stroops < 0n ? `-${formatAmount(-stroops)}` : formatAmount(stroops);

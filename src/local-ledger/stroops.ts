/** Amounts of the ledger: integer stroops in a BigInt, written like Horizon's, always with
 *  seven decimals. */

export const MAX_INT64 = 9_223_372_036_854_775_807n;
export const MAX_UINT64 = 18_446_744_073_709_551_615n;
export const STROOPS_PER_UNIT = 10_000_000n;

/** Stroops per operation in a ledger without congestion. */
export const BASE_FEE = 100n;
/** Half a lumen is locked for each entry of an account; the account itself counts as two. */
export const BASE_RESERVE = 5_000_000n;
/** The ledger starts with a hundred billion lumens, all on the root account. */
export const TOTAL_COINS = 100_000_000_000n * STROOPS_PER_UNIT;

/** `15000000n` → `"1.5000000"`. */
export function toAmount(stroops: bigint): string {
  const sign = stroops < 0n ? '-' : '';
  const digits = (stroops < 0n ? -stroops : stroops).toString().padStart(8, '0');
  return `${sign}${digits.slice(0, -7)}.${digits.slice(-7)}`;
}

/** `"1.5"` → `15000000n`; null for anything but a plain decimal with at most seven decimals. */
export function fromAmount(text: string): bigint | null {
  const [, whole, fraction = ''] = /^(\d{1,12})(?:\.(\d{1,7}))?$/.exec(text) ?? [];
  return whole === undefined ? null : BigInt(whole + fraction.padEnd(7, '0'));
}

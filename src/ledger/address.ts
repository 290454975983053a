/** Addresses as ledger sources write them (SEP-23). Money belongs to base accounts, whatever the form of their address. */
import { parseStrkey, type StrkeyKind, strkeyOf } from '../domain/strkey.js';

/** The contract (C…) of a C… or W… address; null for any other text. */
export function contractOf(text: string): string | null {
  const parsed = parseStrkey(text);
  if (parsed?.kind === 'W') return strkeyOf('C', parsed.bytes.subarray(0, CONTRACT_BYTES));
  return parsed?.kind === 'C' ? text : null;
}

const CONTRACT_BYTES = 32;
const OTHER_HOLDERS: readonly (StrkeyKind | undefined)[] = ['C', 'W', 'B', 'L'];

/** Whether the address is a holder other than an account: a contract (C…, or W… with an id), a claimable balance (B…) or a liquidity pool (L…). */
export const isOtherHolder = (text: string): boolean => OTHER_HOLDERS.includes(parseStrkey(text)?.kind);

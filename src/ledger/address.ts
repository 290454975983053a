/** Addresses as sources of the ledger write them (SEP-23): money belongs to base accounts, whatever form their address has. */
import { isAccountAddress } from '../../contracts/address.js';
import { parseMuxed } from '../domain/muxed.js';
import { parseStrkey, type StrkeyKind, strkeyOf } from '../domain/strkey.js';

/** The base account, G…, of a G… or M… address; null for anything else. */
export function accountOf(text: string): string | null {
  return isAccountAddress(text) ? text : (parseMuxed(text)?.account ?? null);
}

/** The contract, C…, of a C… or W… address; null for anything else. */
export function contractOf(text: string): string | null {
  const parsed = parseStrkey(text);
  if (parsed?.kind === 'W') return strkeyOf('C', parsed.bytes.subarray(0, CONTRACT_BYTES));
  return parsed?.kind === 'C' ? text : null;
}

const CONTRACT_BYTES = 32;
const OTHER_HOLDERS: readonly (StrkeyKind | undefined)[] = ['C', 'W', 'B', 'L'];

/** What else can hold a balance: contracts (C…, W… with an id of theirs), claimable balances (B…), liquidity pools (L…). */
export const isOtherHolder = (text: string): boolean => OTHER_HOLDERS.includes(parseStrkey(text)?.kind);

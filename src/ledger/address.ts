/** Addresses as sources of the ledger write them (SEP-23): money belongs to base accounts, whatever form their address has. */
import { isAccountAddress } from '../../contracts/address.js';
import { parseMuxed } from '../domain/muxed.js';
import { StrKey } from '../domain/stellar-sdk.js';

/** The base account, G…, of a G… or M… address; null for anything else. */
export function accountOf(text: string): string | null {
  return isAccountAddress(text) ? text : (parseMuxed(text)?.account ?? null);
}

/** Whoever else can hold a balance: contracts (C…), claimable balances (B…), liquidity pools (L…). */
export const isOtherHolder = (text: string): boolean =>
  StrKey.isValidContract(text) || StrKey.isValidClaimableBalance(text) || StrKey.isValidLiquidityPool(text);

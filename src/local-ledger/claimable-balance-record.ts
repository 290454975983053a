/** Horizon's record of a claimable balance, without links. */
import { xdr } from '@stellar/stellar-sdk/base';
import { canonicalAsset } from './asset.js';
import type { ClaimableBalanceEntry } from './entries.js';
import { toTimestamp } from './headers.js';
import { predicateRecord } from './operations/claim-predicate.js';
import { toAmount } from './stroops.js';

export function claimableBalanceRecord(
  entry: ClaimableBalanceEntry,
): { paging_token: string } & Record<string, unknown> {
  return {
    id: entry.owner,
    asset: canonicalAsset(entry.asset),
    amount: toAmount(entry.amount),
    ...(entry.sponsor ? { sponsor: entry.sponsor } : {}),
    last_modified_ledger: entry.modified.ledger,
    last_modified_time: toTimestamp(entry.modified.time),
    claimants: entry.claimants.map(({ destination, predicate }) => ({
      destination,
      predicate: predicateRecord(xdr.ClaimPredicate.fromXdr(predicate, 'base64')),
    })),
    flags: { clawback_enabled: entry.isClawbackEnabled },
    paging_token: `${entry.modified.ledger}-${entry.owner}`,
  };
}

/** The movement of money in payments and path payments. Like core, it checks the destination before
 *  the source. */
import type { LedgerAsset } from '../asset.js';
import { assetFields } from '../asset.js';
import { accountKey, trustlineKey } from '../entries.js';
import { type CreditFailure, creditTo, type DebitFailure, debitFrom } from '../offers/holdings.js';
import type { Party } from '../party.js';
import { toAmount } from '../stroops.js';
import { type Context, effects } from './kind.js';

export type TransferFailure = 'noDestination' | CreditFailure | DebitFailure;

export function transferKeys(from: string, to: string, asset: LedgerAsset): string[] {
  return asset === null ? [accountKey(to)] : [accountKey(to), trustlineKey(to, asset), trustlineKey(from, asset)];
}

/** Moves `amount` and notes the effects, or returns the reason for not doing so. An issuer needs no
 *  trustline: paying out mints, paying back burns. */
export function transfer(
  { view, effects: done, movements }: Context,
  from: string,
  destination: Party,
  asset: LedgerAsset,
  amount: bigint,
): TransferFailure | null {
  const to = destination.id;
  if (!(asset === null && from === to)) {
    if (asset?.issuer !== to && view.account(to) === null) return 'noDestination';
    const failure = creditTo(view, to, asset, amount) ?? debitFrom(view, from, asset, amount);
    if (failure !== null) return failure;
  }
  const fields = assetFields(asset);
  done.push(effects.credited(to, fields, toAmount(amount)), effects.debited(from, fields, toAmount(amount)));
  const toMuxedId = destination.muxed?.id ?? null;
  movements.push({ kind: 'transfer', from, to, toMuxedId, asset, amount, showsMemo: true });
  return null;
}

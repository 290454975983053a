/** The movement of money that payments and path payments share: the destination is checked before the source, as core does. */
import type { LedgerAsset } from '../asset.js';
import { assetFields } from '../asset.js';
import { accountKey, availableBalance, LINE_AUTHORIZED, trustlineKey } from '../entries.js';
import type { Party } from '../party.js';
import { MAX_INT64, toAmount } from '../stroops.js';
import { type Context, effects } from './kind.js';

export type TransferFailure =
  | 'noDestination'
  | 'noTrust'
  | 'notAuthorized'
  | 'lineFull'
  | 'srcNoTrust'
  | 'srcNotAuthorized'
  | 'underfunded';

export function transferKeys(from: string, to: string, asset: LedgerAsset): string[] {
  return asset === null ? [accountKey(to)] : [accountKey(to), trustlineKey(to, asset), trustlineKey(from, asset)];
}

/** Moves `amount` and notes the effects, or tells why not. An issuer needs no trustline: paying out mints, paying back burns. */
export function transfer(
  { view, effects: done, movements }: Context,
  from: string,
  destination: Party,
  asset: LedgerAsset,
  amount: bigint,
): TransferFailure | null {
  const to = destination.id;
  if (!(asset === null && from === to)) {
    const failure = asset === null ? moveNative() : moveIssued();
    if (failure !== null) return failure;
  }
  const fields = assetFields(asset);
  done.push(effects.credited(to, fields, toAmount(amount)), effects.debited(from, fields, toAmount(amount)));
  const toMuxedId = destination.muxed?.id ?? null;
  movements.push({ kind: 'transfer', from, to, toMuxedId, asset, amount, showsMemo: true });
  return null;

  function moveNative(): TransferFailure | null {
    const receiver = view.account(to);
    if (receiver === null) return 'noDestination';
    if (receiver.balance > MAX_INT64 - amount) return 'lineFull';
    const payer = view.account(from)!;
    if (availableBalance(payer) < amount) return 'underfunded';
    view.update(receiver, (copy) => {
      copy.balance += amount;
    });
    view.update(payer, (copy) => {
      copy.balance -= amount;
    });
    return null;
  }

  function moveIssued(): TransferFailure | null {
    const issued = asset!;
    if (to !== issued.issuer) {
      if (view.account(to) === null) return 'noDestination';
      const line = view.trustline(to, issued);
      if (line === null) return 'noTrust';
      if ((line.flags & LINE_AUTHORIZED) === 0) return 'notAuthorized';
      if (line.limit - line.balance < amount) return 'lineFull';
      view.update(line, (copy) => {
        copy.balance += amount;
      });
    }
    if (from !== issued.issuer) {
      const line = view.trustline(from, issued);
      if (line === null) return 'srcNoTrust';
      if ((line.flags & LINE_AUTHORIZED) === 0) return 'srcNotAuthorized';
      if (line.balance < amount) return 'underfunded';
      view.update(line, (copy) => {
        copy.balance -= amount;
      });
    }
    return null;
  }
}

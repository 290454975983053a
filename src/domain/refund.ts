/** Refunds: which payment money that left a wallet gives back. Pure. Amounts are stroops. */
import type { Network } from '../../contracts/networks.js';
import { type Asset, sameAsset } from './asset.js';
import { type CreditMemo, normalizeMemo } from './memo.js';

/** The memo of a link or checkout that a refund's memo names, in canonical form: `refund <memo>`. Null when it is no such memo. */
export function memoRefunded(memo: CreditMemo): string | null {
  if (memo.type !== 'text' || !memo.valid) return null;
  const named = /^\s*refund\s+(\S+)\s*$/i.exec(memo.text)?.[1];
  return named === undefined ? null : normalizeMemo(named);
}

/** What makes a refund the same refund for an account, however often it is read and whichever hash its transaction is asked by: its place on the
 *  ledger. The close is a part of it, because operation ids repeat after a test network is reset.
 *  @param part of an operation that gives back several payments: 0 for the first */
export const refundId = (
  { accountId, network }: { accountId: string; network: Network },
  { operationId, changeIndex, closedAt }: { operationId: string; changeIndex: number; closedAt: Date },
  part = 0,
): string =>
  `${accountId}:${network}:${operationId}:${changeIndex}:${closedAt.getTime() / 1000}${part === 0 ? '' : `/${part}`}`;

/** The payer of a payment, or the receiver of a refund: two muxed accounts of one base account are two payers. */
export interface Payer {
  /** Base account or contract. */
  address: string;
  /** M…; null when it is not muxed. */
  muxedAddress: string | null;
}

/** Money that a wallet sent to a payer. */
export interface MoneyBack {
  receiver: Payer;
  asset: Asset;
  /** What arrived. */
  amount: bigint;
  closedAt: Date;
  operationId: string;
}

export interface Refundable {
  sender: Payer;
  asset: Asset;
  ledgerClosedAt: Date;
  operationId: string;
}

/** Whether money of that kind, named as the refund of this payment, gives it back: it went to its sender, in its asset, after it. Money to the bare
 *  base account may be that of any of its muxed accounts. */
export const givesBack = (back: MoneyBack, payment: Refundable): boolean =>
  back.receiver.address === payment.sender.address &&
  (back.receiver.muxedAddress === null || back.receiver.muxedAddress === payment.sender.muxedAddress) &&
  sameAsset(back.asset, payment.asset) &&
  comesBefore(payment, back);

/** Operations of one ledger are in the order of their ids. */
function comesBefore(payment: Refundable, back: MoneyBack): boolean {
  const ms = back.closedAt.getTime() - payment.ledgerClosedAt.getTime();
  return ms > 0 || (ms === 0 && BigInt(payment.operationId) < BigInt(back.operationId));
}

/** Shares out what was sent back over payments, none of which has as much left.
 *  @param left of each payment; perhaps less than 0
 *  @returns as many amounts; what is more than all have left stays with the first payment */
export function shareOut(amount: bigint, left: readonly bigint[]): bigint[] {
  let rest = amount;
  const shares = left.map((each) => {
    const share = each <= 0n ? 0n : each < rest ? each : rest;
    rest -= share;
    return share;
  });
  return shares.map((share, index) => (index === 0 ? share + rest : share));
}

/** Refunds: which payment is given back by money that left a wallet. Pure. Amounts are stroops. */
import type { Network } from '../../contracts/networks.js';
import { type Asset, sameAsset } from './asset.js';
import { type CreditMemo, normalizeMemo } from './memo.js';

/** The memo of the link or checkout that a refund's memo, `refund <memo>`, names, in canonical
 *  form. Null for any other memo. */
export function memoRefunded(memo: CreditMemo): string | null {
  if (memo.type !== 'text' || !memo.valid) return null;
  const named = /^\s*refund\s+(\S+)\s*$/i.exec(memo.text)?.[1];
  return named === undefined ? null : normalizeMemo(named);
}

/** Identifies a refund of an account by its place on the ledger, however often it is read and by
 *  whichever hash its transaction is requested. The close time is a part of it, because operation
 *  ids repeat after a reset.
 *  @param part of an operation that gives back several payments: 0 for the first */
export const refundId = (
  { accountId, network }: { accountId: string; network: Network },
  { operationId, changeIndex, closedAt }: { operationId: string; changeIndex: number; closedAt: Date },
  part = 0,
): string =>
  `${accountId}:${network}:${operationId}:${changeIndex}:${closedAt.getTime() / 1000}${part === 0 ? '' : `/${part}`}`;

/** The payer of a payment, or the receiver of a refund. Two muxed accounts of one base account are
 *  two payers. */
export interface Payer {
  /** Base account or contract. */
  address: string;
  /** M…; null if not muxed. */
  muxedAddress: string | null;
}

/** Money that a wallet sent to a payer. */
export interface MoneyBack {
  receiver: Payer;
  asset: Asset;
  /** The amount that arrived. */
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

/** Whether money that is named as this payment's refund gives it back: it must go to the payment's
 *  sender, in the same asset, after the payment. Money to the bare base account may be for any of
 *  its muxed accounts. */
export const isRefundOf = (back: MoneyBack, payment: Refundable): boolean =>
  back.receiver.address === payment.sender.address &&
  (back.receiver.muxedAddress === null || back.receiver.muxedAddress === payment.sender.muxedAddress) &&
  sameAsset(back.asset, payment.asset) &&
  comesBefore(payment, back);

/** Operations of one ledger are ordered by id. */
function comesBefore(payment: Refundable, back: MoneyBack): boolean {
  const ms = back.closedAt.getTime() - payment.ledgerClosedAt.getTime();
  return ms > 0 || (ms === 0 && BigInt(payment.operationId) < BigInt(back.operationId));
}

/** Shares out money that was sent back among payments, when no single one has that much left.
 *  @param left of each payment; perhaps less than 0
 *  @returns one amount for each payment; what exceeds all of `left` is added to the first */
export function shareOut(amount: bigint, left: readonly bigint[]): bigint[] {
  let rest = amount;
  const shares = left.map((each) => {
    const share = each <= 0n ? 0n : each < rest ? each : rest;
    rest -= share;
    return share;
  });
  return shares.map((share, index) => (index === 0 ? share + rest : share));
}

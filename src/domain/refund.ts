/** Refunds: which payment money that left a wallet gives back. Pure. Amounts are stroops. */
import { type Asset, sameAsset } from './asset.js';
import { type CreditMemo, normalizeMemo } from './memo.js';

/** The memo of a link or checkout that a refund's memo names, in canonical form: `refund <memo>`. Null when it is no such memo. */
export function memoRefunded(memo: CreditMemo): string | null {
  if (memo.type !== 'text' || !memo.valid) return null;
  const named = /^\s*refund\s+(\S+)\s*$/i.exec(memo.text)?.[1];
  return named === undefined ? null : normalizeMemo(named);
}

/** What makes a refund the same refund for an account, however often it is read. */
export const refundId = (
  accountId: string,
  refund: { operationId: string; changeIndex: number; transactionHash: string },
): string => `${accountId}:${refund.operationId}:${refund.changeIndex}:${refund.transactionHash}`;

/** Money that a wallet sent to a payer. */
export interface MoneyBack {
  /** Who got it: base account or contract. */
  receiver: string;
  asset: Asset;
  /** What arrived. */
  amount: bigint;
  closedAt: Date;
  operationId: string;
}

export interface Refundable {
  senderAddress: string;
  asset: Asset;
  amount: bigint;
  refunded: bigint;
  ledgerClosedAt: Date;
  operationId: string;
}

/** Whether it can give back this payment: it went to its sender, in its asset, after it. */
export const givesBack = (back: MoneyBack, payment: Refundable): boolean =>
  back.receiver === payment.senderAddress && sameAsset(back.asset, payment.asset) && comesBefore(payment, back);

/** Operations of one ledger are in the order of their ids. */
function comesBefore(payment: Refundable, back: MoneyBack): boolean {
  const ms = back.closedAt.getTime() - payment.ledgerClosedAt.getTime();
  return ms > 0 || (ms === 0 && BigInt(payment.operationId) < BigInt(back.operationId));
}

/** The oldest of the payments with as much left, else the oldest: more than was paid is booked as it happened. Null when it gives back none. */
export function paymentRefunded<Payment extends Refundable>(
  back: MoneyBack,
  payments: readonly Payment[],
): Payment | null {
  const oldestFirst = payments
    .filter((payment) => givesBack(back, payment))
    .toSorted(
      (a, b) =>
        a.ledgerClosedAt.getTime() - b.ledgerClosedAt.getTime() ||
        (BigInt(a.operationId) < BigInt(b.operationId) ? -1 : 1),
    );
  return oldestFirst.find(({ amount, refunded }) => amount - refunded >= back.amount) ?? oldestFirst[0] ?? null;
}

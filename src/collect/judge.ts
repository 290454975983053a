/** Judge: matched credits become payments with their verdicts. The rules themselves are in `domain/judge.ts` (links) and `domain/checkout.ts`. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount } from '../domain/amount.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import { unmatched } from '../domain/judge.js';
import { unmatchedReason } from '../domain/memo.js';
import type { PaymentTarget } from '../events/outbox.js';
import type { CheckoutDoc } from '../stores/checkouts.js';
import type { PaymentDoc } from '../stores/payments.js';
import { afterAcceptance, judgeByCheckout, judgeByHistory, type StoredVerdict, toStored } from '../stores/verdict.js';
import type { Match } from './match.js';

/** A payment as it is stored, and what it belongs to. */
export interface Judged {
  payment: PaymentDoc;
  wallet: Match['wallet'];
  /** A checkout as the payment left it. Null for an UNMATCHED payment. */
  target: PaymentTarget | null;
  /** The payment made its checkout PAID. */
  completesCheckout: boolean;
}

/** Judges in the order given, by the terms in force when each ledger closed. A payment of a checkout is judged by what those before it left. */
export function judgeMatches(network: Network, matches: readonly Match[], newId: NewId): Judged[] {
  const checkouts = new Map<string, CheckoutDoc>();
  return matches.map((match) => {
    const { credit, wallet } = match;
    const _id = newId('pay');
    const createdAt = createdAtOf(_id);
    const { verdict, target } = judgeMatch(match, checkouts, createdAt);
    const before = target?.checkout && (checkouts.get(target.checkout._id) ?? match.target!.checkout);
    if (target?.checkout) checkouts.set(target.checkout._id, target.checkout);
    const payment: PaymentDoc = {
      _id,
      accountId: wallet.accountId,
      walletId: wallet._id,
      network,
      operationId: credit.operationId,
      changeIndex: credit.changeIndex,
      transactionHash: credit.transactionHash,
      ledger: credit.ledger,
      ledgerClosedAt: credit.closedAt,
      receiverAddress: credit.receiver,
      senderAddress: credit.sender,
      assetCode: credit.asset.code,
      assetIssuer: credit.asset.issuer,
      amount: formatAmount(credit.amount),
      memo: credit.memo.text,
      memoType: credit.memo.type,
      destinationMuxedId: credit.destinationMuxedId,
      senderMuxedAddress: credit.senderMuxedAddress,
      ...verdict,
      paymentLinkId: target?.link?._id ?? null,
      checkoutId: target?.checkout?._id ?? null,
      productId: target?.product?._id ?? null,
      ...afterAcceptance(target),
      createdAt,
    };
    const completesCheckout = before?.status !== 'PAID' && target?.checkout?.status === 'PAID';
    return { payment, wallet, target, completesCheckout };
  });
}

function judgeMatch(
  { credit, target }: Match,
  checkouts: ReadonlyMap<string, CheckoutDoc>,
  now: Date,
): { verdict: StoredVerdict; target: PaymentTarget | null } {
  if (!target) return { verdict: toStored(unmatched(unmatchedReason(credit.memo))), target };
  if (target.link) return { verdict: judgeByHistory(target.link, target.product, credit, credit), target };
  const before = checkouts.get(target.checkout._id) ?? target.checkout;
  const { verdict, checkout } = judgeByCheckout(before, target.product, credit, now);
  return { verdict, target: { ...target, checkout } };
}

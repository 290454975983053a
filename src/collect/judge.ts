/** Judge: a matched credit becomes a payment with its verdict. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount } from '../domain/amount.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import { unmatched } from '../domain/judge.js';
import { unmatchedReason } from '../domain/memo.js';
import type { PaymentDoc } from '../stores/payments.js';
import { judgeByHistory, type StoredVerdict, toStored } from '../stores/verdict.js';
import type { Match } from './match.js';

/** The payment as it is stored, judged by the terms in force when its ledger closed. */
export function toPaymentDoc(network: Network, { credit, wallet, target }: Match, newId: NewId): PaymentDoc {
  const _id = newId('pay');
  return {
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
    ...verdictOf({ credit, target }),
    paymentLinkId: target?.link._id ?? null,
    productId: target?.product._id ?? null,
    createdAt: createdAtOf(_id),
  };
}

function verdictOf({ credit, target }: Pick<Match, 'credit' | 'target'>): StoredVerdict {
  if (target) return judgeByHistory(target.link, target.product, credit, credit);
  return toStored(unmatched(unmatchedReason(credit.memo)));
}

/** Payments as the API and the events show them. */

import type { Contract } from '../../contracts/index.js';
import { networkInfo } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import { type ProductDoc, toProductSummary } from '../selling/index.js';
import type { PaymentDoc } from './payment-document.js';

export type Payment = OutputOf<Contract['payments']['get']>;

/** @param product of the payment's link or checkout; null when there is none. */
export const toPayment = (payment: PaymentDoc, product: ProductDoc | null): Payment => ({
  id: payment._id,
  status: payment.status,
  reason: payment.reason,
  amount: payment.amount,
  assetCode: payment.assetCode,
  assetIssuer: payment.assetIssuer,
  expectedAmount: payment.expectedAmount,
  excessAmount: payment.excessAmount,
  shortfallAmount: payment.shortfallAmount,
  memo: payment.memo,
  memoType: payment.memoType,
  destinationMuxedId: payment.destinationMuxedId ?? null,
  senderAddress: payment.senderAddress,
  senderMuxedAddress: payment.senderMuxedAddress ?? null,
  receiverAddress: payment.receiverAddress,
  network: payment.network,
  transactionHash: payment.transactionHash,
  operationId: payment.operationId,
  ledger: payment.ledger,
  ledgerClosedAt: payment.ledgerClosedAt.toISOString(),
  paymentLinkId: payment.paymentLinkId,
  // Payments from before checkouts existed have no such field.
  checkoutId: payment.checkoutId ?? null,
  product: product && toProductSummary(product),
  walletId: payment.walletId,
  needsDecision: payment.needsDecision,
  decisionNote: payment.dismissal?.note ?? null,
  value: shownValue(payment),
  refundedAmount: payment.refundedAmount ?? '0',
  refunds: (payment.refunds ?? []).map(({ at, ...refund }) => ({ ...refund, at: at.toISOString() })),
  explorerUrl: networkInfo[payment.network].explorerUrl?.(payment.transactionHash) ?? null,
  createdAt: payment.createdAt.toISOString(),
});

/** One that is REJECTED counts for nothing, until it is accepted. */
const shownValue = ({ status, value }: PaymentDoc): Payment['value'] =>
  value && status !== 'REJECTED' ? { ...value, rateAt: value.rateAt.toISOString() } : null;

/** Books refunds: finds the payment that money sent back belongs to, adds it there, and publishes `payment.refunded`. In the caller's transaction, so
 *  that the same refund is booked once, whoever reads it and however often. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { memoRefunded, paymentRefunded, type Refundable, refundId } from '../domain/refund.js';
import { isWatched } from '../domain/terms.js';
import type { Outbox, PaymentTarget } from '../events/outbox.js';
import type { Credit } from '../ledger/records.js';
import type { CheckoutStore } from '../stores/checkouts.js';
import type { Session } from '../stores/database.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc, PaymentStore } from '../stores/payments.js';
import type { RefundDoc, RefundStore } from '../stores/refunds.js';
import type { WalletDoc, WalletStore } from '../stores/wallets.js';
import { type MatchDeps, networkOf, targetsOf } from './match.js';

export interface RefundDeps extends MatchDeps {
  wallets: Pick<WalletStore, 'at' | 'ofAllAccounts'>;
  paymentLinks: Pick<PaymentLinkStore, 'byMemos' | 'countEarlyRefund'>;
  checkouts: Pick<CheckoutStore, 'byMemos' | 'countEarlyRefund'>;
  payments: Pick<PaymentStore, 'known' | 'ofPayer' | 'addRefund'>;
  refunds: RefundStore;
  outbox: Pick<Outbox, 'ofPayment' | 'ofRefund' | 'publish'>;
}

/** What watched wallets sent with the memo of a refund. */
export interface Sent {
  network: Network;
  refunds: readonly Credit[];
  /** The only wallet that may have sent it. */
  only?: WalletDoc | undefined;
}

/** A payment that was given to its link or checkout just now. */
export interface Received {
  payment: PaymentDoc;
  target: PaymentTarget;
}

export type RefundBook = ReturnType<typeof createRefundBook>;

export function createRefundBook(deps: RefundDeps) {
  const { wallets, paymentLinks, checkouts, payments, refunds, outbox } = deps;

  /** @param target null for a payment that belongs to nothing */
  async function book(refund: RefundDoc, paymentId: string, target: PaymentTarget | null, session: Session) {
    const payment = await payments.addRefund(paymentId, refund, session);
    await refunds.save({ ...refund, paymentId }, session);
    const { operationId, changeIndex, transactionHash } = refund;
    const occurrence = `${operationId}:${changeIndex}:${transactionHash}`;
    await outbox.publish([outbox.ofRefund(payment, target, occurrence)], session);
    return payment;
  }

  /** Books the refund where it belongs. @returns false when there is no such payment */
  async function bookByMemo(refund: RefundDoc, target: PaymentTarget, session: Session): Promise<boolean> {
    const found = await payments.ofPayer(
      { accountId: refund.accountId, senderAddress: refund.receiver, network: refund.network },
      { paymentLinkId: target.link?._id ?? null, checkoutId: target.checkout?._id ?? null },
      session,
    );
    const payment = paymentRefunded(
      toMoneyBack(refund),
      found.map((each) => ({ ...toRefundable(each), id: each._id })),
    );
    if (payment) await book(refund, payment.id, target, session);
    return payment !== null;
  }

  /** Until a payment comes that it gives back. */
  async function leaveWaiting(refund: RefundDoc, { link, checkout }: PaymentTarget, session: Session): Promise<void> {
    await refunds.save(refund, session);
    await (link ? paymentLinks.countEarlyRefund(link._id, session) : checkouts.countEarlyRefund(checkout._id, session));
  }

  return {
    book,

    /** Books what was sent from watched wallets with the memo of a refund. */
    async bookSent({ network, refunds: sent, only }: Sent, session: Session): Promise<void> {
      if (sent.length === 0) return;
      const senders = await wallets.at(network, [...new Set(sent.map(({ sender }) => sender))], session);
      const targets = await targetsOf(
        deps,
        sent.flatMap((close) => {
          const memo = memoRefunded(close.memo);
          return memo === null ? [] : { memo, close };
        }),
        session,
      );
      const due = sent.flatMap((credit) => {
        const target = targets.get(memoRefunded(credit.memo) ?? '');
        const isTheirs = senders.some(
          (wallet) =>
            wallet.address === credit.sender &&
            wallet.accountId === accountOf(target) &&
            (!only || wallet._id === only._id) &&
            isWatched(wallet.windows, credit),
        );
        if (!target || !isTheirs || networkOf(target, credit) !== network) return [];
        return [{ target, refund: toRefundDoc(accountOf(target)!, network, credit, targetIdOf(target)) }];
      });
      const known = await refunds.known(
        due.map(({ refund }) => refund._id),
        session,
      );
      for (const { refund, target } of due) {
        if (known.has(refund._id)) continue;
        known.add(refund._id);
        if (!(await bookByMemo(refund, target, session))) await leaveWaiting(refund, target, session);
      }
    },

    /** Books refunds that were read before the payments that they give back. @returns whether there were any */
    async bookWaiting(received: readonly Received[], session: Session): Promise<boolean> {
      const waited = received.filter(({ target }) => (target.link ?? target.checkout).earlyRefunds);
      let isAny = false;
      for (const { payment, target } of waited) {
        for (const refund of await refunds.waiting(targetIdOf(target), payment, session)) {
          if (await bookByMemo(refund, target, session)) isAny = true;
        }
      }
      return isAny;
    },
  };
}

const accountOf = (target: PaymentTarget | undefined): string | undefined =>
  (target?.link ?? target?.checkout)?.accountId;
const targetIdOf = (target: PaymentTarget): string => (target.link ?? target.checkout)._id;

export function toRefundDoc(accountId: string, network: Network, credit: Credit, targetId: string | null): RefundDoc {
  const { transactionHash, operationId, changeIndex, ledger, closedAt, receiver, asset, amount } = credit;
  return {
    _id: refundId(accountId, credit),
    accountId,
    network,
    paymentId: null,
    targetId,
    transactionHash,
    operationId,
    changeIndex,
    ledger,
    ledgerClosedAt: closedAt,
    receiver,
    assetCode: asset.code,
    assetIssuer: asset.issuer,
    amount: formatAmount(amount),
  };
}

export const toMoneyBack = ({ receiver, assetCode, assetIssuer, amount, ledgerClosedAt, operationId }: RefundDoc) => ({
  receiver,
  asset: { code: assetCode, issuer: assetIssuer },
  amount: parseAmount(amount)!,
  closedAt: ledgerClosedAt,
  operationId,
});

export const toRefundable = (payment: PaymentDoc): Refundable => ({
  senderAddress: payment.senderAddress,
  asset: { code: payment.assetCode, issuer: payment.assetIssuer },
  amount: parseAmount(payment.amount)!,
  refunded: parseSum(payment.refundedAmount ?? '0'),
  ledgerClosedAt: payment.ledgerClosedAt,
  operationId: payment.operationId,
});

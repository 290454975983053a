/** Moves refunds: what was booked by memo at one payment of a payer belongs to the one that the merchant names. */

import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import type { Outbox } from '../events/index.js';
import type { Session } from '../kit/database.js';
import type { ForAccount } from '../stores.js';
import { afterRefundMoved, laterThan, leftOf, needsDecision } from './checkout.js';
import { type Payable, payableOf } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentEvents } from './payment-events.js';
import type { PaymentStore } from './payment-store.js';
import type { RefundDoc, RefundStore } from './refund-store.js';
import { partOfRefund, type RefundBook } from './refunds.js';
import type { Settle } from './settle.js';

interface MoveRefundDeps {
  forAccount: ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets'>;
  payments: Pick<PaymentStore, 'byId' | 'countedSince' | 'setRefunds'>;
  refunds: Pick<RefundStore, 'save'>;
  refundBook: Pick<RefundBook, 'book'>;
  paymentEvents: Pick<PaymentEvents, 'ofRefund' | 'ofDecision'>;
  outbox: Pick<Outbox, 'publish'>;
  settle: Settle;
}

/** Moves as much of a booked refund as the named payment has left. @param part a number that no part of the refund's operation has yet */
export type MoveRefund = (refund: RefundDoc, named: PaymentDoc, part: number, session: Session) => Promise<void>;

export function createMoveRefund(deps: MoveRefundDeps): MoveRefund {
  const { forAccount, payments, refunds, refundBook, outbox, paymentEvents, settle } = deps;

  return async (refund, named, part, session) => {
    const { accountId } = refund;
    const [booked, left] = [parseSum(refund.amount), leftOf(named)];
    const stroops = left < booked ? left : booked;
    const isAll = stroops === booked;
    const moved = { ...(isAll ? refund : partOfRefund(refund, part, stroops)), amount: formatAmount(stroops) };
    const before = (await payments.byId(accountId, refund.paymentId!, session))!;
    if (!isAll) await refunds.save({ ...refund, amount: formatAmount(booked - stroops) }, session);
    const stores = forAccount(accountId);
    // First, so that an order which both payments belong to is not complete in between.
    await refundBook.book({ ...moved, targetId: null }, named._id, await payableOf(stores, named, session), session);

    const payable = await payableOf(stores, before, session);
    const without = withoutRefund(before, refund, stroops);
    const found = payable?.checkout ?? null;
    const since = found ? await payments.countedSince([found], refund.ledgerClosedAt, session) : [];
    const later = found ? laterThan(since, refund.operationId, found) : [];
    const checkout = found && afterRefundMoved(found, { before, after: without }, refund, later, moved.ledgerClosedAt);
    const after = { ...without, needsDecision: needsDecision(without, checkout) };
    await payments.setRefunds(after, session);
    const shown = checkout ? ({ ...payable, checkout } as Payable) : payable;
    if (checkout !== found) await settle([{ payable: shown, statusBefore: found!.status, payments: [] }], session);
    const occurrence = `${moved._id} moved`;
    const isDue = after.needsDecision && !before.needsDecision;
    await outbox.publish(
      [
        paymentEvents.ofRefund(after, shown, occurrence),
        ...(isDue ? [paymentEvents.ofDecision(after, shown, occurrence)] : []),
      ],
      session,
    );
  };
}

/** The payment without a part of a refund that was booked at it. */
function withoutRefund(payment: PaymentDoc, { transactionHash, amount }: RefundDoc, stroops: bigint): PaymentDoc {
  const { refunds = [], refundedAmount = '0' } = payment;
  const index = refunds.findIndex((each) => each.transactionHash === transactionHash && each.amount === amount);
  const rest = parseAmount(amount)! - stroops;
  const reduced =
    rest > 0n ? refunds.slice(index, index + 1).map((each) => ({ ...each, amount: formatAmount(rest) })) : [];
  return {
    ...payment,
    refundedAmount: formatAmount(parseSum(refundedAmount) - stroops),
    // A payment shows only the newest of very many refunds.
    refunds: index < 0 ? refunds : [...refunds.slice(0, index), ...reduced, ...refunds.slice(index + 1)],
  };
}

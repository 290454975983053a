/** Books refunds: finds the payment, adds the refund to it, and publishes `payment.refunded`, in
 *  the caller's transaction, so that a refund read several times is booked once. Behind it: moving
 *  a part that a memo booked to the payment that the merchant names. */

import type { Network } from '../../contracts/networks.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { Later } from '../domain/later.js';
import {
  isRefundOf,
  type MoneyBack,
  memoRefunded,
  type Payer,
  type Refundable,
  refundId,
  shareOut,
} from '../domain/refund.js';
import { muxedAddressOf } from '../domain/strkey.js';
import { isWatched } from '../domain/terms.js';
import type { Outbox } from '../events/index.js';
import type { Session } from '../kit/database.js';
import type { Credit } from '../ledger/index.js';
import type { CheckoutDoc, CheckoutStore, PaymentLinkStore } from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import type { WalletDoc, WalletStore } from '../watching/index.js';
import { afterRefund, afterRefundMoved, leftOf, needsDecision } from './checkout.js';
import { networksOf, type Payable, paidFor, payableOf, payablesByMemo, type SystemPayables } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentEvents } from './payment-events.js';
import type { PaymentStore } from './payment-store.js';
import type { RefundDoc, RefundStore } from './refund-store.js';
import type { Pace, Settle } from './settle.js';

// Moves refunds: what was booked by memo at one payment of a payer belongs to the one that the
// merchant names.

interface MoveRefundDeps {
  forAccount: ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets'>;
  payments: Pick<PaymentStore, 'byId' | 'countedSince' | 'setRefunds'>;
  refunds: Pick<RefundStore, 'save'>;
  refundBook: Pick<RefundBook, 'book'>;
  paymentEvents: Pick<PaymentEvents, 'ofRefund' | 'ofDecision'>;
  outbox: Pick<Outbox, 'publish'>;
  settle: Settle;
}

/** Moves as much of a booked refund as the named payment has left. @param part a number that no
 *  part of the refund's operation has yet */
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
    const later = found ? await countedAfter(payments, refund, found, session) : Later.none;
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

interface RefundDeps extends SystemPayables {
  wallets: Pick<WalletStore, 'at' | 'ofAllAccounts'>;
  paymentLinks: Pick<PaymentLinkStore, 'ofAccounts' | 'countEarlyRefund'>;
  checkouts: Pick<CheckoutStore, 'ofAccounts' | 'byId' | 'update' | 'countEarlyRefund'>;
  payments: Pick<PaymentStore, 'refundable' | 'addRefund' | 'countedSince'>;
  refunds: RefundStore;
  paymentEvents: Pick<PaymentEvents, 'ofRefund'>;
  outbox: Pick<Outbox, 'publish'>;
}

/** Money that watched wallets sent with a refund's memo. */
interface Sent {
  network: Network;
  refunds: readonly Credit[];
  /** The only wallet that may have sent it. */
  only?: WalletDoc | undefined;
}

/** A payment just assigned to its link or checkout. */
interface Received {
  payment: PaymentDoc;
  payable: Payable;
}

export type RefundBook = ReturnType<typeof createRefundBook>;

export function createRefundBook(deps: RefundDeps) {
  const { wallets, refunds } = deps;

  return {
    book: (refund: RefundDoc, paymentId: string, payable: Payable | null, session: Session) =>
      book(deps, refund, paymentId, payable, session),

    /** Books money that watched wallets sent with a refund's memo. */
    async bookSent({ network, refunds: sent, only }: Sent, session: Session, pace: Pace): Promise<void> {
      if (sent.length === 0) return;
      const senders = await wallets.at(network, [...new Set(sent.map(({ sender }) => sender))], session);
      const payables = await payablesByMemo(
        deps,
        sent.flatMap((close) => {
          const memo = memoRefunded(close.memo);
          const theirs = senders.filter(({ address }) => memo !== null && address === close.sender);
          return theirs.map(({ accountId }) => ({ memo: memo!, close, accountId }));
        }),
        session,
      );
      const due = sent.flatMap((credit) => {
        const payable = payables.get(memoRefunded(credit.memo) ?? '');
        if (!payable) return [];
        const { accountId, _id } = paidFor(payable);
        const isTheirs = senders.some(
          (wallet) =>
            wallet.address === credit.sender &&
            wallet.accountId === accountId &&
            (!only || wallet._id === only._id) &&
            isWatched(wallet.windows, credit),
        );
        if (!isTheirs || !networksOf(payable, credit).includes(network)) return [];
        return [{ payable, refund: toRefundDoc(accountId, network, credit, _id) }];
      });
      const known = await refunds.known(
        due.map(({ refund }) => refund),
        session,
      );
      for (const { refund, payable } of due) {
        if (known.has(refund._id)) continue;
        pace();
        known.add(refund._id);
        if (!(await bookByMemo(deps, refund, payable, session))) await leaveWaiting(deps, refund, payable, session);
      }
    },

    /** Books refunds that wait for a payment which is about to be assigned to their payable.
     *  @returns whether there were any */
    async bookBefore(payment: PaymentDoc, payable: Payable, session: Session): Promise<boolean> {
      if (!paidFor(payable).earlyRefunds) return false;
      const { muxedAddress } = payerOf(payment);
      const waiting = (await refunds.waiting(paidFor(payable)._id, payment, session)).filter(
        (refund) =>
          refund.receiverMuxedAddress === muxedAddress && isRefundOf(toMoneyBack(refund), toRefundable(payment)),
      );
      for (const refund of waiting) await book(deps, refund, payment._id, null, session);
      return waiting.length > 0;
    },

    /** Books refunds that were read before their payments. @returns whether there were any */
    async bookWaiting(received: readonly Received[], session: Session, pace: Pace): Promise<boolean> {
      const waited = received.filter(({ payable }) => paidFor(payable).earlyRefunds);
      let isAny = false;
      for (const { payment, payable } of waited) {
        for (const refund of await refunds.waiting(paidFor(payable)._id, payment, session)) {
          pace();
          if (await bookByMemo(deps, refund, payable, session)) isAny = true;
        }
      }
      return isAny;
    },
  };
}

/** @param payable null for a payment that belongs to nothing */
async function book(deps: RefundDeps, refund: RefundDoc, paymentId: string, payable: Payable | null, session: Session) {
  const { payments, refunds, outbox, paymentEvents } = deps;
  const { before, after } = await payments.addRefund(paymentId, refund, session);
  await refunds.save({ ...refund, paymentId }, session);
  const left = payable?.checkout
    ? { ...payable, checkout: await checkoutAfter(deps, before, refund, session) }
    : payable;
  await outbox.publish([paymentEvents.ofRefund(after, left, refund._id)], session);
}

/** Money refunded before an order is complete no longer counts towards it. @returns the
 *  checkout afterwards */
async function checkoutAfter(
  { checkouts, payments }: RefundDeps,
  payment: PaymentDoc,
  refund: RefundDoc,
  session: Session,
): Promise<CheckoutDoc> {
  const before = await checkouts.byId(payment.accountId, payment.checkoutId!, session);
  // A checkout with payments cannot be deleted.
  if (!before) throw new Error(`payment ${payment._id} has lost its checkout`);
  const later = before.status === 'PAID' ? await countedAfter(payments, refund, before, session) : Later.none;
  const after = afterRefund(before, payment, refund, later);
  if (after !== before) await checkouts.update([after], session);
  return after;
}

async function countedAfter(
  payments: Pick<PaymentStore, 'countedSince'>,
  { ledgerClosedAt: closedAt, operationId }: RefundDoc,
  checkout: CheckoutDoc,
  session: Session,
): Promise<Later> {
  const counted = await payments.countedSince([checkout], closedAt, session);
  return counted.get(checkout._id)!.after({ closedAt, operationId });
}

/** Books the refund by its memo. A refund to a bare account belongs to its own payments, else to
 *  those of its only muxed account that paid.
 *  @returns false when there is no such payment */
async function bookByMemo(deps: RefundDeps, refund: RefundDoc, payable: Payable, session: Session): Promise<boolean> {
  const { refundable } = deps.payments;
  const back = toMoneyBack(refund);
  const of = {
    ...{ accountId: refund.accountId, network: refund.network },
    ...(payable.link ? { paymentLinkId: payable.link._id } : { checkoutId: payable.checkout._id }),
  };
  const payers = [back.receiver];
  const find = async (least: bigint | null, limit: number): Promise<PaymentDoc[]> => {
    const found: PaymentDoc[] = [];
    for (const payer of payers)
      if (found.length < limit)
        found.push(...(await refundable.inOrder(of, back, { payer, least, limit: limit - found.length }, session)));
    return found;
  };
  let oldest = await find(null, 1);
  let found = oldest.length > 0 ? await find(back.amount, 1) : [];
  if (found.length === 0 && back.receiver.muxedAddress === null) {
    const muxed = await refundable.onlyMuxedPayer(of, back, session);
    if (muxed) {
      payers.push(muxed);
      oldest = await find(null, 1);
      found = await find(back.amount, 1);
    }
  }
  if (oldest.length === 0) return false;
  if (found.length === 0) found = await find(1n, MOST_SHARES);
  if (found.length === 0) found = oldest;
  for (const [part, { payment, stroops }] of sharesOf(back.amount, found).entries())
    await book(deps, partOfRefund(refund, part, stroops), payment._id, payable, session);
  return true;
}

/** One refund is divided among at most this many payments; the rest goes to the first. */
export const MOST_SHARES = 100;

interface Share {
  payment: PaymentDoc;
  stroops: bigint;
}

/** Divides money that was sent back among payments, in their order. Any excess goes to
 *  the first. */
export function sharesOf(amount: bigint, payments: readonly PaymentDoc[]): Share[] {
  const shares = shareOut(amount, payments.map(leftOf));
  return payments.map((payment, index) => ({ payment, stroops: shares[index]! })).filter(({ stroops }) => stroops > 0n);
}

export const partOfRefund = (refund: RefundDoc, part: number, stroops: bigint): RefundDoc => ({
  ...refund,
  _id: refundId(refund, { ...refund, closedAt: refund.ledgerClosedAt }, part),
  amount: formatAmount(stroops),
});

/** Stores the refund until its payment arrives. */
async function leaveWaiting(
  { refunds, paymentLinks, checkouts }: RefundDeps,
  refund: RefundDoc,
  { link, checkout }: Payable,
  session: Session,
): Promise<void> {
  await refunds.save(refund, session);
  await (link ? paymentLinks.countEarlyRefund(link, session) : checkouts.countEarlyRefund(checkout, session));
}

export function toRefundDoc(accountId: string, network: Network, credit: Credit, targetId: string | null): RefundDoc {
  const { transactionHash, operationId, changeIndex, ledger, closedAt, receiver, destinationMuxedId, asset, amount } =
    credit;
  return {
    _id: refundId({ accountId, network }, credit),
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
    receiverMuxedAddress: destinationMuxedId === null ? null : muxedAddressOf(receiver, destinationMuxedId),
    assetCode: asset.code,
    assetIssuer: asset.issuer,
    amount: formatAmount(amount),
  };
}

export const toMoneyBack = (refund: RefundDoc): MoneyBack => ({
  receiver: { address: refund.receiver, muxedAddress: refund.receiverMuxedAddress },
  asset: { code: refund.assetCode, issuer: refund.assetIssuer },
  amount: parseAmount(refund.amount)!,
  closedAt: refund.ledgerClosedAt,
  operationId: refund.operationId,
});

export const payerOf = ({ senderAddress, senderMuxedAddress }: PaymentDoc): Payer => ({
  address: senderAddress,
  muxedAddress: senderMuxedAddress ?? null,
});

export const toRefundable = (payment: PaymentDoc): Refundable => ({
  sender: payerOf(payment),
  asset: { code: payment.assetCode, issuer: payment.assetIssuer },
  ledgerClosedAt: payment.ledgerClosedAt,
  operationId: payment.operationId,
});

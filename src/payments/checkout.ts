/** What becomes of a stored checkout, from the rules in `domain/checkout.ts`. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import { minorDigits } from '../../contracts/currencies.js';
import { parseAmount, parseSum } from '../domain/amount.js';
import { acceptLate, type Checkout, type Counted, cancel, giveBack, type Sum } from '../domain/checkout.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { CheckoutDoc } from '../stores/checkout-document.js';
import type { PaymentDoc } from '../stores/payment-document.js';
import type { RefundDoc } from '../stores/refunds.js';

/** The stored checkout as the domain knows it. */
export const toCheckoutState = (checkout: CheckoutDoc): Checkout => ({
  status: checkout.status,
  asset: { code: checkout.assetCode, issuer: checkout.assetIssuer },
  amount: priceOf(checkout),
  received: BigInt(checkout.received),
  paidIn: BigInt(checkout.paidIn ?? checkout.received),
  excess: BigInt(checkout.excess ?? 0),
  returned: (checkout.returned ?? []).map(({ stroops, counted = stroops, ...each }) => ({
    ...each,
    stroops: BigInt(stroops),
    counted: BigInt(counted),
  })),
  expiresAt: checkout.expiresAt,
  cancelledFrom: checkout.cancelledFrom,
  acceptedFrom: checkout.acceptedFrom ?? null,
  paidAt: checkout.paidAt,
});

/** What the order costs, in the units of its price. */
const priceOf = ({ price, amount }: Pick<CheckoutDoc, 'price' | 'amount'>): bigint => parseAmount(price ?? amount!)!;

/** The document with what became of the checkout. @param now when that was found out */
export const withState = (
  checkout: CheckoutDoc,
  { status, received, paidIn, excess, returned, cancelledFrom, acceptedFrom, paidAt }: Checkout,
  now: Date,
): CheckoutDoc => ({
  ...checkout,
  status,
  received: received.toString(),
  returned: returned.map(({ stroops, counted, ...each }) => ({
    ...each,
    stroops: stroops.toString(),
    ...(checkout.currency && { counted: counted.toString() }),
  })),
  ...(checkout.currency && { paidIn: paidIn.toString(), excess: excess.toString() }),
  cancelledFrom,
  acceptedFrom,
  paidAt,
  closedAt: checkout.status === 'OPEN' && status !== 'OPEN' ? now : checkout.closedAt,
});

export const assetOf = ({ assetCode, assetIssuer }: Pick<PaymentDoc, 'assetCode' | 'assetIssuer'>) => ({
  code: assetCode,
  issuer: assetIssuer,
});

/** Stroops of a payment that were not sent back; never less than 0. */
export function leftOf({ amount, refundedAmount = '0' }: Pick<PaymentDoc, 'amount' | 'refundedAmount'>): bigint {
  const left = parseAmount(amount)! - parseSum(refundedAmount);
  return left < 0n ? 0n : left;
}

/** What is left of a payment, and what that counts for towards its checkout: the same part of its value, rounded down to the minor digits. */
export function leftSumOf(payment: PaymentDoc, checkout: Pick<CheckoutDoc, 'currency'>): Sum {
  const stroops = parseAmount(payment.amount)!;
  return partOf({ stroops, counts: countedOf(payment, checkout) }, leftOf(payment), checkout.currency ?? null);
}

/** What a payment counts for, in the units of the price; nothing where no rate is known. */
const countedOf = (
  payment: Pick<PaymentDoc, 'amount' | 'value'>,
  { currency }: Pick<CheckoutDoc, 'currency'>,
): bigint => {
  if (!currency) return parseAmount(payment.amount)!;
  // Without a rate for its price, it may have a value in the currency of the books.
  return payment.value?.currency === currency ? parseSum(payment.value.amount) : 0n;
};

/** @param currency null for the asset itself */
export function partOf({ stroops, counts }: Sum, left: bigint, currency: string | null): Sum {
  if (currency === null || left === stroops) return { stroops: left, counts: currency === null ? left : counts };
  const grid = 10n ** BigInt(7 - minorDigits(currency));
  return { stroops: left, counts: ((counts * left) / (stroops * grid)) * grid };
}

/** The same object when it is CANCELLED already; null when it is PAID or EXPIRED. */
export function cancelled(checkout: CheckoutDoc, from: LedgerStamp, now: Date): CheckoutDoc | null {
  const result = cancel(toCheckoutState(checkout), from);
  if (result.outcome === 'refused') return null;
  return result.outcome === 'unchanged' ? checkout : withState(checkout, result.after, now);
}

/** With one more payment taken, which closed after the end of the PAID checkout. Null for any other payment. */
export function withLate(checkout: CheckoutDoc, payment: PaymentDoc, now: Date): CheckoutDoc | null {
  const late = acceptLate(toCheckoutState(checkout), {
    closedAt: payment.ledgerClosedAt,
    asset: assetOf(payment),
    ...leftSumOf(payment, checkout),
  });
  return late && withState(checkout, late, now);
}

/** The checkout after money of one of its payments was sent back; the same object when nothing changed.
 *  @param payment as it was before
 *  @param later what counts already and comes after the refund on the ledger */
export function afterRefund(
  checkout: CheckoutDoc,
  payment: PaymentDoc,
  { ledger, ledgerClosedAt: closedAt, operationId, amount }: RefundDoc,
  later: Later,
): CheckoutDoc {
  if (payment.status === 'REJECTED') return checkout;
  const before = leftSumOf(payment, checkout);
  const sent = parseAmount(amount)!;
  const stroops = sent < before.stroops ? sent : before.stroops;
  const rest = partOf(before, before.stroops - stroops, checkout.currency ?? null);
  const state = toCheckoutState(checkout);
  const returned = { ledger, closedAt, operationId, stroops, counted: before.counts - rest.counts };
  const after = giveBack(state, returned, later);
  return after === state ? checkout : withState(checkout, after, closedAt);
}

/** What counts for a checkout already and comes after a place on the ledger: there is some where that place was read late. In the order of the ledger. */
export type Later = readonly Counted[];

/** @param counted payments that count, of the ledgers since the place, in any order. @param operationId of the place */
export const laterThan = (
  counted: readonly PaymentDoc[],
  operationId: string,
  checkout: Pick<CheckoutDoc, 'currency'>,
): Later =>
  counted
    .map((payment) => ({ payment, place: BigInt(payment.operationId) }))
    .filter(({ place }) => place > BigInt(operationId))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ payment }) => ({
      amount: countedOf(payment, checkout),
      closedAt: payment.ledgerClosedAt,
      operationId: payment.operationId,
    }));

/** As much of a payment as says whether a decision is due. */
type Undecided = Pick<PaymentDoc, 'status' | 'amount' | 'refundedAmount' | 'dismissal'>;

/** Whether a merchant has to decide about a payment that was not taken. It is stored with every change of what it follows from, in the same transaction.
 *  @param checkout that the payment belongs to, as it is by now */
export function needsDecision(payment: Undecided, checkout: { status: CheckoutStatus } | null): boolean {
  if (payment.status === 'COMPLETED' || payment.dismissal || leftOf(payment) === 0n) return false;
  return !(checkout && isPartOfPaid(payment, checkout));
}

/** What counted for a checkout that is PAID by now. */
const isPartOfPaid = ({ status }: Pick<PaymentDoc, 'status'>, checkout: { status: CheckoutStatus }): boolean =>
  status === 'UNDERPAID' && checkout.status === 'PAID';

/** The payment once its checkout is like this. */
export const decidedWith = (payment: PaymentDoc, checkout: { status: CheckoutStatus }): PaymentDoc =>
  payment.needsDecision && isPartOfPaid(payment, checkout) ? { ...payment, needsDecision: false } : payment;

/** Applies the rules in `domain/checkout.ts` to stored checkouts. */

import type { CheckoutStatus } from '../../contracts/checkouts.js';
import { minorDigits } from '../../contracts/currencies.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { assetOf } from '../domain/asset.js';
import { acceptLate, type Checkout, cancel, type Sum, withoutReturned, withReturned } from '../domain/checkout.js';
import type { Counted, Later } from '../domain/later.js';
import { parsePercent, TOLERANCE_DECIMALS } from '../domain/order.js';
import { enoughFor } from '../domain/pricing.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { CheckoutDoc } from '../selling/index.js';
import type { PaymentDoc } from './payment-document.js';
import type { RefundDoc } from './refund-store.js';

/** Converts a stored checkout for the domain. */
export const toCheckoutState = (checkout: CheckoutDoc): Checkout => ({
  status: checkout.status,
  asset: { code: checkout.assetCode, issuer: checkout.assetIssuer },
  amount: priceOf(checkout),
  enough: enoughOf(checkout),
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
  acceptedFrom: checkout.acceptedFrom,
  paidAt: checkout.paidAt,
});

/** The price, in its units. */
const priceOf = ({ price, amount }: Pick<CheckoutDoc, 'price' | 'amount'>): bigint => parseAmount(price ?? amount!)!;

const enoughOf = (checkout: CheckoutDoc): bigint =>
  enoughFor(priceOf(checkout), parsePercent(checkout.tolerancePercent, TOLERANCE_DECIMALS), checkout.currency ?? null);

/** The document in its new state. @param now when it changed: by the clock, or the ledger's close
 *  for money that was sent back */
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
  // What a cancelled order holds is given back once it is proven that no money came for it.
  giveBackAt: status === 'CANCELLED' && paidIn === 0n && isHolding(checkout) ? (checkout.giveBackAt ?? now) : null,
});

const isHolding = ({ holds }: CheckoutDoc): boolean => holds !== undefined && Object.values(holds).includes(true);

/** Unrefunded stroops of a payment; never negative. */
export function leftOf({ amount, refundedAmount = '0' }: Pick<PaymentDoc, 'amount' | 'refundedAmount'>): bigint {
  const left = parseAmount(amount)! - parseSum(refundedAmount);
  return left < 0n ? 0n : left;
}

/** The unrefunded part of a payment, and its value: the same share of the payment's value, rounded
 *  down to minor digits. */
export function leftSumOf(payment: PaymentDoc, checkout: Pick<CheckoutDoc, 'currency'>): Sum {
  const stroops = parseAmount(payment.amount)!;
  return partOf({ stroops, counts: countedOf(payment, checkout) }, leftOf(payment), checkout.currency ?? null);
}

/** What its refunds are of the value that it counts for, null where it counts for none: the value
 *  less that of what is left. */
export function refundedValueOf({ status, amount, value, ...payment }: PaymentDoc): string | null {
  if (!value || status === 'REJECTED') return null;
  const counts = parseSum(value.amount);
  const left = partOf({ stroops: parseAmount(amount)!, counts }, leftOf({ amount, ...payment }), value.currency);
  return formatAmount(counts - left.counts);
}

/** A payment's value in the units of the price; none without a known rate. */
const countedOf = (
  payment: Pick<PaymentDoc, 'amount' | 'value'>,
  { currency }: Pick<CheckoutDoc, 'currency'>,
): bigint => {
  if (!currency) return parseAmount(payment.amount)!;
  // Without a rate for its price, it may still have a value in the books' currency.
  return payment.value?.currency === currency ? parseSum(payment.value.amount) : 0n;
};

/** @param currency null for the asset itself */
export function partOf({ stroops, counts }: Sum, left: bigint, currency: string | null): Sum {
  if (currency === null || left === stroops) return { stroops: left, counts: currency === null ? left : counts };
  const grid = 10n ** BigInt(7 - minorDigits(currency));
  return { stroops: left, counts: ((counts * left) / (stroops * grid)) * grid };
}

/** The same object if already CANCELLED; null if PAID or EXPIRED. */
export function cancelled(checkout: CheckoutDoc, from: LedgerStamp, now: Date): CheckoutDoc | null {
  const result = cancel(toCheckoutState(checkout), from);
  if (result.outcome === 'refused') return null;
  return result.outcome === 'unchanged' ? checkout : withState(checkout, result.after, now);
}

/** Adds a payment that closed after the end of a PAID checkout. Null for any other payment. */
export function withLate(checkout: CheckoutDoc, payment: PaymentDoc, now: Date): CheckoutDoc | null {
  const late = acceptLate(toCheckoutState(checkout), {
    closedAt: payment.ledgerClosedAt,
    asset: assetOf(payment),
    ...leftSumOf(payment, checkout),
  });
  return late && withState(checkout, late, now);
}

/** The checkout after a refund of one of its payments; the same object if nothing changed.
 *  @param payment before the refund
 *  @param later counted payments after the refund on the ledger */
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
  const returned = {
    ...{ ledger, closedAt, operationId, stroops, counted: before.counts - rest.counts },
    ...(isWithoutRate(payment) && { isUnrated: true as const }),
  };
  const after = withReturned(state, returned, later);
  return after === state ? checkout : withState(checkout, after, closedAt);
}

/** The checkout after a part of a refund of one of its payments was booked elsewhere.
 *  @param before the payment with that part, and `after` without it
 *  @param later than the refund */
export function afterRefundMoved(
  checkout: CheckoutDoc,
  { before, after }: Record<'before' | 'after', PaymentDoc>,
  { ledger, ledgerClosedAt: closedAt, operationId }: RefundDoc,
  later: Later,
  now: Date,
): CheckoutDoc {
  const [had, has] = [leftSumOf(before, checkout), leftSumOf(after, checkout)];
  const again = {
    ...{ stroops: has.stroops - had.stroops, counted: has.counts - had.counts },
    ...(isWithoutRate(before) && { isUnrated: true as const }),
  };
  if (before.status === 'REJECTED' || again.stroops === 0n) return checkout;
  const completesAt = later.lastClosedAt ?? closedAt;
  const state = withoutReturned(toCheckoutState(checkout), { ledger, closedAt, operationId, ...again }, completesAt);
  return withState(checkout, state, now);
}

/** A payment as it counts for its checkout. */
export const toCounted = (payment: CountedFields, checkout: Pick<CheckoutDoc, 'currency'>): Counted => ({
  amount: countedOf(payment, checkout),
  closedAt: payment.ledgerClosedAt,
  operationId: payment.operationId,
});

/** The fields that `toCounted` needs. */
export type CountedFields = Pick<PaymentDoc, 'amount' | 'value' | 'ledgerClosedAt' | 'operationId'>;

/** The fields of a payment that `needsDecision` needs. */
type Undecided = Pick<PaymentDoc, 'status' | 'reason' | 'amount' | 'refundedAmount' | 'dismissal'>;

/** Whether a merchant has to decide about a payment that was not taken. Stored in the
 *  transaction of every change that it depends on.
 *  @param checkout the payment's, in its current state */
export function needsDecision(payment: Undecided, checkout: { status: CheckoutStatus } | null): boolean {
  if (payment.status === 'COMPLETED' || payment.dismissal || leftOf(payment) === 0n) return false;
  return !(checkout && isPartOfPaid(payment, checkout));
}

/** Counted, for a checkout that is now PAID. What came without a rate counted for nothing. */
const isPartOfPaid = (payment: Pick<PaymentDoc, 'status' | 'reason'>, checkout: { status: CheckoutStatus }): boolean =>
  payment.status === 'UNDERPAID' && checkout.status === 'PAID' && !isWithoutRate(payment);

const isWithoutRate = ({ reason }: Pick<PaymentDoc, 'reason'>): boolean => reason === 'no_rate';

/** Whether it came without a rate for a checkout that was PAID by others. */
export const isUnneeded = (payment: Pick<PaymentDoc, 'status' | 'reason'>, checkout: { status: CheckoutStatus }) =>
  payment.status === 'UNDERPAID' && checkout.status === 'PAID' && isWithoutRate(payment);

/** The payment with this state of its checkout. */
export const decidedWith = (payment: PaymentDoc, checkout: { status: CheckoutStatus }): PaymentDoc =>
  payment.needsDecision && isPartOfPaid(payment, checkout) ? { ...payment, needsDecision: false } : payment;

/** A checkout: pure. Each transition takes the checkout as it stands and says what becomes of it, and of the payment that caused it.
 *
 *  ```
 *  OPEN ──────── a payment completes it, or it is accepted ──► PAID
 *   ├─ proven unpaid ──► EXPIRED ───┤ (a payment in time that is found later, or accept)
 *   └─ cancel ─────────► CANCELLED ─┘ (a payment from before the cancellation that is read later, or accept)
 *  ```
 *  PAID is final; a payment from before an acceptance that is read after it still counts. Amounts are stroops. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import { type Asset, sameAsset } from './asset.js';
import type { Verdict } from './judge.js';
import { isAtOrAfter, type LedgerClose, type LedgerStamp } from './terms.js';

export interface Checkout {
  status: CheckoutStatus;
  asset: Asset;
  /** What the order costs, greater than 0. */
  amount: bigint;
  /** What counts of the payments so far. */
  received: bigint;
  /** A payment is in time when its ledger closed before. */
  expiresAt: Date;
  /** When it was cancelled, if ever. */
  cancelledFrom: LedgerStamp | null;
  /** When it was accepted, if ever. */
  acceptedFrom: LedgerStamp | null;
  /** Close of the ledger that completed it, or the moment it was accepted; null until it is PAID. */
  paidAt: Date | null;
}

/** A payment that names the checkout. */
export interface CheckoutPayment extends LedgerClose {
  asset: Asset;
  /** Greater than 0. */
  amount: bigint;
  /** Whether the checkout's product took payments when the ledger closed; true without a product. */
  productActive: boolean;
}

/** What a payment does. */
export interface CheckoutJudgement {
  verdict: Verdict;
  /** The checkout after it; the same object when nothing changed but the judged payment. */
  after: Checkout;
}

/** Still due: 0 once it is PAID. */
export const remainingOf = ({ status, amount, received }: Pick<Checkout, 'status' | 'amount' | 'received'>): bigint =>
  status === 'PAID' || received >= amount ? 0n : amount - received;

/** Paid beyond the amount; null when nothing is. */
export const excessOf = ({ amount, received }: Pick<Checkout, 'amount' | 'received'>): bigint | null =>
  received > amount ? received - amount : null;

/** Judges a payment as of its ledger's close, whatever was done since. What is due is what all payments so far have left. */
export function judgeForCheckout(checkout: Checkout, payment: CheckoutPayment): CheckoutJudgement {
  const due = dueBefore(checkout, payment);
  const verdict = (status: PaymentStatus, reason: PaymentReason | null): Verdict => ({
    status,
    reason,
    expectedAmount: due,
    excessAmount: null,
    shortfallAmount: null,
  });
  const refusal = refusalOf(checkout, payment, due);
  if (refusal) return { verdict: verdict('REJECTED', refusal), after: checkout };

  const received = checkout.received + payment.amount;
  if (payment.amount < due) {
    return {
      verdict: { ...verdict('UNDERPAID', 'partial'), shortfallAmount: due - payment.amount },
      after: { ...checkout, received },
    };
  }
  const after: Checkout = { ...checkout, received, status: 'PAID', paidAt: checkout.paidAt ?? payment.closedAt };
  if (payment.amount === due) return { verdict: verdict('COMPLETED', null), after };
  return { verdict: { ...verdict('COMPLETED', 'overpaid'), excessAmount: payment.amount - due }, after };
}

/** An acceptance ends what is due for the payments after it only. */
function dueBefore(checkout: Checkout, payment: CheckoutPayment): bigint {
  const { acceptedFrom, status, amount, received } = checkout;
  const isBeforeAcceptance = acceptedFrom !== null && !isAtOrAfter(payment, acceptedFrom);
  return remainingOf({ status: isBeforeAcceptance ? 'OPEN' : status, amount, received });
}

/** Why a payment does not count; null when it does. The first that applies. */
function refusalOf(checkout: Checkout, payment: CheckoutPayment, due: bigint): PaymentReason | null {
  const { cancelledFrom, expiresAt, asset } = checkout;
  if (cancelledFrom && isAtOrAfter(payment, cancelledFrom)) return 'checkout_cancelled';
  if (payment.closedAt >= expiresAt) return 'checkout_expired';
  if (due === 0n) return 'checkout_paid';
  if (!payment.productActive) return 'product_inactive';
  return sameAsset(payment.asset, asset) ? null : 'wrong_asset';
}

export type CancelOutcome =
  | { outcome: 'cancelled'; after: Checkout }
  /** It is CANCELLED already. */
  | { outcome: 'unchanged' }
  /** It is PAID or EXPIRED. */
  | { outcome: 'refused' };

export function cancel(checkout: Checkout, from: LedgerStamp): CancelOutcome {
  if (checkout.status === 'CANCELLED') return { outcome: 'unchanged' };
  if (checkout.status !== 'OPEN') return { outcome: 'refused' };
  return { outcome: 'cancelled', after: { ...checkout, status: 'CANCELLED', cancelledFrom: from } };
}

export type AcceptOutcome<Payment> =
  | { outcome: 'accepted'; after: Checkout; payments: Payment[] }
  /** `paid`: it is PAID already. `nothing`: no money in the right asset has come. */
  | { outcome: 'refused'; because: 'paid' | 'nothing' };

/** Takes all that has come in the right asset as enough.
 *  @param came the checkout's payments
 *  @param from the moment as the ledger sees it; `at` by the clock
 *  @param total of all that came in the right asset, where `came` holds a part of it; null where it holds everything
 *  @returns those of them that become COMPLETED */
export function accept<Payment extends { asset: Asset; amount: bigint }>(
  checkout: Checkout,
  came: readonly Payment[],
  from: LedgerStamp,
  at: Date,
  total: bigint | null = null,
): AcceptOutcome<Payment> {
  if (checkout.status === 'PAID') return { outcome: 'refused', because: 'paid' };
  const payments = came.filter((payment) => sameAsset(payment.asset, checkout.asset));
  if (payments.length === 0) return { outcome: 'refused', because: 'nothing' };
  const received = total ?? payments.reduce((sum, payment) => sum + payment.amount, 0n);
  return {
    outcome: 'accepted',
    after: { ...checkout, status: 'PAID', received, acceptedFrom: from, paidAt: at },
    payments,
  };
}

/** How far the ledger has been read for a wallet, and what of it is missing. */
export interface ReadState {
  /** Every ledger that closed up to this moment has been read; null before the first reading. */
  readTo: Date | null;
  /** When ledgers were last found missing that no server has any more; null when none are missing. */
  gapFoundAt: Date | null;
}

/** A checkout's beginning. */
export interface CheckoutBegin {
  createdAt: Date;
  /** When the newest gap that its wallet had then was found, by the clock of whoever found it; null for none, missing where nobody noted it. */
  gapBefore?: Date | null;
}

/** Whether an OPEN checkout is proven unpaid: everything that could pay it has been read. Ledgers that are missing since it exists may hold its
 *  payment, so it stays OPEN then. */
export const isProvenUnpaid = (
  { status, expiresAt, ...begin }: Pick<Checkout, 'status' | 'expiresAt'> & CheckoutBegin,
  { readTo, gapFoundAt }: ReadState,
): boolean =>
  status === 'OPEN' && readTo !== null && readTo >= expiresAt && (gapFoundAt === null || isOlder(gapFoundAt, begin));

/** Two processes' clocks are not compared where that can be helped: a gap that was there already is the one that was noted. */
const isOlder = (gapFoundAt: Date, { createdAt, gapBefore }: CheckoutBegin): boolean =>
  gapBefore === undefined
    ? gapFoundAt.getTime() < createdAt.getTime()
    : gapFoundAt.getTime() === (gapBefore?.getTime() ?? null);

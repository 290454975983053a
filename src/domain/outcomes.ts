/** All outcomes of a payment, each with its status, its reason in the API, and its meaning. */
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import type { Value } from './pricing.js';

interface OutcomeKind {
  status: PaymentStatus;
  /** Null for a plain COMPLETED. */
  reason: PaymentReason | null;
  meaning: string;
}

const kind = (status: PaymentStatus, reason: PaymentReason | null, meaning: string): OutcomeKind => ({
  status,
  reason,
  meaning,
});

export const OUTCOMES = {
  enough: kind('COMPLETED', null, 'It pays what was asked for.'),
  accepted: kind('COMPLETED', null, 'It is a part of what an acceptance took as enough.'),
  within_tolerance: kind('COMPLETED', 'within_tolerance', 'It pays a little less than was asked for, which is enough.'),
  overpaid: kind('COMPLETED', 'overpaid', 'It pays more than was asked for.'),
  below_price: kind('UNDERPAID', 'below_price', 'It pays less than the price.'),
  below_minimum: kind('UNDERPAID', 'below_minimum', 'It pays less than the minimum.'),
  no_rate: kind('UNDERPAID', 'no_rate', 'No rate is known for the time when it was paid.'),
  partial: kind('UNDERPAID', 'partial', 'It pays a part of what a checkout needs.'),
  link_inactive: kind('REJECTED', 'link_inactive', 'The link was inactive.'),
  link_ended: kind('REJECTED', 'link_ended', 'It came after the end of the link.'),
  order_needed: kind('REJECTED', 'order_needed', 'It came to an order link itself, which needs an order first.'),
  product_inactive: kind('REJECTED', 'product_inactive', 'The product was inactive.'),
  wrong_asset: kind('REJECTED', 'wrong_asset', 'It came in another asset.'),
  checkout_cancelled: kind('REJECTED', 'checkout_cancelled', 'It came after the checkout was cancelled.'),
  checkout_expired: kind('REJECTED', 'checkout_expired', 'It came after the end of the checkout.'),
  checkout_paid: kind('REJECTED', 'checkout_paid', 'It came when nothing was due any more.'),
  no_memo: kind('UNMATCHED', 'no_memo', 'It has no memo.'),
  unknown_memo: kind('UNMATCHED', 'unknown_memo', 'Its memo names no link or checkout.'),
  unsupported_memo: kind('UNMATCHED', 'unsupported_memo', 'Its memo is of a kind that names nothing.'),
} as const satisfies Record<string, OutcomeKind>;

export type Outcome = keyof typeof OUTCOMES;

/** Amounts in stroops. */
export interface Verdict extends Pick<OutcomeKind, 'status' | 'reason'> {
  outcome: Outcome;
  /** The price, the minimum, or the amount due for a checkout, for every status; null without one,
   *  or if the payment belongs to nothing. */
  expectedAmount: bigint | null;
  /** For `overpaid` only. */
  excessAmount: bigint | null;
  /** For UNDERPAID, `within_tolerance` and `accepted` only. */
  shortfallAmount: bigint | null;
  /** What the payment counts for in the price's currency, or would count for if it were taken; null
   *  without one. */
  value: Value | null;
}

export function verdictOf(
  outcome: Outcome,
  expectedAmount: bigint | null,
  {
    excess = null,
    shortfall = null,
    value = null,
  }: { excess?: bigint | null; shortfall?: bigint | null; value?: Value | null } = {},
): Verdict {
  const { status, reason } = OUTCOMES[outcome] as OutcomeKind;
  return { outcome, status, reason, expectedAmount, excessAmount: excess, shortfallAmount: shortfall, value };
}

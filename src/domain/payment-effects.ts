/** What follows from a change to a payment: the events to publish and what its link or checkout counts. Pure, and the same whether the payment was read
 *  from the ledger, assigned or accepted. */
import type { PaymentStatus } from '../../contracts/payments.js';

/** As much of a payment as decides about its events. */
export interface PaymentState {
  status: PaymentStatus;
  paymentLinkId: string | null;
  checkoutId?: string | null;
}

export interface PaymentEffects {
  /** In the order in which they are published. */
  events: ('payment.received' | 'payment.completed')[];
  /** What the payment's link or checkout counts in addition: `payments` leaves out those that are REJECTED, `received` does not. */
  counted: { payments: 0 | 1; received: 0 | 1 };
}

/** @param before null for a payment that was not stored yet */
export function effectsOf(before: PaymentState | null, after: PaymentState): PaymentEffects {
  const arrives = belongs(after) && !(before && belongs(before));
  const completes = isCompleted(after) && !(before && isCompleted(before));
  const isCounted = counts(after) && !(before && counts(before));
  return {
    events: [
      ...(arrives ? (['payment.received'] as const) : []),
      ...(completes ? (['payment.completed'] as const) : []),
    ],
    counted: { payments: isCounted ? 1 : 0, received: arrives ? 1 : 0 },
  };
}

const belongs = ({ paymentLinkId, checkoutId }: PaymentState) => Boolean(paymentLinkId ?? checkoutId);
const isCompleted = (payment: PaymentState) => belongs(payment) && payment.status === 'COMPLETED';
const counts = (payment: PaymentState) => belongs(payment) && payment.status !== 'REJECTED';

/** Builds the events about payments and checkouts from the documents that the API shows.
 *  Stores nothing. */

import type { EventDataOf } from '../../contracts/event-kinds.js';
import { parseAmount } from '../domain/amount.js';
import type { OutboxEvent } from '../events/index.js';
import { type CheckoutDoc, toCheckout, toPaymentLink, toProduct } from '../selling/index.js';
import type { CheckoutPayable, Payable } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import { toPayment } from './payments.js';

/** Payments shown in an event of a checkout. */
const SHOWN_PAYMENTS = 1000;
/** Where there are more payments than this, each is shown with its newest refunds only: an event of
 *  a thousand payments with a hundred refunds each would be larger than MongoDB's documents. */
const MANY_PAYMENTS = 100;
const SHOWN_REFUNDS = 10;

export type PaymentEvents = ReturnType<typeof createPaymentEvents>;

export function createPaymentEvents({ publicUrl }: { publicUrl: string }) {
  function dataOf(payment: PaymentDoc, payable: Payable | null): EventDataOf<'payment.received'> {
    if (!payable) return { payment: toPayment(payment, null), paymentLink: null, checkout: null, product: null };
    const { product, productWallet } = payable;
    return {
      payment: toPayment(payment, product),
      paymentLink: payable.link && toPaymentLink(payable.link, payable.product, publicUrl),
      checkout: payable.checkout && toCheckout(payable, publicUrl),
      product: product && productWallet && toProduct(product, productWallet),
    };
  }

  return {
    /** Events of these kinds about a payment, in this order. */
    ofPayment(
      types: readonly ('payment.received' | 'payment.completed')[],
      payment: PaymentDoc,
      payable: Payable,
    ): OutboxEvent[] {
      if (types.length === 0) return [];
      const data = dataOf(payment, payable);
      return types.map((type) => ({ type, accountId: payment.accountId, data }));
    },

    ofUnmatched: (payment: PaymentDoc): OutboxEvent => ({
      type: 'payment.unmatched',
      accountId: payment.accountId,
      data: dataOf(payment, null),
    }),

    /** A payment came to need a decision. @param payable null for a payment that belongs
     *  to nothing */
    ofDecision(payment: PaymentDoc, payable: Payable | null, occurrence: string): OutboxEvent {
      return { type: 'payment.decision', accountId: payment.accountId, data: dataOf(payment, payable), occurrence };
    },

    /** A payment was refunded. @param payable null for a payment that belongs to nothing */
    ofRefund(payment: PaymentDoc, payable: Payable | null, occurrence: string): OutboxEvent {
      return { type: 'payment.refunded', accountId: payment.accountId, data: dataOf(payment, payable), occurrence };
    },

    /** A checkout changed. @param payments of the checkout, oldest first; of very many, only the
     *  largest are shown, with their newest refunds */
    ofCheckout(
      type: 'checkout.paid' | 'checkout.expired',
      payable: CheckoutPayable,
      payments: readonly PaymentDoc[],
    ): OutboxEvent {
      const { checkout, product } = payable;
      const isBrief = payments.length > MANY_PAYMENTS;
      const shown = largestOf(payments, checkout).map(({ refunds = [], ...payment }) =>
        toPayment({ ...payment, refunds: isBrief ? refunds.slice(-SHOWN_REFUNDS) : refunds }, product),
      );
      const data = { checkout: toCheckout(payable, publicUrl), payments: shown };
      return { type, accountId: checkout.accountId, data };
    },
  };
}

/** The largest payments, in the given order. Payments in the checkout's asset rank before
 *  all others. */
function largestOf(payments: readonly PaymentDoc[], { assetCode, assetIssuer }: CheckoutDoc): readonly PaymentDoc[] {
  if (payments.length <= SHOWN_PAYMENTS) return payments;
  const isAsset = (payment: PaymentDoc) => payment.assetCode === assetCode && payment.assetIssuer === assetIssuer;
  const size = (payment: PaymentDoc) => parseAmount(payment.amount)!;
  const largestFirst = payments.toSorted((a, b) =>
    isAsset(a) === isAsset(b) ? Number(size(b) - size(a)) : isAsset(a) ? -1 : 1,
  );
  const shown = new Set(largestFirst.slice(0, SHOWN_PAYMENTS));
  return payments.filter((payment) => shown.has(payment));
}

/** What counts for a checkout already and comes after a place on the ledger: there is some where that place was read late. */

import type { Counted } from '../domain/checkout.js';
import type { CheckoutDoc } from '../stores/checkout-document.js';
import type { PaymentDoc } from '../stores/payment-document.js';
import { countedOf } from './checkout.js';

/** In the order of the ledger. */
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

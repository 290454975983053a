/** What a merchant has to decide about: payments that were not taken, until something became of them. `needsDecision` is stored by whatever changes what
 *  it follows from, in the same transaction. */
import type { Logger } from 'pino';
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { CheckoutDoc } from '../stores/checkout-document.js';
import type { CheckoutStore } from '../stores/checkouts.js';
import type { Database, Session } from '../stores/database.js';
import type { PaymentDoc } from '../stores/payment-document.js';
import type { PaymentStore } from '../stores/payments.js';
import { leftOf } from './checkout.js';

/** As much of a payment as says whether a decision is due. */
type Undecided = Pick<PaymentDoc, 'status' | 'amount' | 'refundedAmount' | 'dismissal'>;

/** @param checkout that the payment belongs to, as it is by now */
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

const CHECKOUTS = 10;
const DECIDED_AT_ONCE = 500;
/** Batches of one checkout in one run: a checkout with a million payments does not hold up the others. */
const MAX_BATCHES = 10;

/** Decides the parts that a PAID checkout with very many payments left, in batches: several processes may run it at once. */
export async function decideLeftParts(
  deps: {
    checkouts: Pick<CheckoutStore, 'withPartsLeft' | 'noPartsLeft'>;
    payments: Pick<PaymentStore, 'undecidedParts' | 'decide'>;
    transaction: Database['transaction'];
    log: Logger;
  },
  signal: AbortSignal,
): Promise<void> {
  const { checkouts, payments, transaction, log } = deps;
  const decideSome = (checkout: Pick<CheckoutDoc, '_id' | 'accountId'>) => async (session: Session) => {
    const ids = await payments.undecidedParts(checkout, DECIDED_AT_ONCE, session);
    await payments.decide(checkout.accountId, ids, session);
    if (ids.length < DECIDED_AT_ONCE) await checkouts.noPartsLeft(checkout, session);
    return ids.length;
  };
  const decideBatches = async (checkout: Pick<CheckoutDoc, '_id' | 'accountId'>) => {
    for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch++)
      if ((await transaction(decideSome(checkout))) < DECIDED_AT_ONCE) return;
  };
  for (const checkout of await checkouts.withPartsLeft(CHECKOUTS)) {
    await decideBatches(checkout).catch((error: unknown) =>
      log.error({ err: error, checkoutId: checkout._id }, 'parts of a paid checkout not decided; trying again later'),
    );
  }
}

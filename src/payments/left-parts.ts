/** Decides the parts that were left over when a checkout with very many payments became PAID; the
 *  other parts were decided then. */

import type { Logger } from 'pino';
import type { Database, Session } from '../kit/database.js';
import type { CheckoutDoc, CheckoutStore } from '../selling/index.js';
import type { PaymentStore } from './payment-store.js';

const CHECKOUTS = 10;
const DECIDED_AT_ONCE = 500;
/** Batches of one checkout in one run: a checkout with a million payments must not delay
 *  the others. */
const MAX_BATCHES = 10;

/** In batches; several processes may run it at once. */
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

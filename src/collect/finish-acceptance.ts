/** Finishes the acceptance of checkouts with very many payments. The request that accepts a checkout completes its largest payments; the rest are
 *  completed here, in batches, so that a payer who sends thousands of tiny payments cannot make a transaction large. Several processes may run it at
 *  once: each batch moves the checkout's `completedUpTo` in its own transaction. */
import type { Logger } from 'pino';
import type { Outbox, OutboxEvent } from '../events/outbox.js';
import type { CheckoutDoc, CheckoutStore } from '../stores/checkouts.js';
import type { Database, Session } from '../stores/database.js';
import type { PaymentDoc, PaymentStore } from '../stores/payments.js';
import type { ProductStore } from '../stores/products.js';
import type { WalletStore } from '../stores/wallets.js';

const CHECKOUTS = 10;
const COMPLETED_AT_ONCE = 500;
/** Of one checkout in one run, so that a checkout with a million payments does not hold up the others. */
const MAX_BATCHES = 10;

export function createAcceptanceFinisher(deps: {
  checkouts: Pick<CheckoutStore, 'leftToComplete' | 'byIdToComplete' | 'completedUpTo'>;
  wallets: Pick<WalletStore, 'ofAllAccounts'>;
  products: Pick<ProductStore, 'ofAllAccounts'>;
  payments: Pick<PaymentStore, 'leftOfCheckout' | 'complete'>;
  outbox: Outbox;
  transaction: Database['transaction'];
  log: Logger;
  /** Called when events may have been stored. */
  eventsStored: () => void;
}) {
  const { checkouts, wallets, products, payments, outbox, transaction, log, eventsStored } = deps;

  async function eventsOf(
    checkout: CheckoutDoc,
    left: readonly PaymentDoc[],
    session: Session,
  ): Promise<OutboxEvent[]> {
    const { productId, walletId } = checkout;
    const [product = null] = productId === null ? [] : await products.ofAllAccounts([productId], session);
    const used = await wallets.ofAllAccounts([walletId, ...(product ? [product.walletId] : [])], session);
    const wallet = used.find(({ _id }) => _id === walletId);
    // Neither can be deleted: the checkout has payments.
    if (!wallet || (productId !== null && !product)) throw new Error(`checkout ${checkout._id} has lost its wallet`);
    const productWallet = used.find(({ _id }) => _id === product?.walletId) ?? null;
    const target = { link: null, checkout, product, wallet, productWallet };
    return left.flatMap((payment) => outbox.ofPayment(['payment.completed'], { payment, ...target }));
  }

  /** In one transaction. @returns how many payments */
  const completeSome = (id: string): Promise<number> =>
    transaction(async (session) => {
      const checkout = await checkouts.byIdToComplete(id, session);
      if (!checkout) return 0;
      const left = await payments.leftOfCheckout(checkout, checkout.completedUpTo!, COMPLETED_AT_ONCE, session);
      const ids = left.map(({ _id }) => _id);
      await checkouts.completedUpTo(id, left.length < COMPLETED_AT_ONCE ? null : ids.at(-1)!, session);
      if (left.length === 0) return 0;
      await payments.complete(checkout.accountId, ids, session);
      const completed = left.map((payment) => ({ ...payment, status: 'COMPLETED' as const, reason: null }));
      await outbox.publish(await eventsOf(checkout, completed, session), session);
      return left.length;
    });

  async function completeBatches(id: string, signal: AbortSignal): Promise<number> {
    let completed = 0;
    for (let batch = 0; batch < MAX_BATCHES && !signal.aborted; batch++) {
      const count = await completeSome(id);
      completed += count;
      if (count < COMPLETED_AT_ONCE) break;
    }
    return completed;
  }

  return {
    /** Completes the payments that are left. Safe to repeat, and to run in several processes at once. @returns how many payments it completed */
    async run(signal: AbortSignal): Promise<number> {
      let completed = 0;
      for (const { _id } of await checkouts.leftToComplete(CHECKOUTS)) {
        try {
          completed += await completeBatches(_id, signal);
        } catch (error) {
          log.error(
            { err: error, checkoutId: _id },
            'payments of an accepted checkout not completed; trying again later',
          );
        }
      }
      if (completed > 0) eventsStored();
      return completed;
    },
  };
}

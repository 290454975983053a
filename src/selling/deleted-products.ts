/** Removes the links and checkouts of deleted products in batches, because a product may have any
 *  number. Requests no longer find them, since their product is gone. */

import type { Logger } from 'pino';
import type { Database } from '../kit/database.js';
import type { ForAccount } from '../stores.js';
import type { ProductStore } from './product-store.js';

/** Products dealt with in one run, a batch each: the run precedes the next check of
 *  expiring checkouts. */
const PRODUCTS = 20;

interface DeletedProductsDeps {
  forAccount: ForAccount<'products' | 'paymentLinks' | 'checkouts'>;
  transaction: Database['transaction'];
}

/** Removes one batch, including links and checkouts made during the deletion. @returns whether
 *  nothing is left */
export const createRemoveLeftovers =
  ({ forAccount, transaction }: DeletedProductsDeps) =>
  (accountId: string, productId: string): Promise<boolean> =>
    transaction(async (session) => {
      const { products, paymentLinks, checkouts } = forAccount(accountId);
      if (!(await paymentLinks.removeOfProduct(productId, session))) return false;
      if (!(await checkouts.removeOfProduct(productId, session))) return false;
      if (!(await products.removeVersions(productId, session))) return false;
      await products.forget(productId, session);
      return true;
    });

export function createLeftoverRemoval(
  deps: DeletedProductsDeps & { products: Pick<ProductStore, 'deleted'>; log: Logger },
) {
  const { products, log } = deps;
  const removeLeftovers = createRemoveLeftovers(deps);
  return {
    /** Safe in several processes at once, and to repeat after a crash. */
    async run(signal: AbortSignal): Promise<void> {
      for (const { _id, accountId } of await products.deleted(PRODUCTS)) {
        if (signal.aborted) return;
        try {
          await removeLeftovers(accountId, _id);
        } catch (err) {
          log.error(
            { err, productId: _id },
            'links and checkouts of a deleted product not removed; trying again later',
          );
        }
      }
    },
  };
}

/** Removes the links and checkouts of deleted products, batch by batch: a product may have any number of them. Meanwhile they are gone for whoever asks
 *  for one, because their product is. */
import type { Database } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { ProductStore } from '../stores/products.js';

const PRODUCTS = 10;
/** More batches than this are left for the next run. */
const MAX_BATCHES = 20;

export interface DeletedProductsDeps {
  forAccount: ForAccount<'products' | 'paymentLinks' | 'checkouts'>;
  transaction: Database['transaction'];
}

/** Removes one batch. What was being made when the product was deleted is removed as well. @returns whether nothing is left */
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

export function createLeftoverRemoval(deps: DeletedProductsDeps & { products: Pick<ProductStore, 'deleted'> }) {
  const removeLeftovers = createRemoveLeftovers(deps);
  return {
    /** What several processes do at once, or after a crash again, is done once. */
    async run(signal: AbortSignal): Promise<void> {
      for (let batch = 0; batch < MAX_BATCHES; batch++) {
        const deleted = await deps.products.deleted(PRODUCTS);
        if (deleted.length === 0) return;
        for (const { _id, accountId } of deleted) {
          if (signal.aborted) return;
          await removeLeftovers(accountId, _id);
        }
      }
    },
  };
}

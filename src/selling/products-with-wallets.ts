/** Products with their wallets: two reads, between which others may write. */

import type { ForAccount } from '../stores.js';
import type { WalletDoc } from '../watching/index.js';
import type { ProductDoc } from './product-document.js';

type Listed = Omit<ProductDoc, 'history'>;
type Stores = ReturnType<ForAccount<'products' | 'wallets'>>;

export interface WithWallet<P extends Listed = ProductDoc> {
  product: P;
  wallet: WalletDoc;
}

/** In the order of the products. A product moved from a wallet deleted in between is read again; one deleted in between is missing.
 *  @throws Error for a product whose wallet does not exist */
export async function withWallets<P extends Listed>(
  found: readonly P[],
  stores: Stores,
): Promise<Array<WithWallet<P | ProductDoc>>> {
  const used = await stores.wallets.byIds(found.map(({ walletId }) => walletId));
  const walletById = new Map(used.map((wallet) => [wallet._id, wallet]));
  const left = found.filter(({ walletId }) => !walletById.has(walletId));
  const again = left.length === 0 ? [] : await withWallets(await readMoved(left, stores), stores);
  const againById = new Map(again.map((each) => [each.product._id, each]));
  return found.flatMap((product) => {
    const wallet = walletById.get(product.walletId);
    return wallet ? { product, wallet } : (againById.get(product._id) ?? []);
  });
}

async function readMoved(products: readonly Listed[], stores: Stores): Promise<ProductDoc[]> {
  const walletIdOf = new Map(products.map(({ _id, walletId }) => [_id, walletId]));
  const now = await stores.products.byIds([...walletIdOf.keys()]);
  const lost = now.find(({ _id, walletId }) => walletId === walletIdOf.get(_id));
  if (lost) throw new Error(`product ${lost._id} has no wallet`);
  return now;
}

/** Null when the product was deleted since. */
export async function withWallet(product: ProductDoc, stores: Stores): Promise<WithWallet | null> {
  return (await withWallets([product], stores))[0] ?? null;
}

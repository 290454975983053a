/** Products with the wallets that they are paid to: two reads, between which others may write. */
import type { ForAccount } from '../stores/index.js';
import type { ProductDoc } from '../stores/products.js';
import type { WalletDoc } from '../stores/wallets.js';

type Listed = Omit<ProductDoc, 'history'>;

/** In the order of the products. One that moved, and whose old wallet was deleted since, is read again; one that was deleted since is missing.
 *  @throws Error for a product that names a wallet that is not there */
export async function withWallets<P extends Listed>(
  found: readonly P[],
  { products, wallets }: ReturnType<ForAccount<'products' | 'wallets'>>,
): Promise<Array<{ product: P | ProductDoc; wallet: WalletDoc }>> {
  const productById = new Map<string, P | ProductDoc>(found.map((product) => [product._id, product]));
  const walletById = new Map<string, WalletDoc>();
  const isMissing = ({ walletId }: Listed) => !walletById.has(walletId);
  for (;;) {
    const wanted = new Set([...productById.values()].filter(isMissing).map(({ walletId }) => walletId));
    if (wanted.size === 0) break;
    for (const wallet of await wallets.byIds([...wanted])) walletById.set(wallet._id, wallet);
    const left = [...productById.values()].filter(isMissing);
    if (left.length === 0) break;
    const again = new Map((await products.byIds(left.map(({ _id }) => _id))).map((product) => [product._id, product]));
    for (const { _id, walletId } of left) {
      const product = again.get(_id);
      if (!product) productById.delete(_id);
      else if (product.walletId === walletId) throw new Error(`product ${_id} has no wallet`);
      else productById.set(_id, product);
    }
  }
  return [...productById.values()].map((product) => ({ product, wallet: walletById.get(product.walletId)! }));
}

/** Null when the product was deleted since. */
export async function withWallet(
  product: ProductDoc,
  stores: ReturnType<ForAccount<'products' | 'wallets'>>,
): Promise<{ product: ProductDoc; wallet: WalletDoc } | null> {
  return (await withWallets([product], stores))[0] ?? null;
}

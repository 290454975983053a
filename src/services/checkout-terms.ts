/** The terms of a new checkout: what is sold, for how much, and to which wallet it is paid. They come from a product, or from the request alone. */
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../domain/amount.js';
import { conflict, invalid } from '../domain/api-error.js';
import { gapFoundAt } from '../domain/coverage.js';
import type { CheckoutDoc } from '../stores/checkouts.js';
import type { ForAccount } from '../stores/index.js';
import type { ProductDoc } from '../stores/products.js';

type Input = ParsedInputOf<Contract['checkouts']['create']>;

/** What never changes once the checkout is made. */
export type CheckoutTerms = Pick<
  CheckoutDoc,
  'productId' | 'walletId' | 'name' | 'description' | 'assetCode' | 'assetIssuer' | 'amount' | 'quantity' | 'gapBefore'
>;

export const unknownProduct = () =>
  invalid({ path: 'productId', message: 'There is no such product.', code: 'not_found' });
export const unknownWallet = () =>
  invalid({ path: 'walletId', message: 'There is no such wallet.', code: 'not_found' });
export const inactiveWallet = () => conflict('The wallet is inactive: make it active first.');

/** @throws ApiError `validation_error` for what does not fit the product, `conflict` where product or wallet is inactive */
export async function termsOf(
  { products, wallets }: ReturnType<ForAccount<'products' | 'wallets'>>,
  input: Input,
): Promise<CheckoutTerms> {
  if (input.productId != null) {
    const product = await products.byId(input.productId);
    if (!product) throw unknownProduct();
    const terms = termsOfProduct(product, input);
    if (!product.active) throw conflict('The product is inactive: make it active first.');
    // Whether the wallet is there and active is looked at once the checkout is stored.
    const wallet = await wallets.byId(product.walletId);
    return { ...terms, gapBefore: gapFoundAt(wallet?.gap ?? null) };
  }
  const wallet = await wallets.byId(input.walletId!);
  if (!wallet) throw unknownWallet();
  if (!wallet.active) throw inactiveWallet();
  return {
    productId: null,
    walletId: wallet._id,
    name: input.name!,
    description: input.description ?? null,
    assetCode: input.assetCode!,
    assetIssuer: input.assetIssuer ?? null,
    amount: formatAmount(parseAmount(input.amount!)!),
    quantity: null,
    gapBefore: gapFoundAt(wallet.gap),
  };
}

/** The terms that a product gives the checkout. @throws ApiError `validation_error` */
function termsOfProduct(product: ProductDoc, { quantity, amount }: Input): Omit<CheckoutTerms, 'gapBefore'> {
  const { _id: productId, walletId, name, description, assetCode, assetIssuer } = product;
  const terms = { productId, walletId, name, description, assetCode, assetIssuer };
  if (product.priceType === 'FIXED') {
    if (amount !== undefined) {
      throw invalid({ path: 'amount', message: 'The product has a fixed price.', code: 'not_allowed' });
    }
    const count = quantity ?? 1;
    const total = parseAmount(product.price!)! * BigInt(count);
    if (total > MAX_STROOPS) {
      throw invalid({ path: 'quantity', message: 'Costs more than the ledger can hold.', code: 'too_big' });
    }
    return { ...terms, amount: formatAmount(total), quantity: count };
  }
  const faults = [
    ...(quantity == null
      ? []
      : [{ path: 'quantity', message: 'Only a FIXED product has a quantity.', code: 'not_allowed' }]),
    ...(amount === undefined ? [{ path: 'amount', message: 'Required for a CUSTOM product.', code: 'required' }] : []),
    ...(amount !== undefined && product.minAmount !== null && parseAmount(amount)! < parseAmount(product.minAmount)!
      ? [{ path: 'amount', message: `The minimum is ${product.minAmount} ${assetCode}.`, code: 'too_small' }]
      : []),
  ];
  if (faults.length > 0) throw invalid(faults[0]!, ...faults.slice(1));
  return { ...terms, amount: formatAmount(parseAmount(amount!)!), quantity: null };
}

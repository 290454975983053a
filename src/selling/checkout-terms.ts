/** The terms of a new checkout: item, price and wallet, from a product or from the request alone. */
import type { FieldError } from '../../contracts/errors.js';
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf, RawBody } from '../../contracts/operation.js';
import { minorDigitErrors } from '../../contracts/rates.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../domain/amount.js';
import { gapFoundAt } from '../domain/coverage.js';
import { conflict, invalid } from '../kit/api-error.js';
import { NO_SUCH } from '../kit/no-such.js';
import type { ForAccount } from '../stores.js';
import type { CheckoutDoc } from './checkout-document.js';
import type { ProductDoc } from './product-document.js';

type Input = ParsedInputOf<Contract['checkouts']['create']>;

/** Fields that never change after the creation. */
export type CheckoutTerms = Pick<
  CheckoutDoc,
  | 'productId'
  | 'walletId'
  | 'name'
  | 'description'
  | 'assetCode'
  | 'assetIssuer'
  | 'amount'
  | 'currency'
  | 'price'
  | 'quantity'
  | 'gapBefore'
>;

export const unknownProduct = () => invalid(NO_SUCH.product);
export const unknownWallet = () => invalid(NO_SUCH.wallet);
export const inactiveWallet = () => conflict('The wallet is inactive: make it active first.');

/** @throws ApiError `validation_error` for input that does not fit the product, `conflict` when product or wallet is inactive */
export async function termsOf(
  { products, wallets }: ReturnType<ForAccount<'products' | 'wallets'>>,
  input: Input,
): Promise<CheckoutTerms> {
  if (input.productId != null) {
    const product = await products.byId(input.productId);
    if (!product) throw unknownProduct();
    const terms = termsOfProduct(product, input);
    if (!product.active) throw conflict('The product is inactive: make it active first.');
    // The wallet is checked once the checkout is stored.
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
    ...(input.currency
      ? { amount: null, currency: input.currency, price: canonical(input.price!) }
      : { amount: canonical(input.amount!) }),
    quantity: null,
    gapBefore: gapFoundAt(wallet.gap),
  };
}

const canonical = (amount: string): string => formatAmount(parseAmount(amount)!);

/** The terms that a product gives the checkout. @throws ApiError `validation_error` */
function termsOfProduct(product: ProductDoc, input: Input): Omit<CheckoutTerms, 'gapBefore'> {
  const [fault, ...others] = productTermFaults(product, input);
  if (fault) throw invalid(fault, ...others);
  const { _id: productId, walletId, name, description, assetCode, assetIssuer, currency } = product;
  const terms = { productId, walletId, name, description, assetCode, assetIssuer };
  const pricedAt = (sum: string) => (currency ? { amount: null, currency, price: sum } : { amount: sum });
  if (product.priceType === 'CUSTOM')
    return { ...terms, ...pricedAt(canonical((currency ? input.price : input.amount)!)), quantity: null };
  const count = input.quantity ?? 1;
  return { ...terms, ...pricedAt(formatAmount(priceOf(product) * BigInt(count))), quantity: count };
}

const priceOf = (product: ProductDoc): bigint => parseAmount(product.price!)!;

/** Faults of a body that does not fit its product. @param body as sent, valid or not */
export function productTermFaults(product: ProductDoc, body: RawBody): FieldError[] {
  const faults: FieldError[] = [];
  const fault = (path: string, message: string, code: string) => void faults.push({ path, message, code });
  const { priceType, currency, minAmount, assetCode } = product;
  const { quantity } = body;
  if (priceType === 'FIXED') {
    for (const path of ['amount', 'price'])
      if (body[path] != null) fault(path, 'The product has a fixed price.', 'not_allowed');
    if (Number.isSafeInteger(quantity) && priceOf(product) * BigInt(quantity as number) > MAX_STROOPS)
      fault('quantity', 'Costs more than the ledger can hold.', 'too_big');
    return faults;
  }
  // The payer's amount is in the product's currency, or in its asset.
  const [path, other] = currency ? (['price', 'amount'] as const) : (['amount', 'price'] as const);
  const sum = body[path];
  if (quantity != null) fault('quantity', 'Only a FIXED product has a quantity.', 'not_allowed');
  if (body[other] != null)
    fault(other, `The product is not priced in ${currency ? 'its asset' : 'a currency'}.`, 'not_allowed');
  if (sum == null) fault(path, 'Required for a CUSTOM product.', 'required');
  const units = typeof sum === 'string' ? parseAmount(sum) : null;
  if (units !== null && minAmount !== null && units < parseAmount(minAmount)!)
    fault(path, `The minimum is ${minAmount} ${currency ?? assetCode}.`, 'too_small');
  return [...faults, ...minorDigitErrors(currency, { [path]: sum })];
}

/** The terms of a new checkout: item, price and wallet, from a product or from the
 *  request alone. */
import type { FieldError } from '../../contracts/errors.js';
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf, RawBody } from '../../contracts/operation.js';
import { MAX_LINES, orderFieldErrors } from '../../contracts/orders.js';
import { minorDigitErrors } from '../../contracts/rates.js';
import { formatAmount, MAX_STROOPS, parseAmount } from '../domain/amount.js';
import { gapFoundAt } from '../domain/coverage.js';
import {
  canonicalPercent,
  type Discount,
  type Order,
  parsePercent,
  type StoredLine,
  totalsOf,
} from '../domain/order.js';
import { conflict, invalid, NO_SUCH } from '../kit/api-error.js';
import type { ForAccount } from '../stores.js';
import type { CheckoutDoc } from './checkout-document.js';
import { couponRefusal, discountBy, refusedCoupon, takesFrom } from './coupons.js';
import type { Takes } from './holdings.js';
import type { ProductDoc } from './product-document.js';

type Input = ParsedInputOf<Contract['checkouts']['create']> & {
  /** In place of `tip`, of the subtotal less the discount; canonical. */
  tipPercent?: string | null;
};

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
  | 'lines'
  | 'taxIncluded'
  | 'discount'
  | 'tip'
  | 'tolerancePercent'
  | 'takes'
  | 'gapBefore'
>;

/** What is bought, before it is added up. */
interface Sold
  extends Omit<
    CheckoutTerms,
    'amount' | 'price' | 'lines' | 'taxIncluded' | 'discount' | 'tip' | 'tolerancePercent' | 'takes' | 'gapBefore'
  > {
  lines: Omit<StoredLine, 'total' | 'net' | 'tax'>[];
  /** Products with a stock. */
  pieces: Takes['pieces'];
}

type Stores = ReturnType<ForAccount<'account' | 'coupons' | 'products' | 'wallets'>>;

export const unknownProduct = () => invalid(NO_SUCH.product);
export const unknownWallet = () => invalid(NO_SUCH.wallet);
export const inactiveWallet = () => conflict('The wallet is inactive: make it active first.');
const inactiveProduct = (name = '') =>
  conflict(`The product ${name && `“${name}” `}is inactive: make it active first.`);

/** @throws ApiError `validation_error` for input that does not fit the product, `conflict` when
 *  product or wallet is inactive */
export async function termsOf(stores: Stores, input: Input, now: Date): Promise<CheckoutTerms> {
  const { account, products, wallets } = stores;
  if (input.productId != null) {
    const product = await products.byId(input.productId);
    if (!product) throw unknownProduct();
    const [fault, ...others] = productTermFaults(product, input);
    if (fault) throw invalid(fault, ...others);
    const terms = await pricedWith(stores, soldOf(product, input), input, now);
    if (!product.active) throw inactiveProduct();
    // The wallet is checked once the checkout is stored.
    const wallet = await wallets.byId(product.walletId);
    const tolerancePercent = canonicalPercent(input.tolerancePercent ?? product.tolerancePercent);
    return { ...terms, tolerancePercent, gapBefore: gapFoundAt(wallet?.gap ?? null) };
  }
  const wallet = await wallets.byId(input.walletId!);
  if (!wallet) throw unknownWallet();
  const { lines, pieces = [] } = input.lines
    ? await linesSold(products, input.lines, input)
    : {
        lines: [{ productId: null, name: input.name!, quantity: 1, price: canonical((input.price ?? input.amount)!) }],
      };
  const sold: Sold = {
    productId: null,
    walletId: wallet._id,
    name: input.name ?? namesOf(lines),
    description: input.description ?? null,
    assetCode: input.assetCode!,
    assetIssuer: input.assetIssuer ?? null,
    ...(input.currency ? { currency: input.currency } : {}),
    quantity: null,
    ...{ lines, pieces },
  };
  const terms = await pricedWith(stores, sold, input, now);
  if (!wallet.active) throw inactiveWallet();
  const tolerance = input.tolerancePercent ?? (await account.get())?.tolerancePercent ?? '0';
  return { ...terms, tolerancePercent: canonicalPercent(tolerance), gapBefore: gapFoundAt(wallet.gap) };
}

const canonical = (amount: string): string => formatAmount(parseAmount(amount)!);

/** What a checkout for a product sells: how many of a FIXED one, or the payer's amount. */
function soldOf(product: ProductDoc, input: Input): Sold {
  const { _id: productId, walletId, name, description, assetCode, assetIssuer, currency } = product;
  const isFixed = product.priceType === 'FIXED';
  const price = isFixed ? product.price! : canonical((currency ? input.price : input.amount)!);
  const quantity = isFixed ? (input.quantity ?? 1) : null;
  return {
    ...{ productId, walletId, name, description, assetCode, assetIssuer, quantity },
    ...(currency ? { currency } : {}),
    lines: [{ productId, name, quantity: quantity ?? 1, price }],
    pieces: product.stock === null ? [] : [{ productId, quantity: quantity ?? 1 }],
  };
}

/** @throws ApiError at the line */
async function linesSold(
  products: Stores['products'],
  lines: NonNullable<Input['lines']>,
  input: Input,
): Promise<Pick<Sold, 'lines'> & Partial<Pick<Sold, 'pieces'>>> {
  const ids = [...new Set(lines.flatMap(({ productId }) => productId ?? []))];
  const byId = new Map((await products.byIds(ids)).map((product) => [product._id, product]));
  const [fault, ...others] = lineProductFaults(byId, { ...input });
  if (fault) throw invalid(fault, ...others);
  const inactive = lines.map(({ productId }) => byId.get(productId ?? '')).find((product) => product?.active === false);
  if (inactive) throw inactiveProduct(inactive.name);
  const sold = lines.map(({ productId, name, price, quantity, taxPercent }) => {
    const product = byId.get(productId ?? '');
    return {
      productId: productId ?? null,
      name: product?.name ?? name!,
      quantity: quantity ?? 1,
      price: product?.price ?? canonical(price!),
      ...(taxPercent == null ? {} : { taxPercent: canonicalPercent(taxPercent) }),
    };
  });
  const stocked = [...byId.values()].filter(({ stock }) => stock !== null);
  return { lines: sold, pieces: stocked.map(({ _id }) => ({ productId: _id, quantity: countOf(_id, sold) })) };
}

/** Lines of one product count together. */
const countOf = (productId: string, lines: readonly { productId: string | null; quantity: number }[]): number =>
  lines.reduce((sum, line) => (line.productId === productId ? sum + line.quantity : sum), 0);

/** Faults of lines whose products do not fit the body. @param body as sent, valid or not */
export function lineProductFaults(byId: ReadonlyMap<string, ProductDoc>, body: RawBody): FieldError[] {
  const lines = Array.isArray(body.lines) ? body.lines.slice(0, MAX_LINES) : [];
  return lines.flatMap((line: unknown, index) => {
    const id = (line as RawBody | null)?.productId;
    if (typeof id !== 'string') return [];
    const product = byId.get(id);
    const path = `lines.${index}.productId`;
    if (!product) return [{ ...NO_SUCH.product, path }];
    const message = unfitFor(product, body);
    return message === null ? [] : [{ path, message, code: 'not_allowed' }];
  });
}

function unfitFor(product: ProductDoc, body: RawBody): string | null {
  const { walletId, assetCode, assetIssuer, currency = null, priceType } = product;
  if (priceType !== 'FIXED') return 'Only a FIXED product can be a line.';
  if (walletId !== body.walletId) return 'The product is paid to another wallet.';
  const isSameAsset = assetCode === body.assetCode && assetIssuer === (body.assetIssuer ?? null);
  if (!isSameAsset) return 'The product is paid in another asset.';
  return currency === (body.currency ?? null) ? null : `The product is priced in ${currency ?? 'its asset'}.`;
}

const MOST_NAME_CHARACTERS = 120;

/** The names of the lines, cut to the length of a name. */
function namesOf(lines: readonly { name: string }[]): string {
  const names = [...lines.map(({ name }) => name).join(', ')];
  return names.length <= MOST_NAME_CHARACTERS
    ? names.join('')
    : `${names.slice(0, MOST_NAME_CHARACTERS - 1).join('')}…`;
}

/** What takes something off an order. */
interface Off {
  name: string | null;
  discount: Discount;
  takesFrom?: (index: number) => boolean;
}

/** With its coupon, which is redeemed once the checkout is stored. @throws ApiError at
 *  the coupon */
async function pricedWith({ coupons }: Stores, { pieces, ...sold }: Sold, input: Input, now: Date) {
  const { discount, couponCode } = input;
  if (couponCode == null) {
    const off = discount ? { name: discount.name ?? null, discount: discountOf(discount) } : null;
    return {
      ...pricedBy(sold, input, off),
      ...(pieces.length > 0 && { takes: { couponId: null, pieces, linkId: null } }),
    };
  }
  const coupon = await coupons.byCode(couponCode.toUpperCase());
  if (!coupon) throw refusedCoupon('There is no such coupon.', 'not_found');
  const { lines, currency = null, assetCode, assetIssuer } = sold;
  const subtotal = lines.reduce((sum, { price, quantity }) => sum + parseAmount(price)! * BigInt(quantity), 0n);
  const refusal = couponRefusal(coupon, { lines, subtotal, currency, assetCode, assetIssuer, now });
  if (refusal !== null) throw refusedCoupon(refusal);
  const priced = pricedBy(sold, input, {
    name: coupon.code,
    discount: discountBy(coupon, DISCOUNT_DECIMALS),
    takesFrom: (index) => takesFrom(coupon, lines[index]!),
  });
  return { ...priced, takes: { couponId: coupon._id, pieces, linkId: null } };
}

/** What it comes to. @throws ApiError for an order that no payment could pay */
function pricedBy(
  { lines, ...sold }: Omit<Sold, 'pieces'>,
  { tip, tipPercent, taxIncluded }: Input,
  off: Off | null,
): Omit<CheckoutTerms, 'tolerancePercent' | 'gapBefore'> {
  const order: Order = {
    lines: lines.map(({ price, quantity, taxPercent }) => ({
      price: parseAmount(price)!,
      quantity: BigInt(quantity),
      tax: taxPercent === undefined ? null : parsePercent(taxPercent, TAX_DECIMALS),
    })),
    taxIncluded: taxIncluded ?? true,
    discount: off?.discount ?? null,
    ...(off?.takesFrom && { takesFrom: off.takesFrom }),
    tip: tipPercent == null ? parseAmount(tip ?? '0')! : { percent: parsePercent(tipPercent, DISCOUNT_DECIMALS) },
    currency: sold.currency ?? null,
  };
  const totals = totalsOf(order);
  if (totals.total <= 0n)
    throw invalid({ path: 'lines', message: 'Nothing is left to pay for this order.', code: 'too_small' });
  if (totals.total > MAX_STROOPS || totals.subtotal > MAX_STROOPS)
    throw invalid({ path: 'lines', message: 'Costs more than the ledger can hold.', code: 'too_big' });
  const total = formatAmount(totals.total);
  return {
    ...sold,
    ...(sold.currency ? { amount: null, price: total } : { amount: total }),
    lines: lines.map((line, index) => {
      const { total, net, tax } = totals.lines[index]!;
      return { ...line, total: formatAmount(total), net: formatAmount(net), tax: formatAmount(tax) };
    }),
    taxIncluded: order.taxIncluded,
    ...(off && { discount: { name: off.name, amount: formatAmount(totals.discount) } }),
    ...(totals.tip > 0n && { tip: formatAmount(totals.tip) }),
  };
}

const TAX_DECIMALS = 3;
const DISCOUNT_DECIMALS = 2;

const discountOf = ({ percent, amount }: NonNullable<Input['discount']>): Discount =>
  percent == null ? { amount: parseAmount(amount!)! } : { percent: parsePercent(percent, DISCOUNT_DECIMALS) };

/** Faults of a body that does not fit its product. @param body as sent, valid or not */
export function productTermFaults(product: ProductDoc, body: RawBody): FieldError[] {
  const faults: FieldError[] = [];
  const fault = (path: string, message: string, code: string) => void faults.push({ path, message, code });
  const { priceType, currency, minAmount, assetCode } = product;
  const { quantity } = body;
  // Checked again in the product's currency.
  const order = { discount: body.discount, tip: body.tip };
  if (priceType === 'FIXED') {
    for (const path of ['amount', 'price'])
      if (body[path] != null) fault(path, 'The product has a fixed price.', 'not_allowed');
    if (Number.isSafeInteger(quantity) && parseAmount(product.price!)! * BigInt(quantity as number) > MAX_STROOPS)
      fault('quantity', 'Costs more than the ledger can hold.', 'too_big');
    return [...faults, ...orderFieldErrors({ ...order, currency })];
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
  return [...faults, ...minorDigitErrors(currency, { [path]: sum }), ...orderFieldErrors({ ...order, currency })];
}

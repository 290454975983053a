/** Stored products, links and checkouts → the shapes that the contract promises. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { excessOf, remainingOf } from '../domain/checkout.js';
import { memoIdOf } from '../domain/memo.js';
import { sumsOf } from '../domain/order.js';
import { muxedAddressOf } from '../domain/strkey.js';
import { toWalletSummary, type WalletDoc } from '../watching/index.js';
import type { CheckoutDoc } from './checkout-document.js';
import type { PaymentLinkDoc } from './link-store.js';
import type { ProductDoc } from './product-document.js';

// Products and payment links as the API and the events show them; quotes, which hold for a moment
// only, are added by the API.

export type Product = OutputOf<Contract['products']['get']>;
export type PaymentLink = OutputOf<Contract['paymentLinks']['get']>;

export const toProduct = (product: Omit<ProductDoc, 'history'>, wallet: WalletDoc): Product => ({
  id: product._id,
  name: product.name,
  description: product.description,
  imageUrl: product.imageUrl,
  assetCode: product.assetCode,
  assetIssuer: product.assetIssuer,
  priceType: product.priceType,
  price: product.price,
  minAmount: product.minAmount,
  currency: product.currency ?? null,
  quote: null,
  tolerancePercent: product.tolerancePercent,
  stock: product.stock,
  active: product.active,
  wallet: toWalletSummary(wallet),
  paymentLinkCount: product.paymentLinkCount,
  createdAt: product.createdAt.toISOString(),
});

export const toProductSummary = ({
  _id,
  name,
  assetCode,
  priceType,
  price,
  currency = null,
}: ProductDoc): PaymentLink['product'] => ({
  id: _id,
  name,
  assetCode,
  priceType,
  price,
  currency,
  quote: null,
});

export const toPaymentLink = (link: PaymentLinkDoc, product: ProductDoc, publicUrl: string): PaymentLink => ({
  id: link._id,
  name: link.name,
  slug: link.slug,
  memo: link.memo,
  url: `${publicUrl}/p/${link.slug}`,
  active: link.active,
  paymentCount: link.paymentCount,
  order: link.order,
  endsAt: link.endsAt?.toISOString() ?? null,
  inactiveText: link.inactiveText,
  afterPayment: link.afterPayment,
  maxPayments: link.maxPayments,
  product: toProductSummary(product),
  createdAt: link.createdAt.toISOString(),
});

export type Checkout = OutputOf<Contract['checkouts']['get']>;

export interface CheckoutFacts {
  checkout: CheckoutDoc;
  /** Null for a checkout without a product. */
  product: ProductDoc | null;
  wallet: WalletDoc;
}

/** What came, what is still due and what was paid too much, in canonical decimal text. In a
 *  currency the amount due is null while anything is: it follows from a rate. */
export function balanceOf(
  checkout: Pick<CheckoutDoc, 'status' | 'amount' | 'price' | 'currency' | 'received' | 'paidIn' | 'excess'>,
) {
  const { status, amount, price, currency } = checkout;
  const sums = { status, amount: parseAmount(price ?? amount!)!, received: BigInt(checkout.received) };
  const [received, remaining] = [formatAmount(sums.received), formatAmount(remainingOf(sums))];
  if (!currency) {
    const excess = excessOf(sums);
    const excessAmount = excess === null ? null : formatAmount(excess);
    return {
      ...{ receivedAmount: received, remainingAmount: remaining, excessAmount },
      ...{ receivedValue: null, remainingValue: null },
    };
  }
  const excess = BigInt(checkout.excess ?? 0);
  return {
    receivedAmount: formatAmount(BigInt(checkout.paidIn ?? 0)),
    remainingAmount: remaining === '0' ? '0' : null,
    excessAmount: status !== 'PAID' || excess === 0n ? null : formatAmount(excess),
    receivedValue: received,
    remainingValue: remaining,
  };
}

/** The lines and what they come to. */
function orderOf(checkout: CheckoutDoc) {
  const { lines, taxIncluded, subtotal, discount, tax, tip, total } = sumsOf(checkout);
  return {
    lines: lines.map(({ net: _, tax: __, taxPercent = null, ...line }) => ({ ...line, taxPercent })),
    ...{ taxIncluded, subtotal, discountAmount: discount?.amount ?? '0', discountName: discount?.name ?? null },
    ...{ taxAmount: tax, tipAmount: tip, total },
  };
}

export const checkoutUrl = (publicUrl: string, slug: string): string => `${publicUrl}/c/${slug}`;

const NO_CUSTOMER: Checkout['customer'] = { name: null, email: null, phone: null, address: null };

const answersOf = ({ answers }: Pick<CheckoutDoc, 'answers'>): Record<string, string> =>
  answers === undefined ? {} : JSON.parse(answers);

export function toCheckout({ checkout, product, wallet }: CheckoutFacts, publicUrl: string): Checkout {
  const memoId = memoIdOf(checkout.memo);
  return {
    id: checkout._id,
    status: checkout.status,
    reference: checkout.reference,
    metadata: JSON.parse(checkout.metadata),
    paymentLinkId: checkout.paymentLinkId ?? null,
    customer: { ...NO_CUSTOMER, ...checkout.customer },
    answers: answersOf(checkout),
    customerEmail: checkout.customerEmail ?? null,
    language: checkout.language ?? null,
    name: checkout.name,
    description: checkout.description,
    assetCode: checkout.assetCode,
    assetIssuer: checkout.assetIssuer,
    amount: checkout.amount,
    currency: checkout.currency ?? null,
    price: checkout.price ?? null,
    quote: null,
    quantity: checkout.quantity,
    ...orderOf(checkout),
    tolerancePercent: checkout.tolerancePercent,
    ...balanceOf(checkout),
    product: product && toProductSummary(product),
    wallet: toWalletSummary(wallet),
    slug: checkout.slug,
    memo: checkout.memo,
    memoId,
    muxedAddress: muxedAddressOf(wallet.address, memoId),
    url: checkoutUrl(publicUrl, checkout.slug),
    successUrl: checkout.successUrl,
    cancelUrl: checkout.cancelUrl,
    expiresAt: checkout.expiresAt.toISOString(),
    paidAt: checkout.paidAt?.toISOString() ?? null,
    closedAt: checkout.closedAt?.toISOString() ?? null,
    createdAt: checkout.createdAt.toISOString(),
  };
}

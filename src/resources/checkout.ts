/** Stored checkout → the shape that the contract promises. */
import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { excessOf, remainingOf } from '../domain/checkout.js';
import { memoIdOf } from '../domain/memo.js';
import { muxedAddressOf } from '../domain/muxed.js';
import type { CheckoutDoc } from '../stores/checkouts.js';
import type { ProductDoc } from '../stores/products.js';
import type { WalletDoc } from '../stores/wallets.js';
import { toProductSummary, toWalletSummary } from './index.js';

export type Checkout = OutputOf<Contract['checkouts']['get']>;

export interface CheckoutFacts {
  checkout: CheckoutDoc;
  /** Null for a checkout without a product. */
  product: ProductDoc | null;
  wallet: WalletDoc;
}

/** Amounts still due and paid too much, in canonical decimal text. */
export function balanceOf({ status, amount, received }: Pick<CheckoutDoc, 'status' | 'amount' | 'received'>) {
  const sums = { status, amount: parseAmount(amount)!, received: BigInt(received) };
  const excess = excessOf(sums);
  return {
    receivedAmount: formatAmount(sums.received),
    remainingAmount: formatAmount(remainingOf(sums)),
    excessAmount: excess === null ? null : formatAmount(excess),
  };
}

export const checkoutUrl = (publicUrl: string, slug: string): string => `${publicUrl}/c/${slug}`;

export function toCheckout({ checkout, product, wallet }: CheckoutFacts, publicUrl: string): Checkout {
  const memoId = memoIdOf(checkout.memo);
  return {
    id: checkout._id,
    status: checkout.status,
    reference: checkout.reference,
    metadata: JSON.parse(checkout.metadata),
    name: checkout.name,
    description: checkout.description,
    assetCode: checkout.assetCode,
    assetIssuer: checkout.assetIssuer,
    amount: checkout.amount,
    quantity: checkout.quantity,
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

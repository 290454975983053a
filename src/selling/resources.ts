/** Products and payment links as the API and the events show them; quotes, which hold for a moment only, are added by the API. */

import type { Contract } from '../../contracts/index.js';
import type { OutputOf } from '../../contracts/operation.js';
import { toWalletSummary, type WalletDoc } from '../watching/index.js';
import type { PaymentLinkDoc } from './link-store.js';
import type { ProductDoc } from './product-document.js';

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
  product: toProductSummary(product),
  createdAt: link.createdAt.toISOString(),
});

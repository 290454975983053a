/** Stored documents → the shapes that the contracts promise. The API and the events say the same because both come from here; quotes, which hold for a
 *  moment only, are added by the API. */

import type { Contract } from '../../contracts/index.js';
import { knownAsset } from '../../contracts/known-assets.js';
import { networkInfo } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount } from '../domain/amount.js';
import { type Asset, assetName } from '../domain/asset.js';
import type { PaymentDoc } from '../payments/payment-document.js';
import type { GapDoc } from '../watching/gap-store.js';
import type { WalletDoc } from '../watching/wallet-store.js';
import type { WebhookDoc } from '../webhooks/webhook-store.js';
import type { PaymentLinkDoc } from './link-store.js';
import type { ProductDoc } from './product-document.js';

export type Wallet = OutputOf<Contract['wallets']['get']>;
type Gap = OutputOf<Contract['wallets']['gaps']>['items'][number];
export type Product = OutputOf<Contract['products']['get']>;
export type PaymentLink = OutputOf<Contract['paymentLinks']['get']>;
type Webhook = OutputOf<Contract['webhooks']['get']>;
export type Payment = OutputOf<Contract['payments']['get']>;

export const toWallet = (wallet: WalletDoc, sync: Wallet['sync']): Wallet => ({
  ...toWalletSummary(wallet),
  active: wallet.active,
  sync,
  createdAt: wallet.createdAt.toISOString(),
});

export const toGap = ({ fromLedger, toLedger, at, mendedAt }: GapDoc): Gap => ({
  fromLedger,
  toLedger,
  at: at.toISOString(),
  mendedAt: mendedAt?.toISOString() ?? null,
});

/** Lumens first, then by code. */
export const toWalletAssets = (
  held: readonly { asset: Asset; stroops: bigint; authorized: boolean }[],
): OutputOf<Contract['wallets']['assets']> =>
  held
    .toSorted((a, b) => orderOf(a.asset).localeCompare(orderOf(b.asset), 'en'))
    .map(({ asset: { code, issuer }, stroops, authorized }) => {
      const known = knownAsset(code, issuer);
      return {
        ...{ assetCode: code, assetIssuer: issuer, balance: formatAmount(stroops), authorized },
        known: known && { name: known.name, domain: known.domain },
      };
    });

const orderOf = (asset: Asset) => (asset.issuer === null ? '' : assetName(asset));

export const toWalletSummary = ({ _id, name, address, network }: WalletDoc): Product['wallet'] => ({
  id: _id,
  name,
  address,
  network,
});

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

/** @param product of the payment's link or checkout; null when there is none. */
export const toPayment = (payment: PaymentDoc, product: ProductDoc | null): Payment => ({
  id: payment._id,
  status: payment.status,
  reason: payment.reason,
  amount: payment.amount,
  assetCode: payment.assetCode,
  assetIssuer: payment.assetIssuer,
  expectedAmount: payment.expectedAmount,
  excessAmount: payment.excessAmount,
  shortfallAmount: payment.shortfallAmount,
  memo: payment.memo,
  memoType: payment.memoType,
  destinationMuxedId: payment.destinationMuxedId ?? null,
  senderAddress: payment.senderAddress,
  senderMuxedAddress: payment.senderMuxedAddress ?? null,
  receiverAddress: payment.receiverAddress,
  network: payment.network,
  transactionHash: payment.transactionHash,
  operationId: payment.operationId,
  ledger: payment.ledger,
  ledgerClosedAt: payment.ledgerClosedAt.toISOString(),
  paymentLinkId: payment.paymentLinkId,
  // Payments from before checkouts existed have no such field.
  checkoutId: payment.checkoutId ?? null,
  product: product && toProductSummary(product),
  walletId: payment.walletId,
  needsDecision: payment.needsDecision,
  decisionNote: payment.dismissal?.note ?? null,
  value: shownValue(payment),
  refundedAmount: payment.refundedAmount ?? '0',
  refunds: (payment.refunds ?? []).map(({ at, ...refund }) => ({ ...refund, at: at.toISOString() })),
  explorerUrl: networkInfo[payment.network].explorerUrl?.(payment.transactionHash) ?? null,
  createdAt: payment.createdAt.toISOString(),
});

/** One that is REJECTED counts for nothing, until it is accepted. */
const shownValue = ({ status, value }: PaymentDoc): Payment['value'] =>
  value && status !== 'REJECTED' ? { ...value, rateAt: value.rateAt.toISOString() } : null;

export const toWebhook = (webhook: WebhookDoc): Webhook => ({
  id: webhook._id,
  name: webhook.name,
  url: webhook.url,
  events: webhook.events,
  status: webhook.status,
  secretMasked: webhook.secretMasked,
  createdAt: webhook.createdAt.toISOString(),
});

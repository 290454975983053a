/** What the hosted page knows of a link and its payments. */
import { networkInfo } from '../../contracts/networks.js';
import type { DestinationCheck, DestinationProblem } from '../collect/destination-check.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { ProductStore } from '../stores/products.js';
import type { WalletStore } from '../stores/wallets.js';
import type { PageLink, PagePayment, PageSource } from './types.js';

const DESTINATION_PROBLEMS: Record<DestinationProblem, string> = {
  no_account:
    'The account of this shop does not exist on the ledger yet, so that a payment may fail. Tell the merchant.',
  no_trustline:
    'The account of this shop does not accept this asset yet, so that a payment would fail. Tell the merchant.',
};

export function createPageSource(deps: {
  paymentLinks: PaymentLinkStore;
  products: ProductStore;
  wallets: WalletStore;
  destinationCheck: DestinationCheck;
}): PageSource {
  const { paymentLinks, products, wallets, destinationCheck } = deps;
  return {
    async linkBySlug(slug): Promise<PageLink | null> {
      const link = await paymentLinks.bySlug(slug);
      const product = link && (await products.byId(link.accountId, link.productId));
      const wallet = product && (await wallets.byId(product.accountId, product.walletId));
      if (!link || !product || !wallet) return null;
      const { name, description, imageUrl, assetCode, assetIssuer, priceType, price, minAmount, active } = product;
      const destinationProblem = await destinationCheck.to(wallet.network, wallet.address, {
        code: assetCode,
        issuer: assetIssuer,
      });
      return {
        linkId: link._id,
        slug: link.slug,
        memo: link.memo,
        active: link.active,
        product: { name, description, imageUrl, assetCode, assetIssuer, priceType, price, minAmount, active },
        wallet: { address: wallet.address, network: wallet.network, active: wallet.active },
        warnings: destinationProblem === null ? [] : [DESTINATION_PROBLEMS[destinationProblem]],
      };
    },
  };
}

/** Null for a payment that belongs to no link: no page shows it. */
export function toPagePayment(payment: PaymentDoc): PagePayment | null {
  if (payment.status === 'UNMATCHED') return null;
  const { status, reason, amount, assetCode, assetIssuer, expectedAmount, excessAmount, shortfallAmount } = payment;
  const { senderAddress, transactionHash, createdAt } = payment;
  return {
    id: payment._id,
    status,
    reason,
    amount,
    assetCode,
    assetIssuer,
    expectedAmount,
    excessAmount,
    shortfallAmount,
    senderShort: `${senderAddress.slice(0, 4)}…${senderAddress.slice(-4)}`,
    transactionHash,
    explorerUrl: networkInfo[payment.network].explorerUrl?.(transactionHash) ?? null,
    createdAt,
  };
}

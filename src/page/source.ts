/** What the hosted page knows of a link and its payments. */
import { networkInfo } from '../../contracts/networks.js';
import type { DestinationCheck, DestinationProblem } from '../collect/destination-check.js';
import type { ForAccount } from '../stores/index.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { PageLink, PagePayment, PageSource } from './types.js';

const DESTINATION_PROBLEMS: Record<DestinationProblem, string> = {
  no_account:
    'The account of this shop does not exist on the ledger yet, so that a payment may fail. Tell the merchant.',
  no_trustline:
    'The account of this shop does not accept this asset yet, so that a payment would fail. Tell the merchant.',
};

export function createPageSource(deps: {
  /** A page is known by its slug, whoever's link it is. */
  paymentLinks: Pick<PaymentLinkStore, 'bySlug'>;
  forAccount: ForAccount<'products' | 'wallets'>;
  destinationCheck: DestinationCheck;
}): PageSource {
  const { paymentLinks, forAccount, destinationCheck } = deps;
  return {
    async linkBySlug(slug): Promise<PageLink | null> {
      const link = await paymentLinks.bySlug(slug);
      if (!link) return null;
      const { products, wallets } = forAccount(link.accountId);
      const product = await products.byId(link.productId);
      const wallet = product && (await wallets.byId(product.walletId));
      if (!product || !wallet) return null;
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

/** What the hosted page knows of a link and its payments. */
import { networkInfo } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import type { DestinationCheck, DestinationProblem } from '../collect/destination-check.js';
import { memoIdOf } from '../domain/memo.js';
import { muxedAddressOf } from '../domain/muxed.js';
import { balanceOf } from '../resources/checkout.js';
import type { CheckoutStore } from '../stores/checkouts.js';
import type { ForAccount } from '../stores/index.js';
import type { PaymentLinkStore } from '../stores/payment-links.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { WalletDoc } from '../stores/wallets.js';
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
  checkouts: Pick<CheckoutStore, 'bySlug'>;
  forAccount: ForAccount<'products' | 'wallets'>;
  destinationCheck: DestinationCheck;
  clock: Pick<Clock, 'now'>;
}): PageSource {
  const { paymentLinks, checkouts, forAccount, destinationCheck, clock } = deps;

  async function warningsOf({ network, address }: WalletDoc, assetCode: string, assetIssuer: string | null) {
    const problem = await destinationCheck.to(network, address, { code: assetCode, issuer: assetIssuer });
    return problem === null ? [] : [DESTINATION_PROBLEMS[problem]];
  }

  return {
    async linkBySlug(slug): Promise<PageLink | null> {
      const link = await paymentLinks.bySlug(slug);
      if (!link) return null;
      const { products, wallets } = forAccount(link.accountId);
      const product = await products.byId(link.productId);
      const wallet = product && (await wallets.byId(product.walletId));
      if (!product || !wallet) return null;
      const { name, description, imageUrl, assetCode, assetIssuer, priceType, price, minAmount, active } = product;
      return {
        linkId: link._id,
        slug: link.slug,
        ...spellingsOf(link, wallet),
        active: link.active,
        product: { name, description, imageUrl, assetCode, assetIssuer, priceType, price, minAmount, active },
        wallet: { address: wallet.address, network: wallet.network, active: wallet.active },
        warnings: await warningsOf(wallet, assetCode, assetIssuer),
      };
    },

    async checkoutBySlug(slug): Promise<PageLink | null> {
      const checkout = await checkouts.bySlug(slug);
      if (!checkout) return null;
      const { products, wallets } = forAccount(checkout.accountId);
      const [product, wallet] = await Promise.all([
        checkout.productId === null ? null : products.byId(checkout.productId),
        wallets.byId(checkout.walletId),
      ]);
      if (!wallet || (checkout.productId !== null && !product)) return null;
      const { name, description, assetCode, assetIssuer, status, amount, expiresAt } = checkout;
      const { receivedAmount, remainingAmount, excessAmount } = balanceOf(checkout);
      return {
        linkId: checkout._id,
        slug: checkout.slug,
        ...spellingsOf(checkout, wallet),
        active: true,
        product: {
          name,
          description,
          imageUrl: product?.imageUrl ?? null,
          assetCode,
          assetIssuer,
          priceType: 'FIXED',
          price: remainingAmount,
          minAmount: null,
          active: product?.active ?? true,
        },
        wallet: { address: wallet.address, network: wallet.network, active: wallet.active },
        checkout: {
          id: checkout._id,
          status,
          amount,
          quantity: checkout.quantity,
          received: receivedAmount,
          remaining: remainingAmount,
          excess: excessAmount,
          expiresAt,
          ended: expiresAt <= clock.now(),
          successUrl: checkout.successUrl,
          cancelUrl: checkout.cancelUrl,
        },
        warnings: status === 'OPEN' ? await warningsOf(wallet, assetCode, assetIssuer) : [],
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

/** The memo and its two other spellings. */
function spellingsOf({ memo }: { memo: string }, { address }: WalletDoc) {
  const memoId = memoIdOf(memo);
  return { memo, memoId, muxedAddress: muxedAddressOf(address, memoId) };
}

/** Loads the hosted page's links and payments. */

import { networkInfo } from '../../contracts/networks.js';
import type { DestinationCheck } from '../asking/index.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import { NO_BRAND } from '../domain/brand.js';
import { memoIdOf } from '../domain/memo.js';
import { sumsOf } from '../domain/order.js';
import { askedFor } from '../domain/rate.js';
import { muxedAddressOf } from '../domain/strkey.js';
import type { Clock } from '../kit/clock.js';
import { loadPayable, type PaymentDoc } from '../payments/index.js';
import { type CurrentRate, quoteOf, type RateBook } from '../rates/index.js';
import {
  balanceOf,
  type CheckoutStore,
  type PaymentLinkDoc,
  type PaymentLinkStore,
  type ProductDoc,
} from '../selling/index.js';
import type { ForAccount } from '../stores.js';
import type { WalletDoc } from '../watching/index.js';
import type { PageLink, PagePayment, PageSource } from './types.js';

interface PageSourceDeps {
  /** Pages are found by slug, across accounts. */
  paymentLinks: Pick<PaymentLinkStore, 'bySlug'>;
  checkouts: Pick<CheckoutStore, 'bySlug'>;
  forAccount: ForAccount<'account' | 'products' | 'wallets' | 'payments'>;
  destinationCheck: DestinationCheck;
  rateBook: Pick<RateBook, 'current' | 'shown'>;
  clock: Pick<Clock, 'now'>;
}

export function createPageSource(deps: PageSourceDeps): PageSource {
  return {
    linkBySlug: linkBySlug(deps),
    checkoutBySlug: checkoutBySlug(deps),
    mostDue: mostDue(deps),
    paidBy: paidBy(deps),
  };
}

/** Null without a fresh rate. */
async function rateOf(
  { rateBook }: PageSourceDeps,
  accountId: string,
  {
    currency,
    assetCode: code,
    assetIssuer: issuer,
  }: { currency: string; assetCode: string; assetIssuer: string | null },
  { network }: WalletDoc,
): Promise<CurrentRate | null> {
  const rate = await rateBook.current(accountId, { currency, asset: { code, issuer }, network });
  return rate && !rate.stale ? rate : null;
}

async function warningsOf(
  { destinationCheck }: PageSourceDeps,
  { network, address }: WalletDoc,
  { assetCode: code, assetIssuer: issuer }: { assetCode: string; assetIssuer: string | null },
  visitor: string | null,
) {
  if (visitor === null) return [];
  const state = await destinationCheck.to(network, address, { code, issuer }, visitor);
  return state === 'ready' ? [] : [state];
}

async function sellerOf(
  { forAccount }: PageSourceDeps,
  accountId: string,
  visitor: string | null,
): Promise<Pick<PageLink, 'brand' | 'accountName' | 'embedOrigins'>> {
  const account = visitor === null ? null : await forAccount(accountId).account.get();
  return {
    brand: { ...NO_BRAND, ...account?.brand },
    accountName: account?.name ?? null,
    embedOrigins: account?.embedOrigins ?? [],
  };
}

const linkBySlug =
  (deps: PageSourceDeps): PageSource['linkBySlug'] =>
  async (slug, visitor) => {
    const found = await deps.paymentLinks.bySlug(slug);
    const payable = found && (await loadPayable(deps.forAccount(found.accountId), found));
    if (!payable) return null;
    const { link, product, wallet } = payable;
    const { name, description, imageUrl, assetCode, assetIssuer, priceType, active, currency } = product;
    const rate = currency ? await rateOf(deps, link.accountId, { ...product, currency }, wallet) : null;
    const asked = (amount: string | null) => (currency ? askedBy(rate, amount) : amount);
    const [price, minAmount] = [asked(product.price), asked(product.minAmount)];
    return {
      accountId: link.accountId,
      linkId: link._id,
      slug: link.slug,
      ...spellingsOf(link, wallet),
      active: link.active,
      product: { name, description, imageUrl, assetCode, assetIssuer, priceType, price, minAmount, active },
      ...(currency && { priced: { currency, due: product.price, minAmount: product.minAmount, rate } }),
      wallet: { address: wallet.address, network: wallet.network, active: wallet.active },
      ...termsOfLink(link, product, deps.clock.now()),
      ...(await sellerOf(deps, link.accountId, visitor)),
      warnings: await warningsOf(deps, wallet, product, visitor),
    };
  };

/** What an order link asks, and why a link takes nothing any more. */
function termsOfLink(
  { order, endsAt, maxPayments, inactiveText, afterPayment, orderCount, completedCount }: PaymentLinkDoc,
  { stock }: ProductDoc,
  now: Date,
): Partial<PageLink> {
  const isFull = maxPayments !== null && (order ? orderCount : completedCount) >= maxPayments;
  const isSoldOut = order !== null && stock !== null && stock < (order.quantity?.min ?? 1);
  const over = endsAt && endsAt <= now ? 'linkEnded' : isFull ? 'linkFull' : isSoldOut ? 'soldOut' : null;
  return {
    ...(order && { order: { form: order, isStocked: stock !== null } }),
    ...(endsAt && { endsAt }),
    ...(maxPayments !== null && { isLimited: true }),
    ...(over && { over }),
    ...(inactiveText !== null && { inactiveText }),
    ...(afterPayment && { afterPayment }),
  };
}

const checkoutBySlug =
  (deps: PageSourceDeps): PageSource['checkoutBySlug'] =>
  async (slug, visitor) => {
    const { checkouts, forAccount, clock } = deps;
    const found = await checkouts.bySlug(slug);
    const payable = found && (await loadPayable(forAccount(found.accountId), found));
    if (!payable) return null;
    const { checkout, product, wallet } = payable;
    const { name, description, assetCode, assetIssuer, currency, price, amount, quantity, reference } = checkout;
    const { status, expiresAt, paidAt, closedAt, successUrl, cancelUrl } = checkout;
    const { receivedAmount, remainingAmount, excessAmount, remainingValue } = balanceOf(checkout);
    const refunded =
      status === 'PAID' ? await forAccount(checkout.accountId).payments.refundedOfCheckout(checkout) : 0n;
    const rate = currency ? await rateOf(deps, checkout.accountId, { ...checkout, currency }, wallet) : null;
    const remaining = remainingAmount ?? askedBy(rate, remainingValue);
    return {
      accountId: checkout.accountId,
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
        price: remaining,
        minAmount: null,
        active: product?.active ?? true,
      },
      ...(currency && { priced: { currency, due: remainingValue, minAmount: null, rate } }),
      wallet: { address: wallet.address, network: wallet.network, active: wallet.active },
      ...(await sellerOf(deps, checkout.accountId, visitor)),
      checkout: {
        id: checkout._id,
        ...{ status, reference, amount, quantity, expiresAt, paidAt, closedAt, successUrl, cancelUrl },
        ...(price !== undefined && { price }),
        order: sumsOf(checkout),
        received: receivedAmount,
        remaining,
        excess: excessAmount,
        refunded: formatAmount(refunded),
        ended: expiresAt <= clock.now(),
        isOrdered: checkout.paymentLinkId !== undefined,
      },
      ...(checkout.paidMessage !== undefined && { afterPayment: { message: checkout.paidMessage, url: null } }),
      warnings: status === 'OPEN' ? await warningsOf(deps, wallet, checkout, visitor) : [],
    };
  };

const mostDue =
  ({ rateBook }: PageSourceDeps): PageSource['mostDue'] =>
  async ({ accountId, product, priced, wallet: { network } }) => {
    const due = parseAmount(product.price!)!;
    if (!priced) return due;
    const asset = { code: product.assetCode, issuer: product.assetIssuer };
    const [lowest] = await rateBook.shown(accountId, { currency: priced.currency, asset, network });
    const most = lowest ? askedFor(parseAmount(priced.due!)!, lowest.rate) : due;
    return most > due ? most : due;
  };

const paidBy =
  ({ checkouts, forAccount }: PageSourceDeps): PageSource['paidBy'] =>
  async (slug, most) => {
    const checkout = await checkouts.bySlug(slug);
    if (!checkout) return { count: 0, largest: [] };
    const { count, largest } = await forAccount(checkout.accountId).payments.countedOfCheckout(checkout, most);
    return { count, largest: largest.flatMap((payment) => toPagePayment(payment) ?? []) };
  };

/** An amount of the currency in the asset. */
const askedBy = (rate: CurrentRate | null, amount: string | null): string | null =>
  rate && amount !== null ? (quoteOf(rate, parseAmount(amount)!)?.amount ?? null) : null;

/** Null for a payment without a link or checkout, which no page shows. */
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
    value: payment.value ? { currency: payment.value.currency, amount: payment.value.amount } : null,
    refundedAmount: payment.refundedAmount ?? null,
    senderShort: `${senderAddress.slice(0, 4)}…${senderAddress.slice(-4)}`,
    transactionHash,
    explorerUrl: networkInfo[payment.network].explorerUrl?.(transactionHash) ?? null,
    closedAt: payment.ledgerClosedAt,
    createdAt,
  };
}

/** The memo in its three spellings. */
function spellingsOf({ memo }: { memo: string }, { address }: WalletDoc) {
  const memoId = memoIdOf(memo);
  return { memo, memoId, muxedAddress: muxedAddressOf(address, memoId) };
}

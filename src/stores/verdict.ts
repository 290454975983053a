/** The judgement of a payment to a link or checkout, from the stored documents, in the form in which it is stored. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import type { Asset } from '../domain/asset.js';
import { type Checkout, judgeForCheckout } from '../domain/checkout.js';
import { judge, type Verdict } from '../domain/judge.js';
import { inForce, type LedgerClose, type ProductTerms } from '../domain/terms.js';
import type { CheckoutDoc } from './checkouts.js';
import type { PaymentLinkDoc } from './payment-links.js';
import type { PaymentDoc } from './payments.js';
import type { ProductDoc, StoredTerms } from './products.js';
import type { WalletDoc } from './wallets.js';

export type StoredVerdict = Pick<
  PaymentDoc,
  'status' | 'reason' | 'expectedAmount' | 'excessAmount' | 'shortfallAmount'
>;

const toStroops = (amount: string | null) => (amount === null ? null : parseAmount(amount));
const toText = (stroops: bigint | null) => (stroops === null ? null : formatAmount(stroops));

const toProductTerms = (terms: StoredTerms): ProductTerms => ({
  active: terms.active,
  asset: { code: terms.assetCode, issuer: terms.assetIssuer },
  priceType: terms.priceType,
  price: toStroops(terms.price),
  minAmount: toStroops(terms.minAmount),
});

/** The network that the product took payments on when a ledger closed: its wallet may have been another one then. */
export const networkInForce = (
  product: Pick<ProductDoc, 'history'>,
  close: LedgerClose,
  wallet: Pick<WalletDoc, 'network'>,
): Network =>
  inForce(
    product.history.map(({ from, network }) => ({ from, terms: network ?? wallet.network })),
    close,
  );

/** By the terms that were in force when the payment's ledger closed. */
export function judgeByHistory(
  link: Pick<PaymentLinkDoc, 'history'>,
  product: Pick<ProductDoc, 'history'>,
  close: LedgerClose,
  paid: { asset: Asset; amount: bigint },
): StoredVerdict {
  return toStored(
    judge({
      link: inForce(link.history, close),
      product: toProductTerms(inForce(product.history, close)),
      ...paid,
    }),
  );
}

/** The stored checkout as the domain knows it. */
export const toCheckoutState = (checkout: CheckoutDoc): Checkout => ({
  status: checkout.status,
  asset: { code: checkout.assetCode, issuer: checkout.assetIssuer },
  amount: parseAmount(checkout.amount)!,
  received: BigInt(checkout.received),
  expiresAt: checkout.expiresAt,
  cancelledFrom: checkout.cancelledFrom,
  acceptedFrom: checkout.acceptedFrom ?? null,
  paidAt: checkout.paidAt,
});

/** The document with what became of the checkout. @param now when that was found out */
export const withState = (
  checkout: CheckoutDoc,
  { status, received, cancelledFrom, acceptedFrom, paidAt }: Checkout,
  now: Date,
): CheckoutDoc => ({
  ...checkout,
  status,
  received: received.toString(),
  cancelledFrom,
  acceptedFrom,
  paidAt,
  closedAt: checkout.status === 'OPEN' && status !== 'OPEN' ? now : checkout.closedAt,
});

/** Judges a payment by the checkout as it stands, as of the payment's ledger. @returns the verdict, and the checkout after the payment */
export function judgeByCheckout(
  checkout: CheckoutDoc,
  product: Pick<ProductDoc, 'history'> | null,
  payment: LedgerClose & { asset: Asset; amount: bigint },
  now: Date,
): { verdict: StoredVerdict; checkout: CheckoutDoc } {
  const { ledger, closedAt, asset, amount } = payment;
  const productActive = product === null || inForce(product.history, payment).active;
  const judged = judgeForCheckout(toCheckoutState(checkout), { ledger, closedAt, asset, amount, productActive });
  const after = withState(checkout, judged.after, now);
  return { verdict: toStored(judged.verdict), checkout: { ...after, paymentCount: checkout.paymentCount + 1 } };
}

/** What marks a payment that comes while its accepted checkout has payments of before to complete. */
export const afterAcceptance = (target: { checkout: CheckoutDoc | null } | null): { afterAcceptance?: true } =>
  target?.checkout?.completedUpTo === undefined ? {} : { afterAcceptance: true };

export const toStored = (verdict: Verdict): StoredVerdict => ({
  status: verdict.status,
  reason: verdict.reason,
  expectedAmount: toText(verdict.expectedAmount),
  excessAmount: toText(verdict.excessAmount),
  shortfallAmount: toText(verdict.shortfallAmount),
});

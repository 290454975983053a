/** The judgement of a payment to a link, from the stored histories of link and product, in the form in which it is stored. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount, parseAmount } from '../domain/amount.js';
import type { Asset } from '../domain/asset.js';
import { judge, type Verdict } from '../domain/judge.js';
import { inForce, type LedgerClose, type ProductTerms } from '../domain/terms.js';
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
  position: LedgerClose,
  paid: { asset: Asset; amount: bigint },
): StoredVerdict {
  return toStored(
    judge({
      link: inForce(link.history, position),
      product: toProductTerms(inForce(product.history, position)),
      ...paid,
    }),
  );
}

export const toStored = (verdict: Verdict): StoredVerdict => ({
  status: verdict.status,
  reason: verdict.reason,
  expectedAmount: toText(verdict.expectedAmount),
  excessAmount: toText(verdict.excessAmount),
  shortfallAmount: toText(verdict.shortfallAmount),
});

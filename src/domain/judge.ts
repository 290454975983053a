/** Judges a payment to a link by the terms that were in force when its ledger closed. Pure. Checkouts are judged in `checkout.ts`. */
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import { type Asset, sameAsset } from './asset.js';
import type { UnmatchedReason } from './memo.js';
import type { LinkTerms, ProductTerms } from './terms.js';

/** Amounts in stroops. */
export interface Verdict {
  status: PaymentStatus;
  /** Null for a plain COMPLETED. */
  reason: PaymentReason | null;
  /** The price, or the minimum of a CUSTOM product, whatever the status; null when there is none or the payment belongs to no link. */
  expectedAmount: bigint | null;
  /** Only of `overpaid`. */
  excessAmount: bigint | null;
  /** Only of UNDERPAID. */
  shortfallAmount: bigint | null;
}

export interface JudgedPayment {
  link: LinkTerms;
  product: ProductTerms;
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
}

/** @throws RangeError for a FIXED product without a price, which the contracts let nobody make. */
export function judge({ link, product, asset, amount }: JudgedPayment): Verdict {
  const fixed = product.priceType === 'FIXED';
  const expectedAmount = fixed ? product.price : product.minAmount;
  if (fixed && expectedAmount === null) throw new RangeError('a FIXED product has a price');

  const verdict = (status: PaymentStatus, reason: PaymentReason | null): Verdict => ({
    status,
    reason,
    expectedAmount,
    excessAmount: null,
    shortfallAmount: null,
  });
  if (!link.active) return verdict('REJECTED', 'link_inactive');
  if (!product.active) return verdict('REJECTED', 'product_inactive');
  if (!sameAsset(asset, product.asset)) return verdict('REJECTED', 'wrong_asset');
  if (expectedAmount !== null && amount < expectedAmount) {
    return {
      ...verdict('UNDERPAID', fixed ? 'below_price' : 'below_minimum'),
      shortfallAmount: expectedAmount - amount,
    };
  }
  if (fixed && expectedAmount !== null && amount > expectedAmount) {
    return { ...verdict('COMPLETED', 'overpaid'), excessAmount: amount - expectedAmount };
  }
  return verdict('COMPLETED', null);
}

/** Of a payment that came to a wallet and belongs to no link. */
export const unmatched = (reason: UnmatchedReason): Verdict => ({
  status: 'UNMATCHED',
  reason,
  expectedAmount: null,
  excessAmount: null,
  shortfallAmount: null,
});

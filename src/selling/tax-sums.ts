/** Taxes of PAID checkouts by the day or month when they were paid, summed by MongoDB exactly. */
import type mongoose from 'mongoose';
import { formatAmount } from '../domain/amount.js';
import type { OffsetSpan } from '../kit/calendar.js';
import { localDateOf, stroopsOf } from '../payments/index.js';
import type { CheckoutDoc } from './checkout-document.js';

export interface TaxFilter {
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
  groupBy: 'day' | 'month';
  offsets: readonly OffsetSpan[];
}

/** Amounts are in the currency, or in the asset without one. */
export interface TaxSum {
  key: string;
  assetCode: string;
  assetIssuer: string | null;
  currency: string | null;
  taxPercent: string;
  net: string;
  tax: string;
}

const MAX_TIME_MS = 30_000;
const TAXED = { 'lines.taxPercent': { $gt: '' } };
type Sums = Record<'net' | 'tax', mongoose.mongo.Decimal128>;

/** In the order of currencies and percentages. @param signal ends it, also in MongoDB. @throws its reason */
export async function taxSums(
  collection: mongoose.mongo.Collection<CheckoutDoc>,
  accountId: string,
  filter: TaxFilter,
  signal?: AbortSignal,
): Promise<TaxSum[]> {
  const { from, to, groupBy, offsets } = filter;
  const paidAt = { $gte: from ?? new Date(0), ...(to ? { $lt: to } : {}) };
  const asset = { assetCode: '$assetCode', assetIssuer: '$assetIssuer', currency: { $ifNull: ['$currency', null] } };
  const found = await collection
    .aggregate<Sums & { _id: Omit<TaxSum, 'net' | 'tax'> }>(
      [
        { $match: { accountId, status: 'PAID', paidAt, ...TAXED } },
        { $unwind: '$lines' },
        { $match: TAXED },
        {
          $group: {
            _id: { key: localDateOf('$paidAt', groupBy, offsets), ...asset, taxPercent: '$lines.taxPercent' },
            net: { $sum: { $toDecimal: '$lines.net' } },
            tax: { $sum: { $toDecimal: '$lines.tax' } },
          },
        },
      ],
      { hint: 'taxes', maxTimeMS: MAX_TIME_MS, ...(signal && { signal }) },
    )
    .toArray();
  const sums = found.map(({ _id, net, tax }) => ({
    ..._id,
    net: formatAmount(stroopsOf(net)),
    tax: formatAmount(stroopsOf(tax)),
  }));
  return sums.sort(
    (a, b) =>
      compare(a.currency ?? '', b.currency ?? '') ||
      Number(a.taxPercent) - Number(b.taxPercent) ||
      compare(a.taxPercent, b.taxPercent),
  );
}

const compare = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

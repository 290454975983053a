/** Reports in the API. */
import mongoose from 'mongoose';
import type { Contract } from '../../contracts/index.js';
import type { OutputOf, ParsedInputOf } from '../../contracts/operation.js';
import { MAX_SUMMARY_ROWS, MAX_SUMMARY_SECONDS } from '../../contracts/reports.js';
import { formatAmount } from '../domain/amount.js';
import { badRequest } from '../kit/api-error.js';
import { calendarNamed, momentIn, type OffsetSpan } from '../kit/calendar.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import type { Collection } from '../kit/collection.js';
import { createFairQueue } from '../kit/fair-queue.js';
import { localDateOf, MATCHED, type SummaryRow, stroopsOf } from '../payments/index.js';
import type { ForAccount } from '../stores.js';
import type { CheckoutDoc } from './checkout-document.js';

// Taxes of PAID checkouts by the day or month when they were paid, summed by MongoDB exactly.

export interface TaxFilter {
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
  groupBy: 'day' | 'month';
  offsets: readonly OffsetSpan[];
  maxMs: number;
}

/** Amounts are in the currency, or in the asset without one. */
interface TaxSum {
  key: string;
  assetCode: string;
  assetIssuer: string | null;
  currency: string | null;
  taxPercent: string;
  net: string;
  tax: string;
}

const TOOK_TOO_LONG = 50;
const TAXED = { 'lines.taxPercent': { $gt: '' } };
type Sums = Record<'net' | 'tax', mongoose.mongo.Decimal128>;

/** In the order of currencies and percentages. @param signal ends it, also in MongoDB. @throws
 *  its reason @throws MongoServerError with the code 50 when it lasts for longer than `maxMs` */
export async function taxSums(
  collection: Collection<CheckoutDoc>,
  accountId: string,
  filter: TaxFilter,
  signal?: AbortSignal,
): Promise<TaxSum[]> {
  const { from, to, groupBy, offsets, maxMs } = filter;
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
      { hint: 'taxes', maxTimeMS: maxMs, ...(signal && { signal }) },
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

/** Concurrent reports of a process, and waiting reports of one account. */
const QUEUE_BOUNDS = { most: 2, mostWaiting: 50 };

type Row = OutputOf<Contract['reports']['summary']>[number];
type Input = ParsedInputOf<Contract['reports']['summary']>;

export function createReportService(deps: {
  forAccount: ForAccount<'payments' | 'checkouts'>;
  /** The longest time for each query. */
  maxMs?: number;
}): ServiceOf<Contract['reports']> {
  const { forAccount, maxMs = MAX_SUMMARY_SECONDS * 1000 } = deps;
  const queue = createFairQueue(QUEUE_BOUNDS);

  async function rowsOf({ accountId, signal }: Caller, input: Input): Promise<SummaryRow[] | 'too_many'> {
    const { status, parts, from, to, timezone, groupBy, currency, taxes } = input;
    const calendar = calendarNamed('timezone', timezone);
    const { payments, checkouts } = forAccount(accountId);
    const within = {
      from: from === undefined ? undefined : momentIn(calendar, from),
      to: to === undefined ? undefined : momentIn(calendar, to),
      offsets: calendar.offsets,
      maxMs,
    };
    const statuses = status && status.length > 0 ? status : MATCHED;
    const filter = { ...within, groupBy, status: statuses, parts, currency, maxRows: MAX_SUMMARY_ROWS };
    const rows = await payments.sums(filter, signal);
    if (!taxes || rows === 'too_many' || (groupBy !== 'day' && groupBy !== 'month')) return rows;
    return withTaxes(rows, await checkouts.taxes({ ...within, groupBy }, signal), currency);
  }

  return {
    async summary(caller, input) {
      const rows = await queue
        .run(caller, () => rowsOf(caller, input))
        .catch((error) => {
          if (!(error instanceof mongoose.mongo.MongoServerError && error.code === TOOK_TOO_LONG)) throw error;
          throw badRequest('Too many payments to add up in time: choose a shorter time from `from` to `to`.');
        });
      if (rows === 'too_many' || rows.length > MAX_SUMMARY_ROWS)
        throw badRequest('Too many rows: choose a shorter time from `from` to `to`.');
      return rows;
    },
  };
}

/** Taxes beside the payments of their day and asset. A checkout may be accepted on a day without
 *  payments, which then gets a row. */
function withTaxes(rows: readonly SummaryRow[], sums: readonly TaxSum[], currency: string | undefined) {
  const nameOf = ({ key, assetCode, assetIssuer }: Pick<SummaryRow, 'key' | 'assetCode' | 'assetIssuer'>) =>
    [key, assetCode, assetIssuer ?? ''].join(' ');
  const byName = new Map(rows.map((row) => [nameOf(row), { ...row, taxes: [] as NonNullable<Row['taxes']> }]));
  for (const { currency: unit, taxPercent, net, tax, ...sum } of sums) {
    const none = { count: 0, amount: '0', refundedAmount: '0', ...(currency && { value: '0', valued: 0 }), taxes: [] };
    const row = byName.get(nameOf(sum)) ?? { ...sum, ...none };
    row.taxes.push({ ...(unit === null ? {} : { currency: unit }), taxPercent, net, tax });
    byName.set(nameOf(sum), row);
  }
  return [...byName].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, row]) => row);
}

/** Sums over payments, made by MongoDB: exact, as decimals of 34 digits, and by its own table of time zones. */
import mongoose from 'mongoose';
import type { PaymentStatus } from '../../contracts/payments.js';
import type { SummaryGroup } from '../../contracts/reports.js';
import { formatAmount } from '../domain/amount.js';
import type { PaymentDoc } from './payments.js';

export interface SummaryFilter {
  /** ISO 8601 with an offset, or a date, which is midnight in the time zone. Inclusive. */
  from?: string | undefined;
  /** The same; exclusive. */
  to?: string | undefined;
  groupBy: SummaryGroup;
  timezone: string;
  status: readonly PaymentStatus[];
  maxRows: number;
}

export interface SummaryRow {
  key: string | null;
  assetCode: string;
  assetIssuer: string | null;
  count: number;
  amount: string;
  refundedAmount: string;
}

interface Group {
  _id: { key: Date | string | null; assetCode: string; assetIssuer: string | null };
  key: string | null;
  count: number;
  amount: mongoose.mongo.Decimal128;
  refunded: mongoose.mongo.Decimal128;
}

interface Meaning {
  within: { $gte?: Date; $lt?: Date };
  /** Days begin with an hour of UTC. */
  hasWholeHours: boolean;
}

/** MongoDB's codes for a time zone that it does not know. */
const UNKNOWN_TIMEZONE = [40485, 40517];
const TOOK_TOO_LONG = 50;
const MAX_TIME_MS = 30_000;
const STROOP_DECIMALS = 7n;

export function createPaymentSums(connection: mongoose.Connection, payments: mongoose.mongo.Collection<PaymentDoc>) {
  /** What the texts and the time zone mean, by MongoDB's word; refuses a time zone that it does not know. */
  async function meaningOf({ from, to, timezone }: SummaryFilter): Promise<Meaning> {
    const dateOf = (text: string | undefined) => {
      if (text === undefined) return null;
      // A text that names its own offset must not be given another.
      return { $dateFromString: { dateString: text, ...(text.length === DATE_LENGTH ? { timezone } : {}) } };
    };
    const minutes = HALF_YEARS.map((date) => ({ $dateToString: { date, format: '%M', timezone } }));
    const [found] = (await connection
      .db!.aggregate([{ $documents: [{ from: dateOf(from), to: dateOf(to), minutes }] }])
      .toArray()) as { from: Date | null; to: Date | null; minutes: string[] }[];
    return {
      within: { ...(found?.from ? { $gte: found.from } : {}), ...(found?.to ? { $lt: found.to } : {}) },
      hasWholeHours: found!.minutes.every((minute) => minute === '00'),
    };
  }

  async function groups(accountId: string, filter: SummaryFilter, signal?: AbortSignal): Promise<Group[]> {
    const { groupBy, timezone, status, maxRows } = filter;
    const { within, hasWholeHours } = await meaningOf(filter);
    return payments
      .aggregate<Group>(
        [
          { $match: { accountId, ledgerClosedAt: { ...ALL_TIME, ...within }, status: { $in: [...status] } } },
          {
            $group: {
              _id: { key: groupKey(groupBy, hasWholeHours), assetCode: '$assetCode', assetIssuer: '$assetIssuer' },
              count: { $sum: 1 },
              amount: { $sum: { $toDecimal: '$amount' } },
              // Most have none, and nothing adds nothing.
              refunded: { $sum: { $toDecimal: '$refundedAmount' } },
            },
          },
          ...(groupBy === 'day' || groupBy === 'month' ? [regrouped(groupBy, timezone)] : []),
          { $set: { key: shownKey(groupBy, timezone) } },
          { $sort: { key: 1, '_id.assetCode': 1, '_id.assetIssuer': 1 } },
          { $limit: maxRows + 1 },
        ],
        { hint: 'sums', maxTimeMS: MAX_TIME_MS, signal },
      )
      .toArray();
  }

  return {
    /** In the order of keys and assets. `too_many`: rows, or payments to be added up in time.
     *  @param signal ends it, also in MongoDB. @throws its reason */
    async of(
      accountId: string,
      filter: SummaryFilter,
      signal?: AbortSignal,
    ): Promise<SummaryRow[] | 'too_many' | 'unknown_timezone'> {
      try {
        const found = await groups(accountId, filter, signal);
        return found.length > filter.maxRows ? 'too_many' : found.map(toRow);
      } catch (error) {
        const code = error instanceof mongoose.mongo.MongoServerError ? error.code : null;
        if (UNKNOWN_TIMEZONE.includes(code as number)) return 'unknown_timezone';
        if (code === TOOK_TOO_LONG) return 'too_many';
        throw error;
      }
    },
  };
}

const BY_HOURS = { unit: 'hour' };
const BY_QUARTERS = { unit: 'minute', binSize: 15 };
/** A winter and a summer of each year since Stellar's first ledger: there a time zone shows whether it is off by whole hours. */
const HALF_YEARS = Array.from({ length: 2 * 50 }, (_, half) => new Date(Date.UTC(2015, 6 * half)));
const DATE_LENGTH = '2026-11-21'.length;
/** Keeps the bounds of the index of one type, so that it is never left for the documents. */
const ALL_TIME = { $gte: new Date(0) };

/** First by hours, at which days begin in most time zones, or by quarters of an hour, at which they begin in every one: what a time zone means is costly
 *  to find out. */
function groupKey(groupBy: SummaryGroup, hasWholeHours: boolean) {
  switch (groupBy) {
    case 'day':
    case 'month':
      return { $dateTrunc: { date: '$ledgerClosedAt', ...(hasWholeHours ? BY_HOURS : BY_QUARTERS) } };
    case 'product':
      return '$productId';
    case 'paymentLink':
      return '$paymentLinkId';
    case 'status':
      return '$status';
    case 'asset':
      return null;
  }
}

const regrouped = (unit: 'day' | 'month', timezone: string) => ({
  $group: {
    _id: {
      key: { $dateTrunc: { date: '$_id.key', unit, timezone } },
      assetCode: '$_id.assetCode',
      assetIssuer: '$_id.assetIssuer',
    },
    count: { $sum: '$count' },
    amount: { $sum: '$amount' },
    refunded: { $sum: '$refunded' },
  },
});

function shownKey(groupBy: SummaryGroup, timezone: string) {
  if (groupBy === 'day' || groupBy === 'month') {
    const format = groupBy === 'day' ? '%Y-%m-%d' : '%Y-%m';
    return { $dateToString: { date: '$_id.key', format, timezone } };
  }
  if (groupBy !== 'asset') return '$_id.key';
  const named = { $concat: ['$_id.assetCode', ':', '$_id.assetIssuer'] };
  return { $cond: [{ $eq: ['$_id.assetIssuer', null] }, '$_id.assetCode', named] };
}

const toRow = ({ _id, key, count, amount, refunded }: Group): SummaryRow => ({
  key,
  assetCode: _id.assetCode,
  assetIssuer: _id.assetIssuer,
  count,
  amount: formatAmount(stroopsOf(amount)),
  refundedAmount: formatAmount(stroopsOf(refunded)),
});

/** Of a decimal that is not negative, in whatever form its text has: `1E+3` is one. @throws RangeError when it is no whole number of stroops */
export function stroopsOf(decimal: { toString(): string }): bigint {
  const parts = /^(\d+)(?:\.(\d*))?(?:E([+-]\d+))?$/.exec(decimal.toString());
  if (!parts) throw new RangeError(`no amount: ${decimal}`);
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  const shift = BigInt(exponent) - BigInt(fraction.length) + STROOP_DECIMALS;
  const digits = BigInt(whole + fraction);
  if (shift >= 0n) return digits * 10n ** shift;
  const unit = 10n ** -shift;
  if (digits % unit !== 0n) throw new RangeError(`more digits than money has: ${decimal}`);
  return digits / unit;
}

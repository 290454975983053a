/** Sums over payments by MongoDB: exact, as decimals of 34 digits. The caller gives the boundaries of days: MongoDB's table of time zones is as old as its
 *  build. */
import mongoose from 'mongoose';
import type { PaymentStatus } from '../../contracts/payments.js';
import type { SummaryGroup } from '../../contracts/reports.js';
import { formatAmount } from '../domain/amount.js';
import type { OffsetSpan } from '../domain/calendar.js';
import type { PaymentDoc } from './payment-document.js';

export interface SummaryFilter {
  /** Inclusive. */
  from?: Date | undefined;
  /** Exclusive. */
  to?: Date | undefined;
  groupBy: SummaryGroup;
  /** Time zone of days and months. */
  offsets: readonly OffsetSpan[];
  status: readonly PaymentStatus[];
  /** Currency of the values to sum as well. */
  currency?: string | undefined;
  maxRows: number;
}

interface SummaryRow {
  key: string | null;
  assetCode: string;
  assetIssuer: string | null;
  count: number;
  amount: string;
  refundedAmount: string;
  /** Value in the given currency, and the number of payments with one. */
  value?: string;
  valued?: number;
}

interface Group<Name extends string> {
  _id: { key: Date | string | null; assetCode: string; assetIssuer: string | null };
  key: string | null;
  count: number;
  sums: Record<Name, mongoose.mongo.Decimal128>;
}

/** The summed parts of each payment; an index covers them. */
interface Added<Name extends string> {
  index: string;
  only: object;
  sums: Record<Name, object>;
}

const TOOK_TOO_LONG = 50;
const MAX_TIME_MS = 30_000;
const STROOP_DECIMALS = 7n;

const MONEY: Added<'amount' | 'refunded'> = {
  index: 'sums',
  only: {},
  sums: { amount: { $toDecimal: '$amount' }, refunded: { $toDecimal: '$refundedAmount' } },
};
/** The value of a REJECTED payment counts only once it is accepted. */
const valuesIn = (currency: string): Added<'value'> => ({
  index: 'values',
  only: { 'value.currency': currency },
  sums: { value: { $toDecimal: '$value.amount' } },
});

export function createPaymentSums(payments: mongoose.mongo.Collection<PaymentDoc>) {
  return {
    /** Ordered by key and asset. `too_many`: too many rows, or too many payments to sum in time.
     *  @param signal ends it, also in MongoDB. @throws its reason */
    async of(accountId: string, filter: SummaryFilter, signal?: AbortSignal): Promise<SummaryRow[] | 'too_many'> {
      try {
        const found = await rowsOf(payments, accountId, filter, signal);
        return found.length > filter.maxRows ? 'too_many' : found;
      } catch (error) {
        const code = error instanceof mongoose.mongo.MongoServerError ? error.code : null;
        if (code === TOOK_TOO_LONG) return 'too_many';
        throw error;
      }
    },
  };
}

async function groups<Name extends string>(
  payments: mongoose.mongo.Collection<PaymentDoc>,
  accountId: string,
  filter: SummaryFilter,
  { index, only, sums }: Added<Name>,
  signal?: AbortSignal,
): Promise<Group<Name>[]> {
  const { from, to, groupBy, offsets, status, maxRows } = filter;
  const within = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) };
  const names = Object.keys(sums) as Name[];
  const sumOf = (of: (name: Name) => unknown) => Object.fromEntries(names.map((name) => [name, { $sum: of(name) }]));
  return payments
    .aggregate<Group<Name>>(
      [
        { $match: { accountId, ...only, ledgerClosedAt: { ...ALL_TIME, ...within }, status: { $in: [...status] } } },
        {
          $group: {
            _id: { key: groupKey(groupBy, offsets), assetCode: '$assetCode', assetIssuer: '$assetIssuer' },
            count: { $sum: 1 },
            ...sumOf((name) => sums[name]),
          },
        },
        ...(groupBy === 'day' || groupBy === 'month'
          ? [
              regrouped(
                groupBy,
                offsets,
                sumOf((name) => `$${name}`),
              ),
            ]
          : []),
        {
          $project: {
            key: shownKey(groupBy),
            count: 1,
            sums: Object.fromEntries(names.map((name) => [name, `$${name}`])),
          },
        },
        { $sort: { key: 1, '_id.assetCode': 1, '_id.assetIssuer': 1 } },
        { $limit: maxRows + 1 },
      ],
      { hint: index, maxTimeMS: MAX_TIME_MS, signal },
    )
    .toArray();
}

/** Values first: a payment that arrives between the two reads is counted without a value. */
async function rowsOf(
  payments: mongoose.mongo.Collection<PaymentDoc>,
  accountId: string,
  filter: SummaryFilter,
  signal?: AbortSignal,
): Promise<SummaryRow[]> {
  const { currency, status } = filter;
  if (currency === undefined) return (await groups(payments, accountId, filter, MONEY, signal)).map(toRow);
  const shown = { ...filter, status: status.filter((each) => each !== 'REJECTED') };
  const values = new Map(
    (await groups(payments, accountId, shown, valuesIn(currency), signal)).map((group) => [nameOf(group), group]),
  );
  return (await groups(payments, accountId, filter, MONEY, signal)).map((group) => {
    const valued = values.get(nameOf(group));
    const value = valued ? formatAmount(stroopsOf(valued.sums.value)) : '0';
    return { ...toRow(group), value, valued: valued?.count ?? 0 };
  });
}

const nameOf = ({ key, _id: { assetCode, assetIssuer } }: Group<string>): string =>
  JSON.stringify([key, assetCode, assetIssuer]);

const MINUTE_MS = 60_000;
/** Coarse groups first: the fewer, the better. */
const UNITS = [
  { ms: 60 * MINUTE_MS, truncate: { unit: 'hour' } },
  { ms: 15 * MINUTE_MS, truncate: { unit: 'minute', binSize: 15 } },
  { ms: MINUTE_MS, truncate: { unit: 'minute' } },
];
/** Keeps the index bounds to one type, so that the index alone answers. */
const ALL_TIME = { $gte: new Date(0) };

/** Groups by hours, at which days begin in most time zones, else by quarters of an hour or by minutes. */
function groupKey(groupBy: SummaryGroup, offsets: readonly OffsetSpan[]) {
  switch (groupBy) {
    case 'day':
    case 'month':
      return { $dateTrunc: { date: '$ledgerClosedAt', ...unitOf(offsets) } };
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

/** The largest unit that divides all of these offsets. */
const unitOf = (offsets: readonly OffsetSpan[]) =>
  UNITS.find(({ ms }) => offsets.every(({ fromMs, offsetMs }) => fromMs % ms === 0 && offsetMs % ms === 0))!.truncate;

const regrouped = (unit: 'day' | 'month', offsets: readonly OffsetSpan[], sums: object) => ({
  $group: {
    _id: {
      key: { $dateTrunc: { date: { $add: ['$_id.key', offsetAt('$_id.key', offsets)] }, unit } },
      assetCode: '$_id.assetCode',
      assetIssuer: '$_id.assetIssuer',
    },
    count: { $sum: '$count' },
    ...sums,
  },
});

/** Binary search: a zone may have changed its offset a hundred times. */
function offsetAt(date: string, offsets: readonly OffsetSpan[]): unknown {
  if (offsets.length === 1) return offsets[0]!.offsetMs;
  const middle = offsets.length >> 1;
  const isLater = { $gte: [date, new Date(offsets[middle]!.fromMs)] };
  return { $cond: [isLater, offsetAt(date, offsets.slice(middle)), offsetAt(date, offsets.slice(0, middle))] };
}

function shownKey(groupBy: SummaryGroup) {
  if (groupBy === 'day' || groupBy === 'month') {
    return { $dateToString: { date: '$_id.key', format: groupBy === 'day' ? '%Y-%m-%d' : '%Y-%m' } };
  }
  if (groupBy !== 'asset') return '$_id.key';
  const named = { $concat: ['$_id.assetCode', ':', '$_id.assetIssuer'] };
  return { $cond: [{ $eq: ['$_id.assetIssuer', null] }, '$_id.assetCode', named] };
}

const toRow = ({ _id, key, count, sums: { amount, refunded } }: Group<'amount' | 'refunded'>): SummaryRow => ({
  key,
  assetCode: _id.assetCode,
  assetIssuer: _id.assetIssuer,
  count,
  amount: formatAmount(stroopsOf(amount)),
  refundedAmount: formatAmount(stroopsOf(refunded)),
});

/** Stroops of a non-negative decimal in any notation, such as `1E+3`. @throws RangeError when it is no whole number of stroops */
function stroopsOf(decimal: { toString(): string }): bigint {
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

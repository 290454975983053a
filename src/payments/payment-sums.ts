/** Sums over payments by MongoDB: exact, as decimals of 34 digits. The caller gives the
 *  boundaries of days: MongoDB's table of time zones is as old as its build. */
import type mongoose from 'mongoose';
import type { PaymentStatus } from '../../contracts/payments.js';
import type { SummaryGroup } from '../../contracts/reports.js';
import { formatAmount } from '../domain/amount.js';
import type { OffsetSpan } from '../kit/calendar.js';
import type { Collection } from '../kit/collection.js';
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
  /** The parts of PAID checkouts as well, which are UNDERPAID. */
  parts?: boolean | undefined;
  /** Currency of the values to sum as well. */
  currency?: string | undefined;
  maxRows: number;
  /** The longest time for each query, of which there are a few. */
  maxMs: number;
}

export interface SummaryRow {
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
  /** Stroops. */
  sums: Record<Name, bigint>;
}

/** The summed parts of each payment; an index covers them. */
interface Added<Name extends string> {
  index: string;
  only: object;
  sums: Record<Name, object>;
}

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

export function createPaymentSums(connection: mongoose.Connection, payments: Collection<PaymentDoc>) {
  return {
    /** Ordered by key and asset. @param signal ends it, also in MongoDB. @throws its reason
     *  @throws MongoServerError with the code 50 when it lasts for longer than `maxMs` */
    async of(accountId: string, filter: SummaryFilter, signal?: AbortSignal): Promise<SummaryRow[] | 'too_many'> {
      const read = (session?: mongoose.mongo.ClientSession) => rowsOf({ payments, accountId, signal, session }, filter);
      // A part that becomes COMPLETED between the reads of both would count twice, or not at all.
      const found = await (filter.parts ? connection.getClient().withSession({ snapshot: true }, read) : read());
      return found.length > filter.maxRows ? 'too_many' : found;
    },
  };
}

/** Where sums are read, and what ends that. */
interface Reading {
  payments: Collection<PaymentDoc>;
  accountId: string;
  signal: AbortSignal | undefined;
  session: mongoose.mongo.ClientSession | undefined;
}

async function groups<Name extends string>(
  { payments, accountId, signal, session }: Reading,
  filter: SummaryFilter,
  { index, only, sums }: Added<Name>,
  stages: object[] = [],
): Promise<Group<Name>[]> {
  const { from, to, groupBy, offsets, status, maxRows, maxMs } = filter;
  const within = { ...(from ? { $gte: from } : {}), ...(to ? { $lt: to } : {}) };
  const names = Object.keys(sums) as Name[];
  const sumOf = (of: (name: Name) => unknown) => Object.fromEntries(names.map((name) => [name, { $sum: of(name) }]));
  const found = await payments
    .aggregate<Omit<Group<Name>, 'sums'> & { sums: Record<Name, mongoose.mongo.Decimal128> }>(
      [
        { $match: { accountId, ...only, ledgerClosedAt: { ...ALL_TIME, ...within }, status: { $in: [...status] } } },
        ...stages,
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
      { hint: index, maxTimeMS: maxMs, signal, session },
    )
    .toArray();
  return found.map((group) => ({ ...group, sums: mapped(names, (name) => stroopsOf(group.sums[name])) }));
}

const mapped = <Name extends string>(names: readonly Name[], sumOf: (name: Name) => bigint) =>
  Object.fromEntries(names.map((name) => [name, sumOf(name)])) as Record<Name, bigint>;

/** Those of the statuses, and the parts that are none of them. */
async function totalsOf<Name extends string>(
  reading: Reading,
  filter: SummaryFilter,
  what: Added<Name>,
): Promise<Group<Name>[]> {
  const found = await groups(reading, filter, what);
  if (!filter.parts || filter.status.includes('UNDERPAID')) return found;
  const only = { ...what.only, checkoutId: { $gt: '' } };
  const parts = { ...what, index: 'parts', only };
  return merged(found, await groups(reading, { ...filter, status: ['UNDERPAID'] }, parts, ofPaid(reading.accountId)));
}

/** Leaves the payments of checkouts that are PAID. */
const ofPaid = (accountId: string): object[] => [
  {
    $lookup: {
      from: 'checkouts',
      localField: 'checkoutId',
      foreignField: '_id',
      pipeline: [{ $match: { accountId, status: 'PAID' } }, { $project: { _id: 1 } }],
      as: 'paid',
    },
  },
  { $match: { paid: { $ne: [] } } },
];

/** Both in the order of keys and assets. */
function merged<Name extends string>(some: readonly Group<Name>[], others: readonly Group<Name>[]): Group<Name>[] {
  const all = new Map(some.map((group) => [nameOf(group), group]));
  for (const other of others) {
    const group = all.get(nameOf(other));
    const names = Object.keys(other.sums) as Name[];
    const sums = group ? mapped(names, (name) => group.sums[name] + other.sums[name]) : other.sums;
    all.set(nameOf(other), { ...other, count: other.count + (group?.count ?? 0), sums });
  }
  const orderOf = ({ key, _id: { assetCode, assetIssuer } }: Group<Name>) => [key ?? '', assetCode, assetIssuer ?? ''];
  return [...all.values()].sort((a, b) => {
    const [one, other] = [orderOf(a), orderOf(b)];
    const at = one.findIndex((each, index) => each !== other[index]);
    return at < 0 ? 0 : one[at]! < other[at]! ? -1 : 1;
  });
}

/** Values first: a payment that arrives between the two reads is counted without a value. */
async function rowsOf(reading: Reading, filter: SummaryFilter): Promise<SummaryRow[]> {
  const { currency, status } = filter;
  if (currency === undefined) return (await totalsOf(reading, filter, MONEY)).map(toRow);
  const shown = { ...filter, status: status.filter((each) => each !== 'REJECTED') };
  const values = new Map((await totalsOf(reading, shown, valuesIn(currency))).map((group) => [nameOf(group), group]));
  return (await totalsOf(reading, filter, MONEY)).map((group) => {
    const valued = values.get(nameOf(group));
    const value = formatAmount(valued?.sums.value ?? 0n);
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

/** Groups by hours, at which days begin in most time zones, else by quarters of an hour or
 *  by minutes. */
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

const DATE_FORMATS = { day: '%Y-%m-%d', month: '%Y-%m' } as const;

/** The day or month of a field, by these offsets. */
export const localDateOf = (field: string, groupBy: keyof typeof DATE_FORMATS, offsets: readonly OffsetSpan[]) => ({
  $dateToString: { date: { $add: [field, offsetAt(field, offsets)] }, format: DATE_FORMATS[groupBy] },
});

function shownKey(groupBy: SummaryGroup) {
  if (groupBy === 'day' || groupBy === 'month')
    return { $dateToString: { date: '$_id.key', format: DATE_FORMATS[groupBy] } };
  if (groupBy !== 'asset') return '$_id.key';
  const named = { $concat: ['$_id.assetCode', ':', '$_id.assetIssuer'] };
  return { $cond: [{ $eq: ['$_id.assetIssuer', null] }, '$_id.assetCode', named] };
}

const toRow = ({ _id, key, count, sums: { amount, refunded } }: Group<'amount' | 'refunded'>): SummaryRow => ({
  key,
  assetCode: _id.assetCode,
  assetIssuer: _id.assetIssuer,
  count,
  amount: formatAmount(amount),
  refundedAmount: formatAmount(refunded),
});

/** Stroops of a non-negative decimal in any notation, such as `1E+3`. @throws RangeError when it is
 *  no whole number of stroops */
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

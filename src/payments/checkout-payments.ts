/** The payments of a checkout. A payer can send hundreds of thousands of tiny ones: a read is
 *  bounded, or takes little of each. */
import type mongoose from 'mongoose';
import { minorDigits } from '../../contracts/currencies.js';
import type { Sum } from '../domain/checkout.js';
import { type Counted, Later } from '../domain/later.js';
import type { Collection } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { createdAtOf } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import type { CheckoutDoc } from '../selling/index.js';
import { type CountedFields, toCounted } from './checkout.js';
import type { PaymentDoc } from './payment-document.js';
import { stroopsOf } from './payment-sums.js';

/** Most payments in one read. */
const AT_ONCE = 1000;
/** MongoDB expression: the refunded part of a payment. */
export const REFUNDED = { $toDecimal: { $ifNull: ['$refundedAmount', '0'] } };
/** MongoDB expression: the part of a payment that was not refunded. */
export const LEFT = { $subtract: [{ $toDecimal: '$amount' }, REFUNDED] };

interface CountedPayments {
  count: number;
  largest: PaymentDoc[];
}

export type PaidCheckout = Pick<CheckoutDoc, '_id' | 'accountId' | 'assetCode' | 'assetIssuer' | 'currency'>;

type Payments = Collection<PaymentDoc>;

export const createCheckoutPayments = (collection: Payments) => ({
  ...sumsOfCheckouts(collection),
  ...paymentsOfCheckouts(collection),
  ...decisionsLeft(collection),
});

/** Sums these parts over all payments of a checkout in its asset, in 10^-7 each. */
async function sumsOf<Name extends string>(
  collection: Payments,
  { _id: checkoutId, accountId, assetCode, assetIssuer }: PaidCheckout,
  parts: Record<Name, object>,
  session?: Session,
): Promise<Record<Name, bigint>> {
  const names = Object.keys(parts) as Name[];
  const sums = names.map((name) => [name, { $sum: parts[name] }]);
  const [total] = await collection
    .aggregate<Record<Name, mongoose.mongo.Decimal128>>(
      [
        { $match: { checkoutId, accountId, assetCode, assetIssuer } },
        { $group: { _id: null, ...Object.fromEntries(sums) } },
      ],
      session ? { session } : {},
    )
    .toArray();
  // Decimal128 holds 34 digits exactly.
  const sumOf = (name: Name) => (total ? stroopsOf(total[name]) : 0n);
  return Object.fromEntries(names.map((name) => [name, sumOf(name)])) as Record<Name, bigint>;
}

const sumsOfCheckouts = (collection: Payments) => ({
  /** The unrefunded stroops of all of them in its asset, and their value: the same share of each
   *  payment's value, rounded down. */
  sum(checkout: PaidCheckout, session: Session): Promise<Sum> {
    const { currency } = checkout;
    const stroops = { $max: [LEFT, 0] };
    const isCounted = { $eq: ['$value.currency', currency] };
    const value = { $toDecimal: { $cond: [isCounted, '$value.amount', '0'] } };
    const part = { $divide: [{ $multiply: [value, stroops] }, { $toDecimal: '$amount' }] };
    const counts = currency ? { $trunc: [part, minorDigits(currency)] } : stroops;
    return sumsOf(collection, checkout, { stroops, counts }, session);
  },

  /** Refunded stroops of all of them in its asset. */
  refunded: async (checkout: PaidCheckout): Promise<bigint> =>
    (await sumsOf(collection, checkout, { stroops: REFUNDED })).stroops,
});

const paymentsOfCheckouts = (collection: Payments) => ({
  /** The one that completed it; null when none did, as where it was accepted without enough. */
  async completing({ _id: checkoutId, accountId, paidAt }: Pick<CheckoutDoc, '_id' | 'accountId' | 'paidAt'>) {
    const completed = { checkoutId, accountId, status: 'COMPLETED' } as const;
    const sort = { ledgerClosedAt: -1, operationId: -1 } as const;
    // What came later may have been accepted since.
    const inTime = paidAt && (await collection.findOne({ ...completed, ledgerClosedAt: { $lte: paidAt } }, { sort }));
    return inTime || collection.findOne(completed, { sort });
  },

  /** Oldest first; of more than 1,000 the largest in its asset, so that tiny payments
   *  hide nothing.
   *  @param by the whole amount, or what was not refunded */
  async of(
    { _id: checkoutId, accountId, assetCode, assetIssuer }: PaidCheckout,
    session: Session,
    by: 'amount' | 'left' = 'amount',
  ): Promise<PaymentDoc[]> {
    const newest = await collection
      .find({ checkoutId, accountId }, { session, sort: { createdAt: -1, _id: -1 }, limit: AT_ONCE + 1 })
      .toArray();
    if (newest.length <= AT_ONCE) return newest.reverse();
    const isAsset = { $and: [{ $eq: ['$assetCode', assetCode] }, { $eq: ['$assetIssuer', assetIssuer] }] };
    const order = [
      { $match: { checkoutId, accountId } },
      { $project: { isAsset, size: by === 'left' ? LEFT : { $toDecimal: '$amount' } } },
      { $sort: { isAsset: -1, size: -1, _id: 1 } },
      { $limit: AT_ONCE },
      { $project: { _id: 1 } },
    ];
    const largest = await collection.aggregate<{ _id: string }>(order, { session }).toArray();
    return collection
      .find({ _id: { $in: largest.map(({ _id }) => _id) }, accountId }, { session, sort: { createdAt: 1, _id: 1 } })
      .toArray();
  },

  /** The number that count for it, and the largest of them, newest first. */
  async counted(
    { _id: checkoutId, accountId }: Pick<CheckoutDoc, '_id' | 'accountId'>,
    most: number,
  ): Promise<CountedPayments> {
    const largest = { n: most, sortBy: { size: -1, _id: 1 }, output: '$_id' };
    const [found] = await collection
      .aggregate<{ count: number; ids: string[] }>([
        { $match: { checkoutId, accountId, status: { $in: ['UNDERPAID', 'COMPLETED'] } } },
        { $project: { size: { $toDecimal: '$amount' } } },
        { $group: { _id: null, count: { $sum: 1 }, ids: { $topN: largest } } },
      ])
      .toArray();
    const { count, ids } = found ?? { count: 0, ids: [] };
    const order = { createdAt: -1, _id: -1 } as const;
    return { count, largest: await collection.find({ accountId, _id: { $in: ids } }, { sort: order }).toArray() };
  },

  /** Those that count for these checkouts, of the ledgers that closed at `since` or later, by
   *  checkout. There may be hundreds of thousands: few fields of each are read, in batches that
   *  leave the process time for others. */
  async countedSince(
    checkouts: readonly Pick<CheckoutDoc, '_id' | 'accountId' | 'currency'>[],
    since: Date,
    session: Session,
  ): Promise<Map<string, Later>> {
    const counted = new Map(checkouts.map((checkout) => [checkout._id, { checkout, all: [] as Counted[] }]));
    const found = collection.find<CountedFields & { checkoutId: string }>(
      {
        accountId: { $in: accountsOf(checkouts) },
        checkoutId: { $in: [...counted.keys()] },
        status: { $in: ['UNDERPAID', 'COMPLETED'] },
        ledgerClosedAt: { $gte: since },
      },
      {
        ...{ session, batchSize: AT_ONCE },
        projection: { checkoutId: 1, amount: 1, value: 1, ledgerClosedAt: 1, operationId: 1 },
      },
    );
    for await (const payment of found) {
      const { checkout, all } = counted.get(payment.checkoutId)!;
      all.push(toCounted(payment, checkout));
    }
    return new Map([...counted].map(([id, { all }]) => [id, Later.of(all)]));
  },
});

/** Finishes the payments of a checkout that was accepted or became PAID. */
const decisionsLeft = (collection: Payments) => ({
  /** Ids of parts marked as needing a decision. */
  async undecidedParts(
    { _id: checkoutId, accountId }: Pick<CheckoutDoc, '_id' | 'accountId'>,
    limit: number,
    session: Session,
  ): Promise<string[]> {
    const found = await collection
      .find(
        { checkoutId, accountId, status: 'UNDERPAID', reason: { $ne: 'no_rate' }, needsDecision: true },
        { session, projection: { _id: 1 }, sort: { createdAt: 1, _id: 1 }, limit },
      )
      .toArray();
    return found.map(({ _id }) => _id);
  },

  /** Payments from before the acceptance that were not refunded and are not COMPLETED yet,
   *  oldest first.
   *  @param after id of the last payment dealt with; empty at first */
  left(
    { _id: checkoutId, accountId, assetCode, assetIssuer }: CheckoutDoc,
    after: string,
    limit: number,
    session: Session,
  ): Promise<PaymentDoc[]> {
    return collection
      .find(
        {
          ...{ checkoutId, accountId, assetCode, assetIssuer },
          status: { $in: ['UNDERPAID', 'REJECTED'] },
          // No comparison of times: payments and acceptance are dated by different clocks.
          afterAcceptance: { $exists: false },
          $expr: { $gt: [LEFT, 0] },
          ...(after === '' ? {} : { createdAt: { $gte: createdAtOf(after) }, _id: { $gt: after } }),
        },
        { session, sort: { createdAt: 1, _id: 1 }, limit },
      )
      .toArray();
  },
});

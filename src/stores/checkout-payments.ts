/** The payments of a checkout, of which one who sends thousands of the smallest amount can make very many: what is read at once is bounded. */
import type mongoose from 'mongoose';
import { createdAtOf } from '../domain/ids.js';
import type { CheckoutDoc } from './checkouts.js';
import type { Session } from './database.js';
import type { PaymentDoc } from './payments.js';

/** More than these are never looked at together. */
const AT_ONCE = 1000;
const STROOPS_PER_UNIT = 10_000_000;

export type PaidCheckout = Pick<CheckoutDoc, '_id' | 'assetCode' | 'assetIssuer'>;

export function createCheckoutPayments(collection: mongoose.mongo.Collection<PaymentDoc>) {
  return {
    /** Oldest first; of more than 1,000 the largest in its asset, so that small change hides nothing. */
    async of(
      { _id: checkoutId, assetCode, assetIssuer }: PaidCheckout,
      scope: { accountId?: string },
      session: Session,
    ): Promise<PaymentDoc[]> {
      const newest = await collection
        .find({ checkoutId, ...scope }, { session, sort: { createdAt: -1, _id: -1 }, limit: AT_ONCE + 1 })
        .toArray();
      if (newest.length <= AT_ONCE) return newest.reverse();
      const isAsset = { $and: [{ $eq: ['$assetCode', assetCode] }, { $eq: ['$assetIssuer', assetIssuer] }] };
      const order = [
        { $match: { checkoutId, ...scope } },
        { $project: { isAsset, size: { $toDecimal: '$amount' } } },
        { $sort: { isAsset: -1, size: -1, _id: 1 } },
        { $limit: AT_ONCE },
        { $project: { _id: 1 } },
      ];
      const largest = await collection.aggregate<{ _id: string }>(order, { session }).toArray();
      return collection
        .find({ _id: { $in: largest.map(({ _id }) => _id) } }, { session, sort: { createdAt: 1, _id: 1 } })
        .toArray();
    },

    /** Stroops of all of them in its asset. */
    async sum(
      accountId: string,
      { _id: checkoutId, assetCode, assetIssuer }: PaidCheckout,
      session: Session,
    ): Promise<bigint> {
      const sum = { $sum: { $multiply: [{ $toDecimal: '$amount' }, STROOPS_PER_UNIT] } };
      const [total] = await collection
        .aggregate<{ sum: mongoose.mongo.Decimal128 }>(
          [{ $match: { checkoutId, accountId, assetCode, assetIssuer } }, { $group: { _id: null, sum } }],
          { session },
        )
        .toArray();
      // Decimal128 holds 34 digits exactly; a trailing `.0…` is none of the number.
      return BigInt((total?.sum.toString() ?? '0').replace(/\.0*$/, ''));
    },

    /** What came for an accepted checkout before that and is not COMPLETED yet, oldest first.
     *  @param after the id of the payment to go on behind; empty for the first ones */
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
            // No comparison of times: those of payments are by other clocks than that of the acceptance.
            afterAcceptance: { $exists: false },
            ...(after === '' ? {} : { createdAt: { $gte: createdAtOf(after) }, _id: { $gt: after } }),
          },
          { session, sort: { createdAt: 1, _id: 1 }, limit },
        )
        .toArray();
    },
  };
}

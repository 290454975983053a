/** Payments for open pages: what a link or checkout received since a moment, and a change stream of
 *  arrivals, decisions and refunds. */
import type { mongo } from 'mongoose';
import { type ChangeStream, openChangeStream } from '../kit/follower.js';
import { isCheckoutId } from '../kit/ids.js';
import type { PaymentDoc } from './payment-document.js';

export interface PaymentChanges {
  /** The payments of these links and checkouts stored at `since` or later, oldest first. */
  ofPayablesSince(payableIds: readonly string[], since: Date): AsyncIterable<PaymentDoc>;
  /** The newest payments of a link or checkout stored at `since` or later, newest first. */
  newestOfPayable(accountId: string, payableId: string, since: Date, limit: number): Promise<PaymentDoc[]>;
  /** Those of the account's payments that have one of these ids. */
  ofAccount(accountId: string, ids: readonly string[]): Promise<PaymentDoc[]>;
  /** Follows payments that arrive, change status or are refunded, each in its current state, from
   *  `position` or from now. */
  watch(position: unknown): ChangeStream<PaymentDoc>;
}

/** A page shows arrivals, acceptances and assignments, all of which set the status, and refunds. */
const PIPELINE = [
  {
    $match: {
      $or: [
        { operationType: { $in: ['insert', 'replace'] } },
        { operationType: 'update', 'updateDescription.updatedFields.status': { $exists: true } },
        { operationType: 'update', 'updateDescription.updatedFields.refundedAmount': { $exists: true } },
      ],
    },
  },
];

export const createPaymentChanges = (payments: mongo.Collection<PaymentDoc>): PaymentChanges => ({
  ofPayablesSince: (payableIds, since) =>
    payments
      .find({
        $or: [
          { paymentLinkId: { $in: [...payableIds] }, createdAt: { $gte: since } },
          { checkoutId: { $in: payableIds.filter(isCheckoutId) }, createdAt: { $gte: since } },
        ],
      })
      .sort({ createdAt: 1 }),
  newestOfPayable: (accountId, payableId, since, limit) =>
    payments
      .find({
        accountId,
        [isCheckoutId(payableId) ? 'checkoutId' : 'paymentLinkId']: payableId,
        createdAt: { $gte: since },
      })
      .sort({ createdAt: -1 })
      .limit(limit)
      .toArray(),
  ofAccount: (accountId, ids) => payments.find({ accountId, _id: { $in: [...ids] } }).toArray(),
  watch: (position) =>
    openChangeStream(payments, PIPELINE, {
      position,
      fullDocument: 'updateLookup',
      toChange: ({ fullDocument }) => (fullDocument as PaymentDoc | undefined) ?? null,
    }),
});

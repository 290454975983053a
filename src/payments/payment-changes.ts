/** Payments for open pages: what a link or checkout received since a moment, and a change stream of
 *  arrivals, decisions and refunds. */
import type { mongo } from 'mongoose';
import { type ChangeStream, openChangeStream } from '../kit/follower.js';
import { isCheckoutId } from '../kit/ids.js';

interface PaymentFields extends mongo.Document {
  _id: string;
  paymentLinkId: string | null;
  checkoutId?: string | null;
  createdAt: Date;
}

export interface PaymentChanges<Payment> {
  /** The payments of these links and checkouts stored at `since` or later, oldest first. */
  ofPayablesSince(payableIds: readonly string[], since: Date): AsyncIterable<Payment>;
  /** The newest payments of a link or checkout stored at `since` or later, newest first. */
  newestOfPayable(accountId: string, payableId: string, since: Date, limit: number): Promise<Payment[]>;
  /** Those of the account's payments that have one of these ids. */
  ofAccount(accountId: string, ids: readonly string[]): Promise<Payment[]>;
  /** Follows payments that arrive, change status or are refunded, each in its current state, from
   *  `position` or from now. */
  watch(position: unknown): ChangeStream<Payment>;
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

export function createPaymentChanges<Payment extends PaymentFields>(
  payments: mongo.Collection<Payment>,
): PaymentChanges<Payment> {
  const filter = (fields: object) => fields as mongo.Filter<Payment>;
  return {
    ofPayablesSince: (payableIds, since) =>
      payments
        .find(
          filter({
            $or: [
              { paymentLinkId: { $in: [...payableIds] }, createdAt: { $gte: since } },
              { checkoutId: { $in: payableIds.filter(isCheckoutId) }, createdAt: { $gte: since } },
            ],
          }),
        )
        .sort({ createdAt: 1 }) as AsyncIterable<Payment>,
    newestOfPayable: (accountId, payableId, since, limit) =>
      payments
        .find(
          filter({
            accountId,
            [isCheckoutId(payableId) ? 'checkoutId' : 'paymentLinkId']: payableId,
            createdAt: { $gte: since },
          }),
        )
        .sort({ createdAt: -1 })
        .limit(limit)
        .toArray() as Promise<Payment[]>,
    ofAccount: (accountId, ids) =>
      payments.find(filter({ accountId, _id: { $in: [...ids] } })).toArray() as Promise<Payment[]>,
    watch: (position) =>
      openChangeStream(payments, PIPELINE, {
        position,
        fullDocument: 'updateLookup',
        toChange: ({ fullDocument }) => (fullDocument as Payment | undefined) ?? null,
      }),
  };
}

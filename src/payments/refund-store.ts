/** Refunds as the ledger shows them: one document for each operation that sent money back, account
 *  and payment. A refund whose payment is not stored yet waits for it. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { type DocOf, define, nullable, openCollection, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';
import type { PaymentDoc } from './payment-document.js';

const REFUNDS = define(
  'refunds',
  {
    /** From `refundId`. An operation that refunds several payments has a document for each. */
    _id: String,
    accountId: String,
    network: text<Network>(),
    /** Null while it waits. */
    paymentId: nullable(String),
    /** The link or checkout named by its memo; null when booked by hash. */
    targetId: nullable(String),
    transactionHash: String,
    /** Decimal text. */
    operationId: String,
    changeIndex: Number,
    ledger: Number,
    ledgerClosedAt: Date,
    /** The payer: base account or contract. */
    receiver: String,
    /** M…; null when it went to the bare account or to a contract. */
    receiverMuxedAddress: nullable(String),
    assetCode: String,
    assetIssuer: nullable(String),
    /** Canonical decimal text. */
    amount: String,
  },
  [
    { key: { accountId: 1, transactionHash: 1 } },
    {
      key: { targetId: 1, receiver: 1, ledgerClosedAt: 1 },
      partialFilterExpression: { paymentId: null },
      name: 'waitingOf',
    },
  ],
);

export interface RefundDoc extends DocOf<typeof REFUNDS> {}

/** Waiting refunds that are booked when a payment comes. */
const MOST_WAITING = 100;

/** The fields that match a refund to a payment. */
type GivenBack = Pick<
  PaymentDoc,
  'accountId' | 'senderAddress' | 'senderMuxedAddress' | 'assetCode' | 'assetIssuer' | 'ledgerClosedAt'
>;

/** What works across accounts: for the recorder. */
export type RefundStore = ReturnType<typeof createRefundStore>['system'];

export function createRefundStore(connection: mongoose.Connection) {
  const collection = openCollection<RefundDoc>(connection, REFUNDS);
  return {
    forAccount: (accountId: string) => ({
      ofTransaction: (transactionHash: string) => collection.find({ accountId, transactionHash }).toArray(),
    }),

    system: {
      /** The ids of the stored ones of these. */
      async known(batch: readonly Pick<RefundDoc, '_id' | 'accountId'>[], session: Session): Promise<Set<string>> {
        const filter = { _id: { $in: batch.map(({ _id }) => _id) }, accountId: { $in: accountsOf(batch) } };
        const found = await collection.find(filter, { session, projection: { _id: 1 } }).toArray();
        return new Set(found.map(({ _id }) => _id));
      },
      /** Booked and waiting refunds of some operations of one transaction. @param ids of the
       *  operations' refunds. @param transactionHash the ledger's */
      ofOperations: (accountId: string, ids: readonly string[], transactionHash: string, session: Session) =>
        collection.find({ accountId, $or: [{ _id: { $in: [...ids] } }, { transactionHash }] }, { session }).toArray(),
      /** Waiting refunds that may return this payment to a link or checkout, oldest first. Those
       *  beyond the most are left to the payer's next payment. */
      waiting(targetId: string, payment: GivenBack, session: Session): Promise<RefundDoc[]> {
        const {
          accountId,
          senderAddress: receiver,
          senderMuxedAddress,
          assetCode,
          assetIssuer,
          ledgerClosedAt,
        } = payment;
        return collection
          .find(
            {
              ...{ accountId, targetId, paymentId: null, receiver },
              receiverMuxedAddress: { $in: [senderMuxedAddress ?? null, null] },
              ...{ assetCode, assetIssuer },
              ledgerClosedAt: { $gte: ledgerClosedAt },
            },
            { session, sort: { ledgerClosedAt: 1 }, limit: MOST_WAITING },
          )
          .toArray();
      },
      async save(refund: RefundDoc, session: Session): Promise<void> {
        await collection.replaceOne({ _id: refund._id, accountId: refund.accountId }, refund, {
          session,
          upsert: true,
        });
      },
    },
  };
}

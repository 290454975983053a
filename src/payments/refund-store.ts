/** Refunds as the ledger shows them: one document for each operation that sent money back, account
 *  and payment. A refund whose payment is not stored yet waits for it. Behind it:
 *  the payments that a refund may belong to, a part of the payment store. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { formatAmount } from '../domain/amount.js';
import type { MoneyBack, Payer } from '../domain/refund.js';
import { type Collection, type DocOf, define, nullable, openCollection, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import { accountsOf } from '../kit/owners.js';
import { LEFT, REFUNDED } from './checkout-payments.js';
import type { PaymentDoc } from './payment-document.js';

// Payments of one payer that a refund may return. MongoDB searches all of them, however many
// there are.

/** The payments to search: an account's, or those of one link or checkout. */
type PaymentsOf = Pick<PaymentDoc, 'accountId' | 'network'> & Partial<Pick<PaymentDoc, 'paymentLinkId' | 'checkoutId'>>;

const OLDEST = { ledgerClosedAt: 1, ledger: 1, operationId: 1 } as const;
const NEWEST = { ledgerClosedAt: -1, ledger: -1, operationId: -1 } as const;

/** The newest payments of a payer that are searched for what a refund gives back first: an exchange
 *  may be the payer of very many. */
const SEARCHED = 5000;

/** MongoDB expression: the part of the excess that was not refunded; below 0 without an excess. */
const EXCESS_LEFT = { $subtract: [{ $toDecimal: { $ifNull: ['$excessAmount', '0'] } }, REFUNDED] };
const IS_OVERPAID = { $and: [{ $eq: ['$status', 'COMPLETED'] }, { $gt: [EXCESS_LEFT, { $toDecimal: '0' }] }] };
/** What a refund gives back first: what is to be decided, then what was paid too much. */
const TURN = { $cond: ['$needsDecision', 0, { $cond: [IS_OVERPAID, 1, 2] }] };

export function createRefundable(collection: Collection<PaymentDoc>) {
  const criteria = (of: PaymentsOf, { asset, closedAt, operationId }: MoneyBack, address: string) => ({
    ...of,
    senderAddress: address,
    ...{ assetCode: asset.code, assetIssuer: asset.issuer },
    ledgerClosedAt: { $lte: closedAt },
    $expr: {
      $or: [{ $lt: ['$ledgerClosedAt', closedAt] }, { $lt: [toLong('$operationId'), toLong(operationId)] }],
    },
  });

  return {
    /** The payer's payments before the refund, in its asset, in the order in which refunds go to
     *  them: what is to be decided, then what was paid too much, of these what has exactly that
     *  much left and then the newest; then the others, the oldest first.
     *  @param least stroops that each must have left; null for any, the oldest first */
    async inOrder(
      of: PaymentsOf,
      back: MoneyBack,
      { payer, least, limit }: { payer: Payer; least: bigint | null; limit: number },
      session: Session,
    ): Promise<PaymentDoc[]> {
      const before = { ...criteria(of, back, payer.address), senderMuxedAddress: payer.muxedAddress };
      if (least === null) return collection.find(before, { session, sort: OLDEST, limit }).toArray();
      const $expr = { $and: [before.$expr, { $gte: [LEFT, decimal(least)] }] };
      const isExact = { $or: [LEFT, EXCESS_LEFT].map((left) => ({ $eq: [left, decimal(back.amount)] })) };
      const turns = collection.aggregate<{ _id: string }>(
        [
          { $match: before },
          { $sort: NEWEST },
          { $limit: SEARCHED },
          { $match: { $expr } },
          { $project: { turn: TURN, exact: { $cond: [isExact, 0, 1] }, ledgerClosedAt: 1, ledger: 1, operationId: 1 } },
          { $match: { turn: { $lt: 2 } } },
          { $sort: { turn: 1, exact: 1, ...NEWEST } },
          { $limit: limit },
        ],
        { session },
      );
      const ids = (await turns.toArray()).map(({ _id }) => _id);
      const first =
        ids.length === 0
          ? []
          : await collection.find({ _id: { $in: ids }, accountId: of.accountId }, { session }).toArray();
      first.sort((a, b) => ids.indexOf(a._id) - ids.indexOf(b._id));
      if (first.length === limit) return first;
      const rest = { ...before, _id: { $nin: ids }, $expr };
      return [
        ...first,
        ...(await collection.find(rest, { session, sort: OLDEST, limit: limit - first.length }).toArray()),
      ];
    },

    /** The muxed account of this base account that paid before the refund, in its asset. Null for
     *  none or several. */
    async onlyMuxedPayer(of: PaymentsOf, back: MoneyBack, session: Session): Promise<Payer | null> {
      const { address } = back.receiver;
      const other = async (known: string | null) => {
        const found = { ...criteria(of, back, address), senderMuxedAddress: { $nin: [null, known] } };
        return (await collection.findOne(found, { session, projection: { senderMuxedAddress: 1 } }))
          ?.senderMuxedAddress;
      };
      const muxedAddress = (await other(null)) ?? null;
      return muxedAddress === null || (await other(muxedAddress)) ? null : { address, muxedAddress };
    },
  };
}

const decimal = (stroops: bigint) => ({ $toDecimal: formatAmount(stroops) });
const toLong = ($toLong: string) => ({ $toLong });

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
      /** Waiting refunds that may return this payment to a link or checkout, oldest first. */
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
            { session, sort: { ledgerClosedAt: 1 } },
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

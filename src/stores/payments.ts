/** Payments. What the ledger says of one never changes, nor does its judgement by itself; `keyOf` makes each one exist once per wallet. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import { formatAmount, parseSum } from '../domain/amount.js';
import { firstIdOf } from '../domain/ids.js';
import { createById } from './by-id.js';
import { createCheckoutPayments, type PaidCheckout } from './checkout-payments.js';
import { createCountSegments } from './count-segments.js';
import { isDuplicateKey, makeIndexes, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from './database.js';
import { type PageRequest, withinIds } from './paging.js';
import { createPaymentChanges } from './payment-changes.js';
import { createPaymentSums, type SummaryFilter } from './payment-sums.js';
import type { RefundDoc } from './refunds.js';
import { batchesOf, LINES_AT_ONCE } from './snapshot.js';

/** Money sent back, as its payment shows it. */
export interface PaymentRefund {
  transactionHash: string;
  amount: string;
  ledger: number;
  at: Date;
}

export interface PaymentDoc {
  _id: string;
  accountId: string;
  walletId: string;
  network: Network;
  /** Horizon's operation id, a 64-bit number in text. */
  operationId: string;
  /** Which balance change of the operation: 0 but for Soroban operations with several. */
  changeIndex: number;
  transactionHash: string;
  ledger: number;
  ledgerClosedAt: Date;
  receiverAddress: string;
  senderAddress: string;
  assetCode: string;
  assetIssuer: string | null;
  /** Canonical decimal text, as are the amounts below. */
  amount: string;
  memo: string | null;
  memoType: 'none' | 'text' | 'id' | 'hash' | 'return';
  /** Decimal text; null when the destination was not muxed. */
  destinationMuxedId: string | null;
  /** M…; null when the sender was not muxed. */
  senderMuxedAddress: string | null;
  status: PaymentStatus;
  reason: PaymentReason | null;
  expectedAmount: string | null;
  excessAmount: string | null;
  shortfallAmount: string | null;
  paymentLinkId: string | null;
  checkoutId: string | null;
  productId: string | null;
  /** What was sent back in all: canonical decimal text, perhaps more than `amount`. Missing for nothing. */
  refundedAmount?: string;
  /** Oldest first; of very many the newest. Missing for none. */
  refunds?: PaymentRefund[];
  /** Came for an accepted checkout while the payments of before were still being completed: it is none of them. Missing otherwise. */
  afterAcceptance?: true;
  /** The moment in `_id`. */
  createdAt: Date;
}

const nullable = { type: String, default: null };
const paymentSchema = new mongoose.Schema<PaymentDoc>(
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: String,
    operationId: String,
    changeIndex: Number,
    transactionHash: String,
    ledger: Number,
    ledgerClosedAt: Date,
    receiverAddress: String,
    senderAddress: String,
    assetCode: String,
    assetIssuer: nullable,
    amount: String,
    memo: nullable,
    memoType: String,
    destinationMuxedId: nullable,
    senderMuxedAddress: nullable,
    status: String,
    reason: nullable,
    expectedAmount: nullable,
    excessAmount: nullable,
    shortfallAmount: nullable,
    paymentLinkId: nullable,
    checkoutId: nullable,
    productId: nullable,
    refundedAmount: String,
    refunds: {
      type: [
        new mongoose.Schema<PaymentRefund>(
          { transactionHash: String, amount: String, ledger: Number, at: Date },
          PART_OPTIONS,
        ),
      ],
      default: undefined,
    },
    afterAcceptance: Boolean,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'payments' },
);
// The transaction's hash is part of the key because operation ids begin anew when a test network is reset.
paymentSchema.index({ walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 }, { unique: true });
// Lists always name the statuses: MongoDB merges one ordered scan for each, and counts without a look at the documents.
paymentSchema.index({ accountId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, productId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, paymentLinkId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, walletId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, senderAddress: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, assetCode: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, transactionHash: 1 });
// Holds all that a report adds up, so that the documents are not looked at.
paymentSchema.index(
  {
    ...{ accountId: 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
    ...{ amount: 1, refundedAmount: 1, productId: 1, paymentLinkId: 1 },
  },
  { name: 'sums' },
);
paymentSchema.index({ paymentLinkId: 1, createdAt: -1 });
// Whose payment a refund gives back.
paymentSchema.index({ paymentLinkId: 1, senderAddress: 1, _id: 1 });
// Most payments may be of links: the index holds those of checkouts only.
paymentSchema.index(
  { checkoutId: 1, createdAt: -1, _id: -1 },
  { partialFilterExpression: { checkoutId: { $gt: '' } } },
);

export interface PaymentFilter {
  status: readonly PaymentStatus[];
  productId?: string;
  paymentLinkId?: string;
  checkoutId?: string;
  walletId?: string;
  assetCode?: string;
  senderAddress?: string;
  transactionHash?: string;
  /** Inclusive. */
  createdFrom?: Date;
  /** Exclusive. */
  createdTo?: Date;
}

/** What makes a payment the same payment, however often it is read. */
export const keyOf = (
  payment: Pick<PaymentDoc, 'walletId' | 'operationId' | 'changeIndex' | 'transactionHash'>,
): string => `${payment.walletId}:${payment.operationId}:${payment.changeIndex}:${payment.transactionHash}`;

/** What a merchant's decision may change of a payment. */
export type Judgement = Pick<
  PaymentDoc,
  | 'status'
  | 'reason'
  | 'expectedAmount'
  | 'excessAmount'
  | 'shortfallAmount'
  | 'paymentLinkId'
  | 'checkoutId'
  | 'productId'
  | 'afterAcceptance'
>;

/** In MongoDB's terms: fields, and the bounds of the ids, which begin with the time of creation. */
function criteriaOf({ status, createdFrom, createdTo, ...equal }: PaymentFilter) {
  const given = Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined));
  const ids = { from: createdFrom && firstIdOf('pay', createdFrom), to: createdTo && firstIdOf('pay', createdTo) };
  return { fields: { status: { $in: [...status].sort() }, ...given }, ids };
}

/** Refunds that a payment shows; the sum counts all. */
const SHOWN_REFUNDS = 100;
/** Of one payer to one link: of more only these are looked at when money is sent back. */
const PAYMENTS_OF_PAYER = 1000;

/** What works across accounts: for the watcher and the hosted pages. */
export type PaymentStore = ReturnType<typeof createPaymentStore>['system'];
/** One account's view. */
export type AccountPayments = ReturnType<ReturnType<typeof createPaymentStore>['forAccount']>;

export function createPaymentStore(connection: mongoose.Connection, countSegments = createCountSegments(connection)) {
  const payments = connection.model<PaymentDoc>('Payment', paymentSchema);
  const byId = createById(payments);
  const listOf = (accountId: string) => `payments:${accountId}`;
  const collection = payments.collection as unknown as mongoose.mongo.Collection<PaymentDoc>;
  const sums = createPaymentSums(connection, collection);
  const ofCheckouts = createCheckoutPayments(collection);

  async function complete(accountId: string, ids: readonly string[], session: Session): Promise<void> {
    await payments.updateMany(
      { _id: { $in: [...ids] }, accountId },
      { $set: { status: 'COMPLETED', reason: null } },
      { session },
    );
    await countSegments.touch(listOf(accountId), ids, 0, session);
  }

  return {
    ensureIndexes: () => makeIndexes(payments),

    forAccount: (accountId: string) => ({
      ofCheckout: (checkout: PaidCheckout, session: Session) => ofCheckouts.of(checkout, { accountId }, session),
      /** Stroops of all payments of a checkout in its asset. */
      sumOfCheckout: (checkout: PaidCheckout, session: Session) => ofCheckouts.sum(accountId, checkout, session),
      /** A merchant takes payments as they came. */
      complete: (ids: readonly string[], session: Session) => complete(accountId, ids, session),
      /** Counts and exact sums of payments, by group and asset. */
      sums: (filter: SummaryFilter, signal?: AbortSignal) => sums.of(accountId, filter, signal),
      byId: (id: string, session?: Session) => byId.one(accountId, id, session),
      list: (filter: PaymentFilter, request: PageRequest) => {
        const { fields, ids } = criteriaOf(filter);
        const listed = { accountId, ...fields };
        return countSegments.page<PaymentDoc>(listOf(accountId), payments, listed, { ...request, direction: -1, ids });
      },
      /** All that the filter lets through, oldest first. */
      batches: (filter: PaymentFilter, session: Session) => {
        const { fields, ids } = criteriaOf(filter);
        const listed = { accountId, ...fields, ...withinIds(ids) };
        return batchesOf(collection.find(listed, { session, sort: { _id: 1 } }), LINES_AT_ONCE);
      },
      /** Only when its status is one of `from`; null otherwise. */
      async judge(
        id: string,
        from: readonly PaymentStatus[],
        changes: Partial<Judgement>,
        session: Session,
      ): Promise<PaymentDoc | null> {
        const judged = await payments
          .findOneAndUpdate(
            { _id: id, accountId, status: { $in: [...from] } },
            { $set: changes },
            { returnDocument: 'after', session },
          )
          .lean<PaymentDoc>()
          .exec();
        if (judged) await countSegments.touch(listOf(accountId), [id], 0, session);
        return judged;
      },
    }),

    system: {
      ofCheckout: (checkout: PaidCheckout, session: Session) => ofCheckouts.of(checkout, {}, session),
      leftOfCheckout: ofCheckouts.left,
      complete,
      /** For the open pages. */
      changes: createPaymentChanges(collection),
      /** Keys of those payments among `walletIds` × `operationIds` that are stored already. */
      async known(
        walletIds: readonly string[],
        operationIds: readonly string[],
        session: Session,
      ): Promise<Set<string>> {
        const found = await payments.collection
          .find(
            { walletId: { $in: [...walletIds] }, operationId: { $in: [...operationIds] } },
            { session, projection: { _id: 0, walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 } },
          )
          .toArray();
        return new Set(found.map((each) => keyOf(each as never)));
      },
      /** What is stored of these operations' payments to a wallet. */
      ofOperations: (walletId: string, operationIds: readonly string[]) =>
        collection
          .find(
            { walletId, operationId: { $in: [...operationIds] } },
            { projection: { operationId: 1, assetCode: 1, assetIssuer: 1, amount: 1, ledger: 1, ledgerClosedAt: 1 } },
          )
          .toArray(),
      /** The oldest payments of one payer to a link or checkout: of more than 1,000 those. */
      ofPayer: (
        payer: Pick<PaymentDoc, 'accountId' | 'senderAddress' | 'network'>,
        { paymentLinkId, checkoutId }: Pick<PaymentDoc, 'paymentLinkId' | 'checkoutId'>,
        session: Session,
      ): Promise<PaymentDoc[]> =>
        collection
          .find(
            { ...(paymentLinkId === null ? { checkoutId } : { paymentLinkId }), ...payer },
            { session, sort: { _id: 1 }, limit: PAYMENTS_OF_PAYER },
          )
          .toArray(),
      /** @returns the payment with it. @throws Error when there is no such payment */
      async addRefund(
        id: string,
        {
          transactionHash,
          amount,
          ledger,
          ledgerClosedAt: at,
        }: Pick<RefundDoc, 'transactionHash' | 'amount' | 'ledger' | 'ledgerClosedAt'>,
        session: Session,
      ): Promise<PaymentDoc> {
        const before = await collection.findOne({ _id: id }, { session });
        if (!before) throw new Error(`no payment ${id}`);
        const refundedAmount = formatAmount(parseSum(before.refundedAmount ?? '0') + parseSum(amount));
        const refunds = [...(before.refunds ?? []), { transactionHash, amount, ledger, at }].slice(-SHOWN_REFUNDS);
        await collection.updateOne({ _id: id }, { $set: { refundedAmount, refunds } }, { session });
        return { ...before, refundedAmount, refunds };
      },
      /** Whether that is why payments could not be inserted. */
      wereKnown: isDuplicateKey,
      async insert(batch: readonly PaymentDoc[], session: Session): Promise<void> {
        await payments.collection.insertMany(batch as never[], { session });
        await countSegments.touchAll(batch, ({ accountId }) => listOf(accountId), session);
      },
    },
  };
}

/** Payments. What the ledger says of one never changes, nor does its judgement by itself; `paymentKeyOf` makes each one exist once per wallet. */
import mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import type { PaymentReason, PaymentStatus } from '../../contracts/payments.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { firstIdOf } from '../domain/ids.js';
import { accountsOf } from '../domain/owners.js';
import { paymentKeyOf } from '../domain/payment-key.js';
import { queryWords } from '../domain/words.js';
import { createById } from './by-id.js';
import { createCheckoutPayments, type PaidCheckout } from './checkout-payments.js';
import { createCountSegments } from './count-segments.js';
import { isDuplicateKey, makeIndexes, PART_OPTIONS, SCHEMA_OPTIONS, type Session } from './database.js';
import { type PageRequest, withinIds } from './paging.js';
import { createPaymentChanges } from './payment-changes.js';
import { createPaymentSums, type SummaryFilter } from './payment-sums.js';
import { createRefundable } from './refundable-payments.js';
import type { RefundDoc } from './refunds.js';
import { batchesOf, LINES_AT_ONCE } from './snapshot.js';
import { beginning } from './text-search.js';
import type { WalletDoc } from './wallets.js';

/** Money sent back, as its payment shows it. */
export interface PaymentRefund {
  transactionHash: string;
  amount: string;
  ledger: number;
  at: Date;
}

/** What a payment counts for in a currency. */
export interface StoredValue {
  currency: string;
  amount: string;
  rate: string;
  rateAt: Date;
  source: string;
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
  /** In the currency of its price. It is shown once the payment is taken. Missing where there is none. */
  value?: StoredValue;
  /** What was sent back in all: canonical decimal text, perhaps more than `amount`. Missing for nothing. */
  refundedAmount?: string;
  /** Oldest first; of very many the newest. Missing for none. */
  refunds?: PaymentRefund[];
  /** Came for an accepted checkout while the payments of before were still being completed: it is none of them. Missing otherwise. */
  afterAcceptance?: true;
  /** Whether the merchant has to decide about it: see `payments/decision.ts`. */
  needsDecision: boolean;
  /** What a search finds it by, besides its id and hash: its memo, and what its link, product or checkout said when it was judged. */
  words?: string[];
  /** The user who made its checkout. Missing for any other. */
  soldBy?: string;
  /** The merchant leaves it as it is. Missing otherwise; a new judgement ends it. */
  dismissal?: { at: Date; note: string | null };
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
    value: {
      type: new mongoose.Schema<StoredValue>(
        { currency: String, amount: String, rate: String, rateAt: Date, source: String },
        PART_OPTIONS,
      ),
      default: undefined,
    },
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
    needsDecision: Boolean,
    words: { type: [String], default: undefined },
    soldBy: String,
    dismissal: {
      type: new mongoose.Schema({ at: Date, note: nullable }, PART_OPTIONS),
      default: undefined,
    },
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'payments' },
);
// The transaction's hash is part of the key because operation ids begin anew when a test network is reset.
const KEY = { accountId: 1, walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 } as const;
paymentSchema.index(KEY, { unique: true });
// Lists always name the statuses: MongoDB merges one ordered scan for each, and counts without a look at the documents.
paymentSchema.index({ accountId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, productId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, paymentLinkId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, walletId: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, senderAddress: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, assetCode: 1, status: 1, _id: -1 });
paymentSchema.index({ accountId: 1, transactionHash: 1 });
paymentSchema.index({ accountId: 1, words: 1, status: 1, _id: -1 });
paymentSchema.index(
  { accountId: 1, soldBy: 1, status: 1, _id: -1 },
  { partialFilterExpression: { soldBy: { $gt: '' } }, name: 'sellers' },
);
// Few are true, and these alone are listed: the index holds nothing else.
paymentSchema.index(
  { accountId: 1, needsDecision: 1, status: 1, _id: -1 },
  { partialFilterExpression: { needsDecision: true }, name: 'decisions' },
);
// Holds all that a report adds up, so that the documents are not looked at.
paymentSchema.index(
  {
    ...{ accountId: 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
    ...{ amount: 1, refundedAmount: 1, productId: 1, paymentLinkId: 1 },
  },
  { name: 'sums' },
);
// The same of values; only payments that have one are in it.
paymentSchema.index(
  {
    ...{ accountId: 1, 'value.currency': 1, ledgerClosedAt: 1, status: 1, assetCode: 1, assetIssuer: 1 },
    ...{ 'value.amount': 1, productId: 1, paymentLinkId: 1 },
  },
  { name: 'values', partialFilterExpression: { 'value.currency': { $gt: '' } } },
);
paymentSchema.index({ paymentLinkId: 1, createdAt: -1 });
// Which payment of a payer a refund gives back, in the order of the ledger.
paymentSchema.index(
  {
    ...{ accountId: 1, senderAddress: 1, senderMuxedAddress: 1 },
    ...{ ledgerClosedAt: 1, ledger: 1, operationId: 1, paymentLinkId: 1 },
  },
  { name: 'ofPayer' },
);
// Most payments may be of links: the index holds those of checkouts only.
paymentSchema.index(
  { checkoutId: 1, createdAt: -1, _id: -1 },
  { partialFilterExpression: { checkoutId: { $gt: '' } } },
);

export interface PaymentFilter {
  status: readonly PaymentStatus[];
  needsDecision?: boolean;
  search?: string | undefined;
  /** A user. */
  soldBy?: string | undefined;
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

/** What a judgement says of a payment, and a merchant's decision may change. */
export type JudgedFields = Pick<
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
  | 'needsDecision'
  | 'value'
  | 'soldBy'
  | 'words'
>;

/** In MongoDB's terms: fields, and the bounds of the ids, which begin with the time of creation. */
function criteriaOf({ status, createdFrom, createdTo, search, ...equal }: PaymentFilter) {
  const given = Object.fromEntries(Object.entries(equal).filter(([, value]) => value !== undefined));
  const ids = { from: createdFrom && firstIdOf('pay', createdFrom), to: createdTo && firstIdOf('pay', createdTo) };
  const fields = { status: { $in: [...status].sort() }, ...given };
  return { fields: { ...fields, ...(search === undefined ? {} : searched(search)) }, ids };
}

/** Each word begins one of the payment's words, its hash or its id. */
const searched = (search: string) => ({
  $and: queryWords(search).map((word) => {
    const begins = beginning(word);
    const others = [
      ...(/^[0-9a-f]+$/.test(word) ? [{ transactionHash: begins }] : []),
      ...(word.startsWith('pay_') ? [{ _id: begins }] : []),
    ];
    return others.length === 0 ? { words: begins } : { $or: [{ words: begins }, ...others] };
  }),
});

/** A wallet, by its id. */
export type OwnedWallet = Pick<PaymentDoc, 'accountId' | 'walletId'>;

/** Refunds that a payment shows; the sum counts all. */
const SHOWN_REFUNDS = 100;

/** What works across accounts: for the watcher and the hosted pages. */
export type PaymentStore = ReturnType<typeof createPaymentStore>['system'];

export function createPaymentStore(connection: mongoose.Connection, countSegments = createCountSegments(connection)) {
  const payments = connection.model<PaymentDoc>('Payment', paymentSchema);
  const byId = createById(payments);
  const listOf = (accountId: string) => `payments:${accountId}`;
  const collection = payments.collection as unknown as mongoose.mongo.Collection<PaymentDoc>;
  const sums = createPaymentSums(collection);
  const ofCheckouts = createCheckoutPayments(collection);

  async function complete(accountId: string, ids: readonly string[], session: Session): Promise<void> {
    await payments.updateMany(
      { _id: { $in: [...ids] }, accountId },
      { $set: { status: 'COMPLETED', reason: null, needsDecision: false }, $unset: { dismissal: '' } },
      { session },
    );
    await countSegments.touch(listOf(accountId), ids, 0, session);
  }

  /** Nothing is left to decide about these. */
  async function decide(accountId: string, ids: readonly string[], session: Session): Promise<void> {
    if (ids.length === 0) return;
    await collection.updateMany({ _id: { $in: [...ids] }, accountId }, { $set: { needsDecision: false } }, { session });
    await countSegments.touch(listOf(accountId), ids, 0, session);
  }

  return {
    ensureIndexes: () => makeIndexes(payments),

    forAccount: (accountId: string) => ({
      ofCheckout: (checkout: PaidCheckout, session: Session) => ofCheckouts.of({ ...checkout, accountId }, session),
      /** Stroops of all payments of a checkout in its asset. */
      sumOfCheckout: (checkout: PaidCheckout, session: Session) => ofCheckouts.sum({ ...checkout, accountId }, session),
      /** Stroops in its asset that were sent back of all payments of a checkout. */
      refundedOfCheckout: (checkout: PaidCheckout) => ofCheckouts.refunded({ ...checkout, accountId }),
      /** Its payments that count, of which the largest are told. */
      countedOfCheckout: (checkout: PaidCheckout, most: number) =>
        ofCheckouts.counted({ ...checkout, accountId }, most),
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
        changes: Partial<JudgedFields>,
        session: Session,
      ): Promise<PaymentDoc | null> {
        const judged = await payments
          .findOneAndUpdate(
            { _id: id, accountId, status: { $in: [...from] } },
            { $set: changes, $unset: { dismissal: '' } },
            { returnDocument: 'after', session },
          )
          .lean<PaymentDoc>()
          .exec();
        if (judged) await countSegments.touch(listOf(accountId), [id], 0, session);
        return judged;
      },
      /** Leaves it as it is. @returns null where nothing is to be decided */
      async dismiss(id: string, dismissal: PaymentDoc['dismissal'], session: Session): Promise<PaymentDoc | null> {
        const dismissed = await collection.findOneAndUpdate(
          { _id: id, accountId, needsDecision: true },
          { $set: { needsDecision: false, dismissal } },
          { returnDocument: 'after', session },
        );
        if (dismissed) await countSegments.touch(listOf(accountId), [id], 0, session);
        return dismissed;
      },
    }),

    system: {
      ofCheckout: ofCheckouts.of,
      leftOfCheckout: ofCheckouts.left,
      countedSince: ofCheckouts.countedSince,
      undecidedParts: ofCheckouts.undecidedParts,
      complete,
      decide,
      /** For the open pages. */
      changes: createPaymentChanges(collection),
      /** Keys of those payments among `wallets` × `operationIds` that are stored already. */
      async known(
        wallets: readonly Pick<WalletDoc, '_id' | 'accountId'>[],
        operationIds: readonly string[],
        session: Session,
      ): Promise<Set<string>> {
        const ofWallets = { accountId: { $in: accountsOf(wallets) }, walletId: { $in: wallets.map(({ _id }) => _id) } };
        const found = await payments.collection
          .find(
            { ...ofWallets, operationId: { $in: [...operationIds] } },
            {
              session,
              hint: KEY,
              projection: { _id: 0, walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 },
            },
          )
          .toArray();
        return new Set(found.map((each) => paymentKeyOf(each as never)));
      },
      /** What is stored of these operations' payments to a wallet. */
      ofOperations: ({ accountId, walletId }: OwnedWallet, operationIds: readonly string[]) =>
        collection
          .find(
            { accountId, walletId, operationId: { $in: [...operationIds] } },
            {
              hint: KEY,
              projection: {
                operationId: 1,
                changeIndex: 1,
                assetCode: 1,
                assetIssuer: 1,
                amount: 1,
                ledger: 1,
                ledgerClosedAt: 1,
                status: 1,
                value: 1,
              },
            },
          )
          .toArray(),
      byId: byId.one,
      refundable: createRefundable(collection),
      /** @returns the payment without and with it. @throws Error when there is no such payment */
      async addRefund(
        id: string,
        {
          accountId,
          transactionHash,
          amount,
          ledger,
          ledgerClosedAt: at,
        }: Pick<RefundDoc, 'accountId' | 'transactionHash' | 'amount' | 'ledger' | 'ledgerClosedAt'>,
        session: Session,
      ): Promise<{ before: PaymentDoc; after: PaymentDoc }> {
        const before = await collection.findOne({ _id: id, accountId }, { session });
        if (!before) throw new Error(`no payment ${id}`);
        const refundedAmount = formatAmount(parseSum(before.refundedAmount ?? '0') + parseSum(amount));
        const refunds = [...(before.refunds ?? []), { transactionHash, amount, ledger, at }].slice(-SHOWN_REFUNDS);
        const isAll = parseSum(refundedAmount) >= parseAmount(before.amount)!;
        const needsDecision = before.needsDecision && !isAll;
        const changes = { refundedAmount, refunds, needsDecision };
        await collection.updateOne({ _id: id, accountId }, { $set: changes }, { session });
        if (needsDecision !== before.needsDecision) {
          await countSegments.touch(listOf(accountId), [id], 0, session);
        }
        return { before, after: { ...before, ...changes } };
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

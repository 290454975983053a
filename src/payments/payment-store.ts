/** Payments: how they are found, stored and judged. */
import type mongoose from 'mongoose';
import type { PaymentStatus } from '../../contracts/payments.js';
import { formatAmount, parseAmount, parseSum } from '../domain/amount.js';
import { paymentKeyOf } from '../domain/payment-key.js';
import { type Collection, openCollection } from '../kit/collection.js';
import { createCountSegments } from '../kit/count-segments.js';
import { isDuplicateKey, type Session } from '../kit/database.js';
import { firstIdOf } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import { type PageRequest, withinIds } from '../kit/paging.js';
import { batchesOf, LINES_AT_ONCE } from '../kit/snapshot.js';
import { beginning, queryWords, wordLike } from '../kit/text-search.js';
import { createById } from '../kit/tick-loader.js';
import type { WalletDoc } from '../watching/index.js';
import { createCheckoutPayments, type PaidCheckout } from './checkout-payments.js';
import { createPaymentChanges } from './payment-changes.js';
import { PAYMENT_KEY, PAYMENTS, type PaymentDoc } from './payment-document.js';
import { createPaymentSums, type SummaryFilter } from './payment-sums.js';
import type { RefundDoc } from './refund-store.js';
import { createRefundable } from './refundable.js';

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

/** Fields that a judgement sets and a merchant's decision may change. */
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

/** For MongoDB: equal fields, and bounds of the ids, which begin with the time of creation. */
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
      ...(/^[0-9a-f]{2,}$/.test(word) ? [{ transactionHash: begins }] : []),
      ...(word.startsWith('pay_') ? [{ _id: begins }] : []),
    ];
    const words = wordLike(word);
    return others.length === 0 ? { words } : { $or: [{ words }, ...others] };
  }),
});

/** A wallet, by its id. */
export type OwnedWallet = Pick<PaymentDoc, 'accountId' | 'walletId'>;

/** Refunds shown with a payment; the sum counts all. */
const SHOWN_REFUNDS = 100;

/** What works across accounts: for the watcher and the hosted pages. */
export type PaymentStore = ReturnType<typeof createPaymentStore>['system'];

export function createPaymentStore(connection: mongoose.Connection, countSegments = createCountSegments(connection)) {
  const collection = openCollection<PaymentDoc>(connection, PAYMENTS);
  const store: Store = {
    ...{ collection, countSegments },
    byId: createById(collection),
    ofCheckouts: createCheckoutPayments(collection),
    sums: createPaymentSums(connection, collection),
  };
  return {
    forAccount: (accountId: string) => ({
      ...listsOf(store, accountId),
      ...checkoutsOf(store, accountId),
      ...decisionsOf(store, accountId),
    }),
    system: {
      ofCheckout: store.ofCheckouts.of,
      leftOfCheckout: store.ofCheckouts.left,
      countedSince: store.ofCheckouts.countedSince,
      undecidedParts: store.ofCheckouts.undecidedParts,
      byId: store.byId.one,
      /** For the open pages. */
      changes: createPaymentChanges(collection),
      refundable: createRefundable(collection),
      ...ledgerSideOf(store),
      ...decisionsAcrossAccounts(store),
    },
  };
}

interface Store {
  collection: Collection<PaymentDoc>;
  countSegments: ReturnType<typeof createCountSegments>;
  byId: ReturnType<typeof createById<PaymentDoc>>;
  ofCheckouts: ReturnType<typeof createCheckoutPayments>;
  sums: ReturnType<typeof createPaymentSums>;
}

const listOf = (accountId: string) => `payments:${accountId}`;

/** What an account reads of its payments. */
const listsOf = ({ collection, countSegments, byId, sums }: Store, accountId: string) => ({
  byId: (id: string, session?: Session) => byId.one(accountId, id, session),
  list(filter: PaymentFilter, request: PageRequest) {
    const { fields, ids } = criteriaOf(filter);
    const listed = { accountId, ...fields };
    return countSegments.page<PaymentDoc>(listOf(accountId), collection, listed, {
      ...request,
      direction: -1,
      ids,
    });
  },
  /** All that match the filter, oldest first. */
  batches(filter: PaymentFilter, session: Session) {
    const { fields, ids } = criteriaOf(filter);
    const listed = { accountId, ...fields, ...withinIds(ids) };
    return batchesOf(collection.find(listed, { session, sort: { _id: 1 } }), LINES_AT_ONCE);
  },
  /** Counts and exact sums of payments, by group and asset. */
  sums: (filter: SummaryFilter, signal?: AbortSignal) => sums.of(accountId, filter, signal),
});

const checkoutsOf = ({ ofCheckouts }: Store, accountId: string) => ({
  ofCheckout: (checkout: PaidCheckout, session: Session, by?: 'amount' | 'left') =>
    ofCheckouts.of({ ...checkout, accountId }, session, by),
  /** Stroops of all payments of a checkout in its asset. */
  sumOfCheckout: (checkout: PaidCheckout, session: Session) => ofCheckouts.sum({ ...checkout, accountId }, session),
  /** Refunded stroops of all payments of a checkout in its asset. */
  refundedOfCheckout: (checkout: PaidCheckout) => ofCheckouts.refunded({ ...checkout, accountId }),
  completingCheckout: (checkout: Parameters<typeof ofCheckouts.completing>[0]) =>
    ofCheckouts.completing({ ...checkout, accountId }),
  /** The number of its payments that count, and the largest of them. */
  countedOfCheckout: (checkout: PaidCheckout, most: number) => ofCheckouts.counted({ ...checkout, accountId }, most),
});

/** What a merchant decides of payments. */
const decisionsOf = (store: Store, accountId: string) => ({
  /** A merchant accepts payments as they are. */
  complete: (ids: readonly string[], session: Session) =>
    decisionsAcrossAccounts(store).complete(accountId, ids, session),
  /** Only when its status is one of `from`; null otherwise. */
  async judge(
    id: string,
    from: readonly PaymentStatus[],
    changes: Partial<JudgedFields>,
    session: Session,
  ): Promise<PaymentDoc | null> {
    const judged = await store.collection.findOneAndUpdate(
      { _id: id, accountId, status: { $in: [...from] } },
      { $set: changes, $unset: { dismissal: '' } },
      { returnDocument: 'after', session },
    );
    if (judged) await store.countSegments.touch(listOf(accountId), [id], 0, session);
    return judged;
  },
  /** Dismisses it. @returns null when there is nothing to decide */
  async dismiss(id: string, dismissal: PaymentDoc['dismissal'], session: Session): Promise<PaymentDoc | null> {
    const dismissed = await store.collection.findOneAndUpdate(
      { _id: id, accountId, needsDecision: true },
      { $set: { needsDecision: false, dismissal } },
      { returnDocument: 'after', session },
    );
    if (dismissed) await store.countSegments.touch(listOf(accountId), [id], 0, session);
    return dismissed;
  },
});

const decisionsAcrossAccounts = ({ collection, countSegments }: Store) => ({
  async complete(accountId: string, ids: readonly string[], session: Session): Promise<void> {
    await collection.updateMany(
      { _id: { $in: [...ids] }, accountId },
      { $set: { status: 'COMPLETED', reason: null, needsDecision: false }, $unset: { dismissal: '' } },
      { session },
    );
    await countSegments.touch(listOf(accountId), ids, 0, session);
  },
  /** Marks these as decided. */
  async decide(accountId: string, ids: readonly string[], session: Session): Promise<void> {
    if (ids.length === 0) return;
    await collection.updateMany({ _id: { $in: [...ids] }, accountId }, { $set: { needsDecision: false } }, { session });
    await countSegments.touch(listOf(accountId), ids, 0, session);
  },
});

/** Used when reading the ledger. */
const ledgerSideOf = ({ collection, countSegments }: Store) => ({
  /** Keys of the stored payments among `wallets` × `operationIds`. */
  async known(
    wallets: readonly Pick<WalletDoc, '_id' | 'accountId'>[],
    operationIds: readonly string[],
    session: Session,
  ): Promise<Set<string>> {
    const ofWallets = { accountId: { $in: accountsOf(wallets) }, walletId: { $in: wallets.map(({ _id }) => _id) } };
    const projection = { _id: 0, walletId: 1, operationId: 1, changeIndex: 1, transactionHash: 1 } as const;
    const found = await collection
      .find({ ...ofWallets, operationId: { $in: [...operationIds] } }, { session, hint: PAYMENT_KEY, projection })
      .toArray();
    return new Set(found.map(paymentKeyOf));
  },
  /** Stored payments of these operations to a wallet. */
  ofOperations: ({ accountId, walletId }: OwnedWallet, operationIds: readonly string[]) =>
    collection
      .find(
        { accountId, walletId, operationId: { $in: [...operationIds] } },
        { hint: PAYMENT_KEY, projection: AUDITED },
      )
      .toArray(),
  /** @throws MongoServerError when one is already stored, see `wereKnown` */
  async insert(batch: readonly PaymentDoc[], session: Session): Promise<void> {
    await collection.insertMany([...batch], { session });
    await countSegments.touchAll(batch, ({ accountId }) => listOf(accountId), session);
  },
  /** Whether an insert failed because a payment is already stored. */
  wereKnown: isDuplicateKey,
  /** @returns the payment before and after. @throws Error when there is no such payment */
  async addRefund(
    id: string,
    { accountId, transactionHash, amount, ledger, ledgerClosedAt: at }: PaidBack,
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
    if (needsDecision !== before.needsDecision) await countSegments.touch(listOf(accountId), [id], 0, session);
    return { before, after: { ...before, ...changes } };
  },
  /** Stores what the payment says of its refunds. */
  async setRefunds({ _id, accountId, ...payment }: PaymentDoc, session: Session): Promise<void> {
    const { refundedAmount, refunds, needsDecision } = payment;
    await collection.updateOne({ _id, accountId }, { $set: { refundedAmount, refunds, needsDecision } }, { session });
    await countSegments.touch(listOf(accountId), [_id], 0, session);
  },
});

type PaidBack = Pick<RefundDoc, 'accountId' | 'transactionHash' | 'amount' | 'ledger' | 'ledgerClosedAt'>;

/** For audits. */
const AUDITED = {
  ...{ operationId: 1, changeIndex: 1, assetCode: 1, assetIssuer: 1, amount: 1 },
  ...{ ledger: 1, ledgerClosedAt: 1, status: 1, value: 1 },
} as const;

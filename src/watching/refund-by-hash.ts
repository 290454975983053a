/** Books a refund that the merchant names by its transaction, which is read from the ledger rather
 *  than trusted. */

import type { Network } from '../../contracts/networks.js';
import { parseSum } from '../domain/amount.js';
import { isRefundOf } from '../domain/refund.js';
import { conflict, rateLimited, unavailable } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import type { Database, Session } from '../kit/database.js';
import { BudgetUsedUp, type Credit, LedgerUnavailable, type NetworkLedger, UnfitServer } from '../ledger/index.js';
import {
  leftOf,
  MOST_SHARES,
  type MoveRefund,
  type PaymentDoc,
  type PaymentStore,
  partOfRefund,
  payableOf,
  payerOf,
  type RefundBook,
  type RefundDoc,
  type RefundStore,
  sharesOf,
  toMoneyBack,
  toRefundable,
  toRefundDoc,
} from '../payments/index.js';
import type { ForAccount } from '../stores.js';
import { readRecords } from './reading.js';
import type { WalletStore } from './wallet-store.js';

const REFUSALS = {
  no_refund:
    'This transaction is not on the ledger, or is no refund of this payment: a refund goes from a wallet of the account to the sender, in the same asset, after the payment.',
  nothing_left: 'All of this payment was already sent back.',
  of_another:
    'This transaction is booked as the refund of another payment, or gives back another payment of which as much is left.',
} as const;

interface RefundByHashDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  wallets: Pick<WalletStore, 'at'>;
  payments: Pick<PaymentStore, 'refundable' | 'byId'>;
  refunds: Pick<RefundStore, 'ofOperations'>;
  forAccount: ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets'>;
  refundBook: Pick<RefundBook, 'book'>;
  moveRefund: MoveRefund;
  clock: Clock;
}

export type BookByHash = ReturnType<typeof createBookByHash>;

export function createBookByHash(deps: RefundByHashDeps) {
  const { payments, refunds, moveRefund } = deps;

  /** Books what is not booked yet, and moves what was booked by memo at other payments. @param
   *  transaction the caller's
   *  @throws ApiError in which case nothing was changed */
  return async (payment: PaymentDoc, transactionHash: string, transaction: Database['transaction']): Promise<void> => {
    const { accountId, _id: id } = payment;
    const due = await refundsIn(deps, payment, await movedBy(deps, payment, transactionHash));
    const [first] = due;
    if (!first) throw conflict(REFUSALS.no_refund);
    await transaction(async (session) => {
      const ids = due.map(({ _id }) => _id);
      const known = await refunds.ofOperations(accountId, ids, first.transactionHash, session);
      const isMine = known.some(({ paymentId }) => paymentId === id);
      const named = async () => (await payments.byId(accountId, id, session))!;
      const left = leftOf(await named());
      if (left === 0n && !isMine) throw conflict(REFUSALS.nothing_left);
      let isAny = isMine;
      // What has exactly the amount that is left is more likely meant.
      const isExact = (refund: RefundDoc) => parseSum(refund.amount) === left;
      for (const refund of due.toSorted((a, b) => Number(isExact(b)) - Number(isExact(a)))) {
        const parts = known.filter((each) => each.paymentId !== null && isSamePlace(each, refund));
        if (parts.length === 0) {
          if (await bookUnbooked(deps, await named(), refund, session)) isAny = true;
          continue;
        }
        let next = parts.length;
        for (const part of parts.filter(({ paymentId, targetId }) => paymentId !== id && targetId !== null)) {
          const to = await named();
          if (leftOf(to) === 0n) break;
          await moveRefund(part, to, next++, session);
          isAny = true;
        }
      }
      if (!isAny) throw conflict(REFUSALS.of_another);
    });
  };
}

const isSamePlace = (a: RefundDoc, b: RefundDoc): boolean =>
  a.operationId === b.operationId &&
  a.changeIndex === b.changeIndex &&
  a.ledgerClosedAt.getTime() === b.ledgerClosedAt.getTime();

/** @returns whether any of it belongs to the named payment */
async function bookUnbooked(
  deps: RefundByHashDeps,
  named: PaymentDoc,
  refund: RefundDoc,
  session: Session,
): Promise<boolean> {
  const { refundBook, forAccount } = deps;
  const shares = sharesOf(parseSum(refund.amount), await givenBackBy(deps, named, refund, session));
  for (const [part, { payment, stroops }] of shares.entries()) {
    const payable = await payableOf(forAccount(payment.accountId), payment, session);
    await refundBook.book(partOfRefund(refund, part, stroops), payment._id, payable, session);
  }
  return shares.some(({ payment }) => payment._id === named._id);
}

/** The transaction's movements; none when it is not on the ledger. @throws ApiError when the ledger
 *  cannot be asked */
async function movedBy(deps: RefundByHashDeps, payment: PaymentDoc, transactionHash: string): Promise<Credit[]> {
  try {
    return await readMoved(deps, payment, transactionHash);
  } catch (error) {
    if (error instanceof BudgetUsedUp) throw rateLimited(error.retryAfterSeconds);
    if (error instanceof LedgerUnavailable || error instanceof UnfitServer)
      throw unavailable('The ledger cannot be reached now: try again later.');
    throw error;
  }
}

async function readMoved(
  { ledgers, clock }: RefundByHashDeps,
  { network, accountId }: PaymentDoc,
  transactionHash: string,
): Promise<Credit[]> {
  const session = ledgers.get(network)?.session({ purpose: 'tenants', by: accountId });
  if (!session) throw new LedgerUnavailable('the network is not watched', 0);
  const records = await session.transactionRecords(transactionHash);
  if (!records) return [];
  const isOurs = async (addresses: readonly string[]) => new Set(addresses);
  const reading = await readRecords({ network, session, clock, isOurs, historyOf: null }, records);
  // Incomplete: a refund may be in the part that is missing.
  if (reading.parked.length > 0) throw new LedgerUnavailable(reading.parked[0]!.reason, 0);
  return reading.credits;
}

/** In ledger order. */
async function refundsIn(
  { wallets }: RefundByHashDeps,
  payment: PaymentDoc,
  moved: readonly Credit[],
): Promise<RefundDoc[]> {
  const { accountId, network } = payment;
  const back = moved
    .map((credit) => ({ credit, refund: toRefundDoc(accountId, network, credit, null) }))
    .filter(({ refund }) => isRefundOf(toMoneyBack(refund), toRefundable(payment)));
  const senders = new Set(
    (await wallets.at(network, [...new Set(back.map(({ credit }) => credit.sender))]))
      .filter((wallet) => wallet.accountId === accountId)
      .map(({ address }) => address),
  );
  return back.filter(({ credit }) => senders.has(credit.sender)).map(({ refund }) => refund);
}

/** The payments that one operation refunds: the named one if enough of it is left, else the payer's
 *  first with enough left, else all with something left. */
async function givenBackBy(
  { payments }: RefundByHashDeps,
  named: PaymentDoc,
  refund: RefundDoc,
  session: Session,
): Promise<PaymentDoc[]> {
  const back = toMoneyBack(refund);
  if (leftOf(named) >= back.amount) return [named];
  const payer = payerOf(named);
  const { accountId, network } = named;
  const find = (least: bigint, limit: number) =>
    payments.refundable.inOrder({ accountId, network }, back, { payer, least, limit }, session);
  const whole = await find(back.amount, 1);
  if (whole.length > 0) return whole;
  return [named, ...(await find(1n, MOST_SHARES)).filter(({ _id }) => _id !== named._id)];
}

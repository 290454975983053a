/** Books a refund that the merchant names by its transaction, which is read from the ledger rather than trusted. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { formatAmount } from '../domain/amount.js';
import { rateLimited } from '../domain/api-error.js';
import { givesBack, refundId, shareOut } from '../domain/refund.js';
import { BudgetUsedUp, LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import type { Credit } from '../ledger/records.js';
import { leftOf } from '../payments/checkout.js';
import { payableOf } from '../payments/payable.js';
import { payerOf, type RefundBook, toMoneyBack, toRefundable, toRefundDoc } from '../payments/refunds.js';
import type { Database, Session } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { PaymentDoc } from '../stores/payment-document.js';
import type { PaymentStore } from '../stores/payments.js';
import type { RefundDoc, RefundStore } from '../stores/refunds.js';
import type { WalletStore } from '../stores/wallets.js';
import { readRecords } from './reading.js';

/** `no_refund`: the transaction is not on the ledger, or returns nothing of this payment. `booked_for_another`: all that it returns is booked for other
 *  payments of the payer. `ledger_away`: no source answers. */
type RefundOutcome = 'booked' | 'no_refund' | 'booked_for_another' | 'ledger_away';

interface RefundByHashDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  wallets: Pick<WalletStore, 'at'>;
  payments: Pick<PaymentStore, 'refundable' | 'byId'>;
  refunds: Pick<RefundStore, 'ofOperations'>;
  forAccount: ForAccount<'paymentLinks' | 'checkouts' | 'products' | 'wallets'>;
  refundBook: Pick<RefundBook, 'book'>;
  clock: Clock;
}

/** One operation is divided among at most this many payments; the rest goes to the named one. */
const MOST_SHARES = 100;

export type BookByHash = ReturnType<typeof createBookByHash>;

export function createBookByHash(deps: RefundByHashDeps) {
  const { payments, refunds, forAccount, refundBook } = deps;

  /** Books what is not booked yet. @param transaction the caller's
   *  @throws ApiError `rate_limited` when the account's share of the request budget is used up */
  return async (
    payment: PaymentDoc,
    transactionHash: string,
    transaction: Database['transaction'],
  ): Promise<RefundOutcome> => {
    let moved: Credit[] | null;
    try {
      moved = await movedBy(deps, payment, transactionHash);
    } catch (error) {
      if (error instanceof BudgetUsedUp) throw rateLimited(error.retryAfterSeconds);
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return 'ledger_away';
      throw error;
    }
    const due = moved ? await refundsIn(deps, payment, moved) : [];
    const [first] = due;
    if (!first) return 'no_refund';
    return transaction(async (session) => {
      const ids = due.map(({ _id }) => _id);
      const known = await refunds.ofOperations(payment.accountId, ids, first.transactionHash, session);
      const booked = new Set(known.flatMap(({ _id, paymentId }) => (paymentId === null ? [] : _id)));
      let isMine = known.some(({ paymentId }) => paymentId === payment._id);
      for (const refund of due.filter(({ _id }) => !booked.has(_id))) {
        const named = (await payments.byId(payment.accountId, payment._id, session))!;
        for (const [part, share] of (await sharesOf(deps, named, refund, session)).entries()) {
          const { _id } = share.payment;
          const id = refundId(refund, { ...refund, closedAt: refund.ledgerClosedAt }, part);
          const shared = { ...refund, _id: id, amount: formatAmount(share.stroops) };
          const payable = await payableOf(forAccount(payment.accountId), share.payment, session);
          await refundBook.book(shared, _id, payable, session);
          isMine ||= _id === payment._id;
        }
      }
      return isMine ? 'booked' : 'booked_for_another';
    });
  };
}

/** The transaction's movements; null when it is not on the ledger. @throws LedgerUnavailable */
async function movedBy(
  { ledgers, clock }: RefundByHashDeps,
  { network, accountId }: PaymentDoc,
  transactionHash: string,
): Promise<Credit[] | null> {
  const session = ledgers.get(network)?.session({ purpose: 'tenants', by: accountId });
  if (!session) throw new LedgerUnavailable('the network is not watched', 0);
  const records = await session.transactionRecords(transactionHash);
  if (!records) return null;
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
    .filter(({ refund }) => givesBack(toMoneyBack(refund), toRefundable(payment)));
  const senders = new Set(
    (await wallets.at(network, [...new Set(back.map(({ credit }) => credit.sender))]))
      .filter((wallet) => wallet.accountId === accountId)
      .map(({ address }) => address),
  );
  return back.filter(({ credit }) => senders.has(credit.sender)).map(({ refund }) => refund);
}

/** The payments that one operation refunds: the named one if enough of it is left, else the payer's oldest with enough left, else all with something left. Any
 *  excess goes to the named one. */
async function sharesOf(
  { payments }: RefundByHashDeps,
  named: PaymentDoc,
  refund: RefundDoc,
  session: Session,
): Promise<Share[]> {
  const back = toMoneyBack(refund);
  if (leftOf(named) >= back.amount) return [{ payment: named, stroops: back.amount }];
  const payer = payerOf(named);
  const { accountId, network } = named;
  const find = (least: bigint, limit: number) =>
    payments.refundable.of({ accountId, network }, back, { payer, least, limit }, session);
  const [whole] = await find(back.amount, 1);
  if (whole) return [{ payment: whole, stroops: back.amount }];
  const others = (await find(1n, MOST_SHARES)).filter(({ _id }) => _id !== named._id);
  const all = [named, ...others];
  const shares = shareOut(back.amount, all.map(leftOf));
  return all.map((payment, index) => ({ payment, stroops: shares[index]! })).filter(({ stroops }) => stroops > 0n);
}

interface Share {
  payment: PaymentDoc;
  stroops: bigint;
}

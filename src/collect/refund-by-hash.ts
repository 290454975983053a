/** Books a refund that the merchant names by its transaction: looks the transaction up on the ledger, and takes nobody's word for it. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { givesBack } from '../domain/refund.js';
import type { PaymentTarget } from '../events/outbox.js';
import { LedgerUnavailable, UnfitServer } from '../ledger/errors.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import type { Credit } from '../ledger/records.js';
import type { Database, Session } from '../stores/database.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { RefundDoc, RefundStore } from '../stores/refunds.js';
import type { WalletStore } from '../stores/wallets.js';
import { readRecords } from './reading.js';
import { type RefundBook, toMoneyBack, toRefundable, toRefundDoc } from './refunds.js';

/** `no_refund`: the transaction is not on the ledger, or gives back nothing of this payment. `booked_for_another`: it does, but all of that is booked.
 *  `ledger_away`: nobody can tell now. */
export type RefundOutcome = 'booked' | 'no_refund' | 'booked_for_another' | 'ledger_away';

export interface RefundByHashDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session'>>;
  wallets: Pick<WalletStore, 'at'>;
  refunds: Pick<RefundStore, 'byIds'>;
  refundBook: Pick<RefundBook, 'book'>;
  transaction: Database['transaction'];
  clock: Clock;
}

export type BookByHash = ReturnType<typeof createBookByHash>;

export function createBookByHash(deps: RefundByHashDeps) {
  const { ledgers, wallets, refunds, refundBook, transaction, clock } = deps;

  /** What the transaction moved between accounts; null when it is not on the ledger. @throws LedgerUnavailable */
  async function movedBy(network: Network, transactionHash: string): Promise<Credit[] | null> {
    const session = ledgers.get(network)?.session();
    if (!session) throw new LedgerUnavailable('the network is not watched', 0);
    const records = await session.transactionRecords(transactionHash);
    if (!records) return null;
    const isOurs = async (addresses: readonly string[]) => new Set(addresses);
    return (await readRecords({ network, session, clock, isOurs, ofOneAddress: false }, records)).credits;
  }

  async function refundsIn(payment: PaymentDoc, moved: readonly Credit[]): Promise<RefundDoc[]> {
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

  /** Books what is not booked yet. @param target of the payment, as it is in the transaction */
  return async (
    payment: PaymentDoc,
    transactionHash: string,
    targetOf: (session: Session) => Promise<PaymentTarget | null>,
  ): Promise<RefundOutcome> => {
    let moved: Credit[] | null;
    try {
      moved = await movedBy(payment.network, transactionHash);
    } catch (error) {
      if (error instanceof LedgerUnavailable || error instanceof UnfitServer) return 'ledger_away';
      throw error;
    }
    const due = moved ? await refundsIn(payment, moved) : [];
    if (due.length === 0) return 'no_refund';
    return transaction(async (session) => {
      const known = new Map(
        (
          await refunds.byIds(
            due.map(({ _id }) => _id),
            session,
          )
        ).map((each) => [each._id, each]),
      );
      const open = due.filter(({ _id }) => !known.get(_id)?.paymentId);
      const mine = due.filter(({ _id }) => known.get(_id)?.paymentId === payment._id);
      if (open.length === 0) return mine.length > 0 ? 'booked' : 'booked_for_another';
      const target = await targetOf(session);
      for (const refund of open) await refundBook.book(refund, payment._id, target, session);
      return 'booked';
    });
  };
}

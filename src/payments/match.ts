/** Match: finds the wallets of a credit, and the link or checkout that its memo names. */

import type { Network } from '../../contracts/networks.js';
import { memosNamedBy } from '../domain/memo.js';
import { paymentKeyOf } from '../domain/payment-key.js';
import { isWatched } from '../domain/terms.js';
import type { Session } from '../kit/database.js';
import type { Credit } from '../ledger/records.js';
import type { WalletDoc, WalletStore } from '../watching/index.js';
import { type Later, laterThan } from './checkout.js';
import { networksOf, type Payable, paidFor, payablesByMemo, type SystemPayables } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentStore } from './payment-store.js';

/** A credit to a wallet. Accounts may share an address: each of their wallets gets a match of its own. */
export interface Match {
  credit: Credit;
  wallet: WalletDoc;
  /** Null if the memo names no link or checkout of the wallet's account. */
  payable: Payable | null;
  later: Later;
}

export interface MatchDeps extends SystemPayables {
  wallets: Pick<WalletStore, 'at' | 'ofAllAccounts'>;
  payments: Pick<PaymentStore, 'known' | 'countedSince'>;
}

/** Credits to match: of one page or of several. */
export interface CreditBatch {
  network: Network;
  credits: readonly Credit[];
  /** Leaves out stored payments, at the cost of a query. */
  mayBeKnown: boolean;
  /** The only wallet that may get payments: its tenant named the source, whose records must not reach other tenants at the address. */
  only?: WalletDoc | undefined;
}

/** Ordered like the credits. */
export async function matchCredits(deps: MatchDeps, batch: CreditBatch, session: Session): Promise<Match[]> {
  const due = await receiversOf(deps, batch, session);
  if (due.length === 0) return [];
  const known = batch.mayBeKnown ? await knownKeys(deps, due, session) : new Set<string>();
  const fresh: Receipt[] = [];
  for (const receipt of due) {
    const key = paymentKeyOf({ ...receipt.credit, walletId: receipt.wallet._id });
    if (known.has(key)) continue;
    fresh.push(receipt);
    // A batch may contain a record twice.
    known.add(key);
  }
  const named = fresh.flatMap(({ credit, wallet: { accountId } }) =>
    memosNamedBy(credit).map((memo) => ({ memo, close: credit, accountId })),
  );
  const payables = await payablesByMemo(deps, named, session);
  const matches = fresh.map(({ wallet, credit }) => {
    const meant = memosNamedBy(credit).map((memo) => payables.get(memo));
    // Ignore memos of another account's link, or of one that took payments on another network at the time.
    const isMeant = (payable: Payable) =>
      paidFor(payable).accountId === wallet.accountId && networksOf(payable, credit).includes(batch.network);
    return { wallet, credit, payable: meant.find((each) => each && isMeant(each)) ?? null };
  });
  const counted = await countedSince(deps, matches, session);
  return matches.map((match) => {
    const { payable, credit } = match;
    const own = (payable?.checkout && counted.get(payable.checkout._id)) ?? [];
    return { ...match, later: payable?.checkout ? laterThan(own, credit.operationId, payable.checkout) : [] };
  });
}

/** Counted payments of the checkouts since the oldest of these ledgers, by checkout; for most, none. */
async function countedSince(
  { payments }: MatchDeps,
  matches: readonly Omit<Match, 'later'>[],
  session: Session,
): Promise<Map<string, PaymentDoc[]>> {
  const paid = matches.filter(({ payable }) => payable?.checkout && payable.checkout.paymentCount > 0);
  if (paid.length === 0) return new Map();
  const since = new Date(Math.min(...paid.map(({ credit }) => credit.closedAt.getTime())));
  const checkouts = [...new Map(paid.map(({ payable }) => [payable!.checkout!._id, payable!.checkout!])).values()];
  const counted = new Map<string, PaymentDoc[]>(checkouts.map(({ _id }) => [_id, []]));
  for (const payment of await payments.countedSince(checkouts, since, session))
    counted.get(payment.checkoutId!)!.push(payment);
  return counted;
}

type Receipt = Pick<Match, 'wallet' | 'credit'>;

/** The wallets that watched the credit's address when its ledger closed. */
async function receiversOf(
  { wallets }: MatchDeps,
  { network, credits, only }: CreditBatch,
  session: Session,
): Promise<Receipt[]> {
  const addresses = [...new Set(credits.map((credit) => credit.receiver))];
  const walletsByAddress = new Map<string, WalletDoc[]>(addresses.map((address) => [address, []]));
  for (const wallet of await wallets.at(network, addresses, session))
    walletsByAddress.get(wallet.address)?.push(wallet);
  return credits.flatMap((credit) =>
    walletsByAddress
      .get(credit.receiver)!
      .filter((wallet) => isWatched(wallet.windows, credit) && (!only || wallet._id === only._id))
      .map((wallet) => ({ wallet, credit })),
  );
}

const knownKeys = ({ payments }: MatchDeps, due: readonly Receipt[], session: Session): Promise<Set<string>> =>
  payments.known(
    [...new Map(due.map(({ wallet }) => [wallet._id, wallet])).values()],
    [...new Set(due.map(({ credit }) => credit.operationId))],
    session,
  );

/** Record: stores matched and judged credits, their events and the cursor in one transaction, or,
 *  where that takes too long, in several, the cursor in the last. A record that is read twice is
 *  stored once, so that a crash loses and doubles nothing. */
import type { Network } from '../../contracts/networks.js';
import { formatAmount } from '../domain/amount.js';
import { comparePlaces, Later } from '../domain/later.js';
import { memosNamedBy, unmatchedReason } from '../domain/memo.js';
import { verdictOf } from '../domain/outcomes.js';
import { paymentKeyOf } from '../domain/payment-key.js';
import { type Pair, worthOf } from '../domain/rate.js';
import { isWatched } from '../domain/terms.js';
import type { MonotonicClock } from '../kit/clock.js';
import type { Database, Session } from '../kit/database.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import type { Credit } from '../ledger/index.js';
import type { Came, RateBook, RatesOf, WorthOf } from '../rates/index.js';
import type {
  CursorDoc,
  CursorStore,
  ParkedRecordDoc,
  ParkedRecordStore,
  Progress,
  WalletDoc,
  WalletStore,
} from '../watching/index.js';
import { judge, toJudgedFields, toStoredValue } from './judge.js';
import {
  type CheckoutPayable,
  networksOf,
  type Payable,
  paidFor,
  pairsOf,
  payablesByMemo,
  type SystemPayables,
} from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentStore } from './payment-store.js';
import type { RefundBook } from './refunds.js';
import { type Pace, type PayableChange, type Settle, TookTooLong } from './settle.js';

// Match: finds the wallets of a credit, and the link or checkout that its memo names.

/** A credit to a wallet. Accounts may share an address: each of their wallets gets a match of
 *  its own. */
interface Match {
  credit: Credit;
  wallet: WalletDoc;
  /** Null if the memo names no link or checkout of the wallet's account. */
  payable: Payable | null;
  later: Later;
}

interface MatchDeps extends SystemPayables {
  wallets: Pick<WalletStore, 'at' | 'ofAllAccounts'>;
  payments: Pick<PaymentStore, 'known' | 'countedSince'>;
}

/** Credits to match: of one page or of several. */
interface CreditBatch {
  network: Network;
  credits: readonly Credit[];
  /** Leaves out stored payments, at the cost of a query. */
  mayBeKnown: boolean;
  /** The only wallet that may get payments: its tenant named the source, whose records must not
   *  reach other tenants at the address. */
  only?: WalletDoc | undefined;
}

/** Ordered like the credits. */
async function matchCredits(deps: MatchDeps, batch: CreditBatch, session: Session): Promise<Match[]> {
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
    // Ignore memos of another account's link, or of one that took payments on another network at
    // the time.
    const isMeant = (payable: Payable) =>
      paidFor(payable).accountId === wallet.accountId && networksOf(payable, credit).includes(batch.network);
    return { wallet, credit, payable: meant.find((each) => each && isMeant(each)) ?? null };
  });
  const counted = await countedSince(deps, matches, session);
  return matches.map((match) => {
    const { payable, credit } = match;
    const own = payable?.checkout && counted.get(payable.checkout._id);
    return { ...match, later: own ? own.after(credit) : Later.none };
  });
}

/** Counted payments of the checkouts since the oldest of these ledgers, by checkout; for
 *  most, none. */
async function countedSince(
  { payments }: MatchDeps,
  matches: readonly Omit<Match, 'later'>[],
  session: Session,
): Promise<Map<string, Later>> {
  const paid = matches.filter(({ payable }) => payable?.checkout && payable.checkout.paymentCount > 0);
  if (paid.length === 0) return new Map();
  const since = new Date(Math.min(...paid.map(({ credit }) => credit.closedAt.getTime())));
  const checkouts = new Map(paid.map(({ payable }) => [payable!.checkout!._id, payable!.checkout!]));
  return payments.countedSince([...checkouts.values()], since, session);
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

/** Another reader moved the cursor. Nothing was stored since; the next round reads from the
 *  new cursor. */
export class CursorConflict extends Error {
  override readonly name = 'CursorConflict';
}

interface CursorMove {
  from: CursorDoc;
  to: Progress;
}

/** Records read from the ledger. */
interface Read {
  credits: readonly Credit[];
  /** Money that our wallets sent with a refund's memo. */
  refunds?: readonly Credit[];
  /** Possible money that cannot be recorded yet. */
  parked?: readonly ParkedRecordDoc[];
  /** Id of the parked record that held all this, which is removed. */
  resolves?: string | undefined;
  /** The only wallet that gets payments, and whose account's refunds are booked. */
  only?: WalletDoc;
}

/** The part of it that these operations brought. @param isRest what no operation brought, too */
const pieceOf = (
  { credits, refunds = [], parked = [], resolves, only }: Read,
  ids: readonly string[],
  isRest: boolean,
) => {
  const own = new Set(ids);
  const isOwn = ({ operationId }: Credit) => own.has(operationId);
  const rest = isRest ? { parked, resolves } : { parked: [], resolves: undefined };
  return { credits: credits.filter(isOwn), refunds: refunds.filter(isOwn), ...rest, only };
};

/** In the order of the ledger. */
const operationsOf = ({ credits, refunds = [] }: Read): string[] => [
  ...new Set([...credits, ...refunds].sort(comparePlaces).map(({ operationId }) => operationId)),
];

/** A transaction of several operations is given up after this: hundreds of them may each complete
 *  a checkout with a thousand parts, or be divided among a hundred payments. MongoDB aborts it
 *  after 60 s by default, and after 10 where it is ours. */
const STORED_WITHIN_MS = 3000;

function paceOf(mostMs: number, clock: Pick<MonotonicClock, 'nowMs'>): Pace {
  const beganMs = clock.nowMs();
  return () => {
    if (clock.nowMs() - beganMs > mostMs) throw new TookTooLong(`after ${mostMs} ms`);
  };
}

export type Recorder = ReturnType<typeof createRecorder>;

export interface RecorderDeps extends MatchDeps {
  wallets: Pick<WalletStore, 'at' | 'ofAllAccounts' | 'noteHasPayments'>;
  payments: Pick<PaymentStore, 'known' | 'countedSince' | 'wereKnown'>;
  cursors: Pick<CursorStore, 'advance'>;
  parkedRecords: Pick<ParkedRecordStore, 'park' | 'remove'>;
  settle: Settle;
  rateBook: Pick<RateBook, 'load' | 'loadWorth'>;
  refundBook: Pick<RefundBook, 'bookSent'>;
  transaction: Database['transaction'];
  newId: NewId;
  monotonic: Pick<MonotonicClock, 'nowMs'>;
  storedWithinMs?: number;
}

export function createRecorder(deps: RecorderDeps) {
  const { wallets, payments, cursors, parkedRecords, settle, rateBook, refundBook, transaction, newId } = deps;
  const { monotonic, storedWithinMs = STORED_WITHIN_MS } = deps;

  function store(
    batch: CreditBatch & Required<Pick<Read, 'refunds' | 'parked'>> & Pick<Read, 'resolves'>,
    move: CursorMove | null,
    mostMs: number,
  ): Promise<PaymentDoc[]> {
    return transaction(async (session) => {
      const pace = paceOf(mostMs, monotonic);
      const matches = await matchCredits(deps, batch, session);
      const ratesOf = await loadRates(matches, session);
      const bookValueOf = await rateBook.loadWorth(
        matches.map((match) => cameOf(batch.network, match)),
        session,
      );
      const changes = judgeInOrder(batch.network, matches, { ratesOf, bookValueOf }, newId);
      if (changes.length > 0) await settle(changes, session, pace);
      await noteFirstPayments(matches, session);
      await refundBook.bookSent(batch, session, pace);
      await parkedRecords.park(batch.parked, session);
      if (batch.resolves !== undefined) await parkedRecords.remove(batch.resolves, session);
      if (move && !(await cursors.advance(move.from, move.to, session))) throw new CursorConflict();
      return changes.flatMap((change) => change.payments.map(({ after }) => after));
    });
  }

  /** All rates that the payments may have used. */
  const loadRates = (matches: readonly Match[], session: Session): Promise<RatesOf> =>
    rateBook.load(
      matches.flatMap(({ payable, wallet: { accountId }, credit: close }) =>
        payable ? pairsOf(payable, close).map((pair) => ({ accountId, pair, close })) : [],
      ),
      session,
    );

  /** Marks wallets that get their first payment. Marks are never removed, so a marked wallet needs
   *  no write. */
  async function noteFirstPayments(matches: readonly Match[], session: Session): Promise<void> {
    const first = matches.flatMap(({ wallet }) => (wallet.hasPayments ? [] : wallet._id));
    if (first.length > 0) await wallets.noteHasPayments([...new Set(first)], session);
  }

  /** In one transaction. @throws TookTooLong after so many milliseconds */
  async function storePiece(
    network: Network,
    piece: ReturnType<typeof pieceOf>,
    move: CursorMove | null,
    mostMs: number,
  ): Promise<PaymentDoc[]> {
    const batch = { network, ...piece };
    try {
      return await store({ ...batch, mayBeKnown: false }, move, mostMs);
    } catch (error) {
      // Records are rarely read twice, so only the unique key checks for it; on a conflict, run
      // again without stored credits.
      if (!payments.wereKnown(error)) throw error;
      return store({ ...batch, mayBeKnown: true }, move, mostMs);
    }
  }

  return {
    /** Stores the credits of watched wallets with their events, books the refunds, stores parked
     *  records and moves the cursor: all or nothing, or where it takes too long the first
     *  operations before the others, and the parked records and the cursor last.
     *  @returns the payments that were not stored before
     *  @throws CursorConflict when the cursor is no longer where it was */
    async record(network: Network, read: Read, move: CursorMove | null): Promise<PaymentDoc[]> {
      const operations = operationsOf(read);
      const stored: PaymentDoc[] = [];
      let [done, atOnce] = [0, operations.length];
      do {
        const ids = operations.slice(done, done + atOnce);
        const isLast = done + ids.length === operations.length;
        const mostMs = ids.length > 1 ? storedWithinMs : Number.POSITIVE_INFINITY;
        try {
          // The others leave the cursor where it is, and ensure that it still is there.
          const own = move && { from: move.from, to: isLast ? move.to : move.from };
          stored.push(...(await storePiece(network, pieceOf(read, ids, isLast), own, mostMs)));
          done += ids.length;
        } catch (error) {
          if (!(error instanceof TookTooLong)) throw error;
          atOnce = Math.ceil(ids.length / 2);
        }
      } while (done < operations.length);
      return stored;
    },
  };
}

const cameOf = (network: Network, { credit, wallet: { accountId } }: Match): Came => ({
  accountId,
  asset: credit.asset,
  network,
  close: credit,
});

/** Judges in the order given: a payment of a checkout depends on those before it. */
function judgeInOrder(
  network: Network,
  matches: readonly Match[],
  { ratesOf, bookValueOf }: { ratesOf: RatesOf; bookValueOf: WorthOf },
  newId: NewId,
): PayableChange[] {
  const left = new Map<string, CheckoutPayable>();
  return matches.map((match) => {
    const _id = newId('pay');
    const createdAt = createdAtOf(_id);
    const { credit, wallet, payable, later } = match;
    const found = (payable?.checkout && left.get(payable.checkout._id)) ?? payable;
    const { accountId } = wallet;
    const rates = (pair: Pair) => ratesOf({ accountId, pair, close: credit });
    const judged = found && judge(found, credit, later, rates, createdAt);
    if (judged?.payable.checkout) left.set(judged.payable.checkout._id, judged.payable);
    const amount = formatAmount(credit.amount);
    const verdict = judged?.verdict ?? verdictOf(unmatchedReason(credit.memo), null);
    const after: PaymentDoc = {
      _id,
      accountId,
      walletId: wallet._id,
      network,
      operationId: credit.operationId,
      changeIndex: credit.changeIndex,
      transactionHash: credit.transactionHash,
      ledger: credit.ledger,
      ledgerClosedAt: credit.closedAt,
      receiverAddress: credit.receiver,
      senderAddress: credit.sender,
      assetCode: credit.asset.code,
      assetIssuer: credit.asset.issuer,
      amount,
      memo: credit.memo.text,
      memoType: credit.memo.type,
      destinationMuxedId: credit.destinationMuxedId,
      senderMuxedAddress: credit.senderMuxedAddress,
      ...valuedBy(bookValueOf(cameOf(network, match)), credit.amount),
      ...toJudgedFields(verdict, { amount, memo: credit.memo.text }, judged?.payable ?? null),
      createdAt,
    };
    const statusBefore = found?.checkout?.status;
    return { payable: judged?.payable ?? null, statusBefore, payments: [{ before: null, after }] };
  });
}

/** The payment's value in the account's books. A value by its price takes precedence. */
function valuedBy(worth: ReturnType<WorthOf>, stroops: bigint): Pick<PaymentDoc, 'value'> {
  if (!worth) return {};
  const { currency, rate } = worth;
  return { value: toStoredValue({ ...rate, currency, amount: worthOf(stroops, rate.rate, currency) }) };
}

/** What must hold of checkouts: parts add up to the stroop, each payment is judged once and
 *  rightly, PAID and EXPIRED are told once, and EXPIRED is not told while a payment in time
 *  could still turn up. The rules are written a second time here, and every change that was ever
 *  committed is held against them. */
import { memoIdOf } from '../../../src/domain/memo.js';
import type { Chain, Paid } from '../chain.js';
import { type Change, type Doc, type Knowledge, possible, stampedWithin } from '../knowledge.js';
import { slackOf, stroops } from './verdicts.js';
import { isExcused, keyOf, surelyActive } from './watching.js';

/** A change of a checkout, as it was committed. */
interface Transition {
  before: Doc;
  after: Doc;
  /** Payments that became the checkout's, in the order of the ledger. */
  came: { payment: Doc; isAssigned: boolean }[];
  /** All of its payments then. */
  all: Doc[];
  fromMs: number;
  untilMs: number;
}

interface State {
  status: string;
  received: bigint;
  /** What was sent back before it was PAID. */
  returned: readonly Doc[];
  paidMs: number | null;
}

const NEVER: Change<boolean> = {
  value: false,
  fromMs: Number.NEGATIVE_INFINITY,
  untilMs: Number.NEGATIVE_INFINITY,
};
const isAssetOf = (checkout: Doc, payment: Doc): boolean =>
  payment.assetCode === checkout.assetCode && payment.assetIssuer === checkout.assetIssuer;
const isNamedBy = ({ memo }: Paid, { memo: own }: Doc): boolean =>
  memo.type === 'text' ? memo.text!.trim().toUpperCase() === own : memo.type === 'id' && memo.text === memoIdOf(own);
const nameOf = ({ _id }: Doc): string => `checkout ${_id.slice(-6)}`;
const inLedgerOrder = (a: Doc, b: Doc): number =>
  a.ledger - b.ledger || Number(BigInt(a.operationId) - BigInt(b.operationId)) || a.changeIndex - b.changeIndex;
const shown = ({ status, reason, expectedAmount, excessAmount, shortfallAmount }: Doc): string =>
  JSON.stringify(
    [status, reason, stroops(expectedAmount), stroops(excessAmount), stroops(shortfallAmount)].map(String),
  );

/** The least that is enough, for a price in the asset. */
const enoughOf = ({ amount, tolerancePercent }: Doc): bigint =>
  stroops(amount)! - slackOf(stroops(amount)!, tolerancePercent);

/** What was not sent back of a payment. */
function leftOf({ amount, refundedAmount }: Doc): bigint {
  const left = stroops(amount)! - stroops(refundedAmount ?? '0')!;
  return left < 0n ? 0n : left;
}

const sumOf = (parts: readonly Doc[]): bigint => parts.reduce((sum, each) => sum + BigInt(each.stroops), 0n);

/** What was sent back of an order that was not complete, and booked in one commit. */
function freshReturns(before: Doc, after: Doc): Doc[] {
  const known = new Set((before.returned ?? []).map(keyOfReturn));
  return (after.returned ?? []).filter((each: Doc) => !known.has(keyOfReturn(each)));
}

/** Stroops of refunds that are booked elsewhere now. */
const takenBack = (before: Doc, after: Doc): bigint => sumOf(freshReturns(after, before));

/** Stroops that were sent back and no longer count. */
const notCounting = ({ returned }: Doc): bigint => sumOf((returned ?? []).filter((each: Doc) => !each.countsOn));

/** Whether the order was not complete where this was sent back, though it is PAID by now. @param
 *  all its payments */
function wasDueAt(checkout: Doc, back: Doc, all: readonly Doc[]): boolean {
  const isLater = (each: Doc) => inLedgerOrder(each, { changeIndex: 0, ...back }) > 0;
  const later = all.filter((each) => each.status !== 'REJECTED' && isAssetOf(checkout, each) && isLater(each));
  const undone = sumOf((checkout.returned ?? []).filter((each: Doc) => isLater({ changeIndex: 0, ...each })));
  const had = later.reduce((sum, each) => sum - stroops(each.amount)!, BigInt(checkout.received) + undone);
  return had < enoughOf(checkout);
}

const keyOfReturn = ({ operationId, closedAt, stroops: amount }: Doc): string =>
  `${operationId}:${closedAt.getTime()}:${amount}`;

/** Watches every commit of a run. */
export class CheckoutObserver {
  readonly #checkouts = new Map<string, Doc>();
  /** The checkout of each payment that was ever seen, or null. */
  readonly #owners = new Map<string, string | null>();
  readonly #transitions: Transition[] = [];
  readonly #cancelled = new Map<string, Change<boolean>>();
  readonly #accepted = new Map<string, Change<boolean>>();

  /** Looks at what is stored now. @returns what is wrong at once */
  see(known: Knowledge, chain: Chain, stored: { checkouts: readonly Doc[]; payments: readonly Doc[] }, nowMs: number) {
    const faults: string[] = [];
    // An act ends with its process, which may have died of the very commit that is looked at.
    const ended = known.lastAct?.endedMs === nowMs ? known.lastAct.sinceMs : nowMs;
    const fromMs = known.actingSinceMs ?? ended;
    const fresh = new Map<string, Transition['came']>();
    const paymentsOf = new Map<string, Doc[]>();
    for (const payment of stored.payments) {
      const { _id, checkoutId } = payment;
      if (checkoutId) paymentsOf.set(checkoutId, [...(paymentsOf.get(checkoutId) ?? []), payment]);
      const owner = this.#owners.get(_id);
      if (checkoutId && owner !== checkoutId) {
        if (owner) faults.push(`payment ${payment.operationId} went from one checkout to another`);
        if (owner === null) known.assignedToCheckout.add(_id);
        const came = { payment, isAssigned: owner === null };
        fresh.set(checkoutId, [...(fresh.get(checkoutId) ?? []), came]);
      }
      this.#owners.set(_id, checkoutId);
    }
    for (const after of stored.checkouts) {
      const before = this.#checkouts.get(after._id);
      this.#checkouts.set(after._id, after);
      const came = (fresh.get(after._id) ?? []).sort((a, b) => inLedgerOrder(a.payment, b.payment));
      if (!before || (before.status === after.status && before.received === after.received && came.length === 0))
        continue;
      this.#transitions.push({ before, after, came, all: paymentsOf.get(after._id) ?? [], fromMs, untilMs: nowMs });
      const by = (stamp: Doc) => ({ value: true, ...stampedWithin(known, { fromMs, untilMs: nowMs }, stamp as never) });
      if (after.status === 'CANCELLED' && before.status !== 'CANCELLED')
        this.#cancelled.set(after._id, by(after.cancelledFrom));
      if (after.acceptedFrom && !before.acceptedFrom) this.#accepted.set(after._id, by(after.acceptedFrom));
      if (after.status === 'EXPIRED' && before.status !== 'EXPIRED')
        faults.push(...this.#guessed(known, chain, after, stored.payments));
    }
    return faults;
  }

  /** Why it was not proven that a checkout was unpaid. */
  #guessed(known: Knowledge, chain: Chain, checkout: Doc, payments: readonly Doc[]): string[] {
    const endMs = checkout.expiresAt.getTime();
    const name = nameOf(checkout);
    if (chain.latest.closedMs < endMs) return [`${name} is EXPIRED before the ledger came to its end`];
    const keys = new Set(payments.map((doc) => keyOf(doc.walletId, doc as never)));
    const wallet = known.wallets.get(checkout.walletId)!;
    const missed = chain.payments.filter(
      (paid) =>
        paid.receiver === wallet.address &&
        paid.closedMs < endMs &&
        // Made by a request that died, on an inactive wallet: payments there are not recorded.
        !possible(wallet.active, paid.closedMs).includes(false) &&
        isNamedBy(paid, checkout) &&
        !keys.has(keyOf(checkout.walletId, paid)),
    );
    const recorded = new Set(payments.map(({ operationId }) => operationId));
    const parked = chain.unknownRecords.filter(
      (record) =>
        !known.isDismissed &&
        record.receiver === wallet.address &&
        record.closedMs >= checkout.createdAt.getTime() &&
        record.closedMs < endMs &&
        surelyActive(wallet.active, record.closedMs) &&
        !recorded.has(record.operationId) &&
        !isExcused(known, chain, checkout.walletId, record),
    );
    return [
      ...missed.map(({ operationId }) => `${name} is EXPIRED, though the payment ${operationId} came in time`),
      ...parked.map(({ operationId }) => `${name} is EXPIRED, though the record ${operationId} may have paid it`),
    ];
  }

  /** Once everything is at rest. */
  check(
    known: Knowledge,
    chain: Chain,
    stored: Record<'checkouts' | 'payments' | 'events' | 'parkedRecords', readonly Doc[]>,
  ): string[] {
    const faults = this.#transitions.flatMap((transition) => this.#changeFaults(known, transition));
    const expired = new Set(
      this.#transitions.filter(({ after }) => after.status === 'EXPIRED').map(({ after }) => after._id),
    );
    for (const checkout of stored.checkouts) {
      const own = stored.payments.filter(({ checkoutId }) => checkoutId === checkout._id);
      const told = (type: string) =>
        stored.events.filter((event) => event.subjectId === checkout._id && event.type === type).length;
      const name = nameOf(checkout);
      const { status, paymentCount } = checkout;
      if (paymentCount !== own.length) faults.push(`${name} counts ${paymentCount} payments and has ${own.length}`);
      if (told('checkout.paid') !== (status === 'PAID' ? 1 : 0))
        faults.push(`${name} (${status}) has ${told('checkout.paid')} checkout.paid`);
      if (told('checkout.expired') !== (expired.has(checkout._id) ? 1 : 0))
        faults.push(`${name} (${status}) has ${told('checkout.expired')} checkout.expired`);
      if (mustHaveEnded(known, chain, checkout, stored)) faults.push(`${name} is OPEN for ever`);
    }
    return faults;
  }

  #changeFaults(known: Knowledge, { before, after, came, all }: Transition): string[] {
    const name = `${nameOf(after)}, ${before.status} ${before.received} → ${after.status} ${after.received},`;
    if (before.status === 'PAID' && after.status !== 'PAID') return [`${name} is PAID no longer`];
    // What is priced in a currency is held against what was shown.
    if (after.currency) return [];
    if (came.length === 0) return this.#decisionFaults(name, { before, after, all });
    const faults = this.#returnedOf({ before, after, came, all }).map((gone) =>
      this.#fault(known, name, { before, after, came, all }, gone),
    );
    return faults.includes(null) ? [] : [faults[0]!];
  }

  /** Why the payments that came do not lead from the one to the other; null where they do. @param
   *  gone stroops that were sent back and no longer count */
  #fault(
    known: Knowledge,
    name: string,
    { before, after, came, all }: Pick<Transition, 'before' | 'after' | 'came' | 'all'>,
    gone: bigint,
  ): string | null {
    const paidMs = before.paidAt?.getTime() ?? null;
    const start = { status: before.status, received: BigInt(before.received), returned: before.returned ?? [], paidMs };
    let states: State[] = [start];
    for (const { payment, isAssigned } of came) {
      const later = all.filter((each) => !came.some((one) => one.payment === each) && inLedgerOrder(each, payment) > 0);
      const place = { later: later.sort(inLedgerOrder) };
      const next = states.flatMap((state) => this.#judge(known, after, state, { payment, isAssigned, ...place }));
      states = next.filter(({ verdict }) => verdict === shown(payment)).map(({ state }) => state);
      if (states.length === 0)
        return `${name} judges ${payment.operationId} ${shown(payment)}, not ${next.map(({ verdict }) => verdict).join(' or ')}`;
    }
    const isRight = states.some(
      (state) =>
        state.status === after.status &&
        state.received - gone === BigInt(after.received) &&
        state.paidMs === (after.paidAt?.getTime() ?? null),
    );
    return isRight ? null : `${name} does not follow from its payments`;
  }

  /** Stroops that were sent back and no longer count. What was sent back of an order that was
   *  complete or accepted by then goes on counting; an acceptance leaves open what was due before
   *  it, so there are two answers. */
  #returnedOf({ before, after, came, all }: Pick<Transition, 'before' | 'after' | 'came' | 'all'>): bigint[] {
    const fresh = freshReturns(before, after);
    if (before.status !== 'PAID') {
      // What was sent back after the payments that made it PAID counts on.
      const isLater = (each: Doc) =>
        came.every(({ payment }) => inLedgerOrder({ changeIndex: 0, ...each } as never, payment) > 0);
      return [sumOf(after.status === 'PAID' ? fresh.filter((each) => !isLater(each)) : fresh)];
    }
    if (!after.acceptedFrom) return [sumOf(fresh.filter((each) => wasDueAt(before, each, all)))];
    const acceptedBy = (each: Doc) => possible([NEVER, this.#accepted.get(after._id)!], each.closedAt.getTime());
    const surely = sumOf(fresh.filter((each) => !acceptedBy(each).includes(true) && wasDueAt(before, each, all)));
    return [surely, sumOf(fresh.filter((each) => acceptedBy(each).includes(false)))];
  }

  /** What a merchant's decision, or the end, makes of it. */
  #decisionFaults(name: string, { before, after, all }: Pick<Transition, 'before' | 'after' | 'all'>): string[] {
    const grown = BigInt(after.received) - BigInt(before.received);
    // What a refund was booked for counts again where it moved to the payment that was named.
    const isMoved = takenBack(before, after) > 0n && grown === notCounting(before) - notCounting(after);
    if (after.status !== 'PAID') {
      const isAllowed =
        (before.status === 'OPEN' || grown !== 0n) && grown === notCounting(before) - notCounting(after);
      return isAllowed ? [] : [`${name} changed without a cause`];
    }
    if (isMoved && (before.status === 'PAID' || BigInt(after.received) >= enoughOf(after))) return [];
    // One that came after the end of what is PAID is accepted by itself.
    const isAlone = (payment: Doc) =>
      payment.status === 'COMPLETED' &&
      payment.reason === null &&
      leftOf(payment) === grown &&
      payment.ledgerClosedAt >= after.expiresAt;
    if (before.status === 'PAID') {
      const fresh = freshReturns(before, after);
      if (fresh.length === 0) return all.some(isAlone) ? [] : [`${name} took more than came`];
      // A refund that is read after the payment that made it PAID, and comes before it.
      const isRight =
        grown === -sumOf(fresh) && (after.acceptedFrom || fresh.some((each) => wasDueAt(before, each, all)));
      return isRight ? [] : [`${name} gave back what it had been complete with`];
    }
    const taken = all.filter((payment) => isAssetOf(after, payment) && leftOf(payment) > 0n);
    const sum = taken.reduce((total, payment) => total + leftOf(payment), 0n);
    const isTaken = taken.every(({ status, reason }) => status === 'COMPLETED' && reason === null);
    return taken.length > 0 && isTaken && sum === BigInt(after.received)
      ? []
      : [`${name} was not accepted with what had come`];
  }

  /** Every verdict that the payment may have, and the state after it. */
  #judge(
    known: Knowledge,
    checkout: Doc,
    state: State,
    { payment, isAssigned, ...place }: { payment: Doc; isAssigned: boolean } & Place,
  ): { verdict: string; state: State }[] {
    const closedMs = payment.ledgerClosedAt.getTime();
    const at = (change: Change<boolean> | undefined) => possible(change ? [NEVER, change] : [NEVER], closedMs);
    const terms = known.products.get(checkout.productId)?.terms;
    const productActive = terms ? possible(terms, closedMs).map(({ active }) => active) : [true];
    const acceptances = isAssigned ? [true] : at(this.#accepted.get(checkout._id));
    return at(this.#cancelled.get(checkout._id)).flatMap((isCancelled) =>
      acceptances.flatMap((isAccepted) =>
        productActive.map((isActive) =>
          judge(checkout, state, { payment, isAssigned, ...place }, { isCancelled, isAccepted, isActive }),
        ),
      ),
    );
  }
}

/** Payments of the checkout that come after one of them on the ledger. */
interface Place {
  later: readonly Doc[];
}

function judge(
  checkout: Doc,
  state: State,
  { payment, isAssigned, later }: { payment: Doc; isAssigned: boolean } & Place,
  { isCancelled, isAccepted, isActive }: { isCancelled: boolean; isAccepted: boolean; isActive: boolean },
): { verdict: string; state: State } {
  const total = stroops(checkout.amount)!;
  const enough = enoughOf(checkout);
  // What was sent back after the payment had not been sent back yet, and still counts where the
  // order was complete by then; an assignment asks what is due now.
  const undone = isAssigned
    ? []
    : state.returned.filter((each) => !each.countsOn && inLedgerOrder(payment, { changeIndex: 0, ...each }) < 0);
  const all = undone.reduce((sum, each) => sum + BigInt(each.stroops), state.received);
  const counted = later.filter((each) => each.status !== 'REJECTED' && isAssetOf(checkout, each));
  const earlier = counted.reduce((sum, each) => sum - stroops(each.amount)!, all);
  const isOver = state.status === 'PAID' && (isAssigned || (isAccepted && Boolean(checkout.acceptedFrom)));
  const had = state.status === 'PAID' && !isAssigned ? earlier : all;
  const due = isOver || (state.status === 'PAID' && !isAssigned && had >= enough) || had >= total ? 0n : total - had;
  // What was sent back before the assignment completes nothing.
  const amount = isAssigned ? leftOf(payment) : stroops(payment.amount)!;
  const closedMs = payment.ledgerClosedAt.getTime();
  const say = (...fields: (string | bigint | null)[]) => JSON.stringify(fields.map(String));
  const refuse = (reason: string) => ({ verdict: say('REJECTED', reason, due, null, null), state });
  const isLate = closedMs >= checkout.expiresAt.getTime();
  const isTaken =
    state.status === 'PAID' &&
    checkout.acceptedFrom &&
    !isAccepted &&
    !isAssigned &&
    !isLate &&
    isAssetOf(checkout, payment);
  if (!isTaken) {
    if (isCancelled) return refuse('checkout_cancelled');
    if (isLate) return refuse('checkout_expired');
    if (due === 0n) return refuse('checkout_paid');
    if (!isActive) return refuse('product_inactive');
    if (!isAssetOf(checkout, payment)) return refuse('wrong_asset');
  }
  if (had + amount < enough && amount < due) {
    const named = isTaken ? (['COMPLETED', null] as const) : (['UNDERPAID', 'partial'] as const);
    return { verdict: say(...named, due, null, due - amount), state: { ...state, received: state.received + amount } };
  }
  const returned = state.returned.filter((each) => !undone.includes(each));
  const excess = amount > due ? stroops(payment.amount)! - due : 0n;
  let reached = (isAssigned ? all : earlier) + amount;
  const last =
    reached >= enough
      ? payment
      : counted.find((each) => {
          reached += stroops(each.amount)!;
          return reached >= enough;
        });
  const paidMs = state.paidMs ?? (last ?? payment).ledgerClosedAt.getTime();
  const short = amount < due ? due - amount : null;
  const reason = short !== null ? 'within_tolerance' : excess > 0n ? 'overpaid' : null;
  return {
    verdict: say('COMPLETED', reason, due, excess > 0n ? excess : null, short),
    state: { status: 'PAID', received: all + amount, returned, paidMs },
  };
}

/** The checkout of the wallet's account that a payment's memo names. */
export const checkoutOf = (paid: Paid, accountId: string, checkouts: readonly Doc[]): Doc | null =>
  checkouts.find((checkout) => checkout.accountId === accountId && isNamedBy(paid, checkout)) ?? null;

/** Whether a checkout is OPEN although all that could pay it was read. Ledgers that are missing
 *  keep it OPEN, and so do records that are parked; so does, in a run as short as this one, an
 *  address that no record names: what Horizon says of it does not show how far Horizon is. */
export function mustHaveEnded(
  known: Knowledge,
  chain: Chain,
  { status, walletId, expiresAt }: Doc,
  { parkedRecords }: { parkedRecords: readonly Doc[] },
): boolean {
  const { address } = known.wallets.get(walletId)!;
  if (status !== 'OPEN' || known.gaps.has(walletId) || !chain.names(address)) return false;
  const open = new Set(parkedRecords.filter(({ dismissed }) => dismissed === null).map(({ _id }) => _id));
  return ![...chain.unknownRecords, ...chain.payments].some(
    ({ receiver, closedMs, operationId }) =>
      receiver === address && closedMs < expiresAt.getTime() && open.has(`LOCAL:${operationId}`),
  );
}

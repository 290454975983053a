/** Checkouts. Each transition is pure: it takes a checkout and returns the next one, with the
 *  outcome of the payment that caused it.
 *
 *  ```
 *  OPEN ──────── a payment completes it, or it is accepted ──► PAID
 *   ├─ proven unpaid ──► EXPIRED ───┤ (a payment in time that is found later, or accept)
 *   └─ cancel ─────────► CANCELLED ─┘ (a payment from before it that is read later, or accept)
 *  ```
 *  PAID is final. An older payment or refund that is read after the completing payment is judged
 *  and booked as if it had been read before: such a refund may leave an amount due for the payments
 *  after it. Amounts are in units of the price: stroops, or 10^-7 units of the currency for a price
 *  in a currency. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import { type Asset, sameAsset } from './asset.js';
import { comparePlaces, Later, type OperationPlace } from './later.js';
import { type Outcome, type Verdict, verdictOf } from './outcomes.js';
import { measure, type PaidBy } from './pricing.js';
import { askedFor, type Rate } from './rate.js';
import { isAfter, type LedgerStamp, sideOf } from './terms.js';

export interface Checkout {
  status: CheckoutStatus;
  asset: Asset;
  /** The price of the order, greater than 0. */
  amount: bigint;
  /** The least sum that is enough: the price less the tolerance. */
  enough: bigint;
  /** The counted sum of the payments so far, without money sent back before the order was complete.
   *  It may be less than the amount of a PAID checkout: within the tolerance, or if such a refund
   *  was read after the completing payment. */
  received: bigint;
  /** The same in stroops. */
  paidIn: bigint;
  /** Stroops beyond the most that was asked for. Until it is PAID, those that count for nothing.
   *  Stored only for a price in a currency: else it is what `excessOf` makes of the rest. */
  excess: bigint;
  /** Money sent back, in the order of booking. */
  returned: readonly Returned[];
  /** A payment is in time if its ledger closed before this moment. */
  expiresAt: Date;
  /** The moment of the cancellation; null without one. */
  cancelledFrom: LedgerStamp | null;
  /** The moment of the acceptance; null without one. */
  acceptedFrom: LedgerStamp | null;
  /** Close time of the completing ledger, or the time of the acceptance; null until PAID. */
  paidAt: Date | null;
}

/** Money sent back from what had come. */
export interface Returned extends OperationPlace {
  stroops: bigint;
  /** What the money had counted for. */
  counted: bigint;
  /** The order was complete by then, as far as known: the money still counts. */
  countsOn?: boolean;
  /** It came without a rate. */
  isUnrated?: true;
}

/** A payment that names the checkout. */
export interface CheckoutPayment extends OperationPlace {
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
  /** The rates by which it may have been paid; null for a price in the asset, `no_rate` if none
   *  is known. */
  by?: PaidBy | 'no_rate';
  /** Whether the checkout's product was active when the ledger closed; true without a product. */
  productActive: boolean;
  /** Null for an assigned payment, which is judged by what is due now. */
  later: Later | null;
}

/** The result of judging a payment. */
interface CheckoutJudgement {
  verdict: Verdict;
  /** The checkout afterwards; the same object when only the judged payment changes. */
  after: Checkout;
}

/** The amount still due: 0 once PAID. */
export const remainingOf = ({ status, amount, received }: Pick<Checkout, 'status' | 'amount' | 'received'>): bigint =>
  status === 'PAID' || received >= amount ? 0n : amount - received;

/** The sum paid beyond the amount; null without one. */
export const excessOf = ({ amount, received }: Pick<Checkout, 'amount' | 'received'>): bigint | null =>
  received > amount ? received - amount : null;

/** Judges a payment as of its ledger's close, regardless of what was done since. Due is what all
 *  payments so far have left, plus what was sent back before it; once the checkout is PAID, what
 *  the payments before this one on the ledger have left. */
export function judgeForCheckout(checkout: Checkout, payment: CheckoutPayment): CheckoutJudgement {
  const { amount, by = null } = payment;
  const asOf = completeBy(checkout, payment);
  const due = dueBefore(asOf, payment, payment.later);
  const isTaken = isAcceptedWith(checkout, payment);
  const refusal = isTaken ? null : refusalOf(checkout, payment, due);
  if (by === 'no_rate') {
    if (refusal) return { verdict: verdictOf(refusal, null), after: checkout };
    const verdict = verdictOf(isTaken ? 'accepted' : 'no_rate', null);
    return { verdict, after: withCounted(checkout, 0n, amount, unratedBeyond(checkout, amount)) };
  }
  const { asked, side, counts, value } = measure(by, due, amount);
  if (refusal) {
    const isTheirs = sameAsset(payment.asset, checkout.asset);
    return { verdict: verdictOf(refusal, asked.least, { value: isTheirs ? value : null }), after: checkout };
  }

  const lacks = side === 'short' && counts < due - (checkout.amount - checkout.enough);
  if (lacks) {
    // What it counts for is rounded down, so that the rest asks for more than the difference of
    // the amounts.
    const shortfall = measure(by, due - counts, 0n).asked.least;
    const verdict = verdictOf(isTaken ? 'accepted' : 'partial', asked.least, { shortfall, value });
    const beyond = beyondOf(checkout, { stroops: amount, counts }, by);
    return { verdict, after: withCounted(checkout, counts, amount, beyond) };
  }
  // Money sent back after this payment was sent back from an order that the payment had completed.
  const excess = side === 'over' ? amount - asked.most : 0n;
  const shortfall = side === 'short' ? asked.least - amount : null;
  const beyond = checkout.status === 'PAID' ? beyondOf(asOf, { stroops: amount, counts }, by) : excess;
  const paid: Checkout = { ...withCounted(asOf, counts, amount, beyond), status: 'PAID' };
  const after = { ...paid, paidAt: checkout.paidAt ?? completedAt(asOf, payment, counts) };
  const outcome = shortfall !== null ? 'within_tolerance' : excess > 0n ? 'overpaid' : 'enough';
  const more = { value, shortfall, excess: excess > 0n ? excess : null };
  return { verdict: verdictOf(outcome, asked.least, more), after };
}

const withCounted = (checkout: Checkout, counts: bigint, stroops: bigint, excess: bigint): Checkout => ({
  ...checkout,
  received: checkout.received + counts,
  paidIn: checkout.paidIn + stroops,
  excess: checkout.excess + excess,
});

/** The stroops of money without a rate that an order does not need: all, unless it is PAID with
 *  less than enough, for then an acceptance took all. */
const unratedBeyond = ({ status, enough, received }: Checkout, stroops: bigint): bigint =>
  status === 'PAID' && received < enough ? 0n : stroops;

/** The stroops of money with a rate that an order does not need. @param by how the money is
 *  measured; without, its stroops count alike */
function beyondOf({ amount, received }: Checkout, { stroops, counts }: Sum, by?: PaidBy): bigint {
  const lacks = amount - received;
  if (lacks <= 0n) return stroops;
  if (counts < lacks) return 0n;
  const needed = by === undefined ? (stroops * lacks + counts - 1n) / counts : measure(by, lacks, stroops).asked.most;
  return stroops > needed ? stroops - needed : 0n;
}

/** The checkout as if the order had been complete at this place: money sent back after it
 *  still counts. */
function completeBy(checkout: Checkout, place: OperationPlace): Checkout {
  const after = checkout.returned.filter((each) => !each.countsOn && comparePlaces(each, place) > 0);
  if (after.length === 0) return checkout;
  return {
    ...after.reduce(countedAgain, checkout),
    returned: checkout.returned.map((each) => (after.includes(each) ? { ...each, countsOn: true } : each)),
  };
}

function countedAgain(checkout: Checkout, { stroops, counted, isUnrated }: Returned): Checkout {
  const beyond = isUnrated ? unratedBeyond(checkout, stroops) : beyondOf(checkout, { stroops, counts: counted });
  return withCounted(checkout, counted, stroops, beyond);
}

/** Undoes `withReturned` for money that is booked elsewhere now.
 *  @param returned the part of an entry that is booked elsewhere. @param completesAt the time at
 *  which it would complete the order */
export function withoutReturned(checkout: Checkout, returned: Returned, completesAt: Date): Checkout {
  const ofPlace = checkout.returned.filter((each) => comparePlaces(each, returned) === 0);
  const entry = ofPlace.find(({ stroops }) => stroops === returned.stroops) ?? ofPlace[0];
  const left = (each: Returned) => {
    if (each !== entry) return each;
    const { stroops, counted } = { stroops: each.stroops - returned.stroops, counted: each.counted - returned.counted };
    return stroops > 0n ? { ...each, stroops, counted } : [];
  };
  const noted = { ...checkout, returned: checkout.returned.flatMap(left) };
  if (entry?.countsOn) return noted;
  const after = countedAgain(noted, returned);
  if (after.status === 'PAID' || after.received < after.enough) return after;
  return { ...after, status: 'PAID', paidAt: completesAt };
}

/** The most entries that are kept. Their places matter only for a payment that is read later than a
 *  refund that came after it. */
const MOST_RETURNED = 1000;

/** Books money of a counted payment that was sent back. If the order was not complete by then, the
 *  money no longer counts, whether the checkout is PAID by now or not; refunds that came after it,
 *  but were read before, may then be refunds of an incomplete order, too.
 *  @param returned the counted part of the money
 *  @returns the same object when nothing changed */
export function withReturned(checkout: Checkout, returned: Returned, later: Later): Checkout {
  if (returned.stroops <= 0n) return checkout;
  const noted = (entry: Returned) => ({ ...checkout, returned: [...checkout.returned, entry].slice(-MOST_RETURNED) });
  if (wasComplete(checkout, returned, later)) return noted({ ...returned, countsOn: true });
  const since = checkout.returned
    .filter((each) => each.countsOn && comparePlaces(each, returned) > 0)
    .sort(comparePlaces);
  return since.reduce(
    (before, each) => (wasComplete(before, each, later.after(each)) ? before : takenOff(before, each)),
    takenOff(noted(returned), returned),
  );
}

/** Whether the order was complete when the money was sent back. */
function wasComplete(checkout: Checkout, returned: Returned, later: Later): boolean {
  const { status, acceptedFrom } = checkout;
  if (status !== 'PAID') return false;
  // Money that may have been sent back after an acceptance is taken as such: the merchant has said
  // that nothing is due.
  const isAccepted = acceptedFrom !== null && sideOf(returned, acceptedFrom) !== 'before';
  return isAccepted || dueBefore(completeBy(checkout, returned), returned, later) === 0n;
}

/** @param returned an entry of the checkout */
function takenOff(checkout: Checkout, returned: Returned): Checkout {
  const { stroops, counted, isUnrated } = returned;
  const wasBeyond = isUnrated || checkout.status === 'PAID' ? stroops : 0n;
  return {
    ...checkout,
    received: checkout.received - counted,
    paidIn: checkout.paidIn - stroops,
    excess: checkout.excess > wasBeyond ? checkout.excess - wasBeyond : 0n,
    returned: checkout.returned.map((each) => (each === returned ? { ...each, countsOn: false } : each)),
  };
}

/** The amount due at a place on the ledger: nothing after an acceptance, nor where what had come
 *  was enough.
 *  @param checkout one in which money sent back after the place still counts
 *  @param later null for what is due now */
function dueBefore(checkout: Checkout, place: OperationPlace, later: Later | null): bigint {
  const { acceptedFrom, status, amount, enough, received, returned } = checkout;
  if (status !== 'PAID' || later === null) return remainingOf(checkout);
  if (acceptedFrom !== null && isAfter(place, acceptedFrom)) return 0n;
  // Nothing came later, and what was sent back counts on.
  if (acceptedFrom === null && returned.every(({ countsOn }) => countsOn) && later.isEmpty) return 0n;
  const before = received - later.sum;
  return before >= enough ? 0n : remainingOf({ status: 'OPEN', amount, received: before > 0n ? before : 0n });
}

/** When the payments reached what is enough, in the ledger's order: by one of the later payments if
 *  this one was read late. */
function completedAt({ enough, received }: Checkout, { closedAt, later }: CheckoutPayment, counts: bigint): Date {
  const lacks = enough - (received - (later ?? Later.none).sum + counts);
  return (lacks > 0n && later?.closeOf(lacks)) || closedAt;
}

/** Whether an acceptance would have included the payment, had it been read by then: it must be
 *  in time. */
const isAcceptedWith = ({ acceptedFrom, expiresAt, asset }: Checkout, payment: CheckoutPayment): boolean =>
  acceptedFrom !== null &&
  payment.later !== null &&
  payment.closedAt < expiresAt &&
  sameAsset(payment.asset, asset) &&
  !isAfter(payment, acceptedFrom);

/** The first reason for which a payment does not count; null if it counts. */
function refusalOf(checkout: Checkout, payment: CheckoutPayment, due: bigint): Outcome | null {
  const { cancelledFrom, expiresAt, asset } = checkout;
  if (cancelledFrom && isAfter(payment, cancelledFrom)) return 'checkout_cancelled';
  if (payment.closedAt >= expiresAt) return 'checkout_expired';
  if (due === 0n) return 'checkout_paid';
  if (!payment.productActive) return 'product_inactive';
  return sameAsset(payment.asset, asset) ? null : 'wrong_asset';
}

type CancelOutcome =
  | { outcome: 'cancelled'; after: Checkout }
  /** It is CANCELLED already. */
  | { outcome: 'unchanged' }
  /** It is PAID or EXPIRED. */
  | { outcome: 'refused' };

export function cancel(checkout: Checkout, from: LedgerStamp): CancelOutcome {
  if (checkout.status === 'CANCELLED') return { outcome: 'unchanged' };
  if (checkout.status !== 'OPEN') return { outcome: 'refused' };
  return { outcome: 'cancelled', after: { ...checkout, status: 'CANCELLED', cancelledFrom: from } };
}

export type AcceptOutcome<Payment> =
  | { outcome: 'accepted'; after: Checkout; payments: Payment[] }
  /** `paid`: it is PAID already. `nothing`: no money came in the right asset. */
  | { outcome: 'refused'; because: 'paid' | 'nothing' };

/** Money in the right asset: stroops, and what they count for. */
export interface Sum {
  stroops: bigint;
  counts: bigint;
}

/** Accepts all money in the right asset as enough.
 *  @param came the checkout's payments, oldest first, with what is left of each and its rate; none
 *  that was sent back completely
 *  @param from the moment as the ledger sees it; `at` by the clock
 *  @param total of all money in the right asset, if `came` holds a part of it; null if it
 *  holds everything
 *  @returns the payments that become COMPLETED */
export function accept<Payment extends Sum & { asset: Asset; rate?: Rate | null }>(
  checkout: Checkout,
  came: readonly Payment[],
  from: LedgerStamp,
  at: Date,
  total: Sum | null = null,
): AcceptOutcome<Payment> {
  if (checkout.status === 'PAID') return { outcome: 'refused', because: 'paid' };
  const payments = came.filter((payment) => sameAsset(payment.asset, checkout.asset));
  if (payments.length === 0) return { outcome: 'refused', because: 'nothing' };
  const none: Sum = { stroops: 0n, counts: 0n };
  const add = (sum: Sum, { stroops, counts }: Sum) => ({ stroops: sum.stroops + stroops, counts: sum.counts + counts });
  const known = payments.reduce<Sum>(add, none);
  const { stroops: paidIn, counts: received } = total ?? known;
  const others = { stroops: paidIn - known.stroops, counts: received - known.counts, rate: null };
  const excess = paidIn - neededOf(checkout.amount, [others, ...payments]);
  const accepted = { ...checkout, status: 'PAID' as const, received, paidIn, excess, returned: [] };
  return { outcome: 'accepted', after: { ...accepted, acceptedFrom: from, paidAt: at }, payments };
}

/** The stroops of some money that an order needs: all of it where the order lacks some. @param rate
 *  null where stroops count alike */
function neededOf(amount: bigint, money: readonly (Sum & { rate?: Rate | null })[]): bigint {
  let lacks = amount;
  let needed = 0n;
  for (const { stroops, counts, rate } of money) {
    if (counts === 0n && !rate) continue;
    const all = counts < lacks;
    const asked = all ? stroops : rate ? askedFor(lacks, rate) : (stroops * lacks + counts - 1n) / counts;
    needed += asked < stroops ? asked : stroops;
    lacks -= counts;
    if (lacks <= 0n) return needed;
  }
  return money.reduce((sum, { stroops }) => sum + stroops, 0n);
}

/** Accepts a payment that closed after the end of a PAID checkout, which cannot be accepted again.
 *  Null for any other payment. */
export function acceptLate(
  checkout: Checkout,
  payment: Sum & Pick<CheckoutPayment, 'asset' | 'closedAt'>,
): Checkout | null {
  const isLate = payment.closedAt >= checkout.expiresAt && sameAsset(payment.asset, checkout.asset);
  if (checkout.status !== 'PAID' || !isLate) return null;
  return withCounted(checkout, payment.counts, payment.stroops, payment.stroops);
}

/** How far a wallet has been read, and whether ledgers are missing. */
export interface ReadState {
  /** Every ledger that closed up to this moment has been read; null before the first reading. */
  readTo: Date | null;
  /** When ledgers that no server keeps were last found missing; null without a gap. */
  gapFoundAt: Date | null;
}

/** The creation of a checkout. */
interface CheckoutBegin {
  createdAt: Date;
  /** When the wallet's newest gap at that time was found, by the finder's clock; null for none,
   *  missing if it was not noted. */
  gapBefore?: Date | null;
}

/** Whether everything that could pay an OPEN checkout has been read or parked. Ledgers missing
 *  since its creation may hold its payment, so that it stays OPEN. Parked records may hold it, too,
 *  which the caller has to check. */
export const isReadToEnd = (
  { status, expiresAt, ...begin }: Pick<Checkout, 'status' | 'expiresAt'> & CheckoutBegin,
  { readTo, gapFoundAt }: ReadState,
): boolean => status === 'OPEN' && readTo !== null && readTo >= expiresAt && isWhole(begin, gapFoundAt);

/** Whether no ledgers since the creation are missing, which may hold its payment. */
export const isWhole = (begin: CheckoutBegin, gapFoundAt: Date | null): boolean =>
  gapFoundAt === null || isOlder(gapFoundAt, begin);

/** Avoids comparing the clocks of two processes: a gap that existed at the creation is the
 *  noted one. */
const isOlder = (gapFoundAt: Date, { createdAt, gapBefore }: CheckoutBegin): boolean =>
  gapBefore === undefined
    ? gapFoundAt.getTime() < createdAt.getTime()
    : gapFoundAt.getTime() === (gapBefore?.getTime() ?? null);

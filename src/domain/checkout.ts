/** A checkout: pure. Each transition takes the checkout as it stands and says what becomes of it, and of the payment that caused it.
 *
 *  ```
 *  OPEN ──────── a payment completes it, or it is accepted ──► PAID
 *   ├─ proven unpaid ──► EXPIRED ───┤ (a payment in time that is found later, or accept)
 *   └─ cancel ─────────► CANCELLED ─┘ (a payment from before the cancellation that is read later, or accept)
 *  ```
 *  PAID is final. What is read later than what made it PAID is judged and booked as if it had been read before, where it is older: what is found then to
 *  have been sent back before may leave something due to the payments after it. Amounts are units of the price:
 *  stroops, or 10^7 units of the currency each where it is priced in one. */
import type { CheckoutStatus } from '../../contracts/checkouts.js';
import { type Asset, sameAsset } from './asset.js';
import { type Outcome, type Verdict, verdictOf } from './outcomes.js';
import { measure, type PaidBy } from './pricing.js';
import { isAfter, type LedgerClose, type LedgerStamp, sideOf } from './terms.js';

export interface Checkout {
  status: CheckoutStatus;
  asset: Asset;
  /** What the order costs, greater than 0. */
  amount: bigint;
  /** What counts of the payments so far: not what was sent back before the order was complete. Less than the amount in a PAID one where that is read
   *  after the payment that made it PAID. */
  received: bigint;
  /** The same in stroops. */
  paidIn: bigint;
  /** Stroops that were paid beyond what was asked for. */
  excess: bigint;
  /** What was sent back so, in the order in which it was booked. */
  returned: readonly Returned[];
  /** A payment is in time when its ledger closed before. */
  expiresAt: Date;
  /** When it was cancelled, if ever. */
  cancelledFrom: LedgerStamp | null;
  /** When it was accepted, if ever. */
  acceptedFrom: LedgerStamp | null;
  /** Close of the ledger that completed it, or the moment it was accepted; null until it is PAID. */
  paidAt: Date | null;
}

/** Where something stands on the ledger. */
interface Place extends LedgerClose {
  operationId: string;
}

/** A part of what had come, sent back. */
export interface Returned extends Place {
  stroops: bigint;
  /** What they had counted for. */
  counted: bigint;
  /** The order was complete by then, as far as was known: they go on counting. */
  countsOn?: boolean;
}

/** A payment that names the checkout. */
export interface CheckoutPayment extends Place {
  asset: Asset;
  /** Stroops, greater than 0. */
  amount: bigint;
  /** The rates that it may have been paid by: null where the price is in the asset, `no_rate` where none is known. */
  by?: PaidBy | 'no_rate';
  /** Whether the checkout's product took payments when the ledger closed; true without a product. */
  productActive: boolean;
  /** What counts already, in the units of the price, and comes after it on the ledger, in that order: there is some where it was read late. Null for one that is assigned, which is
   *  judged by what is due at that moment. */
  later: readonly Counted[] | null;
}

/** A payment that counts. */
export interface Counted extends Pick<Place, 'closedAt' | 'operationId'> {
  /** In the units of the price. */
  amount: bigint;
}

/** What a payment does. */
interface CheckoutJudgement {
  verdict: Verdict;
  /** The checkout after it; the same object when nothing changed but the judged payment. */
  after: Checkout;
}

/** Still due: 0 once it is PAID. */
export const remainingOf = ({ status, amount, received }: Pick<Checkout, 'status' | 'amount' | 'received'>): bigint =>
  status === 'PAID' || received >= amount ? 0n : amount - received;

/** Paid beyond the amount; null when nothing is. */
export const excessOf = ({ amount, received }: Pick<Checkout, 'amount' | 'received'>): bigint | null =>
  received > amount ? received - amount : null;

/** Judges a payment as of its ledger's close, whatever was done since. What is due is what all payments so far have left, and what was sent back
 *  before it; once the checkout is PAID, what those left that are before this one on the ledger. */
export function judgeForCheckout(checkout: Checkout, payment: CheckoutPayment): CheckoutJudgement {
  const { amount, by = null } = payment;
  const asOf = completeBy(checkout, payment);
  const due = dueBefore(asOf, payment, payment.later);
  const isTaken = isAcceptedWith(checkout, payment);
  const refusal = isTaken ? null : refusalOf(checkout, payment, due);
  if (by === 'no_rate') {
    if (refusal) return { verdict: verdictOf(refusal, null), after: checkout };
    const verdict = verdictOf(isTaken ? 'accepted' : 'no_rate', null);
    return { verdict, after: withCounted(checkout, 0n, amount, checkout.status === 'PAID' ? amount : 0n) };
  }
  const { asked, side, counts, value } = measure(by, due, amount);
  if (refusal) {
    const isTheirs = sameAsset(payment.asset, checkout.asset);
    return { verdict: verdictOf(refusal, asked.least, { value: isTheirs ? value : null }), after: checkout };
  }

  if (side === 'short') {
    const shortfall = asked.least - amount;
    const verdict = verdictOf(isTaken ? 'accepted' : 'partial', asked.least, { shortfall, value });
    return { verdict, after: withCounted(checkout, counts, amount, checkout.status === 'PAID' ? amount : 0n) };
  }
  // What was sent back after it was sent back of an order that it had completed.
  const excess = side === 'over' ? amount - asked.most : 0n;
  const paid: Checkout = { ...withCounted(asOf, counts, amount, excess), status: 'PAID' };
  const after = { ...paid, paidAt: checkout.paidAt ?? completedAt(asOf, payment, counts) };
  const verdict =
    excess === 0n ? verdictOf('enough', asked.least, { value }) : verdictOf('overpaid', asked.least, { excess, value });
  return { verdict, after };
}

const withCounted = (checkout: Checkout, counts: bigint, stroops: bigint, excess: bigint): Checkout => ({
  ...checkout,
  received: checkout.received + counts,
  paidIn: checkout.paidIn + stroops,
  excess: checkout.excess + excess,
});

type Ordered = Pick<Place, 'closedAt' | 'operationId'>;

/** Greater than 0 where the first is later on the ledger. */
function compare(one: Ordered, other: Ordered): number {
  const ms = one.closedAt.getTime() - other.closedAt.getTime();
  return ms || Number(BigInt(one.operationId) - BigInt(other.operationId));
}

/** The checkout as if the order had been complete by this place: what was sent back after it counts on. */
function completeBy(checkout: Checkout, place: Place): Checkout {
  const after = checkout.returned.filter((each) => !each.countsOn && compare(each, place) > 0);
  if (after.length === 0) return checkout;
  return {
    ...checkout,
    received: after.reduce((sum, { counted }) => sum + counted, checkout.received),
    paidIn: after.reduce((sum, { stroops }) => sum + stroops, checkout.paidIn),
    returned: checkout.returned.map((each) => (after.includes(each) ? { ...each, countsOn: true } : each)),
  };
}

/** More are not kept: only for a payment that is read later than what was sent back after it does it matter when that was. */
const MOST_RETURNED = 1000;

/** Money of a payment that counted was sent back: where the order was not complete by then it no longer counts, whether it is PAID by now or not.
 *  Then what was sent back later, and read before, may have been sent back of an order that was not complete either.
 *  @param returned what counted of it
 *  @param later what counts already and comes after it on the ledger: there is some where it was read late
 *  @returns the same object when nothing changed */
export function giveBack(checkout: Checkout, returned: Returned, later: readonly Counted[]): Checkout {
  if (returned.stroops <= 0n) return checkout;
  const noted = (entry: Returned) => ({ ...checkout, returned: [...checkout.returned, entry].slice(-MOST_RETURNED) });
  if (wasComplete(checkout, returned, later)) return noted({ ...returned, countsOn: true });
  const since = checkout.returned.filter((each) => each.countsOn && compare(each, returned) > 0).sort(compare);
  return since.reduce(
    (before, each) => {
      const laterThanIt = later.filter((counted) => compare(counted, each) > 0);
      return wasComplete(before, each, laterThanIt) ? before : takenOff(before, each);
    },
    takenOff(noted(returned), returned),
  );
}

/** Whether the order was complete when this was sent back. */
function wasComplete(checkout: Checkout, returned: Returned, later: readonly Counted[]): boolean {
  const { status, acceptedFrom } = checkout;
  if (status !== 'PAID') return false;
  // What may have been sent back after an acceptance was: it is the merchant's own word that nothing is due.
  const isAccepted = acceptedFrom !== null && sideOf(returned, acceptedFrom) !== 'before';
  return isAccepted || dueBefore(completeBy(checkout, returned), returned, later) === 0n;
}

/** @param returned one of those of the checkout */
const takenOff = (checkout: Checkout, returned: Returned): Checkout => ({
  ...checkout,
  received: checkout.received - returned.counted,
  paidIn: checkout.paidIn - returned.stroops,
  returned: checkout.returned.map((each) => (each === returned ? { ...each, countsOn: false } : each)),
});

const sumOf = (payments: readonly { amount: bigint }[]): bigint =>
  payments.reduce((sum, { amount }) => sum + amount, 0n);

/** What was due at a place on the ledger: nothing after an acceptance.
 *  @param checkout as it was before what was sent back after the place
 *  @param later what counts already and comes after it; null asks for this moment */
function dueBefore(checkout: Checkout, place: Place, later: readonly { amount: bigint }[] | null): bigint {
  const { acceptedFrom, status, amount, received, returned } = checkout;
  if (status !== 'PAID' || later === null) return remainingOf(checkout);
  if (acceptedFrom !== null && isAfter(place, acceptedFrom)) return 0n;
  // Checkouts that were accepted before `acceptedFrom` was kept do not tell when.
  if (acceptedFrom === null && returned.every(({ countsOn }) => countsOn) && later.length === 0) return 0n;
  const before = received - sumOf(later);
  return remainingOf({ status: 'OPEN', amount, received: before > 0n ? before : 0n });
}

/** When the payments reached the amount, in the order of the ledger: by one of the later ones, where this one was read late. */
function completedAt({ amount, received }: Checkout, { closedAt, later }: CheckoutPayment, counts: bigint): Date {
  let sum = received - sumOf(later ?? []) + counts;
  if (sum >= amount) return closedAt;
  for (const each of later ?? []) {
    sum += each.amount;
    if (sum >= amount) return each.closedAt;
  }
  return closedAt;
}

/** Whether an acceptance would have taken the payment, had it been read by then, and it was in time. */
const isAcceptedWith = ({ acceptedFrom, expiresAt, asset }: Checkout, payment: CheckoutPayment): boolean =>
  acceptedFrom !== null &&
  payment.later !== null &&
  payment.closedAt < expiresAt &&
  sameAsset(payment.asset, asset) &&
  !isAfter(payment, acceptedFrom);

/** Why a payment does not count; null when it does. The first that applies. */
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
  /** `paid`: it is PAID already. `nothing`: no money in the right asset has come. */
  | { outcome: 'refused'; because: 'paid' | 'nothing' };

/** What came in the right asset: stroops, and what they count for. */
export interface Sum {
  stroops: bigint;
  counts: bigint;
}

/** Takes all that has come in the right asset as enough.
 *  @param came the checkout's payments, with what is left of each; none that was sent back as a whole
 *  @param from the moment as the ledger sees it; `at` by the clock
 *  @param total of all that came in the right asset, where `came` holds a part of it; null where it holds everything
 *  @returns those of them that become COMPLETED */
export function accept<Payment extends Sum & { asset: Asset }>(
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
  const { stroops: paidIn, counts: received } = total ?? payments.reduce<Sum>(add, none);
  return {
    outcome: 'accepted',
    after: { ...checkout, status: 'PAID', received, paidIn, returned: [], acceptedFrom: from, paidAt: at },
    payments,
  };
}

/** Takes a payment that closed after the end of a PAID checkout, which cannot be accepted any more. Null for any other payment. */
export function acceptLate(
  checkout: Checkout,
  payment: Sum & Pick<CheckoutPayment, 'asset' | 'closedAt'>,
): Checkout | null {
  const isLate = payment.closedAt >= checkout.expiresAt && sameAsset(payment.asset, checkout.asset);
  if (checkout.status !== 'PAID' || !isLate) return null;
  return withCounted(checkout, payment.counts, payment.stroops, payment.stroops);
}

/** How far the ledger has been read for a wallet, and what of it is missing. */
export interface ReadState {
  /** Every ledger that closed up to this moment has been read; null before the first reading. */
  readTo: Date | null;
  /** When ledgers were last found missing that no server has any more; null when none are missing. */
  gapFoundAt: Date | null;
}

/** A checkout's beginning. */
interface CheckoutBegin {
  createdAt: Date;
  /** When the newest gap that its wallet had then was found, by the finder's clock; null for none, missing where it was not noted. */
  gapBefore?: Date | null;
}

/** Whether everything that could pay an OPEN checkout has come through here: read, or parked. Ledgers that are missing since it exists may hold its
 *  payment, so it stays OPEN then; and so may parked records, which is for the caller to look at. */
export const isReadToEnd = (
  { status, expiresAt, ...begin }: Pick<Checkout, 'status' | 'expiresAt'> & CheckoutBegin,
  { readTo, gapFoundAt }: ReadState,
): boolean =>
  status === 'OPEN' && readTo !== null && readTo >= expiresAt && (gapFoundAt === null || isOlder(gapFoundAt, begin));

/** Two processes' clocks are not compared where that can be helped: a gap that was there already is the one that was noted. */
const isOlder = (gapFoundAt: Date, { createdAt, gapBefore }: CheckoutBegin): boolean =>
  gapBefore === undefined
    ? gapFoundAt.getTime() < createdAt.getTime()
    : gapFoundAt.getTime() === (gapBefore?.getTime() ?? null);

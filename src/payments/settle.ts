/** Settle: stores what follows from changes to payments and payables that were read from the
 *  ledger, assigned, accepted or found unpaid: documents, counts and events, all in the
 *  given session. */

import type { CheckoutStatus } from '../../contracts/checkouts.js';
import type { PaymentStatus } from '../../contracts/payments.js';
import type { Outbox, OutboxEvent } from '../events/index.js';
import type { Session } from '../kit/database.js';
import type { CheckoutDoc, CheckoutStore, LinkCountChange, PaymentLinkStore, ProductStore } from '../selling/index.js';
import { decidedWith } from './checkout.js';
import type { CheckoutPayable, LinkPayable, Payable } from './payable.js';
import type { PaymentDoc } from './payment-document.js';
import type { PaymentEvents } from './payment-events.js';
import type { PaymentStore } from './payment-store.js';
import type { RefundBook } from './refunds.js';

/** A change to one payable at one moment, or to payments that belong to nothing. */
export interface PayableChange {
  /** Its state after the change. */
  payable: Payable | null;
  /** A checkout's status before. Missing if the checkout did not change. */
  statusBefore?: CheckoutStatus | undefined;
  payments: readonly PaymentChange[];
}

export interface PaymentChange {
  /** Null for a new payment. A stored one was already changed in the session. */
  before: PaymentDoc | null;
  after: PaymentDoc;
}

interface SettleDeps {
  paymentLinks: Pick<PaymentLinkStore, 'count'>;
  checkouts: Pick<CheckoutStore, 'update' | 'schedulePartDecisions' | 'takeAgain' | 'giveBack'>;
  products: Pick<ProductStore, 'notePayments'>;
  payments: Pick<PaymentStore, 'insert' | 'ofCheckout' | 'decide'>;
  refundBook: Pick<RefundBook, 'bookWaiting'>;
  paymentEvents: PaymentEvents;
  outbox: Outbox;
}

/** Called between the steps of a transaction that may have very many. @throws TookTooLong */
export type Pace = () => void;

/** A transaction was given up because its steps took too long together. */
export class TookTooLong extends Error {
  override readonly name = 'TookTooLong';
}

const unhurried: Pace = () => undefined;

/** @param changes in the order in which they happened
 *  @param pace by default it may take any time
 *  @returns whether refunds were booked for payments among them, which changes them */
export type Settle = (changes: readonly PayableChange[], session: Session, pace?: Pace) => Promise<boolean>;

export function createSettle(deps: SettleDeps): Settle {
  const { paymentLinks, checkouts, products, payments, refundBook, outbox } = deps;

  return async (changes, session, pace = unhurried) => {
    const { counts, orders, ended, events } = await effectsOf(deps, changes, session, pace);
    await paymentLinks.count(counts, session);
    await checkouts.update(await withHoldings(checkouts, [...orders.values()], session), session);
    const fresh = changes.flatMap((change) => change.payments.filter(({ before }) => !before));
    if (fresh.length > 0) {
      await payments.insert(
        fresh.map(({ after }) => decidedIn(orders, after)),
        session,
      );
    }
    for (const { checkout, ids, hasMore } of ended) {
      pace();
      await payments.decide(checkout.accountId, ids, session);
      if (hasMore) await checkouts.schedulePartDecisions(checkout, session);
    }
    await outbox.publish(events, session);
    await noteFirstPayments(products, changes, session);
    return refundBook.bookWaiting(arrivalsIn(changes), session, pace);
  };
}

/** What runs out is given back by an order that is EXPIRED, and taken again, as far as there is
 *  any, by one that became PAID after that. */
async function withHoldings(
  checkouts: Pick<CheckoutStore, 'takeAgain' | 'giveBack'>,
  orders: readonly CheckoutDoc[],
  session: Session,
): Promise<CheckoutDoc[]> {
  const isUnpaid = ({ takes, status }: CheckoutDoc) => takes !== undefined && status === 'EXPIRED';
  const after = await checkouts.giveBack(orders.filter(isUnpaid), session);
  for (const order of orders) {
    if (isUnpaid(order)) continue;
    after.push(order.takes && order.status === 'PAID' ? await checkouts.takeAgain(order, session) : order);
  }
  return after;
}

interface Effects {
  counts: LinkCountChange[];
  /** By id. */
  orders: ReadonlyMap<string, CheckoutDoc>;
  /** Checkouts that became PAID, with the stored parts that this decides, or EXPIRED, which decides
   *  none. `hasMore`: more are stored than were read, and the job decides the rest. */
  ended: { checkout: CheckoutDoc; ids: string[]; hasMore: boolean }[];
  /** Each shows its link or checkout as the payment left it. */
  events: OutboxEvent[];
}

async function effectsOf(
  { payments, paymentEvents }: Pick<SettleDeps, 'payments' | 'paymentEvents'>,
  changes: readonly PayableChange[],
  session: Session,
  pace: Pace,
): Promise<Effects> {
  const counts = new Map<string, LinkCountChange>();
  const orders = new Map<string, CheckoutDoc>();
  /** Changed payments of each checkout, up to the loop's current change. */
  const came = new Map<string, PaymentChange[]>();
  const events: OutboxEvent[] = [];
  const ended: Effects['ended'] = [];
  const judged: { payment: PaymentDoc; payable: Payable | null }[] = [];
  for (const { payable, statusBefore, payments: changed } of changes) {
    if (!payable) {
      for (const { before, after } of changed) if (!before) events.push(paymentEvents.ofUnmatched(after));
      judged.push(...changed.map(({ after: payment }) => ({ payment, payable })));
      continue;
    }
    for (const { before, after } of changed) {
      const { events: types, counted } = followingFrom(before, after);
      const shown = payable.link ? countedIn(counts, payable, counted) : payable;
      events.push(...paymentEvents.ofPayment(types, after, shown));
      if (types.includes('payment.received')) judged.push({ payment: after, payable: shown });
    }
    if (payable.link) continue;
    const { checkout } = payable;
    const all = [...(came.get(checkout._id) ?? []), ...changed];
    came.set(checkout._id, all);
    if (statusBefore === undefined) continue;
    orders.set(checkout._id, checkout);
    const type = statusBefore === checkout.status ? undefined : EVENT_OF[checkout.status];
    if (!type) continue;
    pace();
    const { stored, fresh } = await paymentsOf(payments, payable, all, session);
    const shown = [...stored, ...fresh].map((payment) => decidedWith(payment, checkout));
    events.push(paymentEvents.ofCheckout(type, payable, shown));
    const ids = stored.filter((payment) => decidedWith(payment, checkout) !== payment).map(({ _id }) => _id);
    const hasMore = checkout.status === 'PAID' && checkout.paymentCount > stored.length + fresh.length;
    ended.push({ checkout, ids, hasMore });
  }
  const undecided = judged.filter(({ payment }) => decidedIn(orders, payment).needsDecision);
  events.push(...undecided.map(({ payment, payable }) => paymentEvents.ofDecision(payment, payable, payment.status)));
  return { counts: [...counts.values()], orders, ended, events };
}

/** The payment with what its checkout came to. */
function decidedIn(orders: Effects['orders'], payment: PaymentDoc): PaymentDoc {
  const checkout = orders.get(payment.checkoutId ?? '');
  return checkout ? decidedWith(payment, checkout) : payment;
}

/** The event kind for a checkout's new status. */
const EVENT_OF: Partial<Record<CheckoutStatus, 'checkout.paid' | 'checkout.expired'>> = {
  PAID: 'checkout.paid',
  EXPIRED: 'checkout.expired',
};

/** The link with the payment counted. */
function countedIn(
  counts: Map<string, LinkCountChange>,
  payable: LinkPayable,
  counted: Following['counted'],
): LinkPayable {
  const { _id: id, accountId, paymentCount } = payable.link;
  const count = counts.get(id) ?? { id, accountId, payments: 0, received: 0, completed: 0 };
  count.payments += counted.payments;
  count.received += counted.received;
  count.completed += counted.completed;
  counts.set(id, count);
  return { ...payable, link: { ...payable.link, paymentCount: paymentCount + count.payments } };
}

/** All payments of a checkout, oldest first. @param changed those that changed so far */
async function paymentsOf(
  payments: SettleDeps['payments'],
  { checkout }: CheckoutPayable,
  changed: readonly PaymentChange[],
  session: Session,
): Promise<Record<'stored' | 'fresh', PaymentDoc[]>> {
  const fresh = changed.flatMap(({ before, after }) => (before ? [] : after));
  const stored = checkout.paymentCount > fresh.length ? await payments.ofCheckout(checkout, session) : [];
  return { stored, fresh };
}

/** Marks products that get their first payment. Marks are never removed, so a marked product needs
 *  no write. */
async function noteFirstPayments(
  products: SettleDeps['products'],
  changes: readonly PayableChange[],
  session: Session,
): Promise<void> {
  const first = changes.flatMap(({ payable, payments }) =>
    payments.length > 0 && payable?.product && !payable.product.hasPayments ? payable.product : [],
  );
  if (first.length > 0) await products.notePayments(first, session);
}

const arrivalsIn = (changes: readonly PayableChange[]) =>
  changes.flatMap(({ payable, payments }) =>
    payments.flatMap(({ before, after }) =>
      payable && followingFrom(before, after).counted.received === 1 ? [{ payment: after, payable }] : [],
    ),
  );

/** The fields of a payment that decide its events. */
interface PaymentState {
  status: PaymentStatus;
  paymentLinkId: string | null;
  checkoutId?: string | null;
}

interface Following {
  /** In publishing order. */
  events: ('payment.received' | 'payment.completed')[];
  /** Increments of the link's counts: `payments` leaves out REJECTED ones, `received` does not. */
  counted: { payments: 0 | 1; received: 0 | 1; completed: 0 | 1 };
}

/** The consequences of a change to a payment. @param before null for a new payment */
export function followingFrom(before: PaymentState | null, after: PaymentState): Following {
  const arrives = belongs(after) && !(before && belongs(before));
  const completes = isCompleted(after) && !(before && isCompleted(before));
  const isCounted = counts(after) && !(before && counts(before));
  return {
    events: [
      ...(arrives ? (['payment.received'] as const) : []),
      ...(completes ? (['payment.completed'] as const) : []),
    ],
    counted: { payments: isCounted ? 1 : 0, received: arrives ? 1 : 0, completed: completes ? 1 : 0 },
  };
}

const belongs = ({ paymentLinkId, checkoutId }: PaymentState) => Boolean(paymentLinkId ?? checkoutId);
const isCompleted = (payment: PaymentState) => belongs(payment) && payment.status === 'COMPLETED';
const counts = (payment: PaymentState) => belongs(payment) && payment.status !== 'REJECTED';

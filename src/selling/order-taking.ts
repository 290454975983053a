/** Order links: makes a checkout for each payer who sends the form. It is a checkout as any other,
 *  so stock, coupons, tolerance and judging are those of checkouts.
 *
 *  Payers are strangers: one address has at most `MOST_OPEN` open orders over all order links. Each
 *  takes one of the address's seats, in the transaction that makes its checkout; a seat is free
 *  again once its checkout is no longer OPEN. */
import { createHash } from 'node:crypto';
import type mongoose from 'mongoose';
import type { Language } from '../../contracts/languages.js';
import type { OrderForm } from '../../contracts/payment-links.js';
import { createMemo } from '../domain/memo.js';
import { ApiError, conflict } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, openCollection } from '../kit/collection.js';
import { type Database, isDuplicateKey, type Session, Taken } from '../kit/database.js';
import { createGroupCommit } from '../kit/group-commit.js';
import { createdAtOf, type NewId } from '../kit/ids.js';
import { accountsOf } from '../kit/owners.js';
import { type CheckoutCreationDeps, linkClosed, needRates, newCheckout, storeAll } from './checkout-creation.js';
import type { CheckoutDoc } from './checkout-document.js';
import type { CheckoutStore } from './checkout-store.js';
import { termsOf } from './checkout-terms.js';
import type { PaymentLinkDoc, PaymentLinkStore } from './link-store.js';
import { createSlug } from './payable-documents.js';

const MOST_OPEN = 20;
const FULL_RETRY_SECONDS = 60;
/** An order may be OPEN after its end, until the ledger has been read. */
const KEPT_MS = 2 * 24 * 3_600_000;
const MINUTE_MS = 60_000;

/** A seat of an address. */
const PAYER_ORDERS = define(
  'payerOrders',
  {
    /** Digest of the address, and the number of the seat. */
    _id: String,
    accountId: String,
    checkoutId: String,
    until: Date,
  },
  [{ key: { until: 1 }, expireAfterSeconds: 0 }],
);

interface PayerOrderDoc extends DocOf<typeof PAYER_ORDERS> {}

interface Seat {
  _id: string;
  /** The order that had it. */
  former: PayerOrderDoc | null;
}

const seatsOf = (address: string): string[] => {
  const digest = createHash('sha256').update(address).digest('base64url');
  return Array.from({ length: MOST_OPEN }, (_, nth) => `${digest}:${nth}`);
};

export type PayerOrderStore = ReturnType<typeof createPayerOrderStore>;

export function createPayerOrderStore(connection: mongoose.Connection) {
  const collection = openCollection<PayerOrderDoc>(connection, PAYER_ORDERS);
  return {
    /** The seats of an address that are taken. */
    ofAddress: (address: string): Promise<PayerOrderDoc[]> =>
      collection.find({ _id: { $in: seatsOf(address) } }).toArray(),
    /** False when another order has it by now: abort the transaction. */
    async take({ _id, former }: Seat, order: Omit<PayerOrderDoc, '_id'>, session: Session): Promise<boolean> {
      try {
        if (!former) await collection.insertOne({ _id, ...order }, { session });
        else {
          const same = { _id, checkoutId: former.checkoutId };
          return (await collection.replaceOne(same, order, { session })).matchedCount === 1;
        }
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
  };
}

/** What a payer sent, checked against the form. Amounts and percentages in canonical text. */
export interface OrderSent {
  /** By the keys of the fields. */
  answers: Readonly<Record<string, string>>;
  quantity: number | null;
  amount: string | null;
  tipPercent: string | null;
  couponCode: string | null;
}

/** Null for a link that is gone or takes no orders. */
export type TakeOrder = (
  slug: string,
  sent: OrderSent,
  payer: { address: string; language: Language },
) => Promise<Pick<CheckoutDoc, '_id' | 'slug'> | null>;

interface OrderTakingDeps extends Omit<CheckoutCreationDeps, 'commit' | 'publicUrl'> {
  paymentLinks: Pick<PaymentLinkStore, 'bySlug'>;
  checkouts: Pick<CheckoutStore, 'ofAccounts'>;
  payerOrders: PayerOrderStore;
  transaction: Database['transaction'];
  clock: Clock;
  newId: NewId;
}

interface Taking {
  checkout: CheckoutDoc;
  address: string;
}

/** @throws ApiError `validation_error` for a coupon or an amount that does not fit, `conflict` when
 *  the link takes no orders or pieces are missing, `rate_limited` */
export function createTakeOrder(deps: OrderTakingDeps): TakeOrder {
  const { forAccount, paymentLinks, payerOrders, transaction, clock, newId } = deps;

  /** Concurrent orders of an account share a transaction, because they write the counts of its
   *  links, products and list. */
  const take = createGroupCommit<Taking, CheckoutDoc | ApiError>(async (takings) => {
    const seats = await seatsFor(deps, takings);
    return transaction(async (session) => {
      const seated = takings.filter((_, index) => seats[index]);
      const batch = seated.map(({ checkout }) => checkout);
      const stored = await storeAll(deps, batch, clock.now(), session);
      const results: (CheckoutDoc | ApiError)[] = [];
      for (const seat of seats) {
        const facts = seat ? stored.shift()! : tooManyOpen();
        const result = facts instanceof ApiError ? facts : facts.checkout;
        results.push(result);
        if (!seat || result instanceof ApiError) continue;
        const { accountId, _id: checkoutId, expiresAt } = result;
        const until = new Date(expiresAt.getTime() + KEPT_MS);
        if (!(await payerOrders.take(seat, { accountId, checkoutId, until }, session))) throw new Taken();
      }
      return results;
    });
  });

  return async (slug, sent, { address, language }) => {
    const link = await paymentLinks.bySlug(slug);
    if (!link?.order) return null;
    const { accountId } = link;
    const [now, _id] = [clock.now(), newId('chk')];
    if (!link.active || (link.endsAt && link.endsAt <= now)) throw linkClosed();
    const expiresAt = new Date(createdAtOf(_id).getTime() + link.order.minutes * MINUTE_MS);
    const input = await inputOf(deps, link, sent);
    const terms = await termsOf(forAccount(accountId), input, now);
    const takes = { ...(terms.takes ?? { couponId: null, pieces: [] }), linkId: link._id };
    await needRates(deps, accountId, terms, expiresAt);
    for (;;) {
      const named = { _id, accountId, slug: createSlug(clock), memo: createMemo(clock, 'checkout') };
      const told = toldBy(link, link.order, sent);
      const body = { ...input, language, customerEmail: told.customer.email, successUrl: link.afterPayment?.url };
      const checkout = { ...newCheckout(named, { ...terms, takes }, body, expiresAt), ...told };
      const result = await take(accountId, { checkout, address }).catch((error: unknown) => {
        if (error instanceof Taken) return null;
        throw error;
      });
      if (result === null) continue;
      if (result instanceof ApiError) throw result;
      return result;
    }
  };
}

const tooManyOpen = () =>
  new ApiError(
    'rate_limited',
    `Your address has ${MOST_OPEN} open orders: pay one, or wait until one ends.`,
    undefined,
    FULL_RETRY_SECONDS,
  );

/** What a merchant would send for this order. */
async function inputOf({ forAccount }: OrderTakingDeps, link: PaymentLinkDoc, sent: OrderSent) {
  const product = await forAccount(link.accountId).products.byId(link.productId);
  if (!product) throw conflict('The product of this link is gone.');
  const { quantity, amount, tipPercent, couponCode } = sent;
  const isFixed = product.priceType === 'FIXED';
  return {
    productId: link.productId,
    ...(isFixed ? { quantity } : amount !== null && { [product.currency ? 'price' : 'amount']: amount }),
    ...{ tipPercent, couponCode },
  };
}

function toldBy(link: PaymentLinkDoc, { fields }: OrderForm, { answers }: OrderSent) {
  const answerTo = (key: string | undefined): string | null =>
    key !== undefined && Object.hasOwn(answers, key) ? answers[key]! : null;
  const first = (type: 'email' | 'phone' | 'address') => answerTo(fields.find((field) => field.type === type)?.key);
  const customer = {
    name: answerTo('name'),
    ...{ email: first('email'), phone: first('phone'), address: first('address') },
  };
  const message = link.afterPayment?.message;
  return {
    paymentLinkId: link._id,
    answers: JSON.stringify(answers),
    customer,
    ...(message ? { paidMessage: message } : {}),
  };
}

/** A seat for each; null where all of its address are taken by orders that are OPEN. */
async function seatsFor(
  { payerOrders, checkouts }: OrderTakingDeps,
  takings: readonly Taking[],
): Promise<(Seat | null)[]> {
  const freeOf = new Map<string, Seat[]>();
  for (const address of new Set(takings.map((taking) => taking.address))) {
    const taken = new Map((await payerOrders.ofAddress(address)).map((each) => [each._id, each]));
    const empty = seatsOf(address).flatMap((_id) => (taken.has(_id) ? [] : { _id, former: null }));
    const needed = takings.filter((taking) => taking.address === address).length;
    freeOf.set(address, empty.length >= needed ? empty : [...empty, ...(await leftBy(checkouts, [...taken.values()]))]);
  }
  return takings.map(({ address }) => freeOf.get(address)!.shift() ?? null);
}

/** Seats whose orders are no longer OPEN, or gone. */
async function leftBy(checkouts: Pick<CheckoutStore, 'ofAccounts'>, seats: readonly PayerOrderDoc[]): Promise<Seat[]> {
  const ids = seats.map(({ checkoutId }) => checkoutId);
  const open = (await checkouts.ofAccounts(accountsOf(seats), ids)).filter(({ status }) => status === 'OPEN');
  const openIds = new Set(open.map(({ _id }) => _id));
  return seats.flatMap((former) => (openIds.has(former.checkoutId) ? [] : { _id: former._id, former }));
}

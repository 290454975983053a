/** The outbox: an event is stored in the transaction that stores what it tells of, so that neither exists without the other. The sequencer numbers
 *  events and opens their deliveries later, so that this transaction does not grow with the number of webhooks. */
import { EVENT_KINDS, type EventDataOf, type EventType } from '../../contracts/event-kinds.js';
import { parseAmount } from '../domain/amount.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import type { PaymentEffects } from '../domain/payment-effects.js';
import { type CheckoutFacts, toCheckout } from '../resources/checkout.js';
import { toPayment, toPaymentLink, toProduct } from '../resources/index.js';
import type { CheckoutDoc } from '../stores/checkouts.js';
import type { Session } from '../stores/database.js';
import type { EventDoc, EventStore } from '../stores/events.js';
import type { PaymentLinkDoc } from '../stores/payment-links.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { ProductDoc } from '../stores/products.js';
import type { WalletDoc } from '../stores/wallets.js';

/** An event that is not stored yet. */
export type OutboxEvent = {
  [Type in EventType]: {
    type: Type;
    accountId: string;
    data: EventDataOf<Type>;
    /** Of a kind that repeats: which time it is. The same one is stored once. */
    occurrence?: string;
  };
}[EventType];

/** The link or checkout that a payment belongs to, and what goes with it. Its wallet need not be the one that the payment came to. */
export type PaymentTarget = LinkTarget | CheckoutTarget;

export interface LinkTarget {
  link: PaymentLinkDoc;
  checkout: null;
  product: ProductDoc;
  wallet: WalletDoc;
}

export interface CheckoutTarget extends CheckoutFacts {
  link: null;
  /** The product may have got another wallet since the checkout was made. Null without a product. */
  productWallet: WalletDoc | null;
}

/** A payment that belongs to a link or checkout, and all that its events show. */
export type PaymentFacts = PaymentTarget & { payment: PaymentDoc };

/** Payments that an event of a checkout shows. */
const SHOWN_PAYMENTS = 1000;

/** The largest payments, in their given order. Payments in the checkout's asset count as larger than all others. */
function largestOf(payments: readonly PaymentDoc[], { assetCode, assetIssuer }: CheckoutDoc): readonly PaymentDoc[] {
  if (payments.length <= SHOWN_PAYMENTS) return payments;
  const isAsset = (payment: PaymentDoc) => payment.assetCode === assetCode && payment.assetIssuer === assetIssuer;
  const size = (payment: PaymentDoc) => parseAmount(payment.amount)!;
  const largestFirst = payments.toSorted((a, b) =>
    isAsset(a) === isAsset(b) ? Number(size(b) - size(a)) : isAsset(a) ? -1 : 1,
  );
  const shown = new Set(largestFirst.slice(0, SHOWN_PAYMENTS));
  return payments.filter((payment) => shown.has(payment));
}

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(deps: { events: EventStore; newId: NewId; publicUrl: string }) {
  const { events, newId, publicUrl } = deps;

  function paymentData(payment: PaymentDoc, target: PaymentTarget | null): EventDataOf<'payment.received'> {
    if (!target) return { payment: toPayment(payment, null), paymentLink: null, checkout: null, product: null };
    const { product } = target;
    const productWallet = target.checkout ? target.productWallet : target.wallet;
    return {
      payment: toPayment(payment, product),
      paymentLink: target.link && toPaymentLink(target.link, target.product, publicUrl),
      checkout: target.checkout && toCheckout(target, publicUrl),
      product: product && productWallet && toProduct(product, productWallet),
    };
  }

  return {
    /** Events of these kinds about a payment, in the order given. Stores nothing. */
    ofPayment(types: PaymentEffects['events'], { payment, ...target }: PaymentFacts): OutboxEvent[] {
      if (types.length === 0) return [];
      const data = paymentData(payment, target);
      return types.map((type) => ({ type, accountId: payment.accountId, data }));
    },

    /** The event that says that money of a payment was sent back. @param target null for a payment that belongs to nothing. Stores nothing. */
    ofRefund(payment: PaymentDoc, target: PaymentTarget | null, occurrence: string): OutboxEvent {
      return { type: 'payment.refunded', accountId: payment.accountId, data: paymentData(payment, target), occurrence };
    },

    /** The event that says what became of a checkout. @param payments of the checkout, oldest first; of very many only the largest are shown.
     *  Stores nothing. */
    ofCheckout(
      type: 'checkout.paid' | 'checkout.expired',
      facts: CheckoutFacts,
      payments: readonly PaymentDoc[],
    ): OutboxEvent {
      const data = {
        checkout: toCheckout(facts, publicUrl),
        payments: largestOf(payments, facts.checkout).map((payment) => toPayment(payment, facts.product)),
      };
      return { type, accountId: facts.checkout.accountId, data };
    },

    /** Stores events in the order given, in the transaction that stores what happened.
     *  @throws a duplicate key error when the subject has an event of that kind (and occurrence) already */
    async publish(outboxEvents: readonly OutboxEvent[], session: Session): Promise<void> {
      if (outboxEvents.length === 0) return;
      const docs = outboxEvents.map(({ type, accountId, data, occurrence = '' }): EventDoc => {
        const _id = newId('evt');
        const subjectOf = EVENT_KINDS[type].subject as (data: OutboxEvent['data']) => string;
        const subjectId = subjectOf(data);
        return {
          _id,
          accountId,
          type,
          createdAt: createdAtOf(_id),
          subjectId,
          occurrence,
          sequence: 0,
          data: JSON.stringify(data),
        };
      });
      await events.insert(docs, session);
    },
  };
}

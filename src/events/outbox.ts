/** The outbox: events and their deliveries are stored in the transaction that stores what happened, so neither exists without the other. */
import type { EventType, WebhookPayload } from '../../contracts/events.js';
import { createdAtOf, type NewId } from '../domain/ids.js';
import { toPayment, toPaymentLink, toProduct } from '../resources/index.js';
import type { Session } from '../stores/database.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { EventDoc, EventStore } from '../stores/events.js';
import type { PaymentLinkDoc } from '../stores/payment-links.js';
import type { PaymentDoc } from '../stores/payments.js';
import type { ProductDoc } from '../stores/products.js';
import type { WalletDoc } from '../stores/wallets.js';

export interface OutboxEvent {
  type: EventType;
  payment: PaymentDoc;
  link: PaymentLinkDoc;
  product: ProductDoc;
  /** The product's wallet. */
  wallet: WalletDoc;
}

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(deps: { events: EventStore; deliveries: DeliveryStore; newId: NewId; publicUrl: string }) {
  const { events, deliveries, newId, publicUrl } = deps;
  return {
    /** In the order given. */
    async publish(outboxEvents: readonly OutboxEvent[], session: Session): Promise<void> {
      if (outboxEvents.length === 0) return;
      const docs = outboxEvents.map(({ type, payment, link, product, wallet }): EventDoc => {
        const _id = newId('evt');
        return {
          _id,
          accountId: payment.accountId,
          type,
          createdAt: createdAtOf(_id),
          paymentId: payment._id,
          data: JSON.stringify({
            payment: toPayment(payment, product),
            paymentLink: toPaymentLink(link, product, publicUrl),
            product: toProduct(product, wallet),
          } satisfies WebhookPayload['data']),
        };
      });
      await events.insert(docs, session);
      await deliveries.fanOut(docs, session);
    },
  };
}

/** The table of event kinds. To add one: a row here, a call of `outbox.publish` at its source, and
 *  a test. */
import { z } from 'zod';
import { auditAssetSchema } from './audits.js';
import { checkoutSchema } from './checkouts.js';
import { checkoutEventDataExample, eventDataExample } from './examples.js';
import { paymentLinkSchema } from './payment-links.js';
import { paymentSchema } from './payments.js';
import { productSchema } from './products.js';
import { walletSummarySchema } from './wallets.js';
import { webhookShape } from './webhook-shape.js';

interface EventKind<Data extends z.ZodType> {
  description: string;
  /** The resources as they were when the event happened. */
  data: Data;
  /** The id of the event's subject, which has one event of the kind. */
  subject: (data: z.output<Data>) => string;
  /** A subject may have several events of the kind, each published with a distinct `occurrence`. */
  repeats?: true;
  /** The kind about the same subject whose first attempt ends before the first attempt of this
   *  kind begins. */
  after?: 'payment.received';
}

const kind = <Data extends z.ZodType>(entry: EventKind<Data>) => entry;

const paymentEventData = z
  .object({
    payment: paymentSchema,
    paymentLink: paymentLinkSchema.nullable().meta({ description: 'Null for a payment of a checkout.' }),
    checkout: checkoutSchema.nullable().meta({ description: 'As the payment left it; null for a payment of a link.' }),
    product: productSchema.nullable().meta({ description: 'Null for a checkout without a product.' }),
  })
  .meta({
    id: 'PaymentEventData',
    description: 'The resources as they were when the event happened.',
    examples: [eventDataExample],
  });

const checkoutEventData = z
  .object({
    checkout: checkoutSchema,
    payments: z.array(paymentSchema).meta({
      description:
        'Every payment of the checkout, oldest first; of more than 1,000 the largest, of more than 100 each with its newest 10 refunds.',
    }),
  })
  .meta({
    id: 'CheckoutEventData',
    description: 'The resources as they were when the event happened.',
    examples: [checkoutEventDataExample],
  });

export const EVENT_KINDS = {
  'payment.received': kind({
    description: 'once for every payment that belongs to a link or checkout, whatever its status',
    data: paymentEventData,
    subject: ({ payment }) => payment.id,
  }),
  'payment.completed': kind({
    description: 'once when a payment becomes COMPLETED',
    data: paymentEventData,
    subject: ({ payment }) => payment.id,
    after: 'payment.received',
  }),
  'payment.unmatched': kind({
    description: 'once for every payment to a wallet that belongs to no link or checkout when it is recorded',
    data: paymentEventData,
    subject: ({ payment }) => payment.id,
  }),
  'payment.decision': kind({
    description:
      'each time that a payment comes to need a decision: it is UNDERPAID, REJECTED or UNMATCHED when it is recorded or assigned, or a refund of it was booked at another payment',
    data: paymentEventData,
    subject: ({ payment }) => payment.id,
    repeats: true,
  }),
  'payment.refunded': kind({
    description:
      'once for every operation on the ledger that sent money of a payment back, and for both payments when a refund moves to the one that the merchant names',
    data: paymentEventData,
    subject: ({ payment }) => payment.id,
    repeats: true,
  }),
  'checkout.paid': kind({
    description: 'once when a checkout becomes PAID',
    data: checkoutEventData,
    subject: ({ checkout }) => checkout.id,
  }),
  'checkout.expired': kind({
    description:
      'once when a checkout becomes EXPIRED: the ledger was read beyond its end, and it is proven that the money did not come in time',
    data: checkoutEventData,
    subject: ({ checkout }) => checkout.id,
  }),
  'wallet.gap': kind({
    description: 'a wallet misses ledgers that no ledger server has any more',
    data: z
      .object({ wallet: walletSummarySchema, fromLedger: z.int(), toLedger: z.int() })
      .meta({ id: 'WalletGapEventData', description: 'The ledgers that were not read, both ends included.' }),
    subject: ({ wallet }) => wallet.id,
    repeats: true,
  }),
  'wallet.difference': kind({
    description: 'an audit found balances of a wallet that nothing on the ledger explains',
    data: z.object({ wallet: walletSummarySchema, assets: z.array(auditAssetSchema) }).meta({
      id: 'WalletDifferenceEventData',
      description: 'All assets of the audit, also those without a difference.',
    }),
    subject: ({ wallet }) => wallet.id,
    repeats: true,
  }),
  'webhook.paused': kind({
    description:
      'the service paused a webhook because its endpoint failed for days or answered 410; sent to the other webhooks',
    data: z
      .object({
        webhook: z.object({ ...webhookShape, events: z.array(z.string()) }).meta({ id: 'PausedWebhook' }),
        reason: z.enum(['gone', 'failing']).meta({
          description:
            '`gone`: the endpoint answered 410. `failing`: at least 10 failed attempts in a row over 5 days.',
        }),
      })
      .meta({ id: 'WebhookPausedEventData' }),
    subject: ({ webhook }) => webhook.id,
    repeats: true,
  }),
} as const;

/** Kinds that webhooks can subscribe to. */
export type EventType = keyof typeof EVENT_KINDS;
export const EVENT_TYPES = Object.keys(EVENT_KINDS) as [EventType, ...EventType[]];
export type EventDataOf<Type extends EventType> = z.output<(typeof EVENT_KINDS)[Type]['data']>;

/** The kind that precedes this one about the same subject; null when there is none. */
export const predecessorOf = (type: EventType): EventType | null => {
  const { after }: { after?: EventType } = EVENT_KINDS[type];
  return after ?? null;
};

export const eventTypeSchema = z.enum(EVENT_TYPES).meta({
  id: 'EventType',
  description: EVENT_TYPES.map((type) => `\`${type}\`: ${EVENT_KINDS[type].description}.`).join(' '),
});

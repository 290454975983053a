/** Notifications: the kinds that an account gets by e-mail, and the recipients. */
import { z } from 'zod';
import { operation } from './operation.js';
import { emailInput, timestamp } from './primitives.js';

/** Kinds of notifications. */
export const NOTICE_KINDS = [
  'payment.completed',
  'payment.unmatched',
  'payment.decision',
  'webhook.failing',
  'wallet.gap',
  'wallet.difference',
] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** Each recipient gets a separate e-mail. */
export const MAX_RECIPIENTS = 20;

const kindSchema = z.enum(NOTICE_KINDS).meta({
  id: 'NotificationKind',
  description:
    '`payment.completed`, `payment.unmatched`, `payment.decision`, `wallet.gap`, `wallet.difference`: as the events of these names. `webhook.failing`: deliveries to a webhook have failed at least three times in a row; sent once until one succeeds.',
});

const failureSchema = z
  .object({
    at: timestamp,
    to: z.string(),
    kind: z.string().meta({ description: 'A kind of notification, `receipt`, or `security`.' }),
    error: z.string().meta({ examples: ['mail server not reachable'] }),
    isFinal: z.boolean().meta({ description: 'False while it is retried.' }),
  })
  .meta({ id: 'MailFailure' });

export const notificationsSchema = z
  .object({
    recipients: z.array(z.string()),
    kinds: z.array(kindSchema),
    sending: z.boolean().meta({
      description:
        'False where this service sends no e-mail at all, because its operator has not set `SMTP_URL`: no notification, and no receipt for a `customerEmail`.',
    }),
    lastFailure: failureSchema.nullable().meta({
      description:
        'The e-mail of the account that failed last, receipts too, and has not been sent since; null for none.',
    }),
  })
  .meta({
    id: 'Notifications',
    examples: [
      {
        recipients: ['owner@shop.example'],
        kinds: ['payment.unmatched' as const, 'webhook.failing' as const],
        sending: true,
        lastFailure: null,
      },
    ],
  });

const tag = 'Account';
const path = '/account/notifications';

export const notifications = {
  get: operation({
    method: 'GET',
    path,
    effect: 'reads',
    summary: 'E-mail notifications of the account',
    description: 'Returns the kinds of notifications, their recipients, and whether this service sends e-mail.',
    tag,
    output: notificationsSchema,
  }),
  set: operation({
    method: 'PUT',
    path,
    effect: 'changes',
    summary: 'Set the e-mail notifications',
    description:
      'From now on every recipient gets an e-mail for each event of these kinds. Both lists are replaced; without recipients or kinds nothing is sent. `sending` in the answer says whether this service sends e-mail.',
    tag,
    body: {
      recipients: z.array(emailInput).max(MAX_RECIPIENTS).meta({ description: 'Addresses; duplicates count once.' }),
      kinds: z.array(kindSchema).max(NOTICE_KINDS.length * 2),
    },
    output: notificationsSchema,
    examples: { body: { recipients: ['owner@shop.example'], kinds: ['payment.unmatched', 'webhook.failing'] } },
  }),
};

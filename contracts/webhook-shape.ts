/** The fields of a webhook except its event kinds, shared with events about webhooks. */
import { z } from 'zod';
import { idOf, timestamp } from './primitives.js';

export const webhookStatusSchema = z.enum(['ACTIVE', 'PAUSED']).meta({
  id: 'WebhookStatus',
  description: "A PAUSED webhook's deliveries wait and go out when it is made ACTIVE again.",
});

export const webhookShape = {
  id: idOf('hook', 'webhook'),
  name: z.string(),
  url: z.string(),
  status: webhookStatusSchema,
  secretMasked: z
    .string()
    .meta({ description: 'First 6 and last 4 characters of the signing secret.', examples: ['whsec_…wxyz'] }),
  createdAt: timestamp,
};

/** Builds a request to an endpoint: the body of an event and the headers that sign it. */

import type { KeyObject } from 'node:crypto';
import { type SignatureHeaders, signatureHeaders } from '../domain/signature.js';
import { signWithKey } from '../domain/webhook-key.js';
import { type SentEvent, toEventBody } from '../events/index.js';
import type { SecretBox } from '../kit/secrets.js';
import type { WebhookDoc } from './webhook-store.js';

/** The same bytes on every call for an event. */
export const toBody = (event: SentEvent): Buffer => Buffer.from(toEventBody(event));

type Secret = WebhookDoc['secrets'][number];

/** Opened secrets, cached by the webhook as read, so that attempts do not open them again. */
const opened = new WeakMap<Secret, string>();

function open(secret: Secret, webhookId: string, secrets: SecretBox): string {
  const known = opened.get(secret) ?? secrets.open(secret.sealed, webhookId);
  opened.set(secret, known);
  return known;
}

/** Signs with every secret that is valid at `now` and with each of the service's keys. @throws when a secret was sealed with another SECRETS_KEY */
export async function signedHeaders(
  webhook: Pick<WebhookDoc, '_id' | 'secrets'>,
  secrets: SecretBox,
  eventId: string,
  body: Buffer,
  now: Date,
  signers: readonly KeyObject[] = [],
): Promise<SignatureHeaders> {
  const valid = webhook.secrets.filter(({ until }) => until === null || until > now);
  const headers = signatureHeaders({
    id: eventId,
    timestampSeconds: Math.floor(now.getTime() / 1000),
    body,
    secrets: valid.map((secret) => open(secret, webhook._id, secrets)),
  });
  if (signers.length === 0) return headers;
  const timestamp = headers['webhook-timestamp'];
  const own = await Promise.all(signers.map((key) => signWithKey(key, eventId, timestamp, body)));
  return { ...headers, 'webhook-signature': [headers['webhook-signature'], ...own].join(' ') };
}

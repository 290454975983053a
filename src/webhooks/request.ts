/** What is sent to an endpoint: the body of an event and the headers that sign it. */
import type { WebhookPayload } from '../../contracts/events.js';
import type { SecretBox } from '../domain/secrets.js';
import { type SignatureHeaders, signatureHeaders } from '../domain/signature.js';
import type { EventDoc } from '../stores/events.js';
import type { WebhookDoc } from '../stores/webhooks.js';

/** The same bytes whenever it is called for the same event. */
export function toBody(event: Pick<EventDoc, '_id' | 'type' | 'createdAt' | 'data'>): Buffer {
  const payload = {
    id: event._id,
    type: event.type,
    timestamp: event.createdAt.toISOString(),
    data: event.data,
  } as WebhookPayload;
  return Buffer.from(JSON.stringify(payload));
}

/** Signs with every secret that is valid at `now`. @throws when a secret cannot be opened: SECRETS_KEY is another than it was sealed with */
export function signedHeaders(
  webhook: Pick<WebhookDoc, '_id' | 'secrets'>,
  secrets: SecretBox,
  eventId: string,
  body: Buffer,
  now: Date,
): SignatureHeaders {
  const valid = webhook.secrets.filter(({ until }) => until === null || until > now);
  return signatureHeaders({
    id: eventId,
    timestampSeconds: Math.floor(now.getTime() / 1000),
    body,
    secrets: valid.map(({ sealed }) => secrets.open(sealed, webhook._id)),
  });
}

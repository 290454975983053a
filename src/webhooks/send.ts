/** Sends a test event to a webhook at once, without a delivery. Works while the webhook is PAUSED. */

import type { Logger } from 'pino';
import type { SentEvent } from '../events/index.js';
import type { Clock } from '../kit/clock.js';
import type { SecretBox } from '../kit/secrets.js';
import { type Signers, signAndPost } from './attempt.js';
import type { Poster } from './poster.js';
import { toBody } from './request.js';
import type { WebhookDoc } from './webhook-store.js';

/** @returns a function that resolves to the outcome. It rejects only when the service's keys cannot be read */
export function createSend(deps: { poster: Poster; secrets: SecretBox; signers?: Signers; clock: Clock; log: Logger }) {
  return async (webhook: WebhookDoc, event: SentEvent) => {
    const at = deps.clock.now();
    const keys = (await deps.signers?.(at)) ?? [];
    const request = { eventId: event._id, sequence: null, body: toBody(event), at, keys };
    const { responseStatus, durationMs, error } = await signAndPost(webhook, request, deps);
    return { responseStatus, durationMs, error };
  };
}

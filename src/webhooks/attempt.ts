/** One attempt of a delivery: sign, post, judge. Never rejects; returns what to record of the delivery and of its webhook. */
import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { isTimeToPause, judgeAttempt, type RetrySettings, withFailure } from '../domain/retry.js';
import type { Clock } from '../kit/clock.js';
import type { SecretBox } from '../kit/secrets.js';
import type { AttemptRecord, DueDelivery } from './due-deliveries.js';
import type { EndpointQueue } from './endpoint-queue.js';
import type { WebhookHealth } from './health-store.js';
import type { Poster, PostResult } from './poster.js';
import { signedHeaders } from './request.js';
import type { WebhookDoc } from './webhook-store.js';

export interface AttemptDeps {
  poster: Poster;
  secrets: SecretBox;
  clock: Clock;
  log: Logger;
  settings: RetrySettings;
}

/** The service's keys that sign at `now`. @throws when they cannot be read */
export type Signers = (now: Date) => Promise<readonly KeyObject[]>;

/** Makes one attempt and judges its answer. @param keys the service's signing keys
 *  @returns what to record; `health` is null when the attempt changes nothing about the webhook */
export async function attempt(
  queue: EndpointQueue,
  { delivery, body, keys }: { delivery: DueDelivery; body: Buffer; keys: readonly KeyObject[] },
  deps: AttemptDeps,
): Promise<{ record: AttemptRecord; health: WebhookHealth | null }> {
  const { clock, settings, log } = deps;
  const { _id: id, accountId, eventId, sequence, attemptCount } = delivery;
  const at = clock.now();
  const { webhook } = queue;
  const result = await signAndPost(webhook, { eventId, sequence, body, at, keys }, deps);
  const nowMs = clock.nowMs();
  const { status, nextAttemptAt, gone } = judgeAttempt(result, attemptCount + 1, nowMs, clock.random(), settings);
  const { durationMs, responseStatus, error } = result;
  // An answer from before the webhook's last start does not count.
  const isSameStart = queue.webhook.starts === webhook.starts;
  const health = isSameStart ? healthAfter(queue, { delivered: status === 'DELIVERED', gone, at, error }) : null;
  if (health?.status === 'PAUSED') {
    log.warn(
      { webhookId: queue.webhook._id },
      gone ? 'webhook paused: it answered 410' : 'webhook paused: 5 days of failures in a row',
    );
  }
  const record = {
    id,
    accountId,
    attemptCount,
    attempt: { at, durationMs, responseStatus, error },
    status,
    nextAttemptAt,
  };
  return { record, health };
}

/** Never rejects.
 *  @param request.sequence number of the delivery; null for none, and no header
 *  @param request.at the moment that is signed */
export async function signAndPost(
  webhook: WebhookDoc,
  request: { eventId: string; sequence: number | null; body: Buffer; at: Date; keys: readonly KeyObject[] },
  deps: Pick<AttemptDeps, 'poster' | 'secrets' | 'log'>,
): Promise<PostResult> {
  const { eventId, sequence, body, at, keys } = request;
  try {
    const headers = {
      ...(await signedHeaders(webhook, deps.secrets, eventId, body, at, keys)),
      ...(sequence === null ? {} : { 'webhook-sequence': String(sequence) }),
    };
    return await deps.poster.post(webhook.url, headers, body);
  } catch (err) {
    deps.log.error({ err, webhookId: webhook._id }, 'webhook request not signed');
    return { responseStatus: null, error: 'not signed', durationMs: 0, retryAfterMs: null };
  }
}

function healthAfter(
  queue: EndpointQueue,
  result: { delivered: boolean; gone: boolean; at: Date; error: string | null },
): WebhookHealth | null {
  const { webhook, failures } = queue;
  const { delivered, gone, at, error } = result;
  const { _id: id, starts } = webhook;
  if (delivered) {
    queue.failures = null;
    return failures && { id, starts, failingSince: null, failedAttempts: 0 };
  }
  const streak = withFailure(failures, at);
  queue.failures = streak;
  const health = {
    id,
    starts,
    failingSince: streak.since,
    failedAttempts: streak.attempts,
    lastFailure: { at, error },
  };
  if (!gone && !isTimeToPause(streak, at)) return health;
  queue.stop();
  return { ...health, status: 'PAUSED', pausedBecause: gone ? 'gone' : 'failing' };
}

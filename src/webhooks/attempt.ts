/** One attempt of a delivery: sign, post, judge. It never rejects, and returns what to record of
 *  the delivery and of its webhook. Behind it: the writer that stores such results in batches. */

import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { isTimeToPause, judgeAttempt, type RetrySettings, withFailure } from '../domain/retry.js';
import { type Clock, type MonotonicClock, monotonicClock } from '../kit/clock.js';
import type { SecretBox } from '../kit/secrets.js';
import type { DeliveryStore } from './delivery-store.js';
import type { AttemptRecord, DueDelivery } from './due-deliveries.js';
import type { EndpointQueue } from './endpoint-queue.js';
import type { Pause, WebhookHealth } from './health.js';
import { type Poster, type PostResult, type Signable, signedHeaders } from './poster.js';
import type { WebhookDoc, WebhookStore } from './webhook-store.js';

// Writes the results of attempts in batches: results that arrive during a write form the next
// batch. A failed write is repeated until the dispatcher ends.

const MAX_BATCH = 500;
/** Pause before each batch, so that it fills. Sending does not wait for records. */
const GATHER_MS = 10;
const WAIT_AFTER_FAULT_MS = 500;

interface Result {
  webhookId: string;
  record: AttemptRecord;
  /** Called once the result is written. */
  onRecorded(): void;
}

interface RecorderDeps {
  deliveries: Pick<DeliveryStore, 'record'>;
  webhooks: Pick<WebhookStore, 'recordHealth'>;
  /** Pauses a webhook whose endpoint is gone or has failed for days. */
  pause: Pause;
  holder: string;
  clock: Clock;
  log: Logger;
  /** Simulations pass their own. */
  monotonic?: MonotonicClock;
}

export class AttemptRecorder {
  readonly #deps: RecorderDeps;
  readonly #waiting: Result[] = [];
  readonly #health = new Map<string, WebhookHealth>();
  readonly #abandoned = new AbortController();
  #writing: Promise<void> | null = null;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  add(result: Result, change: WebhookHealth | null): void {
    this.#waiting.push(result);
    if (change) this.#health.set(change.id, withLater(this.#health.get(change.id) ?? change, change));
    this.#start();
  }

  /** Resolves when everything is written. */
  async settled(): Promise<void> {
    while (this.#writing) await this.#writing;
  }

  /** Drops unwritten results: their deliveries are sent again. */
  abandon(): void {
    this.#abandoned.abort();
  }

  #start(): void {
    if (this.#writing || this.#waiting.length === 0 || this.#abandoned.signal.aborted) return;
    this.#writing = this.#write().finally(() => {
      this.#writing = null;
      this.#start();
    });
  }

  async #write(): Promise<void> {
    const { clock, log, monotonic = monotonicClock } = this.#deps;
    while (this.#waiting.length > 0 && !this.#abandoned.signal.aborted) {
      await monotonic.sleep(GATHER_MS);
      const batch = this.#waiting.splice(0, MAX_BATCH);
      const changes = [...this.#health.values()];
      this.#health.clear();
      try {
        await this.#writeBatch(batch, changes);
      } catch (err) {
        log.error({ err, attempts: batch.length }, 'webhook attempts not recorded yet');
        // Writing a record twice is harmless: the first write raises the attempt count that the
        // second one expects.
        this.#waiting.unshift(...batch);
        for (const change of changes) this.#putBack(change);
        await clock.sleep(WAIT_AFTER_FAULT_MS, this.#abandoned.signal);
      }
    }
  }

  async #writeBatch(batch: readonly Result[], changes: readonly WebhookHealth[]): Promise<void> {
    const { webhooks, deliveries, holder, clock, log } = this.#deps;
    await webhooks.recordHealth(
      changes.filter(({ status }) => status !== 'PAUSED'),
      holder,
    );
    const unpaused = await this.#pauseEach(changes.filter(({ status }) => status === 'PAUSED'));
    const written = batch.filter(({ webhookId }) => !unpaused.has(webhookId));
    if (written.length > 0) {
      const count = await deliveries.record(written.map(({ record }) => record));
      if (count < written.length) log.debug({ overtaken: written.length - count }, 'webhook attempts overtaken');
      for (const { onRecorded } of written) onRecorded();
    }
    this.#waiting.push(...batch.filter(({ webhookId }) => unpaused.has(webhookId)));
    if (written.length === 0) await clock.sleep(WAIT_AFTER_FAULT_MS, this.#abandoned.signal);
  }

  /** If a webhook cannot be paused yet, its attempts are not recorded, so that it keeps its lease;
   *  those of other webhooks are.
   *  @returns ids of webhooks not paused yet */
  async #pauseEach(changes: readonly WebhookHealth[]): Promise<Set<string>> {
    const { pause, holder, log } = this.#deps;
    const unpaused = new Set<string>();
    for (const change of changes) {
      try {
        await pause(change, holder);
      } catch (err) {
        log.error({ err, webhookId: change.id }, 'webhook not paused yet');
        this.#putBack(change);
        unpaused.add(change.id);
      }
    }
    return unpaused;
  }

  /** Puts a failed change back, before later ones. */
  #putBack(change: WebhookHealth): void {
    this.#health.set(change.id, withLater(change, this.#health.get(change.id) ?? change));
  }
}

/** Merges two states of a webhook. Only a new start undoes a pause. */
function withLater(earlier: WebhookHealth, later: WebhookHealth): WebhookHealth {
  if (earlier.starts !== later.starts) return later;
  return earlier.status === 'PAUSED' ? earlier : { ...earlier, ...later };
}

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
 *  @param sequence number of the delivery; null for none, and no header */
export async function signAndPost(
  webhook: WebhookDoc,
  { sequence, ...signable }: Signable & { sequence: number | null },
  deps: Pick<AttemptDeps, 'poster' | 'secrets' | 'log'>,
): Promise<PostResult> {
  try {
    const headers = {
      ...(await signedHeaders(webhook, signable, deps.secrets)),
      ...(sequence === null ? {} : { 'webhook-sequence': String(sequence) }),
    };
    return await deps.poster.post(webhook.url, headers, signable.body);
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

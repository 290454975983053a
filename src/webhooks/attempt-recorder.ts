/** Writes the results of attempts in batches: results that arrive during a write form the next batch. A failed write is repeated until the dispatcher ends. */
import type { Logger } from 'pino';
import { type Clock, type MonotonicClock, monotonicClock } from '../kit/clock.js';
import type { DeliveryStore } from './delivery-store.js';
import type { AttemptRecord } from './due-deliveries.js';
import type { WebhookHealth } from './health-store.js';
import type { Pause } from './pause.js';
import type { WebhookStore } from './webhook-store.js';

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
        // Writing a record twice is harmless: the first write raises the attempt count that the second one expects.
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

  /** If a webhook cannot be paused yet, its attempts are not recorded, so that it keeps its lease; those of other webhooks are.
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

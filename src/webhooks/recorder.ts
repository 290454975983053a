/** Writes the results of attempts in batches: what comes in while a batch is being written is the next batch. A batch that could not be written is written
 *  again, until the dispatcher ends. */
import type { Logger } from 'pino';
import { type Clock, type MonotonicClock, monotonicClock } from '../clock.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { AttemptRecord } from '../stores/due-deliveries.js';
import type { WebhookHealth, WebhookStore } from '../stores/webhooks.js';
import type { Pause } from './pause.js';

const MAX_BATCH = 500;
/** Waited before each batch, so that it fills. Only the record waits: the next requests are sent meanwhile. */
const GATHER_MS = 10;
const WAIT_AFTER_FAULT_MS = 500;

export interface Result {
  record: AttemptRecord;
  /** Called once it is written. */
  onRecorded(): void;
}

export function createAttemptRecorder(deps: {
  deliveries: Pick<DeliveryStore, 'record'>;
  webhooks: Pick<WebhookStore, 'recordHealth'>;
  /** Pauses a webhook whose endpoint is gone or has failed for days. */
  pause: Pause;
  holder: string;
  clock: Clock;
  log: Logger;
  /** Simulations pass their own. */
  monotonic?: MonotonicClock;
}) {
  const { deliveries, webhooks, pause, holder, clock, log, monotonic = monotonicClock } = deps;
  const waiting: Result[] = [];
  const health = new Map<string, WebhookHealth>();
  const abandoned = new AbortController();
  let writing: Promise<void> | null = null;

  async function write(): Promise<void> {
    while (waiting.length > 0 && !abandoned.signal.aborted) {
      await monotonic.sleep(GATHER_MS);
      const batch = waiting.splice(0, MAX_BATCH);
      const changes = [...health.values()];
      health.clear();
      try {
        const paused = changes.filter(({ status }) => status === 'PAUSED');
        await webhooks.recordHealth(
          changes.filter(({ status }) => status !== 'PAUSED'),
          holder,
        );
        for (const change of paused) await pauseAlone(change);
        const written = await deliveries.record(batch.map(({ record }) => record));
        if (written < batch.length) log.debug({ overtaken: batch.length - written }, 'webhook attempts overtaken');
        for (const { onRecorded } of batch) onRecorded();
      } catch (err) {
        log.error({ err, attempts: batch.length }, 'webhook attempts not recorded yet');
        // A record that is written twice changes nothing: the first write raised the count that the second one expects.
        waiting.unshift(...batch);
        for (const change of changes) health.set(change.id, withLater(change, health.get(change.id) ?? change));
        await clock.sleep(WAIT_AFTER_FAULT_MS, abandoned.signal);
      }
    }
  }

  /** Whatever is wrong with one webhook: the attempts of all others are recorded. */
  async function pauseAlone(change: WebhookHealth): Promise<void> {
    try {
      await pause(change, holder);
    } catch (err) {
      log.error({ err, webhookId: change.id }, 'webhook not paused yet');
      health.set(change.id, withLater(change, health.get(change.id) ?? change));
    }
  }

  function start(): void {
    if (writing || waiting.length === 0 || abandoned.signal.aborted) return;
    writing = write().finally(() => {
      writing = null;
      start();
    });
  }

  return {
    add(result: Result, change: WebhookHealth | null): void {
      waiting.push(result);
      if (change) health.set(change.id, withLater(health.get(change.id) ?? change, change));
      start();
    },
    /** Resolves when everything is written. */
    async settled(): Promise<void> {
      while (writing) await writing;
    },
    /** Gives up on what is not written: it will be sent again. */
    abandon(): void {
      abandoned.abort();
    },
  };
}

/** Two states of a webhook in one. Only a new start undoes a pause. */
function withLater(earlier: WebhookHealth, later: WebhookHealth): WebhookHealth {
  if (earlier.starts !== later.starts) return later;
  return earlier.status === 'PAUSED' ? earlier : { ...earlier, ...later };
}

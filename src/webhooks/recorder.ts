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
  webhookId: string;
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
        await writeBatch(batch, changes);
      } catch (err) {
        log.error({ err, attempts: batch.length }, 'webhook attempts not recorded yet');
        // A record that is written twice changes nothing: the first write raised the count that the second one expects.
        waiting.unshift(...batch);
        for (const change of changes) putBack(change);
        await clock.sleep(WAIT_AFTER_FAULT_MS, abandoned.signal);
      }
    }
  }

  async function writeBatch(batch: readonly Result[], changes: readonly WebhookHealth[]): Promise<void> {
    await webhooks.recordHealth(
      changes.filter(({ status }) => status !== 'PAUSED'),
      holder,
    );
    const unpaused = await pauseEach(changes.filter(({ status }) => status === 'PAUSED'));
    const written = batch.filter(({ webhookId }) => !unpaused.has(webhookId));
    if (written.length > 0) {
      const count = await deliveries.record(written.map(({ record }) => record));
      if (count < written.length) log.debug({ overtaken: written.length - count }, 'webhook attempts overtaken');
      for (const { onRecorded } of written) onRecorded();
    }
    waiting.push(...batch.filter(({ webhookId }) => unpaused.has(webhookId)));
    if (written.length === 0) await clock.sleep(WAIT_AFTER_FAULT_MS, abandoned.signal);
  }

  /** A webhook that cannot be paused keeps its lease, because its attempts wait as well; those of all others are recorded.
   *  @returns ids of those that are not paused yet */
  async function pauseEach(changes: readonly WebhookHealth[]): Promise<Set<string>> {
    const unpaused = new Set<string>();
    for (const change of changes) {
      try {
        await pause(change, holder);
      } catch (err) {
        log.error({ err, webhookId: change.id }, 'webhook not paused yet');
        putBack(change);
        unpaused.add(change.id);
      }
    }
    return unpaused;
  }

  /** What could not be written goes before what came since. */
  function putBack(change: WebhookHealth): void {
    health.set(change.id, withLater(change, health.get(change.id) ?? change));
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

/** The way of a delivery: due → endpoint queue → signed post → record → next. Several dispatchers may run at once; a webhook's lease keeps two of them from
 *  sending the same delivery. Each endpoint has its own queue and its own limit of requests in flight, so that none waits for another. */
import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import { type Clock, type MonotonicClock, monotonicClock } from '../clock.js';
import type { RetrySettings } from '../domain/retry.js';
import type { SecretBox } from '../domain/secrets.js';
import type { DeliveryStore } from '../stores/deliveries.js';
import type { AttemptRecord } from '../stores/due-deliveries.js';
import type { EventStore } from '../stores/events.js';
import type { WebhookStore } from '../stores/webhooks.js';
import { attempt, type Signers } from './attempt.js';
import type { EndpointQueue, LoadedDelivery } from './endpoint-queue.js';
import { createEndpointQueues } from './endpoint-queues.js';
import { lackingMore, loadInto } from './load.js';
import type { Pause } from './pause.js';
import type { Poster } from './poster.js';
import { createAttemptRecorder } from './recorder.js';
import { toBody } from './request.js';
import { createThrottles, type Throttles } from './throttles.js';

export interface DispatchSettings extends RetrySettings {
  /** Of one attempt. */
  timeoutMs: number;
  /** Between two polls for due deliveries while nobody wakes the dispatcher. Default 250. */
  pollMs?: number;
  /** How much longer than one attempt a lease lasts. After a crash, other dispatchers wait until it has ended. Default 3000. */
  leaseMarginMs?: number;
  /** How long an ending dispatcher waits for what is in flight. Default 7000. */
  graceMs?: number;
  /** Webhooks that one dispatcher sends to at once. Default 1024. */
  maxQueues?: number | undefined;
  /** Bodies up to this size wait in memory, larger ones are read when their attempt begins. Default 8192. */
  maxBodyBytes?: number | undefined;
}

export interface DispatcherDeps {
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  events: EventStore;
  pause: Pause;
  poster: Poster;
  secrets: SecretBox;
  signers?: Signers;
  clock: Clock;
  log: Logger;
  settings: DispatchSettings;
  /** Time that passed, by which leases and the end of the process go; another one in simulations. */
  monotonic?: MonotonicClock;
  /** For metrics. */
  onAttempt?: (record: AttemptRecord) => void;
}

const WAIT_AFTER_FAULT_MS = 1000;
/** Each look goes past the paused webhooks with due deliveries: so many make looks come half as often. */
const PAUSED_AT_ONCE = 1000;
/** Thousands of deliveries may wait in memory. */
const MAX_BODY_BYTES = 8192;
const LONGEST_POLL_MS = 2000;
/** Between two looks whether another dispatcher asks for leases. */
const ASKED_LOOK_MS = 200;
/** While another dispatcher is about to hand leases over. */
const HANDOVER_POLL_MS = 50;
/** Queues whose leases are worth a round, if others wait for them. */
const ENOUGH_EMPTIED = 256;

/** What an attempt needs besides its delivery. */
interface Read {
  keys: readonly KeyObject[];
  body: Buffer;
}

export type Dispatcher = ReturnType<typeof createDispatcher>;

export function createDispatcher(deps: DispatcherDeps) {
  const running = new Set<() => void>();
  const throttles = createThrottles();
  return {
    /** Sends what is due until the signal aborts, then waits for what is in flight and releases its leases.
     *  @param enough ends it too, at the first moment when nothing is queued or in flight
     *  @returns how many attempts it recorded */
    async drain(signal: AbortSignal, enough?: AbortSignal): Promise<{ attempts: number }> {
      const run = createRun(deps, throttles);
      running.add(run.wake);
      signal.addEventListener('abort', run.wake, { once: true });
      await run.until(signal, enough);
      signal.removeEventListener('abort', run.wake);
      running.delete(run.wake);
      return { attempts: run.attempts() };
    },
    /** Looks for due deliveries now instead of at the next poll. */
    wake(): void {
      for (const wake of running) wake();
    },
  };
}

function createRun(deps: DispatcherDeps, throttles: Throttles) {
  const { deliveries, events, signers, clock, log, settings, onAttempt, monotonic = monotonicClock } = deps;
  const { timeoutMs, pollMs = 250, leaseMarginMs: marginMs = 3000, graceMs = 7000, maxQueues } = settings;
  const { maxBodyBytes = MAX_BODY_BYTES } = settings;
  const holder = clock.randomBytes(12).toString('hex');
  const queues = createEndpointQueues({ ...deps, holder, timeoutMs, marginMs, maxQueues });
  const recorder = createAttemptRecorder({ ...deps, holder });
  const sending = new Set<Promise<void>>();
  let stopping = false;
  let again = false;
  let attempts = 0;
  let emptied = 0;
  /** The last look failed. */
  let isAway = false;
  /** When the database was there again after it had been away. */
  let backMs = Number.NEGATIVE_INFINITY;
  let nap: AbortController | null = null;
  let releasing: Promise<void> | null = null;

  const wake = () => {
    again = true;
    nap?.abort();
  };

  async function round(): Promise<void> {
    emptied = 0;
    const due = await lookForDue();
    const isDue = new Set(due);
    await queues.endTurns();
    await queues.release(
      queues.all().filter((queue) => queue.size === 0 && (queue.stopped || !isDue.has(queue.webhook._id))),
    );
    // Leases may have ended while the database was away: who holds them renews them first, and records what it has sent.
    const mayClaim = monotonic.nowMs() - backMs >= marginMs;
    const hasClaimed = mayClaim && (await queues.claim(due));
    await loadInto(
      queues.all().filter((queue) => isDue.has(queue.webhook._id)),
      queues,
      { ...deps, maxBodyBytes },
    );
    // Who looked for them at the same time has asked by now: it need not wait for what would be in flight.
    if (hasClaimed) await queues.stopAsked();
    for (const queue of queues.all()) fill(queue);
    releaseStopped();
  }

  async function lookForDue(): Promise<string[]> {
    const askedMs = monotonic.nowMs();
    const due = await deliveries.dueWebhooks(clock.now());
    const nowMs = monotonic.nowMs();
    if (isAway || nowMs - askedMs >= marginMs) backMs = nowMs;
    isAway = false;
    return due;
  }

  function fill(queue: EndpointQueue): void {
    const { _id: webhookId } = queue.webhook;
    const slots = throttles.slots(webhookId, queues.slots());
    while (!stopping && !queue.stopped && queue.inFlight < slots && queues.mayStart(queue)) {
      const loaded = queue.take(slots);
      if (!loaded) return;
      askForMore(queue);
      const sent = readAndSend(queue, loaded).then(() => {
        sending.delete(sent);
        fill(queue);
      });
      sending.add(sent);
    }
  }

  /** Reading may take long, or fail: then it is no attempt, and the endpoint is not blamed. */
  async function readAndSend(queue: EndpointQueue, loaded: LoadedDelivery): Promise<void> {
    const read = await readFor(loaded).catch((err) => {
      log.error({ err, deliveryId: loaded.delivery._id }, 'what a webhook delivery needs not read yet');
      return null;
    });
    if (read && !stopping && !queue.stopped && queues.mayStart(queue)) await send(queue, loaded, read);
    else queue.putBack(loaded);
  }

  /** Null when its event is gone. */
  async function readFor({ delivery, body }: LoadedDelivery): Promise<Read | null> {
    const keys = (await signers?.(clock.now())) ?? [];
    if (body) return { keys, body };
    const event = await events.byId(delivery.accountId, delivery.eventId);
    return event && { keys, body: toBody(event) };
  }

  async function send(queue: EndpointQueue, loaded: LoadedDelivery, { keys, body }: Read): Promise<void> {
    const { record, health } = await attempt(queue, { delivery: loaded.delivery, body, keys }, deps);
    queue.ended(loaded);
    const { _id: webhookId } = queue.webhook;
    throttles.answered(webhookId, record.attempt, queues.slots());
    recorder.add({ webhookId, record, onRecorded: () => settle(queue, record) }, health);
  }

  function askForMore(queue: EndpointQueue): void {
    const lanes = lackingMore(queue, queues);
    for (const lane of lanes) lane.hasMore = false;
    if (lanes.length > 0) wake();
  }

  function settle(queue: EndpointQueue, record: AttemptRecord): void {
    attempts += 1;
    queue.recorded(record.id);
    onAttempt?.(record);
    askForMore(queue);
    if (queue.size > 0) return;
    emptied += 1;
    if (queue.stopped) releaseStopped();
    if (queue.stopped || (emptied >= ENOUGH_EMPTIED && queues.isCrowded())) wake();
  }

  /** Who asks does not wait for a round, which takes long where much is sent. */
  async function yieldAsked(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await monotonic.sleep(ASKED_LOOK_MS, signal);
      await queues.stopAsked().catch((err) => log.error({ err }, 'not known who asks for webhook leases'));
      releaseStopped();
    }
  }

  /** At once, whatever a round waits for; what empties meanwhile goes together. */
  function releaseStopped(): void {
    if (releasing) return;
    const done = queues.all().filter(({ size, stopped }) => stopped && size === 0);
    if (done.length === 0) return;
    releasing = queues
      .release(done)
      .catch((err) => log.error({ err }, 'webhook leases not released yet'))
      .finally(() => {
        releasing = null;
        releaseStopped();
      });
  }

  async function rest(): Promise<void> {
    if (again) return;
    nap = new AbortController();
    await clock.sleep(untilNextLookMs(), nap.signal);
    nap = null;
  }

  function untilNextLookMs(): number {
    if (queues.expectsLeases()) return Math.min(pollMs, HANDOVER_POLL_MS);
    const slowness = 1 + queues.pausedCount() / PAUSED_AT_ONCE;
    return Math.max(pollMs, Math.min(LONGEST_POLL_MS, pollMs * slowness));
  }

  /** Waits up to `graceMs` for what is in flight: what is not recorded by then is sent again, as after a crash. */
  async function finish(): Promise<void> {
    stopping = true;
    const enough = new AbortController();
    const ended = Promise.all(sending).then(() => recorder.settled());
    await Promise.race([ended, monotonic.sleep(graceMs, enough.signal)]);
    enough.abort();
    recorder.abandon();
    await queues.release(queues.all().filter((queue) => queue.inFlight === 0));
    while (releasing) await releasing;
  }

  const isIdle = () => sending.size === 0 && queues.all().every((queue) => queue.size === 0);

  return {
    wake,
    attempts: () => attempts,
    async until(signal: AbortSignal, enough?: AbortSignal): Promise<void> {
      const keeping = new AbortController();
      const kept = Promise.all([queues.keep(keeping.signal, fill), yieldAsked(keeping.signal)]);
      while (!signal.aborted && !(enough?.aborted && isIdle())) {
        again = false;
        try {
          await round();
          if (!signal.aborted) await rest();
        } catch (err) {
          log.error({ err }, 'webhook dispatch failed; it goes on');
          isAway = true;
          await clock.sleep(WAIT_AFTER_FAULT_MS, signal);
        }
      }
      await finish().catch((err) => log.error({ err }, 'webhook leases not released'));
      keeping.abort();
      await kept;
    },
  };
}

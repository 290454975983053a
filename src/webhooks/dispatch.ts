/** The way of a delivery: due → endpoint queue → signed post → record → next. Several dispatchers
 *  may run at once; a webhook's lease keeps two of them from sending the same delivery. Each
 *  endpoint has its own queue and its own limit of requests in flight, so that a slow endpoint
 *  delays no other. Behind it: the test event, which makes no delivery. */

import type { KeyObject } from 'node:crypto';
import type { Logger } from 'pino';
import type { RetrySettings } from '../domain/retry.js';
import type { EventStore, SentEvent } from '../events/index.js';
import { type Clock, type MonotonicClock, monotonicClock, within } from '../kit/clock.js';
import { createLoop, every } from '../kit/loop.js';
import type { SecretBox } from '../kit/secrets.js';
import { type AttemptDeps, AttemptRecorder, attempt, type Signers, signAndPost } from './attempt.js';
import type { DeliveryStore } from './delivery-store.js';
import type { AttemptRecord } from './due-deliveries.js';
import type { EndpointQueue, LoadedDelivery } from './endpoint-queue.js';
import { EndpointQueues } from './endpoint-queues.js';
import type { Pause } from './health.js';
import { createThrottles, lackingMore, loadInto, type Throttles } from './load.js';
import { type Poster, toBody } from './poster.js';
import type { WebhookDoc, WebhookStore } from './webhook-store.js';

// Sends a test event to a webhook at once, without a delivery. Works while the webhook is PAUSED.

/** @returns a function that resolves to the outcome. It rejects only when the service's keys cannot
 *  be read */
export function createSend(deps: { poster: Poster; secrets: SecretBox; signers?: Signers; clock: Clock; log: Logger }) {
  return async (webhook: WebhookDoc, event: SentEvent) => {
    const at = deps.clock.now();
    const keys = (await deps.signers?.(at)) ?? [];
    const request = { eventId: event._id, sequence: null, body: toBody(event), at, keys };
    const { responseStatus, durationMs, error } = await signAndPost(webhook, request, deps);
    return { responseStatus, durationMs, error };
  };
}

// Sends from the endpoint queues: read → sign → post → record, with as many concurrent requests to
// an endpoint as it has slots.

/** This many drained queues justify a query at once, for webhooks that wait for a lease. */
const ENOUGH_EMPTIED = 256;

interface Read {
  keys: readonly KeyObject[];
  body: Buffer;
}

interface SenderDeps extends AttemptDeps {
  queues: EndpointQueues;
  recorder: AttemptRecorder;
  throttles: Throttles;
  events: Pick<EventStore, 'byId'>;
  signers?: Signers;
  onAttempt?: (record: AttemptRecord) => void;
  /** Called when there is room for due deliveries or queues. */
  onRoom: () => void;
}

class Sender {
  readonly #deps: SenderDeps;
  readonly #sending = new Set<Promise<void>>();
  #stopping = false;
  #attempts = 0;
  #emptied = 0;

  constructor(deps: SenderDeps) {
    this.#deps = deps;
  }

  /** Number of recorded attempts. */
  get attempts(): number {
    return this.#attempts;
  }

  get isIdle(): boolean {
    return this.#sending.size === 0;
  }

  /** Starts the ready deliveries of this queue. */
  fill(queue: EndpointQueue): void {
    const { queues, throttles } = this.#deps;
    const slots = throttles.slots(queue.webhook._id, queues.slots);
    while (queue.inFlight < slots && this.#mayStart(queue)) {
      const loaded = queue.take(slots);
      if (!loaded) return;
      this.#loadMore(queue);
      const sent = this.#readAndSend(queue, loaded).then(() => {
        this.#sending.delete(sent);
        this.fill(queue);
      });
      this.#sending.add(sent);
    }
  }

  /** Starts no more deliveries. Resolves when everything in flight is recorded. */
  async finish(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#sending);
    await this.#deps.recorder.settled();
  }

  #mayStart(queue: EndpointQueue): boolean {
    return !this.#stopping && !queue.stopped && this.#deps.queues.mayStart(queue);
  }

  /** Reading the body may fail or take too long: then no attempt was made, and the endpoint is
   *  not blamed. */
  async #readAndSend(queue: EndpointQueue, loaded: LoadedDelivery): Promise<void> {
    const read = await this.#readFor(loaded).catch((err) => {
      this.#deps.log.error({ err, deliveryId: loaded.delivery._id }, 'what a webhook delivery needs not read yet');
      return null;
    });
    if (read && this.#mayStart(queue)) await this.#send(queue, loaded, read);
    else queue.putBack(loaded);
  }

  /** Null when the event is gone. */
  async #readFor({ delivery, body }: LoadedDelivery): Promise<Read | null> {
    const { signers, events, clock } = this.#deps;
    const keys = (await signers?.(clock.now())) ?? [];
    if (body) return { keys, body };
    const event = await events.byId(delivery.accountId, delivery.eventId);
    return event && { keys, body: toBody(event) };
  }

  async #send(queue: EndpointQueue, loaded: LoadedDelivery, { keys, body }: Read): Promise<void> {
    const { throttles, queues, recorder } = this.#deps;
    const { record, health } = await attempt(queue, { delivery: loaded.delivery, body, keys }, this.#deps);
    queue.ended(loaded);
    const { _id: webhookId } = queue.webhook;
    throttles.answered(webhookId, record.attempt, queues.slots);
    recorder.add({ webhookId, record, onRecorded: () => this.#recorded(queue, record) }, health);
  }

  #recorded(queue: EndpointQueue, record: AttemptRecord): void {
    const { onAttempt, onRoom } = this.#deps;
    this.#attempts += 1;
    queue.recorded(record.id);
    onAttempt?.(record);
    this.#loadMore(queue);
    if (queue.size > 0) return;
    this.#emptied += 1;
    if (!queue.stopped && this.#emptied < ENOUGH_EMPTIED) return;
    this.#emptied = 0;
    onRoom();
  }

  #loadMore(queue: EndpointQueue): void {
    const lanes = lackingMore(queue, this.#deps.queues);
    for (const lane of lanes) lane.hasMore = false;
    if (lanes.length > 0) this.#deps.onRoom();
  }
}

export interface DispatchSettings extends RetrySettings {
  /** The longest that one attempt takes. */
  timeoutMs: number;
  /** Interval of the queries for due deliveries, unless a wake-up comes first. Default 250. */
  pollMs?: number;
  /** Lease time beyond one attempt. After a crash, other dispatchers wait for the lease to end.
   *  Default 3000. */
  leaseMarginMs?: number;
  /** How long an ending dispatcher waits for requests in flight. Default 7000. */
  graceMs?: number;
  /** Webhooks that one dispatcher sends to at once. Default 1024. */
  maxQueues?: number | undefined;
  /** Bodies up to this size are kept in memory; larger ones are read when their attempt begins.
   *  Default 8192. */
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
  /** Measures leases, and the wait at the end; simulations pass their own. */
  monotonic?: MonotonicClock;
  onAttempt?: (record: AttemptRecord) => void;
}

const WAIT_AFTER_FAULT_MS = 1000;
const POLL_MS = 250;
/** A query passes every webhook with due deliveries. The interval grows with their number: this
 *  many double it. */
const DUE_AT_ONCE = 1000;
const LONGEST_POLL_MS = 2000;
/** Thousands of deliveries may wait in memory. */
const MAX_BODY_BYTES = 8192;

export type Dispatcher = ReturnType<typeof createDispatcher>;

export function createDispatcher(deps: DispatcherDeps) {
  const running = new Set<() => void>();
  const throttles = createThrottles();
  return {
    /** Sends due deliveries until the signal aborts, then waits for requests in flight and releases
     *  its leases.
     *  @param enough when aborted, ends the run as soon as nothing is queued or in flight
     *  @returns how many attempts it recorded */
    async drain(signal: AbortSignal, enough?: AbortSignal): Promise<{ attempts: number }> {
      const run = createRun(deps, throttles, enough);
      running.add(run.wake);
      await run.until(signal);
      running.delete(run.wake);
      return { attempts: run.sender.attempts };
    },
    /** Looks for due deliveries now instead of at the next poll. */
    wake(): void {
      for (const wake of running) wake();
    },
  };
}

/** One run of a dispatcher: its queues, sender and recorder. */
function createRun(deps: DispatcherDeps, throttles: Throttles, enough?: AbortSignal) {
  const { clock, log, settings, monotonic = monotonicClock } = deps;
  const { timeoutMs, leaseMarginMs: marginMs = 3000, graceMs = 7000, maxQueues } = settings;
  const holder = clock.randomBytes(12).toString('hex');
  const queues = new EndpointQueues({ ...deps, monotonic, holder, timeoutMs, marginMs, maxQueues });
  const recorder = new AttemptRecorder({ ...deps, holder });
  const sender = new Sender({ ...deps, queues, recorder, throttles, onRoom: () => loop.wake() });
  const look = createLook({ ...deps, monotonic }, marginMs);
  const over = new AbortController();

  const loop = createLoop({
    async step() {
      if (enough?.aborted && isIdle()) over.abort();
      if (over.signal.aborted) return 0;
      const { due, mayClaim } = await look.forDue();
      if (await round({ ...deps, queues, sender }, due, mayClaim)) loop.wake();
      return untilNextLookMs(due.length);
    },
    onError(err) {
      log.error({ err }, 'webhook dispatch failed; it continues');
      look.failed();
      return WAIT_AFTER_FAULT_MS;
    },
    clock,
  });

  const isIdle = () => sender.isIdle && queues.all().every(({ size }) => size === 0);

  function untilNextLookMs(dueCount: number): number {
    const { pollMs = POLL_MS } = settings;
    const slowedMs = Math.min(LONGEST_POLL_MS, pollMs * (1 + dueCount / DUE_AT_ONCE));
    return Math.min(Math.max(pollMs, slowedMs), queues.untilClaimableMs());
  }

  /** Renews the leases until the signal aborts. */
  function keep(signal: AbortSignal): Promise<void> {
    const renew = async () => {
      await queues.renew();
      for (const queue of queues.all()) sender.fill(queue);
    };
    const onError = (err: unknown) => log.error({ err, queues: queues.count }, 'webhook leases not renewed');
    return every(marginMs / 3, renew, { clock: monotonic, signal, onError });
  }

  /** Waits up to `graceMs` for requests in flight. Deliveries not recorded by then are sent again,
   *  as after a crash. */
  async function finish(): Promise<void> {
    await within(monotonic, graceMs, sender.finish(), () => undefined);
    recorder.abandon();
    await queues.release(queues.all().filter((queue) => queue.inFlight === 0));
  }

  return {
    wake: loop.wake,
    sender,
    async until(signal: AbortSignal): Promise<void> {
      const keeping = new AbortController();
      const kept = keep(keeping.signal);
      await loop.run(AbortSignal.any([signal, over.signal]));
      over.abort();
      await finish().catch((err) => log.error({ err }, 'webhook leases not released'));
      keeping.abort();
      await kept;
    },
  };
}

/** Finds the webhooks with due deliveries, and whether their leases may be claimed: when the
 *  database returns after an outage, the holders first get time to renew ended leases and to record
 *  what they sent. */
function createLook(
  { deliveries, clock, monotonic }: DispatcherDeps & { monotonic: MonotonicClock },
  marginMs: number,
) {
  let isAway = false;
  let backMs = Number.NEGATIVE_INFINITY;
  return {
    async forDue(): Promise<{ due: string[]; mayClaim: boolean }> {
      const askedMs = monotonic.nowMs();
      const due = await deliveries.dueWebhooks(clock.now());
      const nowMs = monotonic.nowMs();
      if (isAway || nowMs - askedMs >= marginMs) backMs = nowMs;
      isAway = false;
      return { due, mayClaim: nowMs - backMs >= marginMs };
    },
    /** Called when the database did not answer. */
    failed(): void {
      isAway = true;
    },
  };
}

/** Releases drained queues, claims webhooks, loads their due deliveries and sends them. @returns
 *  whether there may be more to claim */
async function round(
  { queues, sender, ...deps }: DispatcherDeps & { queues: EndpointQueues; sender: Sender },
  due: readonly string[],
  mayClaim: boolean,
): Promise<boolean> {
  const { maxBodyBytes = MAX_BODY_BYTES } = deps.settings;
  const isDue = new Set(due);
  queues.endTurns();
  await queues.release(
    queues.all().filter((queue) => queue.size === 0 && (queue.stopped || !isDue.has(queue.webhook._id))),
  );
  const hasMore = mayClaim && (await queues.claim(due));
  await loadInto(
    queues.all().filter((queue) => isDue.has(queue.webhook._id)),
    queues,
    { ...deps, maxBodyBytes },
  );
  for (const queue of queues.all()) sender.fill(queue);
  return hasMore;
}

/** The way of a delivery: due → endpoint queue → signed post → record → next. Several dispatchers may run at once; a webhook's lease keeps two of them from
 *  sending the same delivery. Each endpoint has its own queue and its own limit of requests in flight, so that a slow endpoint delays no other. */

import type { Logger } from 'pino';
import type { RetrySettings } from '../domain/retry.js';
import type { EventStore } from '../events/index.js';
import { type Clock, type MonotonicClock, monotonicClock, within } from '../kit/clock.js';
import { every } from '../kit/every.js';
import { createLoop } from '../kit/loop.js';
import type { SecretBox } from '../kit/secrets.js';
import type { Signers } from './attempt.js';
import { AttemptRecorder } from './attempt-recorder.js';
import type { DeliveryStore } from './delivery-store.js';
import type { AttemptRecord } from './due-deliveries.js';
import { EndpointQueues } from './endpoint-queues.js';
import { loadInto } from './load.js';
import type { Pause } from './pause.js';
import type { Poster } from './poster.js';
import { Sender } from './sender.js';
import { createThrottles, type Throttles } from './throttles.js';
import type { WebhookStore } from './webhook-store.js';

export interface DispatchSettings extends RetrySettings {
  /** The longest that one attempt takes. */
  timeoutMs: number;
  /** Interval of the queries for due deliveries, unless a wake-up comes first. Default 250. */
  pollMs?: number;
  /** Lease time beyond one attempt. After a crash, other dispatchers wait for the lease to end. Default 3000. */
  leaseMarginMs?: number;
  /** How long an ending dispatcher waits for requests in flight. Default 7000. */
  graceMs?: number;
  /** Webhooks that one dispatcher sends to at once. Default 1024. */
  maxQueues?: number | undefined;
  /** Bodies up to this size are kept in memory; larger ones are read when their attempt begins. Default 8192. */
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
/** A query passes every webhook with due deliveries. The interval grows with their number: this many double it. */
const DUE_AT_ONCE = 1000;
const LONGEST_POLL_MS = 2000;
/** Thousands of deliveries may wait in memory. */
const MAX_BODY_BYTES = 8192;

export type Dispatcher = ReturnType<typeof createDispatcher>;

export function createDispatcher(deps: DispatcherDeps) {
  const running = new Set<() => void>();
  const throttles = createThrottles();
  return {
    /** Sends due deliveries until the signal aborts, then waits for requests in flight and releases its leases.
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
      const { due, mayClaim } = await look.now();
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

  /** Waits up to `graceMs` for requests in flight. Deliveries not recorded by then are sent again, as after a crash. */
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

/** Finds the webhooks with due deliveries, and whether their leases may be claimed: when the database returns after an outage, the holders first get time to
 *  renew ended leases and to record what they sent. */
function createLook(
  { deliveries, clock, monotonic }: DispatcherDeps & { monotonic: MonotonicClock },
  marginMs: number,
) {
  let isAway = false;
  let backMs = Number.NEGATIVE_INFINITY;
  return {
    async now(): Promise<{ due: string[]; mayClaim: boolean }> {
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

/** Releases drained queues, claims webhooks, loads their due deliveries and sends them. @returns whether there may be more to claim */
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

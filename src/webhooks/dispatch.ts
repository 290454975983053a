/** The way of a delivery: due → lane → signed post → record → next. Several dispatchers may run at once: no two of them send the same
 *  delivery while both live, and each endpoint has slots of its own, so that none waits for another. */
import type { Logger } from 'pino';
import { type Clock, type MonotonicClock, monotonicClock } from '../clock.js';
import type { RetrySettings } from '../domain/retry.js';
import type { SecretBox } from '../domain/secrets.js';
import type { AttemptRecord, DeliveryStore } from '../stores/deliveries.js';
import type { EventStore } from '../stores/events.js';
import type { WebhookStore } from '../stores/webhooks.js';
import { attempt } from './attempt.js';
import type { Lane } from './lane.js';
import { createLanes } from './lanes.js';
import { loadInto, wantsMore } from './load.js';
import type { Poster } from './poster.js';
import { createRecorder } from './recorder.js';

export interface DispatchSettings extends RetrySettings {
  /** Of one attempt. */
  timeoutMs: number;
  /** Between two looks for due deliveries while nobody wakes the dispatcher. Default 250. */
  pollMs?: number;
  /** How much longer than one attempt a lease lasts. After a crash it is waited for. Default 3000. */
  leaseMarginMs?: number;
  /** How long an ending dispatcher waits for what is in flight. Default 7000. */
  graceMs?: number;
}

export interface DispatcherDeps {
  webhooks: WebhookStore;
  deliveries: DeliveryStore;
  events: EventStore;
  poster: Poster;
  secrets: SecretBox;
  clock: Clock;
  log: Logger;
  settings: DispatchSettings;
  /** Time that passed, which leases and the end of the process go by; another one in simulations. */
  monotonic?: MonotonicClock;
  /** For metrics. */
  onAttempt?: (record: AttemptRecord) => void;
}

const WAIT_AFTER_FAULT_MS = 1000;

export type Dispatcher = ReturnType<typeof createDispatcher>;

export function createDispatcher(deps: DispatcherDeps) {
  const running = new Set<() => void>();
  return {
    /** Runs until the signal aborts, then waits for what is in flight and gives its lanes back. */
    async drain(signal: AbortSignal): Promise<void> {
      const run = createRun(deps);
      running.add(run.wake);
      signal.addEventListener('abort', run.wake, { once: true });
      await run.until(signal);
      signal.removeEventListener('abort', run.wake);
      running.delete(run.wake);
    },
    /** Deliveries were opened by this process: they start now instead of at the next look. */
    wake(): void {
      for (const wake of running) wake();
    },
  };
}

function createRun(deps: DispatcherDeps) {
  const { deliveries, clock, log, settings, onAttempt, monotonic = monotonicClock } = deps;
  const { timeoutMs, pollMs = 250, leaseMarginMs: marginMs = 3000, graceMs = 7000 } = settings;
  const by = clock.randomBytes(12).toString('hex');
  const lanes = createLanes({ ...deps, by, timeoutMs, marginMs });
  const recorder = createRecorder({ ...deps, by });
  const sending = new Set<Promise<void>>();
  let stopping = false;
  let again = false;
  let nap: AbortController | null = null;

  const wake = () => {
    again = true;
    nap?.abort();
  };

  async function round(): Promise<void> {
    const due = await deliveries.dueWebhooks(clock.now());
    const isDue = new Set(due);
    await lanes.release(
      lanes.all().filter((lane) => lane.size === 0 && (lane.stopped || !isDue.has(lane.webhook._id))),
    );
    await lanes.claim(due);
    await loadInto(
      lanes.all().filter((lane) => isDue.has(lane.webhook._id)),
      lanes,
      deps,
    );
    for (const lane of lanes.all()) fill(lane);
  }

  function fill(lane: Lane): void {
    const slots = lanes.slots();
    while (!stopping && !lane.stopped && lane.inFlight < slots && lanes.mayStart(lane)) {
      const job = lane.take();
      if (!job) return;
      const sent = attempt(lane, job, deps).then(({ record, health }) => {
        sending.delete(sent);
        lane.ended(job);
        recorder.add({ record, onRecorded: () => settle(lane, record) }, health);
        fill(lane);
      });
      sending.add(sent);
    }
  }

  function settle(lane: Lane, record: AttemptRecord): void {
    lane.recorded(record.id);
    onAttempt?.(record);
    if (!wantsMore(lane, lanes)) return;
    lane.hasMore = false;
    wake();
  }

  async function rest(): Promise<void> {
    if (again) return;
    nap = new AbortController();
    await clock.sleep(pollMs, nap.signal);
    nap = null;
  }

  /** Waits for what is in flight, but not for ever: what is not recorded by then is sent again, as after a crash. */
  async function finish(): Promise<void> {
    stopping = true;
    const enough = new AbortController();
    const ended = Promise.all(sending).then(() => recorder.settled());
    await Promise.race([ended, monotonic.sleep(graceMs, enough.signal)]);
    enough.abort();
    recorder.abandon();
    await lanes.release(lanes.all().filter((lane) => lane.inFlight === 0));
  }

  return {
    wake,
    async until(signal: AbortSignal): Promise<void> {
      const keeping = new AbortController();
      const kept = lanes.keep(keeping.signal, fill);
      while (!signal.aborted) {
        again = false;
        try {
          await round();
          if (!signal.aborted) await rest();
        } catch (err) {
          log.error({ err }, 'webhook dispatch failed; it goes on');
          await clock.sleep(WAIT_AFTER_FAULT_MS, signal);
        }
      }
      await finish().catch((err) => log.error({ err }, 'webhook lanes not given back'));
      keeping.abort();
      await kept;
    },
  };
}

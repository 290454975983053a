/** Keeps watching a network: round after round while this process holds the lease. The lease saves requests; what is stored once is held by the data. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../clock.js';
import type { Horizon } from '../ledger/horizon/source.js';
import { HorizonUnavailable, WrongNetwork } from '../ledger/horizon/unavailable.js';
import type { LeaseStore } from '../stores/leases.js';
import type { NetworkStateStore } from '../stores/network-states.js';
import { createPollScheduler } from './poll-scheduler.js';
import { CursorConflict } from './recorder.js';
import type { Watcher } from './watcher.js';

const LEASE_MS = 5000;
const MAX_WAIT_MS = 10_000;
const IDLE_ROUND_MS = 1000;

export interface WatchDeps {
  network: Network;
  watcher: Watcher;
  horizon: Horizon;
  leases: LeaseStore;
  networkStates: NetworkStateStore;
  /** Of this process. */
  holder: string;
  /** Between two readings of what came. */
  pollIntervalMs: number;
  /** The budget; null without one. */
  requestsPerHour: number | null;
  clock: Clock;
  /** Time that passed, which the pace goes by: a clock that is set back an hour must not stop the watching for that hour. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
}

/** Until the signal aborts. Never rejects. */
export async function watch(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const { network, leases, holder, clock } = deps;
  const lease = `watch:${network}`;
  while (!signal.aborted) {
    try {
      if (await leases.hold(lease, holder, LEASE_MS)) await holdAndWatch(deps, lease, signal);
    } catch (error) {
      deps.log.error({ network, err: error }, 'watching stopped; it is taken up again');
    }
    await clock.sleep(1000, signal);
  }
  await leases.release(lease, holder).catch(() => undefined);
}

/** Until the signal aborts or the lease is lost. */
async function holdAndWatch(deps: WatchDeps, lease: string, signal: AbortSignal): Promise<void> {
  const lost = new AbortController();
  const ended = AbortSignal.any([signal, lost.signal]);
  const renewing = renew(deps, lease, lost, ended);
  try {
    await watchRounds(deps, ended);
  } finally {
    lost.abort();
    await renewing;
  }
}

async function renew(
  { leases, holder, clock }: WatchDeps,
  lease: string,
  lost: AbortController,
  ended: AbortSignal,
): Promise<void> {
  while (!ended.aborted) {
    await clock.sleep(LEASE_MS / 3, ended);
    if (ended.aborted) return;
    if (!(await leases.hold(lease, holder, LEASE_MS).catch(() => false))) lost.abort();
  }
}

async function watchRounds(deps: WatchDeps, signal: AbortSignal): Promise<void> {
  const {
    network,
    watcher,
    horizon,
    networkStates,
    pollIntervalMs,
    requestsPerHour,
    clock,
    monotonic = clock,
    log,
  } = deps;
  const pace = createPollScheduler({ pollIntervalMs, requestsPerHour });
  let failures = 0;
  let read = { ledger: 0, atMs: Number.NEGATIVE_INFINITY };
  let roundMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    let waitMs = 0;
    try {
      const session = horizon.session();
      const root = await session.root();
      const nowMs = monotonic.nowMs();
      pace.saw(root.latestLedger, nowMs);
      const isNew = root.latestLedger !== read.ledger;
      if (isNew && nowMs - read.atMs < pollIntervalMs) {
        waitMs = read.atMs + pollIntervalMs - nowMs;
      } else {
        // Without a new ledger there may be new wallets.
        if (isNew || nowMs - roundMs >= IDLE_ROUND_MS) {
          roundMs = nowMs;
          if (isNew) read = { ledger: root.latestLedger, atMs: nowMs };
          const pages = await watcher.round(session, root, signal);
          // A round that read nothing must not hold up the next ledger.
          if (pages > 0) read.atMs = nowMs;
          pace.read(pages);
        }
        waitMs = pace.waitMs(monotonic.nowMs());
      }
      if (failures > 0) log.info({ network }, 'Horizon answers again');
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      read.ledger = 0;
      failures += 1;
      waitMs = Math.min(MAX_WAIT_MS, pollIntervalMs * 2 ** Math.min(failures - 1, 6));
      if (error instanceof HorizonUnavailable || error instanceof WrongNetwork) {
        if (error instanceof HorizonUnavailable) waitMs = Math.max(waitMs, error.retryAfterMs);
        if (failures === 1) log.warn({ network, reason: error.message }, 'Horizon does not answer');
        await networkStates.noteTrouble(network, error.message, clock.now()).catch(() => undefined);
      } else if (!(error instanceof CursorConflict)) {
        log.error({ network, err: error }, 'a round of watching failed');
      }
    }
    await clock.sleep(waitMs, signal);
  }
}

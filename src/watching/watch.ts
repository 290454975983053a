/** Keeps watching a network, round after round, while this process holds the lease. The lease only
 *  saves requests; unique keys and cursors ensure that everything is stored once. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { type LeaseStore, whileHeld } from '../kit/leases.js';
import { createLoop } from '../kit/loop.js';
import { LedgerUnavailable, type NetworkLedger, UnfitServer } from '../ledger/index.js';
import { CursorConflict } from '../payments/index.js';
import type { NetworkStateStore } from './network-states.js';
import type { ParkedRetries } from './parked.js';
import { createPollScheduler, type PollScheduler } from './poll-scheduler.js';
import type { RoundLimits, Watcher } from './watcher.js';

const LEASE_MS = 5000;
const RETRY_MS = 1000;
const MAX_WAIT_MS = 10_000;
const IDLE_ROUND_MS = 1000;

export interface WatchDeps {
  network: Network;
  watcher: Watcher;
  /** Retries parked records while streams are read. */
  retries: Pick<ParkedRetries, 'run'>;
  ledger: NetworkLedger;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  networkStates: NetworkStateStore;
  /** Id of this process. */
  holder: string;
  /** Shortest time between two rounds that read pages. */
  pollIntervalMs: number;
  /** Null without a budget. */
  requestsPerHour: number | null;
  clock: Clock;
  /** Times the polling: setting the clock back an hour must not stop the watching for an hour.
   *  Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Kept between runs with what it has learned and its tokens. Default a new one. */
  scheduler?: PollScheduler;
  /** Called after each poll with its error, or null. */
  onPoll?: (error: Error | null) => void;
}

/** Until `enough` aborts; a poll that has begun then goes on until `ended` does: with a small
 *  budget it takes longer than a run, and would begin again and again. Never rejects. */
export function watch(deps: WatchDeps, enough: AbortSignal, ended = enough): Promise<void> {
  const { network, leases, holder, clock, log } = deps;
  const lease = { leases, name: `watch:${network}`, holder, ms: LEASE_MS, clock, log };
  const step = async () => {
    await whileHeld(lease, ended, (held) => watchAndRetry(deps, AbortSignal.any([enough, held]), held));
    return RETRY_MS;
  };
  const onError = (err: unknown) => {
    log.error({ network, err }, 'watching stopped and will start again');
    return RETRY_MS;
  };
  return createLoop({ step, onError, clock }).run(enough);
}

async function watchAndRetry(deps: WatchDeps, enough: AbortSignal, held: AbortSignal): Promise<void> {
  const retrying = deps.retries.run(enough);
  try {
    await watchRounds(deps, enough, held);
  } finally {
    await retrying;
  }
}

/** State of the rounds while the lease is held. */
interface WatchState {
  scheduler: PollScheduler;
  failures: number;
  /** When pages were last read, and the newest ledger then. */
  read: { ledger: number; atMs: number };
  roundMs: number;
}

function watchRounds(deps: WatchDeps, enough: AbortSignal, held: AbortSignal): Promise<void> {
  const { network, clock, log, onPoll = () => undefined } = deps;
  const state: WatchState = {
    scheduler: deps.scheduler ?? createPollScheduler(deps),
    failures: 0,
    read: { ledger: 0, atMs: Number.NEGATIVE_INFINITY },
    roundMs: Number.NEGATIVE_INFINITY,
  };
  const step = async () => {
    const waitMs = await poll(deps, state, { enough, held });
    if (state.failures > 0) log.info({ network }, 'the ledger can be read again');
    state.failures = 0;
    onPoll(null);
    return waitMs;
  };
  const noted = (error: unknown) => {
    if (held.aborted) throw error;
    onPoll(error as Error);
    return noteFailure(deps, state, error);
  };
  // The loop does not report what fails once it is to end.
  return createLoop({ step: () => step().catch(noted), onError: () => RETRY_MS, clock }).run(enough);
}

/** Polls for the newest ledger and reads what is new. @returns milliseconds until the next poll */
async function poll(deps: WatchDeps, state: WatchState, limits: RoundLimits): Promise<number> {
  const { watcher, ledger, pollIntervalMs, clock, monotonic = clock } = deps;
  const { scheduler, read } = state;
  // Pages wait for the budget without a limit: giving up would spend the next request on the
  // tip again.
  const session = ledger.session({ purpose: 'watching' }, limits.held);
  try {
    const tip = await session.tip();
    const nowMs = monotonic.nowMs();
    scheduler.saw(tip.latestLedger, nowMs);
    const isNew = tip.latestLedger !== read.ledger;
    if (isNew && nowMs - read.atMs < pollIntervalMs) return read.atMs + pollIntervalMs - nowMs;
    // Even without a new ledger there may be new wallets.
    if (isNew || nowMs - state.roundMs >= IDLE_ROUND_MS) {
      state.roundMs = nowMs;
      if (isNew) state.read = { ledger: tip.latestLedger, atMs: nowMs };
      const pages = await watcher.round(session, tip, limits);
      // A round that read nothing must not delay the next ledger.
      if (pages > 0) state.read.atMs = nowMs;
    }
  } finally {
    scheduler.spent(session.requests);
    scheduler.othersSpent(ledger.othersSpent(), monotonic.nowMs());
  }
  return scheduler.waitMs(monotonic.nowMs());
}

/** @returns milliseconds until the next poll: no sooner than the budget allows, so that failures do
 *  not use up the requests for pages */
async function noteFailure(deps: WatchDeps, state: WatchState, error: unknown): Promise<number> {
  const { network, networkStates, pollIntervalMs, clock, monotonic = clock, log } = deps;
  state.read.ledger = 0;
  state.failures += 1;
  const backOffMs = Math.min(MAX_WAIT_MS, pollIntervalMs * 2 ** Math.min(state.failures - 1, 6));
  const waitMs = Math.max(backOffMs, state.scheduler.waitMs(monotonic.nowMs()));
  if (error instanceof LedgerUnavailable || error instanceof UnfitServer) {
    if (state.failures === 1) log.warn({ network, reason: error.message }, 'the ledger cannot be read');
    await networkStates.noteTrouble(network, error.message, clock.now()).catch(() => undefined);
    return error instanceof LedgerUnavailable ? Math.max(waitMs, error.retryAfterMs) : waitMs;
  }
  if (!(error instanceof CursorConflict)) log.error({ network, err: error }, 'a round of watching failed');
  return waitMs;
}

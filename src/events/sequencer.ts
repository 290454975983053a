/** The sequencer numbers events and opens their deliveries, after the transactions that
 *  recorded them.
 *
 *  Each account's events get the numbers 1, 2, 3 … without holes, in an order that never changes: a
 *  client that has read up to n has everything up to n. One process does it at a time, under a
 *  lease, which only avoids conflicts: the transaction that gives numbers fails if another process
 *  has given them. Every transaction is bounded, whatever the number of events and webhooks, and
 *  accounts take turns. */

import type { Logger } from 'pino';
import { predecessorOf } from '../../contracts/event-kinds.js';
import { type Clock, type MonotonicClock, monotonicClock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import { type LeaseStore, whileHeld } from '../kit/leases.js';
import { createLoop } from '../kit/loop.js';
import type { DeliveryStore, ReplayRound, WebhookStore } from '../webhooks/index.js';
import type { EventCounterStore } from './event-counters.js';
import { CounterConflict, numberEvents, planOpening } from './event-numbers.js';
import type { EventStore } from './event-store.js';

export interface SequencerDeps {
  events: Pick<EventStore, 'accountsToNumber' | 'toNumber' | 'unnumbered' | 'number' | 'numbered'>;
  eventCounters: EventCounterStore;
  webhooks: Pick<WebhookStore, 'subscribed' | 'advance'>;
  deliveries: Pick<DeliveryStore, 'open'>;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  transaction: Database['transaction'];
  /** Unique per process. */
  holder: string;
  clock: Clock;
  log: Logger;
  /** Called when deliveries were opened. */
  deliveriesDue: () => void;
  /** Makes some deliveries of replays due. */
  replay?: () => Promise<ReplayRound>;
  /** Simulations pass their own. */
  monotonic?: MonotonicClock;
  /** Between two polls while nothing wakes the sequencer. Default 250. */
  pollMs?: number;
}

const LEASE_MS = 5000;
const RETRY_MS = 500;
/** Interval of checks for other work: leftovers of a dead process, and replays begun by
 *  another one. */
const LOOK_AT_ALL_MS = 1000;
/** Bounds of one transaction: accounts, events of each account, deliveries of each account and
 *  in all. */
const ACCOUNTS = 40;
const EVENTS_PER_ACCOUNT = 100;
const OPENING_LIMITS = { perAccount: 500, inAll: 1000 };
/** Attempts at a transaction whose documents another one holds: about half a second. */
const BOUNDED = { attempts: 10 };

export type Sequencer = ReturnType<typeof createSequencer>;

export function createSequencer(deps: SequencerDeps) {
  const { leases, holder, clock, log, monotonic = monotonicClock, pollMs = 250 } = deps;
  let lastOpened = '';
  let lookAtAllMs = 0;
  const numbering = createBatches(log);
  const opening = createBatches(log);

  /** Numbers one batch of each account's events. @returns whether some have their numbers now */
  const number = async (): Promise<boolean> =>
    (await numbering(await deps.events.accountsToNumber(), (accountIds) => numberBatch(deps, accountIds))).length > 0;

  /** Opens one batch of deliveries, then one of replays. */
  async function open(): Promise<ReplayRound> {
    const behind = await nextBehind();
    const batches = await opening(behind, (accountIds) => openBatch(deps, accountIds));
    for (const { opened, cutAt } of batches) {
      // Later accounts have had no turn yet.
      if (cutAt !== null) lastOpened = cutAt;
      if (opened > 0) deps.deliveriesDue();
    }
    const replayed = (await deps.replay?.()) ?? { isOpen: false, isBusy: false };
    return { isOpen: replayed.isOpen || behind.length > 0, isBusy: replayed.isBusy || batches.length > 0 };
  }

  /** @param all checks for other work than new events, too. @returns whether there may be more
   *  to do */
  async function round(all = true): Promise<boolean> {
    const hasNumbered = await number();
    if (!hasNumbered && !all) return false;
    // Set before: failed work is repeated at the next check.
    lookAtAllMs = 0;
    const { isOpen, isBusy } = await open();
    if (!isOpen && !hasNumbered) lookAtAllMs = monotonic.nowMs() + LOOK_AT_ALL_MS;
    return hasNumbered || isBusy;
  }

  /** Beginning after the accounts of the last batch, so that each has its turn. */
  async function nextBehind(): Promise<string[]> {
    const { behind } = deps.eventCounters;
    let batch = await behind(lastOpened, ACCOUNTS);
    if (batch.length === 0 && lastOpened !== '') batch = await behind('', ACCOUNTS);
    lastOpened = batch.at(-1)?._id ?? '';
    return batch.map(({ _id }) => _id);
  }

  const onError = (err: unknown) => retryAfter(err, log);
  const rounds = createLoop({
    step: async (_signal, wasWoken) => ((await round(wasWoken || monotonic.nowMs() >= lookAtAllMs)) ? 0 : pollMs),
    onError,
    clock,
  });
  const lease = { leases, name: 'sequencer', holder, ms: LEASE_MS, clock, log };

  return {
    /** Looks for events now instead of at the next poll. */
    wake: rounds.wake,
    round: () => round(),
    /** Runs until the signal aborts, then releases the lease. */
    run: (signal: AbortSignal): Promise<void> => {
      const step = async () => {
        await whileHeld(lease, signal, rounds.run);
        return pollMs;
      };
      return createLoop({ step, onError, clock }).run(signal);
    },
  };
}

/** Works on accounts in batches, one transaction each. Where that fails, each account has a
 *  transaction of its own, from then on until it succeeds: what one account suffers from holds up
 *  no other.
 *  @returns a function that returns the results of the transactions that succeeded. It throws where
 *  none did */
function createBatches(log: Logger) {
  const troubled = new Set<string>();
  return async <T>(accountIds: readonly string[], act: (accountIds: readonly string[]) => Promise<T>): Promise<T[]> => {
    const results: T[] = [];
    const errors: unknown[] = [];
    const actAlone = async (accountId: string) => {
      try {
        results.push(await act([accountId]));
        troubled.delete(accountId);
      } catch (error) {
        errors.push(error);
        troubled.add(accountId);
      }
    };
    const alone = accountIds.filter((accountId) => troubled.has(accountId)).map(actAlone);
    const others = accountIds.filter((accountId) => !troubled.has(accountId));
    for (let from = 0; from < others.length; from += ACCOUNTS) {
      const batch = others.slice(from, from + ACCOUNTS);
      try {
        results.push(await act(batch));
      } catch {
        alone.push(...batch.map(actAlone));
      }
    }
    await Promise.all(alone);
    if (results.length === 0 && errors.length > 0) throw errors[0];
    for (const err of errors) retryAfter(err, log);
    return results;
  };
}

/** @returns milliseconds */
function retryAfter(err: unknown, log: Logger): number {
  if (!(err instanceof CounterConflict)) log.error({ err }, 'events not numbered yet; trying again');
  return RETRY_MS;
}

async function numberBatch(deps: SequencerDeps, accountIds: readonly string[]): Promise<void> {
  const { events, eventCounters, transaction } = deps;
  const read = await events.toNumber(accountIds, EVENTS_PER_ACCOUNT);
  const ids = new Set(read.map(({ _id }) => _id));
  // A predecessor may have a later id, when the clocks of two processes differ.
  const predecessors = read.flatMap(({ accountId, type, subjectId }) => {
    const before = predecessorOf(type);
    return before ? [{ accountId, type: before, subjectId }] : [];
  });
  const others = (await events.unnumbered(predecessors)).filter(({ _id }) => !ids.has(_id));
  const batch = [...read, ...others];
  if (batch.length === 0) return;
  await transaction(async (session) => {
    const counters = await eventCounters.byAccounts(accountIds, session);
    const last = new Map(counters.map((counter) => [counter._id, counter.last]));
    const numbered = numberEvents(batch, last);
    const to = new Map(numbered.map(({ accountId, sequence }) => [accountId, sequence]));
    // The count is too small if another process numbered some of them since they were read.
    if ((await events.number(numbered, session)) !== numbered.length) throw new CounterConflict();
    await eventCounters.advance(
      [...to].map(([accountId, sequence]) => ({ accountId, from: last.get(accountId) ?? 0, to: sequence })),
      session,
    );
  }, BOUNDED);
}

/** @returns how many deliveries were opened, and the account at which there were too many for
 *  one batch */
async function openBatch(
  deps: SequencerDeps,
  accountIds: readonly string[],
): Promise<{ opened: number; cutAt: string | null }> {
  const { events, eventCounters, webhooks, deliveries, transaction } = deps;
  return transaction(async (session) => {
    const counters = await eventCounters.byAccounts(accountIds, session);
    const lastOf = new Map(counters.map(({ _id, last }) => [_id, last]));
    const subscribers = (await webhooks.subscribed(accountIds, session)).filter(
      ({ accountId, openedTo }) => openedTo < lastOf.get(accountId)!,
    );
    const lowest = new Map<string, number>();
    for (const { accountId, openedTo } of subscribers)
      lowest.set(accountId, Math.min(openedTo, lowest.get(accountId) ?? openedTo));
    const ranges = [...lowest].map(([accountId, after]) => ({ accountId, after, upTo: after + EVENTS_PER_ACCOUNT }));
    const plan = planOpening(subscribers, await events.numbered(ranges, session), OPENING_LIMITS);
    await deliveries.open(plan.deliveries, session);
    if (!(await webhooks.advance(plan.moves, session))) throw new CounterConflict();
    const openedTo = new Map(plan.moves.map((move) => [move.webhookId, move.openedTo]));
    const waiting = new Set(
      subscribers
        .filter(({ _id, accountId, ...own }) => (openedTo.get(_id) ?? own.openedTo) < lastOf.get(accountId)!)
        .map(({ accountId }) => accountId),
    );
    await eventCounters.markOpened(
      counters.filter(({ _id }) => !waiting.has(_id)),
      session,
    );
    const opened = plan.deliveries.length;
    return { opened, cutAt: opened < OPENING_LIMITS.inAll ? null : plan.deliveries.at(-1)!.event.accountId };
  }, BOUNDED);
}

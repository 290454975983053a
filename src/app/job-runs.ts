/** The runs of the jobs in the table. */

import type mongoose from 'mongoose';
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Auditor } from '../audit/index.js';
import { type Clock, monotonicClock } from '../kit/clock.js';
import type { CountSegments } from '../kit/count-segments.js';
import type { MailStore, SentMailStore } from '../mail/index.js';
import type { Prover } from '../proving/index.js';
import type { Sampler } from '../rates/index.js';
import { createPollScheduler, type WatchDeps, watch } from '../watching/index.js';
import type { DeliveryStore } from '../webhooks/index.js';
import type { Config } from './config.js';
import type { Core } from './core.js';
import { type Jobs, startJobs } from './jobs/agenda.js';
import type { Job, Run } from './jobs/run.js';
import type { JobStore } from './jobs/store.js';
import { type JobName, jobsOf, RETRIES_LOOK_MS } from './jobs/table.js';
import { type RetentionDeps, removeExpired } from './retention.js';
import type { Worker } from './worker.js';

const SECOND_MS = 1000;
const DAY_MS = 24 * 3_600_000;
/** Counting of due retries stops here. */
const RETRIES_COUNTED = 1000;

/** Starts a worker's jobs, as the table says. */
export async function startWorkerJobs(
  core: Core,
  { sequencer, dispatcher, finisher, expiry, leftovers, mailer, watchDeps }: Worker,
  {
    db,
    config,
    auditor,
    prover,
    sampler,
  }: {
    db: mongoose.mongo.Db;
    config: Config;
    auditor: Auditor;
    prover: Prover;
    sampler: Pick<Sampler, 'run'>;
  },
): Promise<Jobs> {
  const { stores, signals, transaction, processId, clock, log } = core;
  const { jobs, countSegments, deliveries, mails, mailsSent } = stores.system;
  const poll = (network: Network) => () => pollLedger(watchDeps(network));
  const bound = bindJobs(config.networks, {
    'poll ledger PUBLIC': poll('PUBLIC'),
    'poll ledger TESTNET': poll('TESTNET'),
    'poll ledger LOCAL': poll('LOCAL'),
    'number events': () => async (limits) => {
      await sequencer.run(limits.enough);
      return { result: {} };
    },
    'deliver webhooks': () => async (limits) => ({ result: await dispatcher.drain(limits.ended, limits.enough) }),
    'send e-mails': () => (mailer ? async (limits) => ({ result: await mailer.run(limits) }) : untilEnough),
    'expire checkouts': () =>
      everySecond(async (ended) => {
        // Expiry first: a flood of dust payments must not delay it.
        const result = { looked: await expiry.run(ended), completed: await finisher.run(ended) };
        await leftovers.run(ended);
        return result;
      }),
    'retry webhooks': () => retryWebhooks({ deliveries, deliveriesDue: signals.deliveriesDue.raise, clock }),
    'audit wallets':
      () =>
      async ({ enough, ended }) => ({ result: { turns: await auditor.run(config.networks, enough, ended) } }),
    'make proofs':
      () =>
      async ({ enough }) => ({ result: { tried: await prover.run(enough) } }),
    'sample rates': () => everySecond(sampler.run),
    housekeeping: () =>
      housekeeping({ ...stores.system, db, transaction, jobs, mails, mailsSent, countSegments, clock, log }, config),
  });
  return startJobs({ db, store: jobs, jobs: bound, processId, clock, log });
}

/** Pairs each job of the table with its run. @param runs makes the run of a job; called for the
 *  jobs of these networks only */
const bindJobs = (networks: readonly Network[], runs: Readonly<Record<JobName, () => Run>>): Job[] =>
  jobsOf(networks).map((info) => ({ ...info, run: runs[info.name]() }));

const untilEnough: Run = async ({ enough }) => {
  await monotonicClock.sleep(DAY_MS, enough);
  return null;
};

/** A run of steps, a second apart. Their counts are added up. */
function everySecond(step: (ended: AbortSignal) => Promise<Readonly<Record<string, number>>>): Run {
  return async ({ enough, ended }) => {
    const result: Record<string, number> = {};
    while (!enough.aborted) {
      for (const [name, count] of Object.entries(await step(ended))) result[name] = (result[name] ?? 0) + count;
      await monotonicClock.sleep(SECOND_MS, enough);
    }
    return { result };
  };
}

/** Polls a network, keeping the scheduler's rhythm and tokens from run to run. Fails when every
 *  poll of the run failed. Without the network's lease, the run waits for it and
 *  records nothing. */
function pollLedger(deps: Omit<WatchDeps, 'scheduler' | 'onPoll'>): Run {
  const scheduler = createPollScheduler(deps);
  return async ({ enough, ended }) => {
    const seen = { polls: 0, failed: 0 };
    let last: Error | null = null;
    const onPoll = (error: Error | null) => {
      seen.polls += 1;
      if (error) seen.failed += 1;
      last = error ?? last;
    };
    await watch({ ...deps, scheduler, onPoll }, enough, ended);
    if (last && seen.failed === seen.polls) throw last;
    return seen.polls > 0 ? { result: seen } : null;
  };
}

/** Raises the signal when retries are due; the next run is when the next retry is due.
 *  Dispatchers of other processes find the retries by their own polls. */
export function retryWebhooks(deps: {
  deliveries: Pick<DeliveryStore, 'retries'>;
  deliveriesDue: () => void;
  clock: Clock;
}): Run {
  const { deliveries, deliveriesDue, clock } = deps;
  return async () => {
    const { due, nextAt } = await deliveries.retries(clock.now(), RETRIES_COUNTED);
    if (due > 0) deliveriesDue();
    const untilMs = nextAt ? nextAt.getTime() - clock.nowMs() : RETRIES_LOOK_MS;
    return { result: { due }, nextInMs: Math.min(RETRIES_LOOK_MS, Math.max(SECOND_MS, untilMs)) };
  };
}

/** Removes jobs of dead processes, and data older than `retentionDays`; 0 keeps it. */
function housekeeping(
  deps: Omit<RetentionDeps, 'countSegments'> & {
    db: mongoose.mongo.Db;
    countSegments: CountSegments;
    jobs: Pick<JobStore, 'removeOrphans'>;
    mails: Pick<MailStore, 'removeEnded'>;
    mailsSent: Pick<SentMailStore, 'removeIdle'>;
    clock: Clock;
    log: Logger;
  },
  { retentionDays, dustStroops }: { retentionDays: number; dustStroops: bigint },
): Run {
  const { clock, log, jobs, mails, mailsSent } = deps;
  return async ({ ended }) => {
    const orphans = await jobs.removeOrphans(clock.now());
    if (retentionDays === 0) return { result: { orphans } };
    const before = new Date(clock.nowMs() - retentionDays * DAY_MS);
    const removed = {
      ...(await removeExpired(deps, { before, dustStroops }, ended)),
      mails: await removeAll(() => mails.removeEnded(before), ended),
      mailsSent: await removeAll(() => mailsSent.removeIdle(before), ended),
    };
    log.info({ ...removed, before }, 'removed data older than RETENTION_DAYS');
    return { result: { orphans, ...removed } };
  };
}

async function removeAll(
  removeBatch: () => Promise<{ removed: number; isLast: boolean }>,
  ended: AbortSignal,
): Promise<number> {
  let count = 0;
  while (!ended.aborted) {
    const { removed, isLast } = await removeBatch();
    count += removed;
    if (isLast) break;
  }
  return count;
}

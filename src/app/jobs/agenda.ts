/** Agenda runs the jobs of a worker by their table and records each run.
 *
 *  Agenda's locks expire, go by the clocks of the processes, and say nothing about what a handler
 *  that lost its lock still does. So a handler may be called while the job runs already: within a
 *  process there is one run at a time all the same, and between processes the data decides (leases,
 *  claims, unique keys). */
import { setMaxListeners } from 'node:events';
import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda, InMemoryNotificationChannel } from 'agenda';
import type mongoose from 'mongoose';
import type { Logger } from 'pino';
import { type Clock, monotonicClock, systemClock } from '../../kit/clock.js';
import { every } from '../../kit/loop.js';
import type { Job } from './run.js';
import { AGENDA_COLLECTION, type JobStore } from './store.js';

/** Agenda's polling interval for due jobs: a question for each of them. */
const PROCESS_EVERY_MS = 2000;
/** Agenda looks after a job's lock at half of its life, also once more after its end: a longer one
 *  would delay the end of the process. It reports a run that ends at that moment as failed, so
 *  half of this must not divide a minute, which many runs last. */
const LOCK_LIFETIME_MS = 4100;
const NO_LIMIT = 1_000_000;
const TOUCH_EVERY_MS = 2500;
/** How often a process puts right what clocks and other processes did to its documents. */
const RESCHEDULE_EVERY_MS = 5000;
/** A job assigned to a process after its end is due again then. */
const LEFT_FOR_MS = 1000;

export interface Jobs {
  /** Tells every run to end and waits for it. */
  close(): Promise<void>;
}

/** A run's outcome for Agenda. `atOnce`: the run ended because its time was up. */
interface Next {
  nextInMs: number | undefined;
  atOnce: boolean;
}

interface JobsDeps {
  db: mongoose.mongo.Db;
  store: JobStore;
  jobs: readonly Job[];
  /** Unique per process. */
  processId: string;
  clock: Clock;
  log: Logger;
}

export async function startJobs(deps: JobsDeps): Promise<Jobs> {
  const { store, jobs, processId, log } = deps;
  const ended = new AbortController();
  // Every job listens for it.
  setMaxListeners(0, ended.signal);
  const running = new Map<string, Promise<Next>>();
  const agenda = openAgenda(deps, ended.signal);

  const nameOf = (job: Job) => (job.processes === 'each' ? `${job.name} @${processId}` : job.name);
  const schedule = () =>
    store.schedule(
      jobs.map((job) => {
        const dueNow = job.processes === 'each' && !running.has(job.name);
        return { name: nameOf(job), everyMs: job.everyMs, dueNow };
      }),
    );

  /** Agenda may call a handler whose run still goes on, because its lock expired or was cleared:
   *  then it waits for that run. Until it has stopped itself it may also call one after the end,
   *  when no run is waited for any more: that is left to another process. */
  async function runOnce(job: Job): Promise<Next> {
    if (ended.signal.aborted) return { nextInMs: LEFT_FOR_MS, atOnce: false };
    const started =
      running.get(job.name) ?? runAndRecord(job, ended.signal, deps).finally(() => running.delete(job.name));
    running.set(job.name, started);
    return started;
  }

  for (const job of jobs) {
    define(agenda, nameOf(job), () => runOnce(job));
  }

  await schedule();
  await agenda.start();
  const rescheduling = every(RESCHEDULE_EVERY_MS, schedule, {
    clock: monotonicClock,
    signal: ended.signal,
    onError: (err) => log.warn({ err }, 'jobs not rescheduled'),
  });

  async function end(): Promise<void> {
    ended.abort();
    await Promise.allSettled([rescheduling, ...running.values()]);
    await store.unschedule(jobs.filter(({ processes }) => processes === 'each').map(nameOf)).catch(() => undefined);
    await agenda.stop().catch((error: unknown) => log.warn({ err: error }, 'Agenda did not stop cleanly'));
  }

  let closing: Promise<void> | null = null;
  return {
    close() {
      closing ??= end();
      return closing;
    },
  };
}

function openAgenda({ db, processId, log }: JobsDeps, ended: AbortSignal): Agenda {
  const agenda = new Agenda({
    backend: new MongoBackend({ mongo: db as never, collection: AGENDA_COLLECTION }),
    notificationChannel: new InMemoryNotificationChannel(),
    name: processId,
    processEvery: PROCESS_EVERY_MS,
    defaultLockLifetime: LOCK_LIFETIME_MS,
    defaultConcurrency: NO_LIMIT,
    maxConcurrency: NO_LIMIT,
  });
  agenda.on('error', (error: unknown) => {
    // At the end its jobs' documents are removed, which Agenda may still look for.
    if (!ended.aborted) report(error, log);
  });
  return agenda;
}

/** Has Agenda call this for the job's document, and touches the document's lock while it runs. */
function define(agenda: Agenda, name: string, run: () => Promise<Next>): void {
  agenda.define(
    name,
    async (document) => {
      const done = new AbortController();
      const touching = every(TOUCH_EVERY_MS, () => document.touch(), {
        clock: monotonicClock,
        signal: done.signal,
        onError: () => undefined,
      });
      try {
        const { nextInMs, atOnce } = await run();
        const inMs = atOnce ? 0 : nextInMs;
        if (inMs !== undefined) document.attrs.nextRunAt = new Date(systemClock.nowMs() + inMs);
        // Agenda would find the job at its next poll, within two seconds.
        if (atOnce) agenda.once(`complete:${name}`, () => setImmediate(() => agenda.publishJobNotification(document)));
      } finally {
        done.abort();
        await touching;
      }
    },
    // No limits of Agenda: where MongoDB is away at a run's end, Agenda counts the run as going on
    // for ever. `runOnce` allows one at a time.
    { concurrency: NO_LIMIT, lockLimit: 0 },
  );
}

/** Agenda holds a lock for lost that it could not touch in time, or whose run has just ended, where
 *  MongoDB is slow: a run goes on all the same, and its end is recorded. So that is no error. */
const ABOUT_LOCKS = /^execution of '.*' canceled, /;

function report(err: unknown, log: Logger): void {
  const { name, message } = err instanceof Error ? err : { name: '', message: String(err) };
  if (ABOUT_LOCKS.test(message)) log.debug({ err }, 'Agenda gave up the lock of a job');
  else if (name.startsWith('Mongo')) log.error({ err }, 'Agenda failed; it continues when MongoDB answers');
  else log.error({ err }, 'Agenda failed; it continues');
}

/** One run, within its time, and its record. @throws what the run threw, which Agenda notes too */
async function runAndRecord(job: Job, ended: AbortSignal, { store, processId, clock, log }: JobsDeps): Promise<Next> {
  const enough = new AbortController();
  const over = new AbortController();
  const end = () => enough.abort();
  ended.addEventListener('abort', end, { once: true });
  if (ended.aborted) end();
  if (job.lastsMs !== null) {
    void monotonicClock.sleep(job.lastsMs, over.signal).then(() => {
      if (!over.signal.aborted) end();
    });
  }
  const startedAt = clock.now();
  const startedMs = monotonicClock.nowMs();
  const note = (result: Readonly<Record<string, number>>, error: string | null) =>
    store
      .noteRun(job.name, {
        startedAt,
        durationMs: Math.round(monotonicClock.nowMs() - startedMs),
        result,
        error,
        process: processId,
      })
      .catch((err: unknown) => log.warn({ err, job: job.name }, 'run not recorded'));
  try {
    const outcome = await job.run({ enough: enough.signal, ended });
    if (outcome) await note(outcome.result, null);
    return { nextInMs: outcome?.nextInMs, atOnce: enough.signal.aborted && !ended.aborted };
  } catch (error) {
    log.error({ err: error, job: job.name }, 'job failed');
    await note({}, error instanceof Error ? error.message : String(error));
    throw error;
  } finally {
    over.abort();
    ended.removeEventListener('abort', end);
  }
}

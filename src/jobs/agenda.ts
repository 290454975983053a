/** Agenda runs the works of a worker: one watch per network, the drain of deliveries, the housekeeping.
 *
 *  Watching and draining go on as long as the process lives, so each process has jobs of its own name; that several processes may run the same
 *  work at once is settled where the work is done (leases, claims, unique keys), never by Agenda's locks, which expire, are cleared by `every`
 *  and say nothing about what a handler that lost its lock still does. */
import { MongoBackend } from '@agendajs/mongo-backend';
import { Agenda } from 'agenda';
import type mongoose from 'mongoose';
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';

export interface Work {
  name: string;
  /** Runs until the signal aborts when `everyMs` is null; else once in that time, in one process. */
  run: (signal: AbortSignal) => Promise<void>;
  everyMs: number | null;
}

const PROCESS_EVERY_MS = 1000;
/** Agenda looks after a job's lock at half of its life, also once more after its end: a longer one would delay the end of the process. */
const LOCK_LIFETIME_MS = 4000;
const TOUCH_EVERY_MS = 1500;
const COLLECTION = 'agendaJobs';

export interface Jobs {
  /** Lets what runs come to its end. */
  close(): Promise<void>;
}

export async function startJobs(deps: {
  db: mongoose.mongo.Db;
  works: readonly Work[];
  /** Unique per process. */
  processId: string;
  clock: Clock;
  log: Logger;
}): Promise<Jobs> {
  const { db, works, processId, clock, log } = deps;
  const ended = new AbortController();
  const running = new Map<string, Promise<void>>();
  const agenda = new Agenda({
    backend: new MongoBackend({ mongo: db as never, collection: COLLECTION }),
    name: processId,
    processEvery: PROCESS_EVERY_MS,
    defaultLockLifetime: LOCK_LIFETIME_MS,
    defaultConcurrency: 1,
  });
  agenda.on('error', (error: unknown) => log.error({ err: error }, 'Agenda failed; it goes on when MongoDB answers'));

  const nameOf = (work: Work) => (work.everyMs === null ? `${work.name} ${processId}` : work.name);
  for (const work of works) {
    agenda.define(
      nameOf(work),
      async (job) => {
        const done = new AbortController();
        const touching = keepTouching(job, AbortSignal.any([ended.signal, done.signal]));
        await runOnce(work);
        done.abort();
        await touching;
      },
      { concurrency: 1, lockLimit: 1 },
    );
  }

  /** Agenda may call a handler again that still runs, because its lock expired or was cleared: then there is one run all the same. */
  function runOnce(work: Work): Promise<void> {
    const started =
      running.get(work.name) ??
      work
        .run(ended.signal)
        .catch((error: unknown) => log.error({ err: error, work: work.name }, 'work failed'))
        .finally(() => running.delete(work.name));
    running.set(work.name, started);
    return started;
  }

  async function keepTouching(job: { touch(): Promise<unknown> }, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(TOUCH_EVERY_MS, signal);
      if (!signal.aborted) await job.touch().catch(() => undefined);
    }
  }

  await agenda.start();
  for (const work of works) {
    if (work.everyMs === null) await agenda.every(PROCESS_EVERY_MS, nameOf(work));
    else await agenda.every(work.everyMs, work.name, undefined, { skipImmediate: false });
  }

  return {
    async close() {
      ended.abort();
      await Promise.all(running.values());
      await agenda.cancel({ names: works.filter((work) => work.everyMs === null).map(nameOf) }).catch(() => undefined);
      await agenda.stop().catch((error: unknown) => log.warn({ err: error }, 'Agenda did not stop cleanly'));
    },
  };
}

/** Jobs of processes that died: nobody runs them any more. */
export async function removeOrphans(db: mongoose.mongo.Db, before: Date): Promise<void> {
  await db
    .collection(COLLECTION)
    .deleteMany({ name: / /, $and: [{ lockedAt: { $lt: before } }, { lastRunAt: { $lt: before } }] });
}

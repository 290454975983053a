/** Jobs: Agenda's documents, which carry the schedule, and one record of each job's runs, which
 *  outlives the process that ran it.
 *
 *  A job that one process runs at a time has one Agenda document; a job that each worker runs has
 *  one for each process, `name @process`. */
import { createHash } from 'node:crypto';
import mongoose from 'mongoose';
import { isDuplicateKey } from '../../kit/database.js';

/** Agenda keeps its documents here. */
export const AGENDA_COLLECTION = 'agendaJobs';
/** No job waits this long: a lock further ahead was set before the clock was set back. */
const FAR_AHEAD_MS = 60_000;
/** Every job runs at least hourly. */
const ORPHAN_AFTER_MS = 2 * 3_600_000;
/** Agenda renews the lock of a running job several times in this time. */
const RUNNING_WITHIN_MS = 10_000;
const ALWAYS_DUE = new Date(0);

interface AgendaDoc {
  _id: mongoose.mongo.ObjectId;
  name: string;
  nextRunAt: Date | null;
  lockedAt: Date | null;
  lastRunAt?: Date | null;
}

/** An ended run. */
interface JobRun {
  startedAt: Date;
  durationMs: number;
  result: Readonly<Record<string, number>>;
  /** Null for a run that succeeded. */
  error: string | null;
  /** The process that ran it. */
  process: string;
}

interface JobRecordDoc {
  /** The job's name. */
  _id: string;
  lastRun: JobRun;
  runs: number;
  failures: number;
  /** Error of the last run that failed. */
  lastError: { at: Date; message: string } | null;
}

/** The state of a job. */
export interface JobState {
  /** Start of the longest current run in any process; null for none. */
  runningSince: Date | null;
  /** Processes running it. */
  running: number;
  /** Null while no worker holds the job. */
  nextRunAt: Date | null;
  record: JobRecordDoc | null;
}

/** A document of Agenda's collection. */
interface ScheduledJob {
  /** With ` @process` for a job of one process. */
  name: string;
  everyMs: number;
  /** Releases its lock and makes it due now; only for the calling process's document. */
  dueNow: boolean;
}

export type JobStore = ReturnType<typeof createJobStore>;

export function createJobStore(connection: mongoose.Connection) {
  const agenda = () => connection.db!.collection<AgendaDoc>(AGENDA_COLLECTION);
  const records = () => connection.db!.collection<JobRecordDoc>('jobs');

  return {
    /** Makes the missing documents. Unlike Agenda's `every()`, keeps the locks of running jobs;
     *  corrects a lock or a next run far in the future, as left by a clock that was set back. */
    async schedule(jobs: readonly ScheduledJob[]): Promise<void> {
      const write = async () => {
        if (jobs.length > 0) await agenda().bulkWrite(jobs.map(toUpsert), { ordered: false });
      };
      await write().catch((error) => {
        // Another process made it at the same time.
        if (!isDuplicateKey(error)) throw error;
        return write();
      });
    },

    /** Removes a process's own documents when it ends. */
    async unschedule(names: readonly string[]): Promise<void> {
      await agenda().deleteMany({ name: { $in: [...names] } });
    },

    /** Removes jobs that have not run for two hours: their process died. @returns how many */
    async removeOrphans(now: Date): Promise<number> {
      const before = new Date(now.getTime() - ORPHAN_AFTER_MS);
      const { deletedCount } = await agenda().deleteMany({
        $nor: [{ lockedAt: { $gte: before } }, { lastRunAt: { $gte: before } }],
      });
      return deletedCount;
    },

    async noteRun(name: string, run: JobRun): Promise<void> {
      const failed = run.error !== null;
      await records().updateOne(
        { _id: name },
        {
          $set: { lastRun: run, ...(failed ? { lastError: { at: run.startedAt, message: run.error! } } : {}) },
          ...(failed ? {} : { $setOnInsert: { lastError: null } }),
          $inc: { runs: 1, failures: failed ? 1 : 0 },
        },
        { upsert: true },
      );
    },

    /** @returns the state of each of these jobs, in the same order */
    async states(names: readonly string[], now: Date): Promise<JobState[]> {
      const [found, documents] = await Promise.all([
        records()
          .find({ _id: { $in: [...names] } })
          .toArray(),
        agenda()
          .find({}, { projection: { name: 1, nextRunAt: 1, lockedAt: 1, lastRunAt: 1 } })
          .limit(10_000)
          .toArray(),
      ]);
      const byName = new Map(found.map((record) => [record._id, record]));
      return names.map((name) => ({
        ...stateOf(
          documents.filter((each) => each.name === name || each.name.startsWith(`${name} @`)),
          now,
        ),
        record: byName.get(name) ?? null,
      }));
    },
  };
}

/** Derived from the name, so that two processes cannot make the document twice. */
const idOf = (name: string) =>
  new mongoose.mongo.ObjectId(createHash('sha256').update(name).digest('hex').slice(0, 24));

function toUpsert({ name, everyMs, dueNow }: ScheduledJob) {
  const ahead = (ms: number) => ({ $add: ['$$NOW', ms] });
  const nextRunAt = dueNow
    ? ALWAYS_DUE
    : { $min: [{ $ifNull: ['$nextRunAt', ALWAYS_DUE] }, ahead(everyMs + FAR_AHEAD_MS)] };
  const lockedAt = dueNow
    ? null
    : { $cond: [{ $gt: ['$lockedAt', ahead(FAR_AHEAD_MS)] }, null, { $ifNull: ['$lockedAt', null] }] };
  return {
    updateOne: {
      filter: { _id: idOf(name) },
      update: [{ $set: { name, type: 'single', priority: 0, repeatInterval: everyMs, nextRunAt, lockedAt } }],
      upsert: true,
    },
  };
}

function stateOf(documents: readonly AgendaDoc[], now: Date): Omit<JobState, 'record'> {
  const recent = now.getTime() - RUNNING_WITHIN_MS;
  const running = documents.filter(({ lockedAt }) => lockedAt !== null && lockedAt.getTime() >= recent);
  // Leftovers of a dead process no longer run.
  const waiting = documents.filter(
    (each) => each.nextRunAt !== null && !(each.name.includes(' @') && isOld(each, recent)),
  );
  const earliest = (dates: readonly (Date | null | undefined)[]) =>
    dates.reduce<Date | null>((first, date) => (date && (!first || date < first) ? date : first), null);
  return {
    running: running.length,
    runningSince: earliest(running.map(({ lastRunAt }) => lastRunAt)),
    nextRunAt: running.length > 0 ? null : earliest(waiting.map(({ nextRunAt }) => nextRunAt)),
  };
}

const isOld = ({ lockedAt, lastRunAt }: AgendaDoc, thanMs: number) =>
  Math.max(lockedAt?.getTime() ?? 0, lastRunAt?.getTime() ?? 0) < thanMs;

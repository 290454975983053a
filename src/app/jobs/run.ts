/** A job's definition. */
import type { JobInfo } from './table.js';

interface RunLimits {
  /** Aborts when the run has lasted its time, and when the process ends: end at the next
   *  good moment. */
  enough: AbortSignal;
  /** Aborts when the process ends: end within seconds. */
  ended: AbortSignal;
}

interface RunOutcome {
  /** The run's result for people and programs, mostly counts. */
  result: Readonly<Record<string, number>>;
  /** Milliseconds from the end of this run to the next; without it, the job's schedule decides. */
  nextInMs?: number;
}

/** May run twice at once and be killed at any moment: what it does is made once by the data, never
 *  by the job's lock.
 *  @returns null when there was nothing that is worth a record, as when another process holds
 *  the lease
 *  @throws what is to be recorded as the failure of the run */
export type Run = (limits: RunLimits) => Promise<RunOutcome | null>;

export type Job = JobInfo & { run: Run };

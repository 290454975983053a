/** `jobs list`: the jobs of the service, how their last runs went and when they run next. */
import type { Command } from 'commander';
import type { JobState } from '../app/jobs/store.js';
import type { JobInfo } from '../app/jobs/table.js';
import { type Connect, connected, print, printTable } from './program.js';

/** A job of the table together with how it stands. */
export interface JobReport {
  job: JobInfo;
  state: JobState;
}

export function registerJobCommands(program: Command, connect: Connect<'jobReports'>): void {
  program
    .command('jobs')
    .description('what the workers do, and when')
    .command('list')
    .description('list all jobs: last run, next run, duration, failures')
    .option('--json', 'print one line of JSON, with schedules and results')
    .action((options: { json?: true }) =>
      connected(connect, async ({ jobReports }) => {
        const reports = await jobReports();
        if (options.json) return print(JSON.stringify({ jobs: reports.map(toJson) }));
        printTable([
          ['job', 'last run', 'took', 'result', 'next run', 'runs', 'failures', 'last error'],
          ...reports.map(toRow),
        ]);
      }),
    );
}

function toJson({ job, state: { running, runningSince, nextRunAt, record } }: JobReport) {
  const { name, schedule, does, processes } = job;
  return {
    name,
    schedule,
    does,
    processes,
    running,
    runningSince,
    nextRunAt,
    lastRun: record?.lastRun ?? null,
    runs: record?.runs ?? 0,
    failures: record?.failures ?? 0,
    lastError: record?.lastError ?? null,
  };
}

function toRow({ job, state: { runningSince, nextRunAt, record } }: JobReport): string[] {
  const run = record?.lastRun;
  const result = Object.entries(run?.result ?? {}).map(([what, count]) => `${count} ${what}`);
  const error = record?.lastError;
  return [
    job.name,
    run?.startedAt.toISOString() ?? '-',
    run ? `${run.durationMs} ms` : '-',
    run?.error ? 'failed' : result.join(', ') || '-',
    runningSince ? `runs since ${runningSince.toISOString()}` : (nextRunAt?.toISOString() ?? 'no worker'),
    String(record?.runs ?? 0),
    String(record?.failures ?? 0),
    error ? `${error.at.toISOString()} ${error.message}` : '-',
  ];
}

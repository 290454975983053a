/** `jobs` and `gap`: commands that ask the running service, over HTTP or through its database. */

import { TRPCClientError } from '@trpc/client';
import { type Command, InvalidArgumentError } from 'commander';
import type { ErrorBody } from '../../contracts/errors.js';
import type { JobState } from '../app/jobs/store.js';
import type { JobInfo } from '../app/jobs/table.js';
import type { MendOutcome } from '../watching/index.js';
import { type Connect, connected, print, printTable } from './program.js';

// `jobs list`: the jobs of the service, how their last runs went and when they run next.

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
        if (options.json) return print(JSON.stringify({ jobs: reports.map(jobJson) }));
        printTable([
          ['job', 'last run', 'took', 'result', 'next run', 'runs', 'failures', 'last error'],
          ...reports.map(toRow),
        ]);
      }),
    );
}

function jobJson({ job, state: { running, runningSince, nextRunAt, record } }: JobReport) {
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

// `gap mend`: reads ledgers that wallets missed from a Horizon that still has them.

/** The result for a wallet's gaps. */
export interface MendReport {
  walletId: string;
  outcome: MendOutcome;
}

const REASONS = {
  no_source: 'it does not have these ledgers',
  away: 'it does not answer, or its answer cannot be understood',
  busy: 'they are being mended already',
};

export function registerGapCommands(program: Command, connect: Connect<'mendGaps'>): void {
  program
    .command('gap')
    .description('ledgers that wallets missed')
    .command('mend')
    .description('read missed ledgers from a Horizon that still has them, and record their payments')
    .requiredOption('--horizon <url>', 'base URL of the Horizon, which says what network it serves')
    .option('--wallet <id>', 'only this wallet; else every wallet of that network with a gap')
    .option('--json', 'print one line of JSON and nothing else')
    .action((options: { horizon: string; wallet?: string; json?: true }) => {
      const url = URL.canParse(options.horizon) ? new URL(options.horizon) : null;
      if (!url || !/^https?:$/.test(url.protocol)) throw new Error('--horizon: Must be an http or https URL.');
      return connected(connect, async ({ mendGaps }) => {
        const reports = await mendGaps(url.href, options.wallet ?? null);
        if (options.json) return print(JSON.stringify({ wallets: reports.map(gapJson) }));
        printTable(reports.map((report) => [report.walletId, sayOf(report.outcome)]));
      });
    });
}

const gapJson = ({ walletId, outcome }: MendReport) =>
  typeof outcome === 'string'
    ? { walletId, error: REASONS[outcome] }
    : { walletId, mended: outcome.mended, open: outcome.open };
const sayOf = (outcome: MendOutcome): string =>
  typeof outcome === 'string' ? REASONS[outcome] : `${outcome.mended} mended, ${outcome.open} left`;

/** The service's answer; null when it did not answer. */
export const answeredError = (error: unknown): ErrorBody | null =>
  error instanceof TRPCClientError ? ((error.data?.error as ErrorBody | undefined) ?? null) : null;

/** One line with what to do. @param what that the service did not take */
export function refusal(error: unknown, service: string, what: string): Error {
  if (!(error instanceof TRPCClientError) || !error.data) {
    return new Error(`No service answers at ${service}: start it (npm start), or give its address with --url.`);
  }
  const detail = answeredError(error)?.details?.[0];
  const reason = detail ? `${detail.path}: ${detail.message}` : error.message;
  return new Error(`${service} did not accept ${what}: ${reason}`);
}

export function toHttpUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError('It begins with http:// or https://.');
}

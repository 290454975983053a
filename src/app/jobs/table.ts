/** Every job of the service: when it runs, what a run does, and how many processes may run it at
 *  once. Agenda carries this schedule.
 *
 *  A run has a beginning, an end and a result, which `npm run cli -- jobs list` shows. What has to
 *  happen faster than Agenda starts jobs (hundreds of deliveries a second, several polls a second)
 *  happens inside a run: such a run lasts for a minute and the next one follows at once. */
import { NETWORKS, type Network } from '../../../contracts/networks.js';

export interface JobInfo {
  name: string;
  /** When it runs, for people. */
  schedule: string;
  does: string;
  /** From the beginning of a run to the next scheduled one. */
  everyMs: number;
  /** How long a run lasts before it ends at the next opportunity; null if it ends with its work. */
  lastsMs: number | null;
  /** `one`: a run holds Agenda's lock, so that one process runs it at a time. `each`: every worker
   *  has its own run, and leases in the data say who works on what; such a job never waits for a
   *  lock of a process that died, nor for a clock that was set. */
  processes: 'one' | 'each';
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

/** Longest interval of checks for retries: one that has just failed may be due before the
 *  known ones. */
export const RETRIES_LOOK_MS = 10 * SECOND_MS;

const drains = { everyMs: SECOND_MS, lastsMs: MINUTE_MS, processes: 'each' } as const;

/** One for each network that is watched. */
const pollLedger = (network: Network) =>
  ({
    name: `poll ledger ${network}`,
    schedule: 'always; a run lasts a minute and polls when the next ledger is expected',
    does: 'holds the lease of the network and reads its new payments: match, judge, settle, move the cursor',
    ...drains,
  }) as const satisfies JobInfo;

const OTHERS = [
  {
    name: 'number events',
    schedule: 'always; a run lasts a minute, looks 4 times a second and when it is told of new events',
    does: 'holds the lease of the sequencer, numbers new events, opens their deliveries, and those of replays',
    ...drains,
  },
  {
    name: 'deliver webhooks',
    schedule: 'always; a run lasts a minute, looks 4 times a second and when it is told of new deliveries',
    does: 'sends what is due, each endpoint under a lease and with its own bound of requests; fresh deliveries come due at once',
    ...drains,
  },
  {
    name: 'retry webhooks',
    schedule: `when the next retry is due (base·4^(n-1) after failure n, at most 24 h), no later than after ${RETRIES_LOOK_MS / SECOND_MS} s`,
    does: 'counts the retries that have become due and wakes the dispatcher, which sends them in the order of their endpoint',
    everyMs: SECOND_MS,
    lastsMs: null,
    processes: 'one',
  },
  {
    name: 'send e-mails',
    schedule: 'always with SMTP_URL; a run lasts a minute and looks twice a second',
    does: 'sends the e-mails that are due, one of each account in turn, each under a lease; notifies of webhooks that fail',
    ...drains,
  },
  {
    name: 'expire checkouts',
    schedule: 'always; a run lasts a minute and looks once a second',
    does: 'expires checkouts whose wallet has been read beyond their end without enough money; finishes the decisions about checkouts with very many payments; removes links and checkouts of deleted products',
    ...drains,
    processes: 'one',
  },
  {
    name: 'audit wallets',
    schedule:
      'always; a run lasts a minute; each active wallet every AUDIT_INTERVAL_HOURS, spread over that time, and when asked',
    does: 'holds the lease of each network’s audits, and compares balances with everything that moved them, one audit at a time',
    ...drains,
  },
  {
    name: 'make proofs',
    schedule: 'always; a run lasts a minute, looks once in two seconds and when a proof is asked for',
    does: 'holds the leases of each network’s proofs, and makes the proofs of payments that were asked for, one at a time',
    ...drains,
  },
  {
    name: 'sample rates',
    schedule:
      'always; a run lasts a minute and looks once a second; each pair of currency and asset every RATE_INTERVAL_SECONDS',
    does: 'takes a rate of each pair that is due and in use, and stores it; removes samples of more than 100 days but for the first of each hour',
    ...drains,
    processes: 'one',
  },
  {
    name: 'housekeeping',
    schedule: 'hourly',
    does: 'removes jobs of processes that died and, with RETENTION_DAYS, older data',
    everyMs: HOUR_MS,
    lastsMs: null,
    processes: 'one',
  },
] as const satisfies readonly JobInfo[];

export type JobName = ReturnType<typeof pollLedger>['name'] | (typeof OTHERS)[number]['name'];

/** The jobs of a service that watches these networks. */
export function jobsOf(networks: readonly Network[]): (JobInfo & { name: JobName })[] {
  return [...NETWORKS.filter((network) => networks.includes(network)).map(pollLedger), ...OTHERS];
}

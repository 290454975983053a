/** The processes of the simulation: workers and APIs composed like those of the service, with
 *  virtual time and the simulated database, network and endpoints. */
import { pino } from 'pino';
import { composeAuditor } from '../../src/app/auditing.js';
import { openEventTail } from '../../src/app/context.js';
import { type Core, createCore } from '../../src/app/core.js';
import { dismissParked } from '../../src/app/operator.js';
import { createOrders, createServices } from '../../src/app/services.js';
import { createWorker, type Worker } from '../../src/app/worker.js';
import { createDestinationCheck } from '../../src/asking/destination-check.js';
import { createLedgerStamper, type LedgerStamper } from '../../src/asking/ledger-stamper.js';
import { createPayerLedger } from '../../src/asking/payer-ways.js';
import { payUri } from '../../src/domain/sep7.js';
import type { Database } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { type Lifeline, startLifeline } from '../../src/kit/lifeline.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import { createPageSource } from '../../src/page/source.js';
import { createSampler, type Sampler } from '../../src/rates/sampler.js';
import { createTake } from '../../src/rates/take.js';
import { createStores } from '../../src/stores.js';
import { watch } from '../../src/watching/watch.js';
import type { DispatchSettings } from '../../src/webhooks/dispatch.js';
import type { SimulatedDatabase } from './database.js';
import type { Hardships } from './hardships.js';
import { INTERVAL_MS, type Market, RATE_TIMES } from './market.js';
import { type Network, PASSPHRASE } from './network.js';
import type { Receiver } from './receiver.js';
import type { Process, Scheduler } from './scheduler.js';

export interface SimulatedProcess extends Process {
  /** Time of its kill, after which unfinished work may be repeated; null when it was stopped. */
  diedMs: number | null;
  /** Rejects when the process ends, never resolves. */
  death: Promise<never>;
  die(how: 'killed' | 'stopped'): void;
  /** Aborted at the end of the run, so that nothing runs on in the process and nothing outside
   *  refers to it. */
  buried: AbortController;
}

export interface Surroundings {
  scheduler: Scheduler;
  database: SimulatedDatabase;
  network: Network;
  receiver: Receiver;
  settings: {
    timeoutMs: number;
    retryBaseMs: number;
    maxAttempts: number;
    pageLimit: number;
    readOneByOne: number;
    pollMs: number;
    /** The request budget; null for none. */
    requestsPerHour: number | null;
    /** The host of all processes; undefined when each has its own clock. */
    host: string | undefined;
    /** Checkouts are made and have to expire. */
    expires: boolean;
    /** The market of a run with rates; null without. */
    market: Market | null;
    /** Null for no audits, not even on demand. */
    audits: Hardships['audits'];
    /** A dead process's transactions stay open until another process ends them. */
    holds: boolean;
    /** Undefined for the service's default. */
    storedWithinMs: number | undefined;
    /** Undefined for the service's defaults. */
    delivery: Pick<DispatchSettings, 'maxQueues' | 'maxBodyBytes'>;
  };
}

const log = pino({ level: process.env.SIMULATION_LOG ?? 'silent' });
const SECRETS_KEY = Buffer.alloc(32, 7);
const PUBLIC_URL = 'http://shop.test';

export class Died extends Error {}

export function newProcess(name: string, scheduler: Scheduler): SimulatedProcess {
  let die: SimulatedProcess['die'] = () => undefined;
  const process: SimulatedProcess = {
    name,
    alive: true,
    clockOffsetMs: 0,
    diedMs: null,
    death: new Promise((_, reject) => {
      die = (how) => {
        if (how === 'killed') process.diedMs = scheduler.nowMs();
        reject(new Died(name));
      };
    }),
    die: (how) => die(how),
    buried: new AbortController(),
  };
  process.death.catch(() => undefined);
  return process;
}

function coreOf(
  process: SimulatedProcess,
  { scheduler, database, network, settings }: Surroundings,
): { core: Core; lifeline: Lifeline | null } {
  const clock = scheduler.clockOf(process);
  // The monotonic clock runs evenly, even when the clock is set.
  const monotonic = { ...clock, nowMs: scheduler.nowMs };
  const newId = createIds(clock);
  const stores = createStores(database.seat(process, scheduler), { clock, newId, versionsKept: 2 });
  const horizon = createLedger({
    network: 'LOCAL',
    horizonUrls: network.urls('horizon'),
    rpcUrls: network.urls('rpc'),
    passphrase: PASSPHRASE,
    budget: settings.requestsPerHour ? stores.system.requestBudgets.of('LOCAL', settings.requestsPerHour) : null,
    async lastSeen() {
      const seen = await stores.system.networkStates.byNetwork('LOCAL');
      process.knowsLedger = seen !== null;
      return seen;
    },
    clock,
    monotonic,
    log,
    timeoutMs: 3000,
    fetch: network.fetchOf(process),
  });
  const lifeline = settings.holds
    ? startLifeline({ leases: stores.system.leases, process: process.name, onRenewal: () => undefined, clock, log })
    : null;
  const transaction: Database['transaction'] = (work, options) =>
    database.transaction(async (session) => {
      if (lifeline) {
        // Never used again: all processes share the driver, which must not give a dead one's
        // session to another.
        (session.serverSession as { isDirty: boolean }).isDirty = true;
        await lifeline.note(session.id!.id);
      }
      return work(session);
    }, options);
  const ledgers = new Map([['LOCAL', horizon]] as const);
  const processId = process.name;
  const common = { stores, transaction, ledgers, publicUrl: PUBLIC_URL, clock, monotonic, newId, processId, log };
  const { storedWithinMs } = settings;
  const core = createCore({ ...common, storedWithinMs, ...(settings.market ? { rateTimes: RATE_TIMES } : {}) });
  return { core, lifeline };
}

const stamperOf = ({ ledgers, stores, clock, monotonic }: Core, host: string | undefined): LedgerStamper =>
  createLedgerStamper({ ledgers, networkStates: stores.system.networkStates, clock, monotonic, host });

function samplerOf(core: Core, process: SimulatedProcess, { host, market }: Surroundings['settings']): Sampler | null {
  if (!market) return null;
  const { stores, clock } = core;
  const { ratePairs: pairs, rateSamples: samples } = stores.system;
  const sources = market.sourcesOf(process);
  const { stamp } = stamperOf(core, host);
  return createSampler({
    ...{ pairs, samples, stamp, clock, log, intervalMs: INTERVAL_MS },
    take: createTake({
      sources,
      cross: null,
      pegs: [],
      maxAgeMs: RATE_TIMES.maxAgeMs,
      clock,
      log,
      onLeftOut: () => undefined,
    }),
    isInUse: async () => true,
    onDisagreed: () => undefined,
  });
}

/** Stands for the job that runs each second. */
async function sampleRates(sampler: Sampler, { clock }: Core, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await sampler.run(ended).catch((error) => log.error({ err: error }, 'sampling failed'));
    await clock.sleep(1000, ended);
  }
}

/** Starts a worker. @returns its graceful stop, as by SIGTERM */
export function startWorker(process: SimulatedProcess, around: Surroundings): { stop(): Promise<void> } {
  const { receiver, settings } = around;
  const { core, lifeline } = coreOf(process, around);
  const ended = new AbortController();
  // Node keeps a signal that was made from others, with its listeners, until it aborts.
  process.buried.signal.addEventListener('abort', () => ended.abort());
  const { pageLimit, readOneByOne, requestsPerHour, host } = settings;
  const { sequencer, dispatcher, expiry, watchDeps } = createWorker(core, {
    secrets: createSecretBox(SECRETS_KEY, core.clock),
    poster: receiver.posterOf(process),
    delivery: { ...settings, ...settings.delivery, leaseMarginMs: 3000, graceMs: 7000 },
    polling: {
      intervalMs: 2000,
      requestsPerHour: () => requestsPerHour,
      metrics: () => ({ payments: () => undefined, parked: () => undefined }),
      pageLimit,
      readOneByOne,
      host,
    },
    numberingMs: 2000,
  });
  const works: Promise<unknown>[] = [
    watch(watchDeps('LOCAL'), ended.signal),
    sequencer.run(ended.signal),
    dispatcher.drain(ended.signal),
  ];
  if (settings.expires) works.push(expire(expiry, core, ended.signal));
  const sampler = samplerOf(core, process, settings);
  if (sampler) works.push(sampleRates(sampler, core, ended.signal));
  const { auditors = 0, everyMs = 0 } = settings.audits ?? {};
  for (let n = 0; n < auditors; n++) works.push(audit(core, everyMs, ended.signal));
  return {
    async stop() {
      ended.abort();
      await Promise.all(works);
      await lifeline?.close();
    },
  };
}

const EXPIRY_MS = 1000;

/** Stands for the job that runs each second. */
async function expire(expiry: Worker['expiry'], { clock, log }: Core, ended: AbortSignal): Promise<void> {
  while (!ended.aborted) {
    await expiry.run(ended).catch((error) => log.error({ err: error }, 'expiry failed'));
    await clock.sleep(EXPIRY_MS, ended);
  }
}

/** The pace of public networks, but with leases that expire within a run. */
const AUDIT_PACE = { lookMs: 1000, leaseMs: 4000, tipsForMs: 30_000, recheckMs: 20_000 };

/** Stands for the job, which is run again after a failure. */
async function audit(core: Core, intervalMs: number, ended: AbortSignal): Promise<void> {
  const options = { retentionDays: 0, dustStroops: 0n, intervalMs, pace: AUDIT_PACE };
  const auditor = composeAuditor(core, options);
  while (!ended.aborted) {
    await auditor.run(['LOCAL'], ended, ended).catch((error) => core.log.error({ err: error }, 'audits failed'));
    await core.clock.sleep(AUDIT_PACE.lookMs, ended);
  }
}

export type Api = ReturnType<typeof startApi>;

export function startApi(process: SimulatedProcess, around: Surroundings) {
  const { core } = coreOf(process, around);
  const { clock, ledgers, stores } = core;
  const { settings } = around;
  const needRate = samplerOf(core, process, settings)?.need ?? (async () => true);
  const services = createServices(core, {
    networks: ['LOCAL'],
    secrets: createSecretBox(SECRETS_KEY, clock),
    stamper: stamperOf(core, settings.host),
    tail: openEventTail(core, { maxOpenPerAccount: 1, isStreamLate: false }).tail,
    send: async () => ({ responseStatus: null, durationMs: 0, error: null }),
    mendGaps: async () => 'no_source',
    allowPrivate: false,
    payUri,
    needRate,
    readProof: async () => {
      throw new Error('nobody asks for proofs here');
    },
    limits: null,
  });
  const destinationCheck = createDestinationCheck({ ledgers, clock });
  const { paymentLinks: links, checkouts } = stores.system;
  const { forAccount } = stores;
  const pages = {
    destinationCheck,
    pages: createPageSource({
      paymentLinks: links,
      checkouts,
      forAccount,
      destinationCheck,
      rateBook: core.rateBook,
      clock,
    }),
    payerLedger: createPayerLedger({ ledgers, monotonic: clock }),
  };
  return {
    process,
    ...services,
    ...pages,
    takeOrder: createOrders(core, { networks: ['LOCAL'], needRate }),
    dismissParked: (id: string, why: string) => dismissParked(core, id, why),
    accounts: stores.system.accounts,
  };
}

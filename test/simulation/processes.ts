/** The processes of the simulation: workers and APIs wired as the service wires them, with virtual time and the simulated database, network and endpoints. */
import { pino } from 'pino';
import { createFlagGap } from '../../src/collect/flag-gap.js';
import { createLedgerStamper } from '../../src/collect/ledger-stamper.js';
import { createRecorder } from '../../src/collect/recorder.js';
import { watch } from '../../src/collect/watch.js';
import { createWatcher } from '../../src/collect/watcher.js';
import { createIds } from '../../src/domain/ids.js';
import { createSecretBox } from '../../src/domain/secrets.js';
import { createOutbox } from '../../src/events/outbox.js';
import { createSequencer } from '../../src/events/sequencer.js';
import { createHorizon } from '../../src/ledger/horizon/source.js';
import { createDeliveryService } from '../../src/services/deliveries.js';
import { createPaymentLinkService } from '../../src/services/payment-links.js';
import { createPaymentService } from '../../src/services/payments.js';
import { createProductService } from '../../src/services/products.js';
import { unlimited } from '../../src/services/quota.js';
import { createReadSync } from '../../src/services/wallet-sync.js';
import { createWalletService } from '../../src/services/wallets.js';
import { createWebhookService } from '../../src/services/webhooks.js';
import { createStores } from '../../src/stores/index.js';
import { createDispatcher } from '../../src/webhooks/dispatch.js';
import { createPause } from '../../src/webhooks/pause.js';
import type { SimulatedDatabase } from './database.js';
import { type Network, PASSPHRASE } from './network.js';
import type { Receiver } from './receiver.js';
import type { Process, Scheduler } from './scheduler.js';

export interface SimulatedProcess extends Process {
  /** When it was killed: what it had not finished may be done again. Null for one that was stopped. */
  diedMs: number | null;
  /** Rejects when the process ends, never resolves. */
  death: Promise<never>;
  die(how: 'killed' | 'stopped'): void;
  /** Aborted at the end of the run, so that nothing goes on in the process and nothing outside refers to it. */
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
    /** The budget; null for none. */
    requestsPerHour: number | null;
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

function base(process: SimulatedProcess, { scheduler, database, network, settings }: Surroundings) {
  const clock = scheduler.clockOf(process);
  // What measures how much time has passed runs evenly, wherever the clock is set to.
  const monotonic = { ...clock, nowMs: scheduler.nowMs };
  const newId = createIds(clock);
  const stores = createStores(database.seat(process, scheduler), { clock, newId });
  const horizon = createHorizon({
    network: 'LOCAL',
    urls: network.urls(),
    passphrase: PASSPHRASE,
    budget: settings.requestsPerHour ? stores.system.requestBudgets.of('LOCAL', settings.requestsPerHour) : null,
    clock,
    monotonic,
    log,
    timeoutMs: 3000,
    fetch: network.fetchOf(process),
  });
  const outbox = createOutbox({ ...stores.system, newId, publicUrl: PUBLIC_URL });
  const secrets = createSecretBox(SECRETS_KEY, clock);
  return { clock, monotonic, newId, stores, horizon, outbox, secrets };
}

/** Watches and delivers. @returns how to stop it as SIGTERM would. */
export function startWorker(process: SimulatedProcess, around: Surroundings): { stop(): Promise<void> } {
  const { database, receiver, settings } = around;
  const { clock, monotonic, newId, stores, horizon, outbox, secrets } = base(process, around);
  const ended = new AbortController();
  // Node keeps a signal made of others, and all that listens to it, until it aborts.
  process.buried.signal.addEventListener('abort', () => ended.abort());
  const dispatcher = createDispatcher({
    ...stores.system,
    pause: createPause({
      ...stores.system,
      outbox,
      transaction: database.transaction,
      eventsStored: () => sequencer.wake(),
    }),
    poster: receiver.posterOf(process),
    secrets,
    clock,
    monotonic: monotonic,
    log,
    settings: { ...settings, leaseMarginMs: 3000, graceMs: 7000 },
  });
  const sequencer = createSequencer({
    ...stores.system,
    transaction: database.transaction,
    holder: process.name,
    clock,
    monotonic,
    log,
    deliveriesOpened: () => dispatcher.wake(),
    pollMs: 2000,
  });
  const watcher = createWatcher({
    ...stores.system,
    network: 'LOCAL',
    flagGap: createFlagGap({
      ...stores.system,
      outbox,
      transaction: database.transaction,
      eventsStored: () => sequencer.wake(),
    }),
    recorder: createRecorder({ ...stores.system, outbox, transaction: database.transaction, newId }),
    clock,
    log,
    metrics: { payments: () => undefined, parked: () => undefined },
    paymentsStored: () => sequencer.wake(),
    pageLimit: settings.pageLimit,
    readOneByOne: settings.readOneByOne,
  });
  const works = [
    watch(
      {
        ...stores.system,
        network: 'LOCAL',
        watcher,
        horizon,
        holder: process.name,
        pollIntervalMs: 2000,
        requestsPerHour: settings.requestsPerHour,
        clock,
        monotonic,
        log,
      },
      ended.signal,
    ),
    sequencer.run(ended.signal),
    dispatcher.drain(ended.signal),
  ];
  return {
    async stop() {
      ended.abort();
      await Promise.all(works);
    },
  };
}

export type Api = ReturnType<typeof startApi>;

export function startApi(process: SimulatedProcess, around: Surroundings) {
  const { database } = around;
  const { clock, newId, stores, horizon, outbox, secrets } = base(process, around);
  const { transaction } = database;
  const stamper = createLedgerStamper({ ...stores.system, horizons: new Map([['LOCAL', horizon]]), clock });
  const deliveriesDue = () => undefined;
  const common = {
    forAccount: stores.forAccount,
    transaction,
    stamper,
    clock,
    newId,
    publicUrl: PUBLIC_URL,
    quota: unlimited,
  };
  return {
    process,
    wallets: createWalletService({
      ...common,
      readSync: createReadSync({ ...stores.system, clock }),
      networks: ['LOCAL'],
    }),
    products: createProductService(common),
    paymentLinks: createPaymentLinkService(common),
    payments: createPaymentService({ ...common, outbox, eventsStored: () => undefined }),
    webhooks: createWebhookService({
      ...common,
      secrets,
      send: async () => ({ responseStatus: null, durationMs: 0, error: null }),
      deliveriesDue,
    }),
    deliveries: createDeliveryService({ forAccount: stores.forAccount, deliveriesDue }),
  };
}

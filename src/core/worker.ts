/** What a worker does, composed around the core, whose signals wake its parts: it polls ledgers, numbers events, delivers webhooks and expires checkouts. The service runs the parts
 *  as the jobs of its table; the simulation runs them by themselves. */
import type { Network } from '../../contracts/networks.js';
import type { SecretBox } from '../domain/secrets.js';
import { createReplayer } from '../events/replayer.js';
import { createSequencer, type Sequencer, type SequencerDeps } from '../events/sequencer.js';
import { createFlagGap } from '../ingest/flag-gap.js';
import { createParkedRetries } from '../ingest/parked.js';
import type { WatchDeps } from '../ingest/watch.js';
import { createWatcher, type WatcherDeps } from '../ingest/watcher.js';
import type { Mailer } from '../mail/mailer.js';
import { createAcceptanceFinisher } from '../payments/acceptance.js';
import { createCheckoutExpiry } from '../payments/checkout-expiry.js';
import { createLeftoverRemoval } from '../payments/deleted-products.js';
import { createDispatcher, type Dispatcher, type DispatcherDeps } from '../webhooks/dispatch.js';
import { createPause } from '../webhooks/pause.js';
import type { Core } from './core.js';

export interface WorkerOptions {
  secrets: SecretBox;
  signers?: DispatcherDeps['signers'];
  poster: DispatcherDeps['poster'];
  delivery: DispatcherDeps['settings'];
  onAttempt?: DispatcherDeps['onAttempt'];
  /** Null where no e-mail is sent. */
  mailer?: Mailer | null;
  polling: {
    /** Milliseconds between two readings of what came. */
    intervalMs: number;
    /** The budget of a network; null for none. */
    requestsPerHour: (network: Network) => number | null;
    metrics: (network: Network) => WatcherDeps['metrics'];
  } & Pick<WatcherDeps, 'host' | 'pageLimit' | 'readOneByOne'>;
  /** Milliseconds between two looks of the sequencer when no signal wakes it. */
  numberingMs?: SequencerDeps['pollMs'];
}

export interface Worker {
  sequencer: Sequencer;
  dispatcher: Dispatcher;
  /** Null where no e-mail is sent. */
  mailer: Mailer | null;
  finisher: ReturnType<typeof createAcceptanceFinisher>;
  expiry: ReturnType<typeof createCheckoutExpiry>;
  leftovers: ReturnType<typeof createLeftoverRemoval>;
  /** With which `watch` keeps reading a network of the core's ledgers. */
  watching: (network: Network) => WatchDeps;
}

export function createWorker(core: Core, options: WorkerOptions): Worker {
  const { outbox, settle, signals, transaction, newId, processId, clock, monotonic, log } = core;
  const { secrets, signers, poster } = options;
  const {
    checkouts,
    cursors,
    networkStates,
    deliveries,
    eventCounters,
    events,
    leases,
    parkedRecords,
    payments,
    products,
    replays,
    wallets,
    webhooks,
    activities,
  } = core.stores.system;

  const eventsStored = signals.eventsStored.raise;
  const deliveriesDue = signals.deliveriesDue.raise;
  const dispatcher = createDispatcher({
    webhooks,
    deliveries,
    events,
    pause: createPause({ webhooks, outbox, activities, newId, transaction, eventsStored }),
    poster,
    secrets,
    signers,
    clock,
    monotonic,
    log,
    settings: options.delivery,
    onAttempt: options.onAttempt,
  });
  const replayer = createReplayer({ replays, events, webhooks, deliveries, transaction, clock, log, deliveriesDue });
  const sequencer = createSequencer({
    events,
    eventCounters,
    webhooks,
    deliveries,
    leases,
    transaction,
    holder: processId,
    clock,
    monotonic,
    log,
    deliveriesDue,
    replay: replayer.round,
    pollMs: options.numberingMs,
  });
  signals.eventsStored.on(sequencer.wake);
  signals.deliveriesDue.on(dispatcher.wake);
  return {
    sequencer,
    dispatcher,
    mailer: options.mailer ?? null,
    finisher: createAcceptanceFinisher({
      checkouts,
      wallets,
      products,
      payments,
      settle,
      transaction,
      log,
      eventsStored,
    }),
    expiry: createCheckoutExpiry({
      forAccount: core.stores.forAccount,
      checkouts,
      wallets,
      products,
      cursors,
      networkStates,
      parkedRecords,
      settle,
      transaction,
      clock,
      log,
      eventsStored,
    }),
    leftovers: createLeftoverRemoval({ forAccount: core.stores.forAccount, products, transaction, log }),
    watching: (network) => watching(core, options, network),
  };
}

function watching(core: Core, { polling }: WorkerOptions, network: Network): WatchDeps {
  const eventsStored = core.signals.eventsStored.raise;
  const { recorder, outbox, transaction, ledgers, newId, processId, clock, monotonic, log } = core;
  const { cursors, gaps, leases, networkStates, parkedRecords, paymentLinks, products, wallets } = core.stores.system;
  const { intervalMs, requestsPerHour, metrics, ...reading } = polling;
  const ledger = ledgers.get(network)!;
  const retries = createParkedRetries({
    network,
    ledger,
    wallets,
    parkedRecords,
    recorder,
    clock,
    log,
    eventsStored,
  });
  const watcher = createWatcher({
    network,
    wallets,
    cursors,
    networkStates,
    parkedRecords,
    recorder,
    flagGap: createFlagGap({ wallets, gaps, outbox, transaction, newId, eventsStored }),
    products,
    paymentLinks,
    clock,
    monotonic,
    log,
    metrics: metrics(network),
    eventsStored,
    recordsParked: retries.wake,
    ...reading,
  });
  return {
    network,
    watcher,
    retries,
    ledger,
    leases,
    networkStates,
    holder: processId,
    pollIntervalMs: intervalMs,
    requestsPerHour: requestsPerHour(network),
    clock,
    monotonic,
    log,
  };
}

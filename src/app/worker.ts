/** The parts of a worker, composed around the core, whose signals wake them: polling ledgers,
 *  numbering events, delivering webhooks, expiring checkouts. The service runs them as jobs of its
 *  table; the simulation runs them directly. */

import type { Network } from '../../contracts/networks.js';
import { createSequencer, type Sequencer, type SequencerDeps } from '../events/index.js';
import type { SecretBox } from '../kit/secrets.js';
import type { Mailer } from '../mail/index.js';
import { createAcceptanceFinisher, createCheckoutExpiry } from '../payments/index.js';
import { createLeftoverRemoval } from '../selling/index.js';
import {
  createFlagGap,
  createParkedRetries,
  createWatcher,
  type WatchDeps,
  type WatcherDeps,
} from '../watching/index.js';
import {
  createDispatcher,
  createPause,
  createReplayer,
  type Dispatcher,
  type DispatcherDeps,
} from '../webhooks/index.js';
import type { Core } from './core.js';

interface WorkerOptions {
  secrets: SecretBox;
  signers?: DispatcherDeps['signers'];
  poster: DispatcherDeps['poster'];
  delivery: DispatcherDeps['settings'];
  onAttempt?: DispatcherDeps['onAttempt'];
  /** Null without e-mail. */
  mailer?: Mailer | null;
  polling: {
    /** Milliseconds between two readings of new ledgers. */
    intervalMs: number;
    /** The budget of a network; null for none. */
    requestsPerHour: (network: Network) => number | null;
    metrics: (network: Network) => WatcherDeps['metrics'];
  } & Pick<WatcherDeps, 'host' | 'pageLimit' | 'readOneByOne'>;
  /** Polling interval of the sequencer when no signal wakes it. */
  numberingMs?: SequencerDeps['pollMs'];
}

export interface Worker {
  sequencer: Sequencer;
  dispatcher: Dispatcher;
  /** Null without e-mail. */
  mailer: Mailer | null;
  finisher: ReturnType<typeof createAcceptanceFinisher>;
  expiry: ReturnType<typeof createCheckoutExpiry>;
  leftovers: ReturnType<typeof createLeftoverRemoval>;
  /** Dependencies of `watch` for a network. */
  watchDeps: (network: Network) => WatchDeps;
}

export function createWorker(core: Core, options: WorkerOptions): Worker {
  const { signals, clock, monotonic, log } = core;
  const { secrets, signers, poster, onAttempt, delivery: settings, numberingMs: pollMs } = options;
  const { forAccount, system } = core.stores;
  const { transaction, newId, processId: holder, outbox, settle } = core;
  const eventsStored = signals.eventsStored.raise;
  const deliveriesDue = signals.deliveriesDue.raise;
  // Each part picks what it needs.
  const common = { ...system, forAccount, transaction, settle, clock, monotonic, log, eventsStored, deliveriesDue };
  const pause = createPause({ ...common, outbox, newId });
  const dispatcher = createDispatcher({ ...common, pause, poster, secrets, signers, settings, onAttempt });
  const replay = createReplayer(common).round;
  const sequencer = createSequencer({ ...common, holder, replay, pollMs });
  signals.eventsStored.on(sequencer.wake);
  signals.deliveriesDue.on(dispatcher.wake);
  return {
    sequencer,
    dispatcher,
    mailer: options.mailer ?? null,
    finisher: createAcceptanceFinisher(common),
    expiry: createCheckoutExpiry(common),
    leftovers: createLeftoverRemoval(common),
    watchDeps: (network) => watchDepsOf(core, options, network),
  };
}

function watchDepsOf(core: Core, { polling }: WorkerOptions, network: Network): WatchDeps {
  const { recorder, outbox, transaction, ledgers, newId, processId: holder, clock, monotonic, log } = core;
  const { intervalMs: pollIntervalMs, requestsPerHour, metrics, ...reading } = polling;
  const ledger = ledgers.get(network)!;
  const eventsStored = core.signals.eventsStored.raise;
  const common = { ...core.stores.system, network, ledger, recorder, clock, monotonic, log, eventsStored };
  const retries = createParkedRetries(common);
  const watcher = createWatcher({
    ...common,
    ...reading,
    flagGap: createFlagGap({ ...common, outbox, transaction, newId }),
    metrics: metrics(network),
    recordsParked: retries.wake,
  });
  return { ...common, watcher, retries, holder, pollIntervalMs, requestsPerHour: requestsPerHour(network) };
}

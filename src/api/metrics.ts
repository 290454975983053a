/** The service's metrics, for Prometheus. */

import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Network } from '../../contracts/networks.js';
import { protocolWarning } from '../domain/stellar-sdk.js';
import { type Clock, within } from '../kit/clock.js';
import type { MailStore } from '../mail/index.js';
import type { NetworkStateStore, ParkedRecordStore, WatcherMetrics } from '../watching/index.js';

const DATABASE_MS = 1000;
const MAIL_WAITS_MS = 60_000;
const MOST_MAILS = 1000;

interface MetricsDeps {
  networkStates: NetworkStateStore;
  parkedRecords: Pick<ParkedRecordStore, 'count'>;
  mails: Pick<MailStore, 'waiting'>;
  /** The watched networks: states of others are outdated. */
  networks: readonly Network[];
  clock: Clock;
}

export function createMetrics(deps: MetricsDeps) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const payments = new Counter({
    name: 'collect_payments_total',
    help: 'Payments stored by this process.',
    labelNames: ['network'],
    registers: [registry],
  });
  const parked = new Counter({
    name: 'collect_records_parked_total',
    help: 'Ledger records that this process parked: incomplete, or not understood.',
    labelNames: ['network'],
    registers: [registry],
  });
  const attempts = new Counter({
    name: 'collect_delivery_attempts_total',
    help: 'Attempts of this process to deliver a webhook, by the outcome for the delivery.',
    labelNames: ['status'],
    registers: [registry],
  });
  const mailAttempts = new Counter({
    name: 'collect_mail_attempts_total',
    help: 'Attempts of this process to send an e-mail, by outcome.',
    labelNames: ['status'],
    registers: [registry],
  });
  const leftOut = new Counter({
    name: 'collect_rate_sources_left_out_total',
    help: 'Sources of rates that gave this process no usable answer.',
    labelNames: ['source'],
    registers: [registry],
  });
  const disagreed = new Counter({
    name: 'collect_rate_disagreements_total',
    help: 'Samples that this process did not take because two sources differed by more than 5 %.',
    registers: [registry],
  });
  const proofs = new Counter({
    name: 'collect_proof_tries_total',
    help: 'Tries of this process to make a proof of a payment, by the state that it has then.',
    labelNames: ['state'],
    registers: [registry],
  });
  registerStored(registry, deps);
  registerNetworks(registry, deps);
  return {
    registry,
    ofRates: {
      leftOut: (source: string) => leftOut.inc({ source }),
      disagreed: () => disagreed.inc(),
    },
    attempted: (status: string) => attempts.inc({ status }),
    provingTried: (state: string) => proofs.inc({ state }),
    mailed: (status: string) => mailAttempts.inc({ status }),
    ofWatcher: (network: Network): WatcherMetrics => ({
      payments: (count) => payments.inc({ network }, count),
      parked: (count) => parked.inc({ network }, count),
    }),
  };
}

/** Leaves out what the database does not answer within `DATABASE_MS`: the process's own counts must
 *  not wait for it. */
const soon = <T>(clock: Clock, asked: Promise<T>, none: T) =>
  within(
    clock,
    DATABASE_MS,
    asked.catch(() => none),
    () => none,
  );

/** Gauges of what is stored. */
function registerStored(registry: Registry, { parkedRecords, mails, networks, clock }: MetricsDeps): void {
  new Gauge({
    name: 'collect_mails_waiting',
    help: 'E-mails that have waited for more than a minute to be sent; counted up to 1,000.',
    registers: [registry],
    async collect() {
      const before = new Date(clock.nowMs() - MAIL_WAITS_MS);
      this.set((await soon(clock, mails.waiting(before, MOST_MAILS), { count: Number.NaN, error: null }))?.count ?? 0);
    },
  });
  new Gauge({
    name: 'collect_records_parked',
    help: 'Ledger records that are parked: neither recorded nor dismissed yet.',
    registers: [registry],
    async collect() {
      this.set(await soon(clock, parkedRecords.count(networks), Number.NaN));
    },
  });
}

/** Gauges of each watched network, as the watcher last stored its state. */
function registerNetworks(registry: Registry, { networkStates, networks, clock }: MetricsDeps): void {
  const watched = async () => (await soon(clock, networkStates.all(), [])).filter(({ _id }) => networks.includes(_id));
  new Gauge({
    name: 'collect_network_silence_seconds',
    help: 'Time since a network was last read, by any process.',
    labelNames: ['network'],
    registers: [registry],
    async collect() {
      for (const { _id, seenAt } of await watched()) {
        if (seenAt) this.set({ network: _id }, (clock.nowMs() - seenAt.getTime()) / 1000);
      }
    },
  });
  new Gauge({
    name: 'collect_clock_ahead_seconds',
    help: "How far the worker's clock is ahead of the ledger's close times. Some seconds are usual; less than 0 means that it is behind.",
    labelNames: ['network'],
    registers: [registry],
    async collect() {
      for (const { _id, clockAheadMs } of await watched()) {
        if (typeof clockAheadMs === 'number') this.set({ network: _id }, clockAheadMs / 1000);
      }
    },
  });
  new Gauge({
    name: 'collect_source_outdated',
    help: 'Whether account histories of the source can leave records out: 1 means that it needs an upgrade.',
    labelNames: ['network'],
    registers: [registry],
    async collect() {
      for (const { _id, sourceWarning } of await watched()) this.set({ network: _id }, sourceWarning ? 1 : 0);
    },
  });
  new Gauge({
    name: 'collect_protocol_too_new',
    help: 'Whether the network has a protocol that this version cannot decode: 1 means that the service needs an upgrade.',
    labelNames: ['network'],
    registers: [registry],
    async collect() {
      for (const { _id, protocol } of await watched()) this.set({ network: _id }, protocolWarning(protocol) ? 1 : 0);
    },
  });
}

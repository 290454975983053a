/** What the service counts, for Prometheus. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import type { WatcherMetrics } from '../collect/watcher.js';
import type { NetworkStateStore } from '../stores/network-states.js';
import type { ParkedRecordStore } from '../stores/parked-records.js';

export function createMetrics(deps: {
  networkStates: NetworkStateStore;
  parkedRecords: ParkedRecordStore;
  clock: Clock;
}) {
  const { networkStates, parkedRecords, clock } = deps;
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
    help: 'Ledger records that this process could not understand.',
    labelNames: ['network'],
    registers: [registry],
  });
  const attempts = new Counter({
    name: 'collect_delivery_attempts_total',
    help: 'Attempts to deliver a webhook by this process, by what became of the delivery.',
    labelNames: ['status'],
    registers: [registry],
  });
  new Gauge({
    name: 'collect_records_parked',
    help: 'Ledger records that wait to be understood.',
    registers: [registry],
    async collect() {
      this.set(await parkedRecords.count().catch(() => Number.NaN));
    },
  });
  new Gauge({
    name: 'collect_network_silence_seconds',
    help: 'Time since a network was last read, by whichever process.',
    labelNames: ['network'],
    registers: [registry],
    async collect() {
      for (const { _id, seenAt } of await networkStates.all().catch(() => [])) {
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
      for (const { _id, clockAheadMs } of await networkStates.all().catch(() => [])) {
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
      for (const { _id, sourceWarning } of await networkStates.all().catch(() => []))
        this.set({ network: _id }, sourceWarning ? 1 : 0);
    },
  });
  return {
    registry,
    attempted: (status: string) => attempts.inc({ status }),
    ofWatcher: (network: Network): WatcherMetrics => ({
      payments: (count) => payments.inc({ network }, count),
      parked: (count) => parked.inc({ network }, count),
    }),
  };
}

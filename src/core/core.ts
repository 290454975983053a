/** The core: what the service in each of its roles, the cli and the simulation are composed around. Nothing runs by it. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../clock.js';
import { createRecorder, type Recorder } from '../collect/recorder.js';
import { createRefundBook, type RefundBook } from '../collect/refunds.js';
import type { NewId } from '../domain/ids.js';
import { createOutbox, type Outbox } from '../events/outbox.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import type { Database } from '../stores/database.js';
import type { Stores } from '../stores/index.js';

export interface CoreDeps {
  stores: Stores;
  transaction: Database['transaction'];
  ledgers: ReadonlyMap<Network, NetworkLedger>;
  /** Base of the URLs that payers open. */
  publicUrl: string;
  /** Tells the time. */
  clock: Clock;
  /** Measures how much time has passed, wherever the clock is set to. */
  monotonic: MonotonicClock;
  newId: NewId;
  /** Unique per process: names it where it holds leases. */
  processId: string;
  log: Logger;
}

export interface Core extends CoreDeps {
  outbox: Outbox;
  recorder: Recorder;
  refundBook: RefundBook;
}

export function createCore(deps: CoreDeps): Core {
  const { stores, transaction, newId, publicUrl } = deps;
  const { system } = stores;
  const outbox = createOutbox({ events: system.events, newId, publicUrl });
  const refundBook = createRefundBook({ ...system, outbox });
  return {
    ...deps,
    outbox,
    refundBook,
    recorder: createRecorder({ ...system, outbox, refundBook, transaction, newId }),
  };
}

/** The core around which the service in each role, the cli and the simulation are composed. It runs
 *  nothing by itself. */

import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { type Commit, createCommit } from '../accounts/index.js';
import { createOutbox, type Outbox } from '../events/index.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { createSignals, type Signals } from '../kit/loop.js';
import type { NetworkLedger } from '../ledger/index.js';
import { createFollowEvents, createTell, createTellOfActivity, type Tell } from '../mail/index.js';
import { createPayments, type Payments } from '../payments/index.js';
import { createRateBook, type RateBook } from '../rates/index.js';
import type { Stores } from '../stores.js';

interface CoreDeps {
  stores: Stores;
  transaction: Database['transaction'];
  /** As of `Database`. Default false. */
  isSharded?: boolean;
  ledgers: ReadonlyMap<Network, NetworkLedger>;
  /** Base of the URLs that payers open. */
  publicUrl: string;
  /** The time of day. */
  clock: Clock;
  /** Measures time, unaffected by setting the clock. */
  monotonic: MonotonicClock;
  newId: NewId;
  /** Unique per process; the holder of its leases. */
  processId: string;
  log: Logger;
  /** How long a price holds, and the greatest age of a shown rate. Default as in the settings. */
  rateTimes?: { lockMs: number; maxAgeMs: number };
  /** A transaction of several operations is given up after this. Default 3 s. */
  storedWithinMs?: number;
  /** Null where no e-mail is sent, the default. */
  mail?: { mostOfDay: number } | null;
}

export interface Core extends CoreDeps, Payments {
  /** Stores a change together with its activity. */
  commit: Commit;
  outbox: Outbox;
  signals: Signals;
  rateBook: RateBook;
  /** Stores notifications and security notices; null where no e-mail is sent. */
  tell: Tell | null;
}

export function createCore(deps: CoreDeps): Core {
  const { system } = deps.stores;
  const { clock, newId, mail = null, rateTimes = { lockMs: 15 * 60_000, maxAgeMs: 600_000 } } = deps;
  const tell = mail && createTell({ ...system, newId, mostNewOfDay: mail.mostOfDay });
  const follow = tell ? createFollowEvents({ ...system, tell, newId }) : undefined;
  const outbox = createOutbox({ events: system.events, newId, ...(follow && { follow }) });
  const rateBook = createRateBook({ ...system, clock, ...rateTimes });
  const onActivity = tell && createTellOfActivity({ ...deps.stores, users: system.users, tell });
  const { activities } = system;
  const commit = createCommit({ ...deps, ...deps.stores, activities, ...(onActivity && { onActivity }) });
  const signals = createSignals();
  return { ...deps, commit, outbox, signals, rateBook, tell, ...createPayments({ ...deps, system, outbox, rateBook }) };
}

/** A network's ledger, read from a list of servers that are tried in order, asked within the request budget and never trusted. */
import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Clock, MonotonicClock } from '../clock.js';
import { protocolWarning } from '../domain/stellar-sdk.js';
import type { Asker, LedgerBudget } from './budget.js';
import { LedgerUnavailable } from './errors.js';
import { createFailover, type LedgerServer } from './failover.js';
import { createPageSizes } from './page-sizes.js';
import { type Asking, createSession, type LedgerSession } from './session.js';

export type { LedgerSession, ServerTip } from './session.js';

export interface NetworkLedger {
  /** No budget limits its requests. */
  readonly isFree: boolean;
  /** The installation closes its ledgers itself: what it says is the newest one is. */
  readonly isOwn: boolean;
  /** Names of its servers, in the order in which they are tried. */
  readonly servers: readonly string[];
  /** Those of them that find ways to pay in another asset: the Horizons. */
  readonly finders: readonly string[];
  /** The first request goes along the list until a server answers; all that follow go to that server, so that a tip and pages belong together.
   *  A session is for one piece of work: when it fails, the next one finds the next server.
   *  @param asker whose share of the budget its requests are taken from
   *  @param patience waits for the budget however long it takes, until it aborts. Without it a longer wait is `BudgetUsedUp`. */
  session(asker: Asker, patience?: AbortSignal): LedgerSession;
  /** Requests that others have sent since this was last called, as the watcher's sessions find them in the budget they share. */
  othersSpent(): number;
  /** Asks every server, and warns of a protocol that is too new to be decoded. @throws UnfitServer when one that answers must not be read; those that do not answer are passed over. */
  checkNetwork(): Promise<void>;
  /** Ends what is in flight: it rejects with `LedgerUnavailable`. */
  close(): Promise<void>;
}

interface NetworkLedgerOptions {
  servers: readonly LedgerServer[];
  /** Null for no limit. */
  budget: LedgerBudget | null;
  /** Default false. */
  isOwn?: boolean;
  clock: Clock;
  /** Measures pauses, so that setting the clock does not change them. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Time limit of one request, its body included. Default 10,000. */
  timeoutMs?: number;
  onClose(): Promise<void>;
}

export function createNetworkLedger(options: NetworkLedgerOptions): NetworkLedger {
  const { budget, monotonic = options.clock, timeoutMs, log } = options;
  const closing = new AbortController();
  // Whatever waits for the budget listens for it.
  setMaxListeners(0, closing.signal);
  const failover = createFailover({ servers: options.servers, closed: closing.signal, monotonic, timeoutMs, log });
  const { servers } = failover;
  const asking: Asking = {
    ...{ budget, failover, monotonic },
    clock: options.clock,
    closed: closing.signal,
    sizes: createPageSizes(),
  };

  return {
    isFree: budget === null,
    isOwn: options.isOwn ?? false,
    servers: servers.map(({ label }) => label),
    finders: servers.filter(({ hasHistories }) => hasHistories).map(({ label }) => label),

    session: (asker, patience) => createSession(asking, { only: null, asker, patience }),

    othersSpent: () => budget?.othersSpent() ?? 0,

    async checkNetwork() {
      for (const server of servers) {
        await createSession(asking, { only: server, asker: { purpose: 'watching' } })
          .tip()
          .then(({ protocol }) => {
            const warning = protocolWarning(protocol);
            if (warning) log.warn({ server: server.label }, warning);
          })
          .catch((error) => {
            if (!(error instanceof LedgerUnavailable)) throw error;
          });
      }
    },

    async close() {
      closing.abort();
      await options.onClose();
    },
  };
}

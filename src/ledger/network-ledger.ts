/** A network's ledger: a list of servers, tried in order, requested within the budget and
 *  never trusted. */

import { setMaxListeners } from 'node:events';
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import { protocolWarning } from '../domain/stellar-sdk.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { createFailover, createTipCheck, type LedgerServer, type SeenLedger } from './failover.js';
import { horizonServer } from './horizon/source.js';
import { type Asker, createRequester, type Fetch, type LedgerBudget, labelsOf } from './request.js';
import { rpcServer } from './rpc/api.js';
import { type Asking, createPageSizes, createSession, type LedgerSession } from './session.js';
import { type LedgerTip, LedgerUnavailable } from './source.js';

// Creates a network's ledger from its Horizons and Stellar RPC servers, tried in this order.

export interface SourcesOptions {
  network: Network;
  /** Tried in order. Path, query and user info may hold keys, which are never shown. */
  horizonUrls: readonly string[];
  /** Likewise; tried after the Horizons. */
  rpcUrls: readonly string[];
  passphrase: string;
  /** Shared by all servers; null for no limit. */
  budget: LedgerBudget | null;
  /** The installation closes its ledgers itself. Default false. */
  isOwn?: boolean;
  /** The newest ledger that earlier processes have seen. Default none. */
  lastSeen?: () => Promise<SeenLedger | null>;
  clock: Clock;
  /** Measures pauses, which must not depend on the time of day. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Time limit of one request including its body. Default 10,000. */
  timeoutMs?: number;
  /** Largest answer. Default 32 MiB. */
  maxBodyBytes?: number;
  fetch?: Fetch;
}

export function createLedger(options: SourcesOptions): NetworkLedger {
  const { network, horizonUrls, rpcUrls, passphrase, fetch, maxBodyBytes, log, ...rest } = options;
  const { clock, monotonic = clock } = rest;
  const requester = createRequester(clock, { fetch, maxBodyBytes });
  const labels = labelsOf([...horizonUrls, ...rpcUrls]);
  return createNetworkLedger({
    ...rest,
    log: log.child({ network }),
    servers: [
      ...horizonUrls.map((url, index) =>
        horizonServer(url, { label: labels[index]!, passphrase, requester, monotonic }),
      ),
      ...rpcUrls.map((url, index) =>
        rpcServer(url, { label: labels[horizonUrls.length + index]!, passphrase, requester, monotonic }),
      ),
    ],
    onClose: () => requester.close(),
  });
}

export type { LedgerSession, ServerTip } from './session.js';

export interface NetworkLedger {
  /** No budget limits its requests. */
  readonly isFree: boolean;
  /** The installation closes its ledgers itself, so that the ledger it reports as newest is
   *  the newest. */
  readonly isOwn: boolean;
  /** Labels of its servers, in the order of trying them. */
  readonly servers: readonly string[];
  /** Labels of the servers that find ways to pay in another asset: the Horizons. */
  readonly finders: readonly string[];
  /** The first request tries the servers in order; later ones stay with the server that answered,
   *  so that a tip and pages belong together. A session is for one piece of work: when it fails,
   *  the next session finds the next server.
   *  @param asker whose share of the budget pays for its requests
   *  @param patience waits for the budget until this aborts. Without it a longer wait
   *  throws `BudgetUsedUp`. */
  session(asker: Asker, patience?: AbortSignal): LedgerSession;
  /** Requests that others have sent since the last call, as the watcher's sessions find them in the
   *  shared budget. */
  othersSpent(): number;
  /** Requests the tip of every server, and warns of a protocol that is too new to be decoded.
   *  Servers that do not answer are skipped.
   *  @throws UnfitServer when one that answers must not be read */
  checkNetwork(): Promise<void>;
  /** Aborts requests in flight, which reject with `LedgerUnavailable`. */
  close(): Promise<void>;
}

interface NetworkLedgerOptions {
  servers: readonly LedgerServer[];
  /** Null for no limit. */
  budget: LedgerBudget | null;
  /** Default false. */
  isOwn?: boolean;
  /** The newest ledger that earlier processes have seen. Default none. */
  lastSeen?: () => Promise<SeenLedger | null>;
  clock: Clock;
  /** Measures pauses, which must not depend on the time of day. Default the clock. */
  monotonic?: MonotonicClock;
  log: Logger;
  /** Time limit of one request including its body. Default 10,000. */
  timeoutMs?: number;
  onClose(): Promise<void>;
}

function createNetworkLedger(options: NetworkLedgerOptions): NetworkLedger {
  const { budget, monotonic = options.clock, timeoutMs, log } = options;
  const closing = new AbortController();
  // Every wait for the budget adds a listener.
  setMaxListeners(0, closing.signal);
  // The installation itself closes as many as are wanted.
  const askTip = options.isOwn
    ? (ask: () => Promise<LedgerTip>) => ask()
    : createTipCheck(options.clock, monotonic, options.lastSeen ?? (async () => null));
  const { servers: given } = options;
  const failover = createFailover({ servers: given, closed: closing.signal, monotonic, askTip, timeoutMs, log });
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

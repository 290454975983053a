/** Creates a network's ledger from its Horizons and Stellar RPC servers, tried in this order. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import type { LedgerBudget } from './budget.js';
import { labelsOf } from './endpoint.js';
import { horizonServer } from './horizon/source.js';
import { createNetworkLedger, type NetworkLedger } from './network-ledger.js';
import { createRequester, type Fetch } from './request.js';
import { rpcServer } from './rpc/source.js';

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

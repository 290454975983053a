/** The ledgers of the networks, read from the configured sources. */
import type { Logger } from 'pino';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import { StartupError } from '../kit/startup-error.js';
import { BlindServer, createLedger, type NetworkLedger, UnfitServer } from '../ledger/index.js';
import type { SystemStores } from '../stores.js';
import type { Config } from './config.js';

interface LedgersDeps {
  requestBudgets: SystemStores['requestBudgets'];
  networkStates: Pick<SystemStores['networkStates'], 'byNetwork'>;
  clock: Clock;
  monotonic: MonotonicClock;
  log: Logger;
}

/** LOCAL has no limit. */
export const requestsPerHourOf = (network: Network, { horizonRequestsPerHour }: Config): number | null =>
  network === 'LOCAL' ? null : horizonRequestsPerHour;

/** @param localUrl the built-in ledger, for LOCAL without sources of its own */
export function createLedgers(
  { requestBudgets, networkStates, clock, monotonic, log }: LedgersDeps,
  config: Config,
  { networks, localUrl }: { networks: readonly Network[]; localUrl: string | null },
): ReadonlyMap<Network, NetworkLedger> {
  return new Map(
    networks.map((network) => {
      const [configured, rpcUrls] = [config.horizonUrls[network], config.rpcUrls[network]];
      const isConfigured = configured.length + rpcUrls.length > 0 || localUrl === null;
      const horizonUrls = isConfigured ? configured : [localUrl];
      const requestsPerHour = requestsPerHourOf(network, config);
      const budget = requestsPerHour === null ? null : requestBudgets.of(network, requestsPerHour);
      const { passphrase } = networkInfo[network];
      const sources = { network, horizonUrls, rpcUrls, passphrase, budget, isOwn: !isConfigured };
      const lastSeen = () => networkStates.byNetwork(network);
      return [network, createLedger({ ...sources, lastSeen, clock, monotonic, log })];
    }),
  );
}

export const closeLedgers = async (ledgers: ReadonlyMap<Network, NetworkLedger>): Promise<void> => {
  await Promise.all([...ledgers.values()].map((ledger) => ledger.close()));
};

/** Refuses at the start a server of another network, whose money must not count, and a server that
 *  hides payments. An absent source does not prevent the start.
 *  @throws StartupError */
export async function refuseUnfitServers(ledgers: ReadonlyMap<Network, NetworkLedger>): Promise<void> {
  await Promise.all(
    [...ledgers.values()].map(async (ledger) => {
      try {
        await ledger.checkNetwork();
      } catch (error) {
        if (error instanceof BlindServer) throw new StartupError(`${error.message}.`);
        if (error instanceof UnfitServer)
          throw new StartupError(`${error.message}: check HORIZON_URLS, RPC_URLS and NETWORKS.`);
        throw error;
      }
    }),
  );
}

/** Marks moments by asking Horizon for its newest ledger. When it does not answer quickly, the newest ledger seen by the watcher stands in:
 *  it has closed before the moment too. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { Horizon } from '../ledger/horizon/source.js';
import type { NetworkStateStore } from '../stores/network-states.js';

const PATIENCE_MS = 1500;

export function createLedgerStamper(deps: {
  horizons: ReadonlyMap<Network, Horizon>;
  networkStates: NetworkStateStore;
  clock: Clock;
}) {
  const { horizons, networkStates, clock } = deps;

  async function newestLedger(network: Network): Promise<number | null> {
    const state = await networkStates.byNetwork(network);
    const horizon = horizons.get(network);
    // While the watcher cannot reach Horizon, asking again would only make a merchant wait.
    if (!horizon || state?.trouble) return state?.latestLedger ?? null;
    const done = new AbortController();
    const asked = horizon
      .session()
      .root()
      .then(
        (root) => root.latestLedger,
        () => null,
      );
    const answer = await Promise.race([asked, clock.sleep(PATIENCE_MS, done.signal).then(() => null)]);
    done.abort();
    return answer ?? state?.latestLedger ?? null;
  }

  return {
    async stamp(network: Network): Promise<LedgerStamp> {
      const ledger = await newestLedger(network);
      return { at: clock.now(), ledger };
    },
  };
}

/** Why this process is not ready for work: MongoDB is away, a network is not being read, or the process is about to end. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { LAGGING_AFTER_MS } from '../services/wallet-sync.js';
import type { Database } from '../stores/database.js';
import type { NetworkStateStore } from '../stores/network-states.js';

export function createReadiness(deps: {
  database: Database;
  networkStates: NetworkStateStore;
  networks: readonly Network[];
  clock: Clock;
}) {
  const { database, networkStates, networks, clock } = deps;
  const startedMs = clock.nowMs();
  let stopping = false;
  return {
    /** From now on the process is not ready: whoever sends it requests is to look elsewhere. */
    stop: () => {
      stopping = true;
    },
    async reasons(): Promise<string[]> {
      if (stopping) return ['the process is stopping'];
      try {
        await database.ping();
        const states = new Map((await networkStates.all()).map((state) => [state._id, state]));
        return networks.flatMap((network) => {
          const state = states.get(network);
          // A network that was never read is given the same time, from the start of this process.
          const silentMs = clock.nowMs() - Math.max(state?.seenAt?.getTime() ?? 0, state?.seenAt ? 0 : startedMs);
          if (silentMs <= LAGGING_AFTER_MS) return [];
          const why = state?.trouble ? `: ${state.trouble.reason}` : '';
          return [`${network} has not been read for ${Math.round(silentMs / 1000)} s${why}`];
        });
      } catch {
        return ['MongoDB does not answer'];
      }
    },
  };
}

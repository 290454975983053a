/** Why this process is not ready for work: MongoDB is away, a network is not being read, or the process is about to end; and what an operator should
 *  mend although it is. */
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { isClockOff } from '../domain/ledger-time.js';
import { LAGGING_AFTER_MS } from '../services/wallet-sync.js';
import type { Database } from '../stores/database.js';
import type { NetworkStateDoc, NetworkStateStore } from '../stores/network-states.js';

export interface Readiness {
  /** Empty when the process is ready. */
  reasons: readonly string[];
  /** What makes it no less ready, and should be mended. */
  warnings: readonly string[];
}

const notReady = (reason: string): Readiness => ({ reasons: [reason], warnings: [] });

export function createReadiness(deps: {
  database: Database;
  networkStates: NetworkStateStore;
  networks: readonly Network[];
  clock: Clock;
}) {
  const { database, networkStates, networks, clock } = deps;
  const startedMs = clock.nowMs();
  let stopping = false;
  let looking: Promise<Readiness> | null = null;

  async function look(): Promise<Readiness> {
    try {
      await database.ping();
      const states = new Map((await networkStates.all()).map((state) => [state._id, state]));
      const reasons = networks.flatMap((network) => {
        const state = states.get(network);
        // A network that was never read is given the same time, from the start of this process.
        const silentMs = clock.nowMs() - Math.max(state?.seenAt?.getTime() ?? 0, state?.seenAt ? 0 : startedMs);
        if (silentMs <= LAGGING_AFTER_MS) return [];
        const why = state?.trouble ? `: ${state.trouble.reason}` : '';
        return [`${network} has not been read for ${Math.round(silentMs / 1000)} s${why}`];
      });
      const watched = networks.flatMap((network) => states.get(network) ?? []);
      return { reasons, warnings: watched.flatMap(warningsOf) };
    } catch {
      return notReady('MongoDB does not answer');
    }
  }

  return {
    /** From now on the process is not ready: whoever sends it requests is to look elsewhere. */
    stop: () => {
      stopping = true;
    },
    /** However many ask, and whoever they are, the database is asked once at a time. */
    async check(): Promise<Readiness> {
      if (stopping) return notReady('the process is stopping');
      looking ??= look().finally(() => {
        looking = null;
      });
      return looking;
    },
  };
}

function warningsOf({ _id, clockAheadMs, clockHost, sourceWarning }: NetworkStateDoc): string[] {
  const warnings: string[] = [];
  if (isClockOff(clockAheadMs)) {
    const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
    const side = clockAheadMs < 0 ? 'behind' : 'ahead of';
    warnings.push(
      `the clock of ${clockHost ?? 'the worker'} is ${seconds} s ${side} the close times of ${_id}: set it`,
    );
  }
  if (sourceWarning) warnings.push(`${_id}: ${sourceWarning}`);
  return warnings;
}

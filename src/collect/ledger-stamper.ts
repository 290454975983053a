/** Stamps moments with the newest ledger that the watcher knows, and with the ledger's time where this host's clock is known to be off. While the watcher
 *  is up to date this costs no request; when it is not, all who ask at once share one question. */
import type { Network } from '../../contracts/networks.js';
import { type Clock, within } from '../clock.js';
import { toLedgerTime } from '../domain/ledger-time.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import type { NetworkStateDoc, NetworkStateStore } from '../stores/network-states.js';

const PATIENCE_MS = 1500;
/** What the watcher saw is taken for the newest ledger so long: on a small request budget its polls are minutes apart. */
const FRESH_MS = 15_000;
/** An answer serves all who ask within this time. */
const SHARED_FOR_MS = 1000;
export function createLedgerStamper(deps: {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session' | 'isFree'>>;
  networkStates: Pick<NetworkStateStore, 'byNetwork'>;
  clock: Clock;
  /** The machine that this process runs on: the watcher's measure of the clock counts where it was made. Default none. */
  host?: string;
}) {
  const { ledgers, networkStates, clock, host } = deps;
  const asked = new Map<Network, { ledger: Promise<number | null>; untilMs: number }>();

  function ask(network: Network): Promise<number | null> {
    const known = asked.get(network);
    if (known && known.untilMs > clock.nowMs()) return known.ledger;
    const ledger = ledgers.get(network);
    if (!ledger) return Promise.resolve(null);
    const newest = ledger
      .session()
      .tip()
      .then(
        ({ latestLedger }) => latestLedger,
        () => null,
      );
    // Until it is answered, and a moment longer.
    const entry = { ledger: newest, untilMs: Number.POSITIVE_INFINITY };
    asked.set(network, entry);
    void newest.then(() => {
      entry.untilMs = clock.nowMs() + (ledger.isFree ? 0 : SHARED_FOR_MS);
    });
    return newest;
  }

  async function newestLedger(network: Network, state: NetworkStateDoc | null): Promise<number | null> {
    const known = state?.latestLedger ?? null;
    // While the watcher cannot reach a source, asking again would only make a merchant wait.
    if (state?.trouble) return known;
    const isFresh = state?.seenAt && clock.nowMs() - state.seenAt.getTime() < FRESH_MS;
    // A ledger without a budget may close many times a second: there the newest one is worth a question.
    if (isFresh && !ledgers.get(network)?.isFree) return known;
    const answer = await within(clock, PATIENCE_MS, ask(network), () => null);
    // A server that lags must not take a stamp back.
    return answer === null ? known : Math.max(answer, known ?? 0);
  }

  return {
    /** The present moment: its ledger is the newest one that is known, which closed before it. Null when none is known. */
    async stamp(network: Network): Promise<LedgerStamp> {
      const state = await networkStates.byNetwork(network);
      const ledger = await newestLedger(network, state);
      const isMeasured = host !== undefined && state?.clockHost === host;
      const at = toLedgerTime(clock.now(), isMeasured ? state.clockAheadMs : null);
      // However far a clock is behind, the present is not before a ledger that has closed.
      const closedAt = state?.latestClosedAt;
      return { at: closedAt && closedAt > at ? closedAt : at, ledger };
    },
  };
}

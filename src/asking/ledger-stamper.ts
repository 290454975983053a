/** Stamps moments with the newest known ledger, and with the ledger's time where this host's clock
 *  may be off. It costs no request while the watcher is up to date and the clock agrees; otherwise
 *  concurrent callers share one. */

import type { Network } from '../../contracts/networks.js';
import { toLedgerTime } from '../domain/ledger-time.js';
import type { LedgerStamp } from '../domain/terms.js';
import { type Clock, type MonotonicClock, within } from '../kit/clock.js';
import type { LedgerTip, NetworkLedger } from '../ledger/index.js';
import {
  type ClockBound,
  createClockBound,
  likelyBound,
  type NetworkStateDoc,
  type NetworkStateStore,
} from '../watching/index.js';

const PATIENCE_MS = 1500;
/** How long the watcher's tip counts as the newest ledger: on a small request budget its polls are
 *  minutes apart. */
const FRESH_MS = 15_000;
/** Callers within this time share one answer. */
const SHARED_FOR_MS = 1000;

/** `isNewest`: no newer ledger had closed when the request was sent. */
type Newest = Pick<LedgerTip, 'latestLedger' | 'latestClosedAt'> & { isNewest?: boolean };

export interface LedgerStamper {
  /** Stamps the present moment with the newest known ledger, which closed before it; null when none
   *  is known. Never rejects. */
  stamp(network: Network): Promise<LedgerStamp>;
}

interface LedgerStamperDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session' | 'isFree' | 'isOwn'>>;
  networkStates: Pick<NetworkStateStore, 'byNetwork'>;
  clock: Clock;
  /** Shows when the clock was set. Default the clock: never. */
  monotonic?: Pick<MonotonicClock, 'nowMs'>;
  /** This machine's name: the watcher's clock measurement applies only to the machine that made it.
   *  Without a name the clock is trusted. */
  host?: string;
}

interface Stamping extends LedgerStamperDeps {
  monotonic: Pick<MonotonicClock, 'nowMs'>;
  /** The latest request for each network, shared by its callers. */
  asked: Map<Network, { tip: Promise<LedgerTip | null>; untilMs: number }>;
  bounds: Map<Network, ClockBound>;
}

export function createLedgerStamper(deps: LedgerStamperDeps): LedgerStamper {
  const stamping: Stamping = { ...deps, monotonic: deps.monotonic ?? deps.clock, asked: new Map(), bounds: new Map() };
  const { networkStates, clock } = stamping;

  return {
    async stamp(network) {
      const state = await networkStates.byNetwork(network);
      const newest = await newestOf(stamping, network, state);
      const at = toLedgerTime(clock.now(), clockAheadMs(stamping, network, state));
      // However slow the clock, the present is later than any closed ledger.
      const closedAt = newest?.latestClosedAt;
      return {
        at: closedAt && closedAt > at ? closedAt : at,
        ledger: newest?.latestLedger ?? null,
        ...(newest?.isNewest ? { isNewest: true } : {}),
      };
    },
  };
}

function boundOf({ bounds }: Stamping, network: Network): ClockBound {
  const bound = bounds.get(network) ?? createClockBound();
  bounds.set(network, bound);
  return bound;
}

/** The lead of this host's clock: as the watcher measured it on this machine, else an upper bound
 *  from ledgers seen on it, also by earlier processes. Null when there is neither, or the machine
 *  has no name. */
function clockAheadMs(stamping: Stamping, network: Network, state: NetworkStateDoc | null): number | null {
  const { host, clock, monotonic } = stamping;
  if (host === undefined) return null;
  const isOwn = state?.clockHost === host;
  if (isOwn && typeof state.clockAheadMs === 'number') return state.clockAheadMs;
  const bound = boundOf(stamping, network).aheadMs(clock.nowMs(), monotonic.nowMs());
  const seenAt = state && seenHere(stamping, state);
  const seen = seenAt && likelyBound(seenAt.getTime() - state.latestClosedAt.getTime());
  return bound !== null && seen !== null ? Math.min(bound, seen) : (bound ?? seen);
}

/** When this machine saw the newest ledger, or one that was no newer. */
function seenHere({ host }: Stamping, { latestSeen, clockHost, isSourceBehind, seenAt }: NetworkStateDoc): Date | null {
  if (latestSeen?.by === host) return latestSeen!.at;
  return clockHost === host && !isSourceBehind ? seenAt : null;
}

/** Whether the clock's lead is known, or a request for it has just failed. */
const knowsClock = (stamping: Stamping, network: Network, state: NetworkStateDoc): boolean =>
  stamping.host === undefined ||
  clockAheadMs(stamping, network, state) !== null ||
  (stamping.asked.get(network)?.untilMs ?? Number.NEGATIVE_INFINITY) > stamping.monotonic.nowMs() - FRESH_MS;

function ask(stamping: Stamping, network: Network): Promise<LedgerTip | null> {
  const { asked, ledgers, monotonic, clock } = stamping;
  const known = asked.get(network);
  const ledger = ledgers.get(network);
  if (!ledger) return Promise.resolve(null);
  // An answer to an earlier request misses ledgers that closed since, which matters only on our own
  // ledger, whose newest is known exactly.
  if (known && known.untilMs > monotonic.nowMs() && !ledger.isOwn) return known.tip;
  const tip = ledger
    // The stamps of all accounts share one tenant's allowance.
    .session({ purpose: 'tenants', by: 'stamps' })
    .tip()
    .catch(() => null);
  // Shared until the answer comes, and briefly after.
  const entry = { tip, untilMs: Number.POSITIVE_INFINITY };
  asked.set(network, entry);
  void tip.then((newest) => {
    entry.untilMs = monotonic.nowMs() + (ledger.isFree ? 0 : SHARED_FOR_MS);
    if (newest) boundOf(stamping, network).saw(newest, clock.nowMs(), monotonic.nowMs());
  });
  return tip;
}

async function newestOf(stamping: Stamping, network: Network, state: NetworkStateDoc | null): Promise<Newest | null> {
  const { clock, host, monotonic, ledgers } = stamping;
  // The watcher reaches no source: another request would only make the merchant wait.
  if (state?.trouble) return state;
  const isFresh = state?.seenAt && clock.nowMs() - state.seenAt.getTime() < FRESH_MS;
  if (isFresh && host !== undefined) {
    const isBehind = state.isSourceBehind ?? false;
    boundOf(stamping, network).saw({ ...state, isBehind }, clock.nowMs(), monotonic.nowMs());
  }
  const isKnown = isFresh && knowsClock(stamping, network, state);
  // Without a budget, ledgers may close many times a second: request the newest.
  if (isKnown && !ledgers.get(network)?.isFree) return state;
  const answer = await within(clock, PATIENCE_MS, ask(stamping, network), () => null);
  // A lagging server must not move a stamp back.
  if (!answer || answer.latestLedger < (state?.latestLedger ?? 0)) return state;
  return { ...answer, isNewest: ledgers.get(network)?.isOwn === true && !answer.isBehind };
}

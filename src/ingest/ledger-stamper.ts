/** Stamps moments with the newest ledger that is known, and with the ledger's time where this host's clock may be off. While the watcher is up to date and
 *  the clock agrees this costs no request; else all who ask at once share one question. */
import type { Network } from '../../contracts/networks.js';
import { type Clock, type MonotonicClock, within } from '../clock.js';
import { toLedgerTime } from '../domain/ledger-time.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { NetworkLedger } from '../ledger/network-ledger.js';
import type { LedgerTip } from '../ledger/source.js';
import type { NetworkStateDoc, NetworkStateStore } from '../stores/network-states.js';
import { type ClockBound, createClockBound, likelyBound } from './clock-check.js';

const PATIENCE_MS = 1500;
/** What the watcher saw is taken for the newest ledger so long: on a small request budget its polls are minutes apart. */
const FRESH_MS = 15_000;
/** An answer serves all who ask within this time. */
const SHARED_FOR_MS = 1000;

/** `isNewest`: it certainly was the newest one of all when it was asked for. */
type Newest = Pick<LedgerTip, 'latestLedger' | 'latestClosedAt'> & { isNewest?: boolean };

export interface LedgerStamper {
  /** The present moment: its ledger is the newest one that is known, which closed before it; null when none is known. Never fails. */
  stamp(network: Network): Promise<LedgerStamp>;
}

interface LedgerStamperDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session' | 'isFree' | 'isOwn'>>;
  networkStates: Pick<NetworkStateStore, 'byNetwork'>;
  clock: Clock;
  /** Tells when the clock was set. Default the clock: it never is. */
  monotonic?: Pick<MonotonicClock, 'nowMs'>;
  /** The machine that this process runs on: the watcher's measure of the clock counts where it was made. Default unknown: then the clock is believed. */
  host?: string;
}

interface Stamping extends LedgerStamperDeps {
  monotonic: Pick<MonotonicClock, 'nowMs'>;
  /** The latest question of each network, whose answer others may share. */
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
      // However far a clock is behind, the present is not before a ledger that has closed.
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

/** How far this host's clock is ahead: as the watcher measured it here, else at most, by the newest ledgers that were seen here, also before this process
 *  began. Null when nothing tells, or this machine's name is unknown. */
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

/** Whether the clock's lead is known, or a question about it went unanswered a moment ago. */
const knowsClock = (stamping: Stamping, network: Network, state: NetworkStateDoc): boolean =>
  stamping.host === undefined ||
  clockAheadMs(stamping, network, state) !== null ||
  (stamping.asked.get(network)?.untilMs ?? Number.NEGATIVE_INFINITY) > stamping.monotonic.nowMs() - FRESH_MS;

function ask(stamping: Stamping, network: Network): Promise<LedgerTip | null> {
  const { asked, ledgers, monotonic, clock } = stamping;
  const known = asked.get(network);
  const ledger = ledgers.get(network);
  if (!ledger) return Promise.resolve(null);
  // What was asked before this moment tells of an earlier one, which is good enough but for a ledger that can tell exactly.
  if (known && known.untilMs > monotonic.nowMs() && !ledger.isOwn) return known.tip;
  const tip = ledger
    // The stamps of all accounts together have the allowance of one tenant.
    .session({ purpose: 'tenants', by: 'stamps' })
    .tip()
    .catch(() => null);
  // Until it is answered, and a moment longer.
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
  // While the watcher cannot reach a source, asking again would only make a merchant wait.
  if (state?.trouble) return state;
  const isFresh = state?.seenAt && clock.nowMs() - state.seenAt.getTime() < FRESH_MS;
  if (isFresh && host !== undefined) {
    const isBehind = state.isSourceBehind ?? false;
    boundOf(stamping, network).saw({ ...state, isBehind }, clock.nowMs(), monotonic.nowMs());
  }
  const isKnown = isFresh && knowsClock(stamping, network, state);
  // A ledger without a budget may close many times a second: there the newest one is worth a question.
  if (isKnown && !ledgers.get(network)?.isFree) return state;
  const answer = await within(clock, PATIENCE_MS, ask(stamping, network), () => null);
  // A server that lags must not take a stamp back.
  if (!answer || answer.latestLedger < (state?.latestLedger ?? 0)) return state;
  return { ...answer, isNewest: ledgers.get(network)?.isOwn === true && !answer.isBehind };
}

/** Draws from the seed what a simulated run is like: how often things fail, how many servers and wallets there are, how long it takes. */
import type { Random } from './random.js';

export interface Scenario {
  /** Probability that a process dies at a step. */
  crash: number;
  /** Probability that a database command fails. */
  databaseFaults: number;
  /** Probability that a database command is slow. */
  slowDatabase: number;
  /** Database replies come so late that leases expire while their holders live. */
  stalls: boolean;
  /** Probability that a request to Horizon fails. */
  horizonFaults: number;
  /** No hardship may make it fail more often. */
  answersWell: boolean;
  /** URLs that are configured for the network. */
  urls: number;
  /** Ledgers by which the last URL is behind. */
  lag: number;
  /** Servers behind one URL differ by up to this many ledgers. */
  unevenness: number;
  /** Horizon drops old ledgers. */
  retention: boolean;
  /** The network may be reset, as the test network is. */
  reset: boolean;
  wallets: number;
  /** What the merchants do after they have set up shop. */
  merchantActs: number;
  ledgers: number;
  gracefulStops: boolean;
  clockJumps: boolean;
  /** Ledgers during which no server answers; null for none. */
  outage: { from: number; until: number } | null;
  /** Records that the watcher asks for at once. */
  pageLimit: number;
  workers: number;
  /** How often a dispatcher looks for deliveries that are due. */
  pollMs: number;
  /** A run of more steps counts as endless. */
  maxSteps: number;
}

export function drawScenario(random: Random): Scenario {
  const scenario: Scenario = {
    crash: random.chance(0.75) ? random.next() * 0.03 : 0,
    databaseFaults: random.chance(0.5) ? random.next() * 0.02 : 0,
    slowDatabase: random.chance(0.4) ? random.next() * 0.04 : 0,
    stalls: random.chance(0.08),
    horizonFaults: random.chance(0.7) ? random.next() * 0.25 : 0,
    answersWell: false,
    urls: random.between(1, 2),
    lag: random.chance(0.3) ? random.between(1, 4) : 0,
    unevenness: random.chance(0.1) ? random.between(1, 4) : 0,
    retention: random.chance(0.25),
    reset: random.chance(0.12),
    wallets: random.between(1, 5),
    merchantActs: random.between(2, 12),
    ledgers: random.between(5, 14),
    gracefulStops: random.chance(0.2),
    clockJumps: random.chance(0.2),
    outage: null,
    pageLimit: 3,
    workers: 2,
    pollMs: 2000,
    maxSteps: 12_000,
  };
  // Long enough that the feed skips what it missed.
  if (random.chance(0.12)) {
    scenario.outage = { from: 2, until: 2 + random.between(12, 20) };
    scenario.ledgers = scenario.outage.until + random.between(1, 5);
  }
  // Long enough that the watcher stops reading inactive wallets.
  if (random.chance(0.1)) {
    scenario.ledgers += random.between(15, 25);
    scenario.merchantActs += random.between(8, 16);
  }
  // With both, a page from a server that lags could hide dropped ledgers, and no client could notice.
  if (scenario.retention) scenario.unevenness = 0;
  return scenario;
}

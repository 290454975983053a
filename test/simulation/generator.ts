/** Draws the scenario of a run from its seed: rates of faults, numbers of servers and wallets,
 *  and duration. */
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
  /** Hardships may not make Horizon fail more often. */
  answersWell: boolean;
  /** Number of URLs for the network. */
  urls: number;
  /** Ledgers by which the last URL is behind. */
  lag: number;
  /** Servers behind one URL differ by up to this many ledgers. */
  unevenness: number;
  /** Horizon drops old ledgers. */
  retention: boolean;
  /** The network may be reset, like the test network. */
  reset: boolean;
  wallets: number;
  /** Number of the merchants' acts after setting up shop. */
  merchantActs: number;
  ledgers: number;
  gracefulStops: boolean;
  clockJumps: boolean;
  /** Ledgers during which no server answers; null for none. */
  outage: { from: number; until: number } | null;
  /** Records in one request of the watcher. */
  pageLimit: number;
  workers: number;
  /** Interval at which dispatchers look for due deliveries. */
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
  // Long enough for the feed to skip the missed ledgers.
  if (random.chance(0.12)) {
    scenario.outage = { from: 2, until: 2 + random.between(12, 20) };
    scenario.ledgers = scenario.outage.until + random.between(1, 5);
  }
  // Long enough for the watcher to stop reading inactive wallets.
  if (random.chance(0.1)) {
    scenario.ledgers += random.between(15, 25);
    scenario.merchantActs += random.between(8, 16);
  }
  // With both, a ledger page from a lagging server could hide dropped ledgers, and no client
  // could notice.
  if (scenario.retention) scenario.unevenness = 0;
  return scenario;
}

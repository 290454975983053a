/** Hardships that a run may have besides the usual faults. Each is drawn from a random stream of its own, so that switching one on or off leaves
 *  the seeds without it as they are. */
import type { Scenario } from './generator.js';
import type { Server } from './network.js';
import { createRandom, type Random } from './random.js';

export interface Hardships {
  /** Machines behind each URL, by how many ledgers they are behind; root and pages may come from different ones. */
  divergence: readonly number[] | null;
  /** A page with more heavy records than `limit` fails. */
  heavyPages: { limit: number; how: 'too_large' | 'slow' | '504' } | null;
  /** The request budget of the network. */
  budget: number | null;
  /** One address whose history answers 504 for a while. */
  brokenAccount: true | null;
  /** How many of the newest ledgers each URL keeps; null for all. */
  retentions: readonly (number | null)[] | null;
  /** How far the hosts' clocks are ahead of the ledger's. */
  skewMs: number | null;
  /** Of Horizon; account histories of this version leave out records. */
  oldVersion: string | null;
  /** Contract transfers to an asset's issuer. */
  burns: true | null;
  /** Payments to muxed destinations. */
  muxed: true | null;
  /** One tenant with many webhooks, and one transaction with many payments. */
  crowd: { webhooks: number; payments: number } | null;
  /** Merchants take orders that last some seconds, and payers pay them in parts, late or twice. */
  checkouts: true | null;
  /** A wallet is made right after a reset. */
  walletsAfterReset: true | null;
  /** Stellar RPC servers among the URLs, or nothing else. */
  rpc: readonly Server['kind'][] | null;
  /** Merchants send money back, and say by memo or hash what it gives back. */
  refunds: true | null;
  /** Wallets are audited, by themselves and on demand, by Horizons that may leave records out of their lists. */
  audits: {
    everyMs: number;
    omits: boolean;
    /** So many at once in each worker, as when leases are lost. */
    auditors: number;
  } | null;
  /** To how many webhooks a worker sends at once: fewer than there are. */
  fewQueues: number | null;
  /** Larger bodies do not wait in a worker's memory. */
  largeBodies: { maxBytes: number } | null;
}

export type HardshipName = keyof Hardships;

interface Hardship<T> {
  /** False while the service does not withstand it: it is then drawn only on request. */
  isOn: boolean;
  probability: number;
  draw(random: Random): T;
  /** Changes the rest of the scenario so that the hardship can show. */
  adapt(scenario: Scenario, random: Random): void;
}

const WELL = { answersWell: true, horizonFaults: 0, lag: 0, unevenness: 0, outage: null };
const TRUE = () => true as const;
const unchanged = () => undefined;

export const HARDSHIPS: { readonly [Name in HardshipName]: Hardship<NonNullable<Hardships[Name]>> } = {
  divergence: {
    isOn: true,
    probability: 0.04,
    draw: (random) => {
      const most = random.pick([20, 60, 300]);
      return Array.from({ length: random.between(2, 3) }, (_, index) => (index === 0 ? 0 : random.between(11, most)));
    },
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(15, 30);
      scenario.merchantActs += random.between(6, 14);
      Object.assign(scenario, { retention: false, reset: false, unevenness: 0, lag: 0 });
    },
  },
  heavyPages: {
    isOn: true,
    probability: 0.04,
    draw: (random) => ({ limit: random.between(1, 3), how: random.pick(['too_large', 'slow', '504'] as const) }),
    adapt: (scenario) => Object.assign(scenario, { retention: false, pageLimit: 8 }),
  },
  budget: {
    isOn: true,
    probability: 0.01,
    draw: (random) => random.pick([30, 60, 120, 300, 400]),
    adapt: (scenario) => {
      const rare = {
        horizonFaults: Math.min(0.1, scenario.horizonFaults),
        clockJumps: false,
        retention: false,
        reset: false,
      };
      Object.assign(scenario, rare, { pageLimit: 200, workers: 1, pollMs: 20_000, stalls: false, maxSteps: 70_000 });
      scenario.ledgers = Math.min(scenario.ledgers, 10);
    },
  },
  brokenAccount: {
    isOn: true,
    probability: 0.04,
    draw: TRUE,
    adapt: (scenario) => Object.assign(scenario, WELL, { retention: false, reset: false, wallets: 2 }),
  },
  retentions: {
    isOn: true,
    probability: 0.04,
    draw: (random) => (random.chance(0.7) ? [random.between(1, 4), null] : [null, random.between(1, 4)]),
    adapt: (scenario) => Object.assign(scenario, { urls: 2, retention: false, reset: false, unevenness: 0, lag: 0 }),
  },
  skewMs: {
    isOn: true,
    probability: 0.04,
    draw: (random) => random.between(10_000, 60_000) * random.pick([-1, 1]),
    adapt: (scenario) =>
      Object.assign(scenario, WELL, { clockJumps: false, stalls: false, reset: false, retention: false }),
  },
  oldVersion: {
    isOn: true,
    probability: 0.04,
    draw: (random) => random.pick(['27.1.0-abc', '22.0.2-abc']),
    adapt: unchanged,
  },
  burns: { isOn: true, probability: 0.1, draw: TRUE, adapt: unchanged },
  muxed: { isOn: true, probability: 0.1, draw: TRUE, adapt: unchanged },
  crowd: {
    isOn: true,
    probability: 0.005,
    draw: (random) => ({ webhooks: random.between(40, 50), payments: random.between(15, 24) }),
    adapt: (scenario) => {
      Object.assign(scenario, { crash: scenario.crash / 4, merchantActs: 4, pageLimit: 200 });
      scenario.maxSteps = Math.max(scenario.maxSteps, 40_000);
    },
  },
  walletsAfterReset: {
    isOn: true,
    probability: 0.03,
    draw: TRUE,
    adapt: (scenario) => Object.assign(scenario, { reset: true, retention: false, merchantActs: 30, ledgers: 14 }),
  },
  checkouts: {
    isOn: true,
    probability: 0.12,
    draw: TRUE,
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(5, 15);
      scenario.merchantActs += random.between(10, 25);
      Object.assign(scenario, { reset: false, maxSteps: Math.max(scenario.maxSteps, 25_000) });
    },
  },
  rpc: {
    isOn: true,
    probability: 0.4,
    // Horizons go first, and every fault switches to the other kind.
    draw: (random) => random.pick([['rpc'], ['horizon', 'rpc'], ['horizon', 'rpc'], ['rpc', 'rpc']] as const),
    adapt: (scenario, random) => {
      const faults = Math.max(scenario.horizonFaults, random.next() * 0.25);
      if (!scenario.answersWell) scenario.horizonFaults = faults;
    },
  },
  refunds: {
    isOn: true,
    probability: 0.1,
    draw: TRUE,
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(2, 4);
      scenario.merchantActs += random.between(3, 8);
    },
  },
  audits: {
    isOn: true,
    probability: 0.1,
    draw: (random) => ({
      everyMs: random.pick([8000, 20_000, 60_000]),
      omits: random.chance(0.7),
      auditors: random.between(1, 2),
    }),
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(3, 6);
      scenario.merchantActs += random.between(3, 8);
      scenario.maxSteps = Math.max(scenario.maxSteps, 25_000);
    },
  },
  fewQueues: { isOn: true, probability: 0.1, draw: (random) => random.between(1, 2), adapt: unchanged },
  largeBodies: {
    isOn: true,
    probability: 0.1,
    draw: (random) => ({ maxBytes: random.pick([0, 1500, 2000]) }),
    adapt: unchanged,
  },
};

const NAMES = Object.keys(HARDSHIPS) as HardshipName[];

/** Chance draws only the first of these. A small budget takes hours for pages that are asked for several times because they are too large, for audits, and
 *  for looking at all servers for ledgers that one of them has dropped; within minutes it reads nobody beside a broken account; and beside an old Horizon
 *  addresses fall so far behind that only their histories can catch up, which leave records out. Stellar RPC has no histories of accounts of which one
 *  could fail; where servers are hours apart and the host's clock is off, too, nothing tells the time. */
const APART: readonly (readonly [HardshipName, HardshipName])[] = [
  ['heavyPages', 'budget'],
  ['budget', 'audits'],
  ['budget', 'retentions'],
  ['budget', 'brokenAccount'],
  ['budget', 'oldVersion'],
  ['brokenAccount', 'rpc'],
  ['divergence', 'skewMs'],
];

/** @param always drawn for every seed, and no others, although they may be switched off. */
export function drawHardships(seed: number, scenario: Scenario, always: readonly HardshipName[]): Hardships {
  const drawn: Partial<Record<HardshipName, unknown>> = {};
  for (const [index, name] of NAMES.entries()) {
    const { isOn, probability, draw, adapt } = HARDSHIPS[name];
    const random = createRandom(seed * 1009 + index + 1);
    const isApart = APART.some(([first, second]) => name === second && drawn[first]);
    const isDrawn = always.length > 0 ? always.includes(name) : isOn && random.chance(probability) && !isApart;
    drawn[name] = isDrawn ? draw(random) : null;
    if (isDrawn) adapt(scenario, random);
  }
  return drawn as unknown as Hardships;
}

/** Hardships that a run may have besides the usual faults. Each is drawn from its own random
 *  stream, so that switching one on or off does not change the seeds without it. */
import type { Scenario } from './generator.js';
import type { Server } from './network.js';
import { type Blindness, drawBlindness } from './oddities.js';
import { createRandom, type Random } from './random.js';
import { START_MS } from './scheduler.js';

export interface Hardships {
  /** Machines behind each URL, as the number of ledgers by which each lags; root and ledger pages
   *  may come from different ones. */
  divergence: readonly number[] | null;
  /** A ledger page with more heavy records than `limit` fails. */
  heavyPages: { limit: number; how: 'too_large' | 'slow' | '504' } | null;
  /** The request budget of the network. */
  budget: number | null;
  /** One address whose history answers 504 for a while. */
  brokenAccount: true | null;
  /** The number of newest ledgers that each URL keeps; null for all. */
  retentions: readonly (number | null)[] | null;
  /** The lead of the hosts' clocks over the ledger's. */
  skewMs: number | null;
  /** A version of Horizon whose account histories leave out records. */
  oldVersion: string | null;
  /** Contract transfers to an asset's issuer. */
  burns: true | null;
  /** Payments to muxed destinations. */
  muxed: true | null;
  /** One tenant with many webhooks, and one transaction with many payments. */
  crowd: { webhooks: number; payments: number } | null;
  /** Merchants take orders that end within the run, and payers pay them in parts, late or twice. */
  checkouts: true | null;
  /** A wallet is made right after a reset. */
  walletsAfterReset: true | null;
  /** Stellar RPC servers among the URLs, or only such. */
  rpc: readonly Server['kind'][] | null;
  /** Merchants send money back, and identify the refunded payment by memo or hash. */
  refunds: true | null;
  /** Wallets are audited, by plan and on demand, from Horizons that may leave records out of
   *  their lists. */
  audits: {
    everyMs: number;
    omits: boolean;
    /** Concurrent auditors in each worker, as after lost leases. */
    auditors: number;
  } | null;
  /** The number of webhooks that a worker sends to at once, fewer than there are. */
  fewQueues: number | null;
  /** Size above which bodies do not wait in a worker's memory. */
  largeBodies: { maxBytes: number } | null;
  /** `atOnce` ledgers close a tenth of a second apart, so that several share a second. */
  swiftLedgers: { atOnce: number; everyMs: readonly [number, number] } | null;
  /** Periods in which Stellar RPC may be answered by machines that show no classic events. */
  blindness: readonly Blindness[] | null;
  /** Every ledger page has its first entry twice. */
  twice: true | null;
  /** Strangers look at payment pages all the time. */
  outsiders: true | null;
  /** Customers of one exchange and contracts pay, some transactions have two hashes, and merchants
   *  refund all of them, also several payments in one transaction, and as issuers. */
  waysBack: true | null;
  /** A share of all transactions that no server has for a while after their ledger's close. */
  lacking: { share: number; forMs: number } | null;
  /** Prices in a currency, by rates that jump, are missing or differ; merchants set their own, and
   *  visitors pay exactly or nearly the shown amount. */
  rates: true | null;
  /** A share of all transactions that no client can decode, nor Stellar RPC servers
   *  until `serversKnowMs`. */
  future: { share: number; serversKnowMs: number } | null;
  /** Payers pay in another asset, through a market in which wallets trade too. */
  detours: true | null;
  /** Payers pay twice, and merchants send back exactly what is left of a payment before they decide
   *  about it. */
  decisions: true | null;
  /** Sources of rates repeat an answer for a while, with its own time, and some of these
   *  are wrong. */
  repeats: true | null;
  /** Merchants set many rates, markups and prices, one right after the other. */
  histories: true | null;
  /** Orders have tolerances, coupons and pieces of a stock, and payers pay a little less than
   *  is asked. */
  orders: true | null;
  /** A process that dies within a transaction leaves its documents locked, until another process
   *  ends the transaction. */
  holds: true | null;
  /** A share of the answers names a newest ledger this far ahead of the network. */
  claims: { share: number; ahead: number } | null;
  /** A transaction of several operations takes too long after this, by the service. */
  pieces: { withinMs: number } | null;
}

export type HardshipName = keyof Hardships;

interface Hardship<T> {
  /** False while the service does not withstand it, so that it is drawn only on request. */
  isOn: boolean;
  probability: number;
  draw(random: Random): T;
  /** Adapts the rest of the scenario, so that the hardship can show. */
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
    // Horizons come first, and every fault switches to the other kind.
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
  swiftLedgers: {
    isOn: true,
    probability: 0.15,
    // Three ledgers in a second now and then, or ten per second all the time.
    draw: (random) =>
      random.pick([
        { atOnce: 3, everyMs: [600, 2500] },
        { atOnce: 10, everyMs: [100, 100] },
      ] as const),
    adapt: (scenario) => {
      scenario.maxSteps = Math.max(scenario.maxSteps, 25_000);
    },
  },
  blindness: {
    isOn: true,
    probability: 0.1,
    draw: (random) => drawBlindness(random, 20_000),
    adapt: (scenario) => {
      scenario.ledgers = Math.max(scenario.ledgers, 10);
    },
  },
  twice: { isOn: true, probability: 0.05, draw: TRUE, adapt: unchanged },
  outsiders: { isOn: true, probability: 0.3, draw: TRUE, adapt: unchanged },
  waysBack: {
    isOn: true,
    probability: 0.15,
    draw: TRUE,
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(2, 6);
      scenario.merchantActs += random.between(6, 14);
    },
  },
  lacking: {
    isOn: true,
    probability: 0.1,
    draw: (random) => ({ share: 0.2 + random.next() * 0.6, forMs: random.between(3000, 20_000) }),
    adapt: (scenario) => {
      // Records that are dropped before any server has them would be lost.
      scenario.retention = false;
      scenario.maxSteps = Math.max(scenario.maxSteps, 25_000);
    },
  },
  rates: {
    isOn: true,
    probability: 0.08,
    draw: TRUE,
    // Longer than the lock of a rate and the difference of clocks.
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(25, 35);
      scenario.merchantActs += random.between(10, 25);
      Object.assign(scenario, { reset: false, retention: false, clockJumps: false });
      scenario.maxSteps = Math.max(scenario.maxSteps, 60_000);
    },
  },
  future: {
    isOn: true,
    probability: 0.15,
    draw: (random) => ({
      share: 0.2 + random.next() * 0.6,
      serversKnowMs: random.chance(0.6) ? 0 : START_MS + random.int(20_000),
    }),
    adapt: (scenario) => {
      // Records that are dropped before they can be decoded would be lost.
      scenario.retention = false;
      scenario.maxSteps = Math.max(scenario.maxSteps, 25_000);
    },
  },
  detours: {
    isOn: true,
    probability: 0.15,
    draw: TRUE,
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(2, 6);
    },
  },
  decisions: {
    isOn: true,
    probability: 0.5,
    draw: TRUE,
    adapt: (scenario, random) => {
      scenario.ledgers += random.between(6, 12);
      scenario.merchantActs += random.between(6, 12);
      scenario.maxSteps = Math.max(scenario.maxSteps, 25_000);
    },
  },
  repeats: { isOn: true, probability: 0.5, draw: TRUE, adapt: unchanged },
  histories: { isOn: true, probability: 0.5, draw: TRUE, adapt: unchanged },
  orders: { isOn: true, probability: 0.6, draw: TRUE, adapt: unchanged },
  holds: {
    isOn: true,
    probability: 0.1,
    draw: TRUE,
    adapt: (scenario) => {
      scenario.maxSteps = Math.max(scenario.maxSteps, 40_000);
    },
  },
  claims: {
    isOn: true,
    probability: 0.1,
    draw: (random) => ({ share: 0.1 + random.next() * 0.4, ahead: 100_000_000 }),
    adapt: unchanged,
  },
  pieces: {
    isOn: true,
    probability: 0.1,
    draw: (random) => ({ withinMs: random.pick([-1, 5, 30, 100]) }),
    adapt: (scenario) => {
      scenario.maxSteps = Math.max(scenario.maxSteps, 40_000);
    },
  },
};

const NAMES = Object.keys(HARDSHIPS) as HardshipName[];

/** Pairs of which chance draws only the first. A small budget takes hours for ledger pages that are
 *  requested repeatedly because they are too large, for audits, for searching all servers for
 *  ledgers that one has dropped, and for repeated requests; within minutes it reads no other
 *  address beside a broken account. With an old Horizon, a small budget or ten ledgers per second
 *  let addresses fall so far behind that only their histories can catch up, which leave records
 *  out. Stellar RPC has no account histories that could fail. When servers are hours apart and the
 *  host's clock is off, nothing tells the time. */
const APART: readonly (readonly [HardshipName, HardshipName])[] = [
  ['heavyPages', 'budget'],
  ['budget', 'audits'],
  ['budget', 'retentions'],
  ['budget', 'brokenAccount'],
  ['budget', 'oldVersion'],
  ['oldVersion', 'swiftLedgers'],
  ['budget', 'lacking'],
  ['budget', 'future'],
  ['brokenAccount', 'rpc'],
  ['divergence', 'skewMs'],
  ['budget', 'rates'],
  ['crowd', 'rates'],
];

/** Hardships that show only with another one. */
const BESIDE: Partial<Record<HardshipName, HardshipName>> = {
  blindness: 'rpc',
  outsiders: 'budget',
  decisions: 'refunds',
  repeats: 'rates',
  histories: 'rates',
  orders: 'checkouts',
};

/** @param always if given, exactly these are drawn, even when switched off */
export function drawHardships(seed: number, scenario: Scenario, always: readonly HardshipName[]): Hardships {
  const drawn: Partial<Record<HardshipName, unknown>> = {};
  for (const [index, name] of NAMES.entries()) {
    const { isOn, probability, draw, adapt } = HARDSHIPS[name];
    const random = createRandom(seed * 1009 + index + 1);
    const isApart = APART.some(([first, second]) => name === second && drawn[first]);
    const beside = BESIDE[name];
    const canShow = beside === undefined || Boolean(drawn[beside]);
    const isDrawn =
      always.length > 0 ? always.includes(name) : isOn && random.chance(probability) && !isApart && canShow;
    drawn[name] = isDrawn ? draw(random) : null;
    if (isDrawn) adapt(scenario, random);
  }
  return drawn as unknown as Hardships;
}

/** Runs one seed: workers and an API run under merchants, payers and faults; then the faults stop,
 *  and the oracle checks the guarantees. */
import { EVENT_TYPES } from '../../contracts/event-kinds.js';
import { Chain } from './chain.js';
import type { DatabaseServer, Plan, SimulatedDatabase } from './database.js';
import { drawScenario, type Scenario } from './generator.js';
import { drawHardships, type HardshipName, type Hardships } from './hardships.js';
import { type Doc, newKnowledge } from './knowledge.js';
import { createMarket } from './market.js';
import { Merchant } from './merchant.js';
import { isDrawnBy, Network } from './network.js';
import { AuditObserver } from './oracle/audits.js';
import { CheckoutObserver } from './oracle/checkouts.js';
import { HoldingObserver } from './oracle/holdings.js';
import {
  COLLECTIONS,
  checkAll,
  checkBudget,
  checkOthers,
  checkSettled,
  checkStrangers,
  checkSync,
  EventReader,
  isAtRest,
  isSent,
  type Stored,
} from './oracle/index.js';
import { RateObserver } from './oracle/rates.js';
import { RefundObserver } from './oracle/refunds.js';
import { visitPages, visitShops } from './outsiders.js';
import { closeLedger, closeLedgers, closeOldLedgers, openAccounts } from './payer.js';
import type { SimulatedProcess } from './processes.js';
import { createRandom, type Random } from './random.js';
import { createReceiver } from './receiver.js';
import { ADDRESSES, callerOf, PAYER, type Run } from './run.js';
import { type Action, Scheduler } from './scheduler.js';
import { Supervisor } from './supervisor.js';

export interface Outcome {
  seed: number;
  /** Hardships of the run besides the usual faults. */
  hardships: string[];
  /** Broken guarantees. */
  violations: string[];
  steps: number;
  crashes: number;
  payments: number;
  /** Requests at endpoints. */
  arrivals: number;
  /** Ended audits, and the number of those with a difference. */
  audits: number;
  differences: number;
  /** Payments that lists left out and that were recorded nevertheless. */
  healed: number;
  /** How often each act of a merchant succeeded, each kind of event arose, and each outcome of a
   *  payment and of a checkout was the last one. */
  reached: Record<string, number>;
}

const SETTINGS = { timeoutMs: 3000, retryBaseMs: 300, maxAttempts: 4, readOneByOne: 2 };
/** Time for the merchants' acts, per ledger. */
const MS_PER_LEDGER = 2200;
/** The same for runs in which rates have to change and expire. */
const MS_PER_SLOW_LEDGER = 4000;
/** The storage engine's limit of documents in one transaction, scaled down. */
const MAX_TRANSACTION_WRITES = 1000;
const CALM_ROUND_MS = 4000;
const CALM_ROUNDS = 40;
/** Long enough to read everything with a budget of 30 requests per hour. */
const BUDGET_ROUND_MS = 60_000;
const BUDGET_ROUNDS = 60;
/** With Stellar RPC each transaction takes its own request. */
const RPC_BUDGET_ROUNDS = 360;
/** Each request for a too large ledger page costs a time-out, for every address; a stream that
 *  failed for long pauses for a minute; checkouts made by a fast clock end later, those of an order
 *  form after more than five minutes. */
const SLOW_ROUNDS = 90;
/** Heavy pages beside a broken account, after which page sizes have to grow again, or beside
 *  machines that are behind, which answer every other request. */
const SLOWEST_ROUNDS = 150;
/** After the dismissal of parked records, the checkouts that they kept OPEN expire within this
 *  many rounds. */
const DISMISSED_ROUNDS = 12;
/** A quarter of an hour, which strangers need to use up their share. */
const OUTSIDERS_ROUNDS = 15;
const AUDIT_ROUNDS = 40;
/** Rounds with crashes, while most audits run, so that they are interrupted between any
 *  two steps. */
const AUDIT_ROUNDS_CRASHING = 3;
const LATE_CRASH = 0.04;
/** A failing account is skipped within this many rounds; streams that failed before may pause for
 *  half a minute. */
const BROKEN_ROUNDS = 10;
/** The same when each heavy ledger page costs a time-out and the following pause. */
const HEAVY_BROKEN_ROUNDS = 25;
/** Ledgers from before the run, for servers that are far behind. */
const OLD_LEDGERS = 320;

/** @param trace gets every step as a line @param always if given, the run has exactly
 *  these hardships */
export async function simulate(
  server: DatabaseServer,
  seed: number,
  trace: ((line: string) => void) | null = null,
  always: readonly HardshipName[] = [],
): Promise<Outcome> {
  const random = createRandom(seed);
  const scenario = drawScenario(random);
  const hardships = drawHardships(seed, scenario, always);
  const { run, violations, crashes, checkouts } = await prepare(server, { random, scenario, hardships }, trace);
  const { pageLimit, pollMs } = scenario;
  const expires = hardships.checkouts !== null;
  const host = hardships.skewMs === null ? undefined : 'simulated';
  const { budget: requestsPerHour, audits } = hardships;
  const maxQueues = hardships.fewQueues ?? undefined;
  const maxBodyBytes = hardships.largeBodies?.maxBytes;
  const delivery = { maxQueues, maxBodyBytes };
  const { market } = run;
  const holds = hardships.holds !== null;
  const storedWithinMs = hardships.pieces?.withinMs;
  const drawn = { pageLimit, pollMs, requestsPerHour, expires, host, audits, holds, storedWithinMs, delivery, market };
  const settings = { ...SETTINGS, ...drawn };
  const supervisor = new Supervisor(run, { ...run, settings });
  try {
    await goThroughTurmoil(run, supervisor);
    violations.push(...(await comeToRest(run, supervisor, checkouts)).filter((each) => !violations.includes(each)));
  } catch (error) {
    violations.push((error as Error).stack ?? String(error));
  }
  const { count } = crashes;
  await supervisor.end();
  run.database.release();
  const payments = await run.database.docs('payments');
  const ended = (await run.database.docs('audits')).filter(({ status }) => status !== 'RUNNING');
  const { steps } = run.scheduler;
  const names = Object.entries(hardships).flatMap(([name, value]) => (value === null ? [] : [name]));
  return {
    seed,
    hardships: names,
    violations,
    steps,
    crashes: count,
    payments: payments.length,
    arrivals: run.receiver.arrivals.length,
    audits: ended.length,
    differences: ended.filter(({ status }) => status === 'DIFFERENT').length,
    healed: payments.filter(({ operationId }) => run.chain.omitted.has(operationId)).length,
    reached: await reachedBy(run, payments),
  };
}

async function reachedBy({ known, database }: Run, payments: readonly Doc[]): Promise<Record<string, number>> {
  const reached = Object.fromEntries([...EVENT_TYPES.map((type) => [`event ${type}`, 0]), ...known.reached]);
  const count = (name: string) => {
    reached[name] = (reached[name] ?? 0) + 1;
  };
  for (const { type } of await database.docs('events')) count(`event ${type}`);
  for (const { status, reason } of payments) count(`payment ${[status, reason].filter(Boolean).join(' ')}`);
  for (const { status } of await database.docs('checkouts')) count(`checkout ${status}`);
  return reached;
}

async function prepare(
  server: DatabaseServer,
  { random, scenario, hardships }: Pick<Run, 'random' | 'scenario' | 'hardships'>,
  trace: ((line: string) => void) | null,
) {
  const known = newKnowledge({
    stalls: scenario.stalls,
    isUneven: scenario.unevenness > 0 || hardships.divergence !== null,
    skewMs: hardships.skewMs ?? 0,
    isKept: hardships.retentions !== null,
    isHorizonOnly: !hardships.rpc?.includes('rpc'),
    isLacking: (hash) => hardships.lacking !== null && isDrawnBy(hardships.lacking.share, hash),
  });
  const violations: string[] = [];
  const crashes = { count: 0 };
  const database = await server.open({
    plan: () => planCommand(run),
    ...(hardships.crowd ? { maxTransactionWrites: MAX_TRANSACTION_WRITES } : {}),
  });
  const checkouts = new CheckoutObserver();
  const observe = observer(() => run, violations, checkouts);
  const scheduler = new Scheduler(
    random,
    {
      crash: ({ process }) => {
        if (run.isCalm && !(run.lateCrash > 0 && process?.name.startsWith('worker'))) return null;
        if (!random.chance(run.isCalm ? run.lateCrash : scenario.crash)) return null;
        return random.chance(0.5) ? 'before' : 'after';
      },
      onKill: async (process) => {
        crashes.count += 1;
        (process as SimulatedProcess).die('killed');
        // Else they hold their documents until another process kills them.
        if (!run.hardships.holds) await database.forget(process);
      },
      afterStep: observe,
    },
    trace,
  );
  const chain = new Chain(PAYER);
  const network = new Network(chain, scheduler);
  const receiver = createReceiver({ random, scheduler, timeoutMs: SETTINGS.timeoutMs });
  const run: Run = {
    random,
    scenario,
    hardships,
    scheduler,
    database,
    chain,
    network,
    receiver,
    market: hardships.rates ? createMarket({ random, scheduler, repeats: hardships.repeats !== null }) : null,
    rates: new RateObserver(),
    known,
    isCalm: false,
    lateCrash: 0,
    failure: () => null,
  };
  addServers(network, scenario, hardships, random);
  network.heavyPages = hardships.heavyPages;
  network.blindness = hardships.blindness ?? [];
  network.isTwice = hardships.twice !== null;
  network.claims = hardships.claims;
  network.lacking = hardships.lacking;
  network.future = hardships.future;
  if (hardships.brokenAccount) network.brokenAccount = ADDRESSES[0]!;
  if (hardships.audits) {
    chain.keepsBooks = true;
    openAccounts(run);
  }
  if (hardships.divergence) closeOldLedgers(run, OLD_LEDGERS);
  closeLedger(run);
  return { run, violations, crashes, checkouts };
}

function addServers(
  network: Network,
  { urls, horizonFaults, lag, unevenness }: Scenario,
  { divergence, retentions, oldVersion, rpc }: Hardships,
  random: Random,
): void {
  // At least two servers: one keeps the ledgers that the other drops.
  const atLeast = retentions ? 2 : 1;
  const kinds = rpc
    ? Array.from({ length: Math.max(atLeast, rpc.length) }, (_, index) => rpc[index % rpc.length]!)
    : Array.from({ length: urls }, () => 'horizon' as const);
  for (const [index, kind] of kinds.entries())
    network.servers.push({
      kind,
      faults: horizonFaults,
      // The last one lags, so that a failover goes back in time.
      lag: index === kinds.length - 1 ? lag : 0,
      unevenness,
      repeats: random.chance(0.2),
      machines: divergence ?? [],
      keeps: retentions?.[index] ?? null,
      version: oldVersion ?? '28.0.0-abc',
    });
}

/** Draws delays and faults of a database command. */
function planCommand({ random, scenario, isCalm }: Run): Plan {
  const longestMs = scenario.stalls ? 9000 : 1200;
  const delay = () => (!isCalm && random.chance(scenario.slowDatabase) ? random.between(20, longestMs) : 0);
  const fails = !isCalm && random.chance(scenario.databaseFaults);
  return {
    delayMs: delay(),
    heardAfterMs: delay(),
    fault: fails ? random.pick(['refused', 'unheard'] as const) : null,
  };
}

/** Checks the invariants after each write. */
function observer(
  runOf: () => Run,
  violations: string[],
  checkouts: CheckoutObserver,
): (action: Action) => Promise<void> {
  const settled = new Map<string, string>();
  const reader = new EventReader();
  const refunds = new RefundObserver();
  const audits = new AuditObserver();
  const holdings = new HoldingObserver();
  return async ({ label, process }) => {
    if (process === null) return;
    const { known, chain, database, scheduler, hardships } = runOf();
    const faults: string[] = [];
    if (/^(update|findAndModify) deliveries/.test(label))
      faults.push(...checkSettled(known, await database.docs('deliveries'), settled));
    if (/^commit/.test(label)) faults.push(...reader.poll(await database.docs('events')));
    if (hardships.rates && /^(commit|insert rateSamples)/.test(label)) {
      const names = ['rateSamples', 'ownRates', 'accounts'];
      const lists = await Promise.all(names.map((name) => database.docs(name)));
      const stored = Object.fromEntries(names.map((name, index) => [name, lists[index]!]));
      faults.push(...runOf().rates.see(stored, scheduler.nowMs()));
    }
    if (hardships.checkouts && /^(commit|insert checkouts)/.test(label)) {
      const stored = await readStored(database, ['checkouts', 'payments']);
      faults.push(...checkouts.see(known, chain, stored, scheduler.nowMs()));
    }
    if (hardships.orders && /^commit/.test(label)) {
      const names = ['products', 'coupons', 'paymentLinks', 'checkouts'] as const;
      const [products, coupons, links, orders] = await Promise.all(names.map((name) => database.docs(name)));
      faults.push(...holdings.see({ products: products!, coupons: coupons!, links: links!, checkouts: orders! }));
    }
    if ((hardships.refunds || hardships.waysBack) && /^commit/.test(label))
      faults.push(...refunds.see(known, await readStored(database, ['refunds', 'payments']), process.name));
    if (hardships.audits && /^commit|audits/.test(label)) {
      const stored = await readStored(database, ['audits', 'payments', 'parkedRecords']);
      faults.push(...audits.see(known, chain, stored, scheduler.nowMs()));
    }
    if (/^(commit|update (cursors|wallets)|findAndModify wallets|delete cursors|insert payments)/.test(label)) {
      const stored = await readStored(database, ['wallets', 'cursors', 'networkStates', 'payments', 'parkedRecords']);
      faults.push(...checkSync(known, chain, stored, scheduler.nowMs()));
    }
    for (const fault of faults) {
      if (violations.includes(fault)) continue;
      violations.push(fault);
      scheduler.log(`!!! ${fault}`);
    }
  };
}

async function readStored<K extends keyof Stored>(database: SimulatedDatabase, names: readonly K[]) {
  const lists = await Promise.all(names.map((name) => database.docs(COLLECTIONS[name])));
  return Object.fromEntries(names.map((name, index) => [name, lists[index]!])) as Record<K, Doc[]>;
}

/** Runs with all faults until the merchants are done and the time for the ledgers is over. */
async function goThroughTurmoil(run: Run, supervisor: Supervisor): Promise<void> {
  const state = { failed: null as Error | null, isMerchantDone: false };
  const fail = (error: Error) => {
    state.failed = error;
  };
  for (let index = 0; index < run.scenario.workers; index++) void supervisor.keepWorker(index).catch(fail);
  void closeLedgers(run).catch(fail);
  void supervisor.setClocks().catch(fail);
  if (run.hardships.outsiders) void visitPages(run, supervisor).catch(fail);
  if (run.hardships.rates) void visitShops(run, supervisor).catch(fail);
  void new Merchant(run, supervisor).work().then(() => {
    state.isMerchantDone = true;
  }, fail);
  run.failure = () => state.failed;
  const { scheduler, scenario } = run;
  const endMs = scheduler.nowMs() + scenario.ledgers * (run.hardships.rates ? MS_PER_SLOW_LEDGER : MS_PER_LEDGER);
  await runUntil(run, () => state.isMerchantDone && scheduler.nowMs() > endMs);
}

/** Stops all faults and waits until everything is read and sent. @returns the broken guarantees */
async function comeToRest(run: Run, supervisor: Supervisor, checkouts: CheckoutObserver): Promise<string[]> {
  const { scheduler, network, receiver, known, chain } = run;
  run.isCalm = true;
  scheduler.log('faults stop');
  network.endFaults();
  receiver.endFaults();
  run.market?.endFaults();
  const { budget, brokenAccount, divergence, heavyPages, rpc, skewMs, orders, outsiders } = run.hardships;
  const isSlow = brokenAccount || heavyPages || skewMs || orders;
  const roundMs = budget ? BUDGET_ROUND_MS : CALM_ROUND_MS;
  const budgetRounds = rpc ? RPC_BUDGET_ROUNDS : BUDGET_ROUNDS;
  const slowRounds = heavyPages && (brokenAccount || divergence) ? SLOWEST_ROUNDS : SLOW_ROUNDS;
  let rounds = budget ? budgetRounds : isSlow ? slowRounds : CALM_ROUNDS;
  const brokenRounds = heavyPages ? HEAVY_BROKEN_ROUNDS : BROKEN_ROUNDS;
  const faults: string[] = [];
  for (let round = 1; ; round++) {
    const untilMs = scheduler.nowMs() + roundMs;
    await runUntil(run, () => scheduler.nowMs() >= untilMs);
    const stored = await readStored(run.database, Object.keys(COLLECTIONS) as (keyof Stored)[]);
    if (brokenAccount && round === brokenRounds) {
      faults.push(...checkOthers(known, chain, stored, network.brokenAccount!));
      network.brokenAccount = null;
      scheduler.log('the broken account is mended');
    }
    const mayEnd = round > (brokenAccount ? brokenRounds : outsiders ? OUTSIDERS_ROUNDS : 1);
    const isResting = mayEnd && isAtRest(known, chain, stored);
    if (!isResting && round <= rounds) continue;
    if (isResting && !known.isDismissed) {
      await dismissParked(run, supervisor);
      rounds = Math.max(rounds, round + DISMISSED_ROUNDS);
      continue;
    }
    // Before processes die once more, amid the audits and maybe just after a claim of a pair.
    const ratePairs = await run.database.docs('ratePairs');
    faults.push(...run.rates.check({ ratePairs }, scheduler.nowMs()));
    const finals = run.hardships.audits && (await auditAll(run, supervisor));
    const settled = finals ? await comeToRestAgain(run) : stored;
    const { maxAttempts } = SETTINGS;
    return [
      ...faults,
      ...checkAll(known, chain, receiver.arrivals, settled, { maxAttempts, finals, rates: run.rates }),
      ...checkouts.check(known, chain, settled),
      ...run.database.holders().map((name) => `the transaction of ${name}, which died, was never ended`),
      ...checkBudget(network.requestsMs, budget),
      ...checkStrangers(network.strangersMs, budget),
    ];
  }
}

/** Waits until what was paid while processes died amid the audits is read. */
async function comeToRestAgain(run: Run): Promise<Stored> {
  const { scheduler, database, known, chain } = run;
  for (let left = CALM_ROUNDS; ; left--) {
    const stored = await readStored(database, Object.keys(COLLECTIONS) as (keyof Stored)[]);
    if (left === 0 || isAtRest(known, chain, stored)) return stored;
    const untilMs = scheduler.nowMs() + CALM_ROUND_MS;
    await runUntil(run, () => scheduler.nowMs() >= untilMs);
  }
}

/** Dismisses parked records, like an operator. */
async function dismissParked(run: Run, supervisor: Supervisor): Promise<void> {
  const { scheduler, known, database } = run;
  const state = { isDone: false, error: null as Error | null };
  scheduler.log('what is parked is dismissed');
  known.isDismissed = true;
  // Read while time stands still, because a real mongod takes longer than the one in memory.
  const open = (await database.docs('parkedRecords')).filter(({ dismissed }) => dismissed === null);
  const dismissAll = async () => {
    const { dismissParked } = await supervisor.openApi();
    for (const { _id } of open) await dismissParked(_id, 'settled');
    state.isDone = true;
  };
  void dismissAll().catch((error) => {
    state.error = error;
  });
  await runUntil(run, () => state.isDone || state.error !== null);
  if (state.error) throw state.error;
}

/** Audits every wallet, and waits until the resulting events are sent. @returns the audits
 *  by wallet */
async function auditAll(run: Run, supervisor: Supervisor): Promise<Map<string, string>> {
  const { scheduler, known, network, database } = run;
  const finals = new Map<string, string>();
  scheduler.log('every wallet is audited');
  const startAll = async () => {
    for (const [id, { accountId }] of known.wallets) {
      while (!finals.has(id)) {
        const { wallets } = await supervisor.openApi();
        // An audit that began before does not count.
        const audit = await wallets.startAudit(callerOf(accountId), { id }).catch(() => null);
        if (audit) finals.set(id, audit.id);
        else await scheduler.sleep(500, null);
      }
    }
  };
  const starting = { error: null as Error | null };
  void startAll().catch((error) => {
    starting.error = error;
  });
  for (let left = AUDIT_ROUNDS; left > 0; left--) {
    run.lateCrash = run.scenario.crash > 0 && left > AUDIT_ROUNDS - AUDIT_ROUNDS_CRASHING ? LATE_CRASH : 0;
    const untilMs = scheduler.nowMs() + CALM_ROUND_MS;
    await runUntil(run, () => scheduler.nowMs() >= untilMs);
    if (starting.error) throw starting.error;
    const stored = await readStored(database, ['audits', 'events', 'deliveries', 'webhooks']);
    const open = stored.audits.filter(({ _id, status }) => [...finals.values()].includes(_id) && status === 'RUNNING');
    if (finals.size === known.wallets.size && open.length === 0 && isSent(stored)) break;
  }
  run.lateCrash = 0;
  // Behind heavy pages that time out, the reading of payments may be later than an audit waits
  // for it.
  known.isAudited = network.hasWholeHistories && run.hardships.heavyPages?.how !== 'slow';
  return finals;
}

async function runUntil(run: Run, done: () => boolean): Promise<void> {
  await run.scheduler.run(() => run.failure() !== null || done(), run.scenario.maxSteps);
  const failure = run.failure();
  if (failure) throw failure;
}

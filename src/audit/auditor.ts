/** Runs the audits of a network: plans them over the day, and gives each that runs its turns, one
 *  at a time, within its share of the request budget. Those that accounts asked for go on beside
 *  the planned ones: they are paid for by the accounts' share. */

import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../kit/clock.js';
import type { NewId } from '../kit/ids.js';
import { type LeaseStore, whileHeld } from '../kit/leases.js';
import type { Asker, NetworkLedger, ServerTip } from '../ledger/index.js';
import type { WalletStore } from '../watching/index.js';
import type { AuditDoc, AuditStore } from './audit-store.js';
import type { AuditLedger, TakeTurn } from './turn.js';

/** Interval of attempts at the lease, and the longest interval of checks for work. */
const LOOK_MS = 1000;
/** Interval of checks for planned audits. */
const PLAN_MS = 5000;
const PLANNED_AT_ONCE = 200;

/** How fast the audits of a network go. Milliseconds. */
interface AuditPace {
  /** From an audit's turn to its next, and the first interval of checks for work. */
  lookMs: number;
  /** Nobody takes over before a process that died has lost its lease. */
  leaseMs: number;
  /** How long the tips of all servers are kept. */
  tipsForMs: number;
  /** A difference is checked again after this. */
  recheckMs: number;
}

const PACE: AuditPace = { lookMs: LOOK_MS, leaseMs: 30_000, tipsForMs: 30_000, recheckMs: 20_000 };
/** A ledger without a budget may close many times a second. */
const FREE_PACE: AuditPace = { lookMs: 250, leaseMs: 30_000, tipsForMs: 0, recheckMs: 500 };

export interface AuditorDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session' | 'isFree'>>;
  audits: Pick<AuditStore, 'start' | 'nextTurn'>;
  wallets: Pick<WalletStore, 'withoutAuditPlan' | 'dueForAudit' | 'planAudit'>;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  takeTurn: TakeTurn;
  /** From one audit of a wallet to the next; 0 for none by themselves. */
  intervalMs: number;
  /** Default by whether a budget limits the network's requests. */
  pace?: AuditPace;
  newId: NewId;
  /** Unique per process. */
  holder: string;
  clock: Clock;
  monotonic: MonotonicClock;
  log: Logger;
}

export type Auditor = ReturnType<typeof createAuditor>;

/** Dependencies of a network's audits. */
interface Work {
  network: Network;
  ledgerOf: (audit: AuditDoc) => AuditLedger;
  ended: AbortSignal;
  lookMs: number;
}

/** @throws what the first of them rejected with */
const sumOf = (ends: readonly PromiseSettledResult<number>[]): number =>
  ends.reduce((sum, end) => {
    if (end.status === 'rejected') throw end.reason;
    return sum + end.value;
  }, 0);

export function createAuditor(deps: AuditorDeps) {
  const { ledgers, audits, leases, takeTurn, holder, clock, monotonic, log } = deps;
  const plan = createPlan(deps);

  /** @returns how many turns were taken */
  async function runNetwork(network: Network, enough: AbortSignal, ended: AbortSignal): Promise<number> {
    const { lookMs, leaseMs } = paceOf(deps, network);
    const ledgerOf = ledgersOf(deps, network, ended);
    const lease = { leases, name: `audits:${network}`, holder, ms: leaseMs, clock: monotonic, log };
    let turns = 0;
    while (!enough.aborted) {
      const taken = await whileHeld(lease, enough, (held) => workOffBoth({ network, ledgerOf, ended, lookMs }, held));
      if (taken === null) await monotonic.sleep(LOOK_MS, enough);
      else turns += taken;
    }
    return turns;
  }

  /** Runs planned and requested audits concurrently. When one loop fails, the other ends too. */
  async function workOffBoth(work: Work, enough: AbortSignal): Promise<number> {
    const failed = new AbortController();
    const either = AbortSignal.any([enough, failed.signal]);
    const turns = await Promise.allSettled(
      [true, false].map((isAskedFor) =>
        workOff({ ...work, isAskedFor }, either).catch((error: unknown) => {
          failed.abort();
          throw error;
        }),
      ),
    );
    return sumOf(turns);
  }

  async function workOff(
    { network, isAskedFor, ledgerOf, ended, lookMs }: Work & { isAskedFor: boolean },
    enough: AbortSignal,
  ): Promise<number> {
    let turns = 0;
    let account = '';
    let idleMs = lookMs;
    for (let planAtMs = 0; !enough.aborted; ) {
      if (!isAskedFor && monotonic.nowMs() >= planAtMs) {
        await plan(network);
        planAtMs = monotonic.nowMs() + PLAN_MS;
      }
      const audit = await audits.nextTurn({ network, isAskedFor }, clock.now(), account);
      if (audit) {
        account = audit.accountId;
        await takeTurn(audit, ledgerOf(audit), ended);
        turns += 1;
        idleMs = lookMs;
      } else {
        await monotonic.sleep(idleMs, enough);
        idleMs = Math.min(LOOK_MS, 2 * idleMs);
      }
    }
    return turns;
  }

  return {
    /** Runs audits until there is enough, each network by itself. @returns how many turns
     *  were taken */
    async run(networks: readonly Network[], enough: AbortSignal, ended: AbortSignal): Promise<number> {
      // Wait for all networks, so that no loop overlaps the next run.
      const ends = await Promise.allSettled(
        networks.filter((network) => ledgers.has(network)).map((network) => runNetwork(network, enough, ended)),
      );
      return sumOf(ends);
    },
  };
}

/** Plans audits for wallets without a plan, and starts a due one. */
function createPlan({ audits, wallets, intervalMs, newId, clock }: AuditorDeps) {
  /** The same for a wallet each time: what is made at once is not audited at once. */
  const phaseOf = (walletId: string): number =>
    (createHash('sha256').update(walletId).digest().readUInt32BE() / 2 ** 32) * intervalMs;

  return async (network: Network): Promise<void> => {
    if (intervalMs === 0) return;
    for (const { _id } of await wallets.withoutAuditPlan(network, PLANNED_AT_ONCE))
      await wallets.planAudit(_id, new Date(clock.nowMs() + phaseOf(_id)));
    const due = await wallets.dueForAudit(network, clock.now());
    if (!due) return;
    const { _id: walletId, accountId } = due;
    // Before the next one is planned: twice is refused, never is not noticed.
    await audits.start({ _id: newId('aud'), accountId, walletId, network, createdAt: clock.now() });
    await wallets.planAudit(walletId, new Date(clock.nowMs() + intervalMs));
  };
}

const paceOf = ({ pace, ledgers }: AuditorDeps, network: Network): AuditPace =>
  pace ?? (ledgers.get(network)!.isFree ? FREE_PACE : PACE);

/** @returns the ledger access of an audit's turn */
function ledgersOf(deps: AuditorDeps, network: Network, ended: AbortSignal): (audit: AuditDoc) => AuditLedger {
  const { ledgers, monotonic } = deps;
  const ledger = ledgers.get(network)!;
  const { lookMs, tipsForMs, recheckMs } = paceOf(deps, network);
  let known: { tips: readonly ServerTip[]; untilMs: number } = { tips: [], untilMs: 0 };
  const ledgerOf = (asker: Asker): AuditLedger => ({
    async tips(isFresh) {
      const nowMs = monotonic.nowMs();
      if (isFresh || known.untilMs <= nowMs) {
        known = { tips: await ledger.session(asker, ended).tips(), untilMs: nowMs + tipsForMs };
      }
      return known.tips;
    },
    on: (server) => ledger.session(asker, ended).on(server),
    pauseMs: lookMs,
    recheckMs,
  });
  return ({ isAskedFor, accountId }) =>
    ledgerOf(isAskedFor ? { purpose: 'tenants', by: accountId } : { purpose: 'audits' });
}

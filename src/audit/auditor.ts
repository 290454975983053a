/** Runs the audits of a network: plans them over the day, and gives each that runs its turns, one at a time, within its share of the request budget. */
import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import type { Clock, MonotonicClock } from '../clock.js';
import type { NewId } from '../domain/ids.js';
import type { RequestBudget } from '../ledger/budget.js';
import type { NetworkLedger, ServerTip } from '../ledger/network-ledger.js';
import type { AuditStore } from '../stores/audits.js';
import type { LeaseStore } from '../stores/leases.js';
import type { WalletStore } from '../stores/wallets.js';
import type { AuditLedger, TakeTurn } from './turn.js';

const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Between two looks for something to do. */
const LOOK_MS = 1000;
const LOOK_LOCAL_MS = 100;
/** The answers of all servers about themselves count so long. */
const TIPS_FOR_MS = 30_000;
const PLANNED_AT_ONCE = 200;
/** Servers behind one address are in step after this. */
const RECHECK_MS = 20_000;
const RECHECK_LOCAL_MS = 500;

export interface AuditorDeps {
  ledgers: ReadonlyMap<Network, Pick<NetworkLedger, 'session' | 'isFree'>>;
  audits: Pick<AuditStore, 'start' | 'nextTurn'>;
  wallets: Pick<WalletStore, 'withoutAuditPlan' | 'dueForAudit' | 'planAudit'>;
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  takeTurn: TakeTurn;
  /** How many requests audits may send: a part of what all may. Null for no limit. */
  share: (network: Network) => RequestBudget | null;
  /** From one audit of a wallet to the next; 0 for none by themselves. */
  intervalMs: number;
  newId: NewId;
  /** Unique per process. */
  holder: string;
  clock: Clock;
  monotonic: MonotonicClock;
  log: Logger;
}

export type Auditor = ReturnType<typeof createAuditor>;

export function createAuditor(deps: AuditorDeps) {
  const { ledgers, audits, wallets, leases, takeTurn, share, intervalMs, newId, holder, clock, monotonic, log } = deps;

  /** The same for a wallet each time: what is made at once is not audited at once. */
  const phaseOf = (walletId: string): number =>
    (createHash('sha256').update(walletId).digest().readUInt32BE() / 2 ** 32) * intervalMs;

  /** Plans the audits of wallets that have no plan, and starts one that is due. */
  async function plan(network: Network): Promise<void> {
    if (intervalMs === 0) return;
    for (const { _id } of await wallets.withoutAuditPlan(network, PLANNED_AT_ONCE))
      await wallets.planAudit(_id, new Date(clock.nowMs() + phaseOf(_id)));
    const due = await wallets.dueForAudit(network, clock.now());
    if (!due) return;
    const { _id: walletId, accountId } = due;
    // Before the next one is planned: twice is refused, never is not noticed.
    await audits.start({ _id: newId('aud'), accountId, walletId, network, createdAt: clock.now() });
    await wallets.planAudit(walletId, new Date(clock.nowMs() + intervalMs));
  }

  function ledgerOf(network: Network, ended: AbortSignal): AuditLedger {
    const ledger = ledgers.get(network)!;
    const session = () => ledger.session({ patience: ended, share: share(network) });
    let known: { tips: readonly ServerTip[]; untilMs: number } = { tips: [], untilMs: 0 };
    return {
      async tips() {
        const nowMs = monotonic.nowMs();
        if (known.untilMs <= nowMs) {
          const tips = await session().tips();
          // A ledger without a budget may close many times a second.
          known = { tips, untilMs: ledger.isFree ? 0 : nowMs + TIPS_FOR_MS };
        }
        return known.tips;
      },
      on: (server) => session().on(server),
      pauseMs: ledger.isFree ? LOOK_LOCAL_MS : LOOK_MS,
      recheckMs: ledger.isFree ? RECHECK_LOCAL_MS : RECHECK_MS,
    };
  }

  /** @returns how many turns were taken */
  async function runNetwork(network: Network, enough: AbortSignal, ended: AbortSignal): Promise<number> {
    const lease = `audits:${network}`;
    const ledger = ledgerOf(network, ended);
    const lookMs = ledgers.get(network)!.isFree ? LOOK_LOCAL_MS : LOOK_MS;
    let turns = 0;
    while (!enough.aborted) {
      const done = new AbortController();
      if (await leases.hold(lease, holder, LEASE_MS)) {
        const renewing = renew(lease, done.signal);
        try {
          turns += await workOff(network, ledger, { enough, ended, lookMs });
        } finally {
          done.abort();
          await renewing;
          await leases.release(lease, holder).catch(() => undefined);
        }
      } else await monotonic.sleep(LOOK_MS, enough);
    }
    return turns;
  }

  async function workOff(
    network: Network,
    ledger: AuditLedger,
    { enough, ended, lookMs }: { enough: AbortSignal; ended: AbortSignal; lookMs: number },
  ): Promise<number> {
    let turns = 0;
    let account = '';
    for (let planAtMs = 0; !enough.aborted; ) {
      if (monotonic.nowMs() >= planAtMs) {
        await plan(network);
        planAtMs = monotonic.nowMs() + LOOK_MS;
      }
      const audit = await audits.nextTurn(network, clock.now(), account);
      if (audit) {
        account = audit.accountId;
        await takeTurn(audit, ledger, ended);
        turns += 1;
      } else await monotonic.sleep(lookMs, enough);
    }
    return turns;
  }

  async function renew(lease: string, done: AbortSignal): Promise<void> {
    while (!done.aborted) {
      await monotonic.sleep(RENEW_MS, done);
      if (!done.aborted)
        await leases.hold(lease, holder, LEASE_MS).catch((err: unknown) => log.warn({ err }, 'lease not renewed'));
    }
  }

  return {
    /** Runs audits until there is enough, each network by itself. @returns how many turns were taken */
    async run(networks: readonly Network[], enough: AbortSignal, ended: AbortSignal): Promise<number> {
      // None goes on alone, beside the next run.
      const ends = await Promise.allSettled(
        networks.filter((network) => ledgers.has(network)).map((network) => runNetwork(network, enough, ended)),
      );
      return ends.reduce((sum, end) => {
        if (end.status === 'rejected') throw end.reason;
        return sum + end.value;
      }, 0);
    },
  };
}

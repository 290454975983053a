/** Audits, composed around the core: for the workers' job, and for the cli, which runs them itself
 *  if no worker does. */

import { type AuditDoc, type Auditor, type AuditorDeps, createAuditor, createTakeTurn } from '../audit/index.js';
import { AlreadyMade } from '../kit/database.js';
import { createReadSync, type WalletDoc } from '../watching/index.js';
import type { Config } from './config.js';
import type { Core } from './core.js';
import { actOfOperator } from './operator.js';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LOOK_MS = 200;
/** Wallets loaded at a time. */
const BATCH = 200;

interface AuditingOptions extends Pick<AuditorDeps, 'intervalMs' | 'pace'> {
  /** Payments smaller than `dustStroops` are removed after this many days; 0 for never. */
  retentionDays: number;
  dustStroops: bigint;
}

export const createAuditing = (core: Core, config: Config): Auditor => {
  const { retentionDays, dustStroops, auditIntervalHours } = config;
  return composeAuditor(core, { retentionDays, dustStroops, intervalMs: auditIntervalHours * HOUR_MS });
};

export function composeAuditor(core: Core, options: AuditingOptions): Auditor {
  const { stores, ledgers, recorder, outbox, signals, transaction, newId, processId, clock, monotonic, log } = core;
  const { audits, cursors, leases, networkStates, parkedRecords, payments, wallets } = stores.system;
  const { retentionDays, dustStroops, ...auditorOptions } = options;
  const readSync = createReadSync({ cursors, networkStates, parkedRecords, clock });
  const takeTurn = createTakeTurn({
    audits,
    wallets,
    payments,
    parkedRecords,
    networkStates,
    recorder,
    outbox,
    transaction,
    eventsStored: signals.eventsStored.raise,
    isRemoved: ({ amount, closedAt }) =>
      retentionDays > 0 && amount < dustStroops && closedAt.getTime() < clock.nowMs() - retentionDays * DAY_MS,
    readToOf: async (wallet) => (await readSync([wallet])).get(wallet._id)!.ledger,
    clock,
    log,
  });
  return createAuditor({
    ledgers,
    audits,
    wallets,
    leases,
    takeTurn,
    ...auditorOptions,
    newId,
    holder: processId,
    clock,
    monotonic,
    log,
  });
}

/** Audits one wallet, or every active one of these networks, one after the other, and yields each
 *  audit when it has ended. If no worker runs audits, this process does. @throws Error when there
 *  is no such wallet */
export async function* auditByOperator(
  core: Core,
  config: Config,
  walletId: string | null,
): AsyncGenerator<AuditDoc, void, undefined> {
  const { wallets } = core.stores.system;
  const [only] = walletId === null ? [] : await wallets.ofAllAccounts([walletId]);
  if (walletId !== null && !only) throw new Error(`There is no wallet ${walletId}.`);
  const done = new AbortController();
  // Scheduled audits are left to the workers.
  const auditor = createAuditing(core, { ...config, auditIntervalHours: 0 });
  const running = auditor.run(only ? [only.network] : config.networks, done.signal, done.signal);
  try {
    for (let after = '', batch = only ? [only] : null; ; batch = null) {
      batch ??= await wallets.activeOf(config.networks, { after, limit: BATCH });
      for (const wallet of batch) {
        const audit = await startOne(core, wallet);
        const end = audit && (await endOf(core, audit));
        if (end) yield end;
      }
      if (only || batch.length < BATCH) return;
      after = batch.at(-1)!._id;
    }
  } finally {
    done.abort();
    await running;
  }
}

/** An audit that is already running counts. */
async function startOne({ stores, newId, clock, commit }: Core, { _id: walletId, accountId, network }: WalletDoc) {
  const _id = newId('aud');
  const act = actOfOperator({ accountId, subjectId: walletId }, 'wallets_startAudit', { id: walletId });
  await commit(act, async (session) => {
    const { audits } = stores.forAccount(accountId);
    if (!(await audits.start({ _id, walletId, network, createdAt: clock.now() }, session))) throw new AlreadyMade();
  }).catch((error: unknown) => {
    if (!(error instanceof AlreadyMade)) throw error;
  });
  const { audits } = stores.system;
  return (await audits.byId(_id)) ?? audits.runningOf(walletId);
}

/** Null when the wallet has been deleted since. */
async function endOf({ stores, monotonic }: Core, { _id }: AuditDoc): Promise<AuditDoc | null> {
  for (;;) {
    const audit = await stores.system.audits.byId(_id);
    if (audit?.status !== 'RUNNING') return audit;
    await monotonic.sleep(LOOK_MS);
  }
}

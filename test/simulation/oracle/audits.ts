/** What must hold of audits: each that ended tells the books of its ledgers as they were, a
 *  difference where records were withheld and nowhere else, and what was missed is recorded
 *  and counted. */
import { MOVEMENT_KINDS, type Movement, nameOf } from '../accounts.js';
import { type Chain, firstLedger, type Paid } from '../chain.js';
import { type Doc, type Knowledge, possible } from '../knowledge.js';

export interface StoredAudits {
  audits: readonly Doc[];
  events: readonly Doc[];
  payments: readonly Doc[];
}

/** @param finals of the audits that began once everything was read: null before. */
export function checkAudits(
  known: Knowledge,
  chain: Chain,
  stored: StoredAudits,
  finals: ReadonlyMap<string, string> | null,
): string[] {
  const faults: string[] = [];
  const running = stored.audits.filter(({ status }) => status === 'RUNNING');
  if (new Set(running.map(({ walletId }) => walletId)).size < running.length)
    faults.push('two audits of a wallet run at once');
  for (const [walletId, wallet] of known.wallets) {
    const own = stored.audits.filter((audit) => audit.walletId === walletId).sort((a, b) => (a._id < b._id ? -1 : 1));
    for (const audit of own) {
      const name = `audit ${audit._id.slice(-6)} of ${walletId.slice(-6)}`;
      const wrong = isEnded(audit) ? endedFaults(known, chain, wallet.address, audit) : [];
      faults.push(...[...wrong, ...toldFaults(audit, stored.events)].map((each) => `${name} ${each}`));
    }
    faults.push(...countFaults(known, chain, walletId, own, stored.payments));
    const final = finals && own.find(({ _id }) => _id === finals.get(walletId));
    if (finals && (!final || (known.isAudited && !isEnded(final))))
      faults.push(`the last audit of ${walletId.slice(-6)} is ${final?.status}: ${final?.reason}`);
  }
  return faults;
}

const isEnded = ({ status }: Doc) => status === 'PROVEN' || status === 'DIFFERENT';

function toldFaults({ _id, status, walletId }: Doc, events: readonly Doc[]): string[] {
  const told = events.filter(({ type, occurrence }) => type === 'wallet.difference' && occurrence === _id);
  if (told.some(({ subjectId }) => subjectId !== walletId)) return ['told another wallet of its difference'];
  return told.length === (status === 'DIFFERENT' ? 1 : 0) ? [] : [`is ${status} and was told ${told.length} times`];
}

function endedFaults(known: Knowledge, chain: Chain, address: string, audit: Doc): string[] {
  const { status, fromLedger, toLedger } = audit;
  const [resetMs] = known.resetsMs;
  const { madeMs, endedMs } = known.audits.get(audit._id)!;
  const isAfterReset = resetMs !== undefined && madeMs > resetMs + 1000;
  const began = toLedger >= firstLedger(0) && !isAfterReset ? 0 : 1;
  // What was taken of one network may have been read of the next, but that must make no
  // difference.
  const mayMix = resetMs !== undefined && madeMs <= resetMs + 1000 && endedMs >= resetMs;
  if (mayMix && status !== 'DIFFERENT') return [];
  const own = chain.accounts.movements.filter((each) => each.address === address && each.chain === began);
  const expected = booksOf(own, chain, audit);
  const names = new Set([...expected.keys(), ...audit.assets.map((row: Doc) => rowName(row))]);
  const faults: string[] = [];
  for (const name of names) {
    const row = audit.assets.find((each: Doc) => rowName(each) === name) ?? {};
    const wanted = expected.get(name) ?? {};
    for (const field of [...MOVEMENT_KINDS, 'opening', 'closing', 'difference'])
      if (`${row[field] ?? 0}` !== `${wanted[field] ?? 0n}`)
        faults.push(
          `(${fromLedger}–${toLedger}, ${audit.openingSource}) tells ${field} ${row[field]} of ${name}, not ${wanted[field] ?? 0}`,
        );
  }
  const isDifferent = [...expected.values()].some(({ difference }) => difference !== 0n);
  if (isDifferent !== (status === 'DIFFERENT')) faults.push(`is ${status}`);
  return faults;
}

const rowName = ({ assetCode: code, assetIssuer: issuer }: Doc) => nameOf({ code, issuer } as never);

/** By asset: what an audit of these ledgers must tell of what Horizon shows. */
function booksOf(movements: readonly Movement[], chain: Chain, audit: Doc): Map<string, Doc> {
  const { fromLedger, toLedger, openingSource } = audit;
  const isShown = ({ operationId }: Movement) =>
    operationId === null || chain.omitted.get(operationId) !== 'everywhere';
  const sum = (all: readonly Movement[]) => all.reduce((total, { stroops }) => total + stroops, 0n);
  const rows = new Map<string, Doc>();
  for (const name of new Set(movements.map(({ asset }) => nameOf(asset)))) {
    const own = movements.filter(({ asset, ledger }) => nameOf(asset) === name && ledger <= toLedger);
    const before = own.filter(({ ledger }) => ledger <= fromLedger);
    const within = own.filter(({ ledger }) => ledger > fromLedger);
    const shown = within.filter(isShown);
    const closing = sum(own);
    const opening =
      openingSource === 'HISTORY'
        ? sum(before.filter(isShown))
        : openingSource === 'PREVIOUS_AUDIT'
          ? sum(before)
          : closing - sum(shown);
    const sums = MOVEMENT_KINDS.map((kind) => {
      const ofKind = sum(shown.filter((each) => each.kind === kind));
      return [kind, kind === 'sent' || kind === 'fees' ? -ofKind : ofKind];
    });
    rows.set(name, { ...Object.fromEntries(sums), opening, closing, difference: closing - opening - sum(shown) });
  }
  return rows;
}

/** Where nothing but audits could find them, each payment that lists left out is counted once. */
function countFaults(
  known: Knowledge,
  chain: Chain,
  walletId: string,
  audits: readonly Doc[],
  payments: readonly Doc[],
): string[] {
  if (known.isUneven || known.resetsMs.length > 0 || !known.isHorizonOnly || chain.dropped.length > 0) return [];
  const counted = audits.reduce((sum, { missingPayments }) => sum + missingPayments, 0);
  const own = payments.filter((doc) => doc.walletId === walletId);
  const isSetAside = ({ operationId, transactionHash }: Doc) =>
    known.isLacking(transactionHash) || known.wasParked.has(operationId);
  const healed = own.filter((doc) => chain.omitted.has(doc.operationId) && !isSetAside(doc)).length;
  // Watcher and audits both set aside what lacks its transaction or its effects, and whichever
  // comes next records it. The watcher may have passed over a payment in the last moment before a
  // wallet was active, for which its stamp was too early by then.
  const { active } = known.wallets.get(walletId)!;
  const isPassedOver = ({ operationId, ledgerClosedAt }: Doc) =>
    !chain.omitted.has(operationId) && possible(active, ledgerClosedAt.getTime()).includes(false);
  const either = own.filter((doc) => isSetAside(doc) || isPassedOver(doc)).length;
  return counted >= healed && counted <= healed + either
    ? []
    : [`audits of ${walletId.slice(-6)} count ${counted} missing payments, and ${healed} were recorded`];
}

/** Watches every commit of a run. */
export class AuditObserver {
  readonly #proven = new Set<string>();

  /** No audit is PROVEN while a payment that the ledger shows to have come to its wallet is parked.
   *  @returns what is wrong */
  see(
    known: Knowledge,
    chain: Chain,
    stored: Record<'audits' | 'payments' | 'parkedRecords', readonly Doc[]>,
    nowMs: number,
  ): string[] {
    for (const { _id, finishedAt } of stored.audits) {
      const seen = known.audits.get(_id) ?? { madeMs: nowMs, endedMs: Infinity };
      if (finishedAt) seen.endedMs = Math.min(seen.endedMs, nowMs);
      known.audits.set(_id, seen);
    }
    for (const { _id } of stored.parkedRecords) known.wasParked.add(_id.split(':')[1]!);
    if (known.resetsMs.length > 0) return [];
    const fresh = stored.audits.filter(({ _id, status }) => status === 'PROVEN' && !this.#proven.has(_id));
    for (const { _id } of fresh) this.#proven.add(_id);
    const open = new Set(
      stored.parkedRecords.flatMap(({ _id, dismissed }) => (dismissed === null ? _id.split(':')[1]! : [])),
    );
    return fresh.flatMap(({ _id, walletId, fromLedger, toLedger }) => {
      const { address, active } = known.wallets.get(walletId)!;
      const recorded = new Set(
        stored.payments.filter((doc) => doc.walletId === walletId).map(({ operationId }) => operationId),
      );
      const isHole = ({ receiver, operationId, ledger, closedMs }: Paid) =>
        receiver === address &&
        ledger > fromLedger &&
        ledger <= toLedger &&
        open.has(operationId) &&
        !recorded.has(operationId) &&
        !chain.omitted.has(operationId) &&
        !possible(active, closedMs).includes(false);
      return chain.payments
        .filter(isHole)
        .map(({ operationId }) => `audit ${_id.slice(-6)} is PROVEN, though the payment ${operationId} is parked`);
    });
  }
}

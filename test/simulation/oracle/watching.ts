/** What must hold of watching: no payment is missing, no ledger is claimed that was not read, no
 *  gap is flagged that is none. */
import { syncOf } from '../../../src/watching/watched-wallets.js';
import type { Chain, Paid } from '../chain.js';
import { type Change, closeOf, type Doc, type Knowledge, possible, wasActiveBetween } from '../knowledge.js';

export interface StoredForWatching {
  wallets: Doc[];
  cursors: Doc[];
  networkStates: Doc[];
  payments: Doc[];
  parkedRecords: Doc[];
}

/** The watcher begins this many ledgers before what it knows, or ends that many after it, to
 *  be safe. */
const OVERLAP_LEDGERS = 11;

export const keyOf = (
  walletId: string,
  paid: { operationId: string; changeIndex: number; transactionHash: string },
): string => `${walletId}:${paid.operationId}:${paid.changeIndex}:${paid.transactionHash}`;

const isDropped = (chain: Chain, at: { chain: number; ledger: number }): boolean =>
  chain.dropped.some((each) => each.chain === at.chain && at.ledger <= each.upTo);

/** Whether money that came at this moment surely counts. */
export const surelyActive = (active: readonly Change<boolean>[], closedMs: number): boolean => {
  const values = possible(active, closedMs);
  return values.length > 0 && !values.includes(false);
};

/** Whether a gap says that this may have been missed: what was dropped, or closed on a new network
 *  before that was noticed. */
export const isExcused = (
  known: Knowledge,
  chain: Chain,
  walletId: string,
  at: Pick<Paid, 'chain' | 'ledger' | 'closedMs'>,
): boolean => {
  const gaps = known.gaps.get(walletId) ?? [];
  return (
    gaps.length > 0 &&
    (isDropped(chain, at) || (at.chain > 0 && gaps.some(({ flaggedMs }) => at.closedMs <= flaggedMs)))
  );
};

/** Whether Horizon's lists left it out, and no audit had to find it (yet): audits prove what the
 *  server that answers keeps. */
function isWithheld(known: Knowledge, chain: Chain, at: Pick<Paid, 'chain' | 'ledger' | 'operationId'>): boolean {
  const omitted = chain.omitted.get(at.operationId);
  if (omitted === undefined) return false;
  return !known.isAudited || omitted === 'everywhere' || isDropped(chain, at);
}

/** Payments that must be stored by now and are not.
 *  @param upTo by wallet: the ledger up to which it claims to be read; Infinity when everything
 *  must be there. */
export function missing(
  known: Knowledge,
  chain: Chain,
  stored: StoredForWatching,
  upTo: (wallet: Doc) => number,
): string[] {
  const keys = new Set(stored.payments.map((doc) => keyOf(doc.walletId, doc as never)));
  const parked = new Map(stored.parkedRecords.map(({ _id, dismissed }) => [_id, dismissed === null]));
  /** It is known to be missing, which lasts only where no server has its ledger any more. */
  const isParked = (paid: Paid, limit: number) => {
    const isOpen = parked.get(`LOCAL:${paid.operationId}`);
    return isOpen !== undefined && (isDropped(chain, paid) || (isOpen && Number.isFinite(limit)));
  };
  const faults: string[] = [];
  for (const wallet of stored.wallets) {
    const { address, active } = known.wallets.get(wallet._id) ?? { address: '', active: [] };
    const limit = upTo(wallet);
    for (const paid of chain.payments) {
      if (paid.receiver !== address || paid.ledger > limit) continue;
      if (known.actingSinceMs !== null && paid.closedMs + 1000 > known.actingSinceMs) continue;
      if (!surelyActive(active, paid.closedMs) || keys.has(keyOf(wallet._id, paid))) continue;
      if (isParked(paid, limit) || isExcused(known, chain, wallet._id, paid) || isWithheld(known, chain, paid))
        continue;
      faults.push(lack(wallet._id, paid, isDropped(chain, paid), limit));
    }
  }
  return faults;
}

function lack(walletId: string, paid: Paid, wasDropped: boolean, limit: number): string {
  const dropped = wasDropped ? ', which Horizon dropped, without a GAP' : '';
  const claim = Number.isFinite(limit) ? `, though it claims ledger ${limit}` : '';
  return `${walletId.slice(-6)} lacks the payment ${paid.operationId}[${paid.changeIndex}] of ledger ${paid.ledger}${dropped}${claim}`;
}

/** Records that no client understands, that name a wallet of ours, and that were neither parked nor
 *  recorded by what their event tells. */
export function forgotten(
  known: Knowledge,
  chain: Chain,
  {
    wallets,
    parkedRecords,
    payments,
  }: { wallets: readonly Doc[]; parkedRecords: readonly Doc[]; payments: readonly Doc[] },
): string[] {
  const kept = new Set([
    // What a reset took is kept by the time of it.
    ...parkedRecords.map(({ _id }) => _id.replace(/@\d+$/, '')),
    ...payments.map(({ operationId }) => `LOCAL:${operationId}`),
  ]);
  return chain.unknownRecords
    .filter((record) => {
      if (kept.has(`LOCAL:${record.operationId}`)) return false;
      return wallets.some(({ _id, address }) => {
        const active = known.wallets.get(_id)?.active ?? [];
        if (address !== record.receiver) return false;
        return surelyActive(active, record.closedMs) && !isExcused(known, chain, _id, record);
      });
    })
    .map(({ operationId, ledger }) => `the record ${operationId} of ledger ${ledger} was neither understood nor kept`);
}

/** Whether a gap can concern a wallet. */
function mayConcern(known: Knowledge, wallet: Doc, gap: Doc, hasFeed: boolean): boolean {
  // Accounts that share an address share its reading, and what it missed.
  const sharing = [...known.wallets.values()].filter(({ address }) => address === wallet.address);
  if (gap.toLedger < known.ledgers[0]!.sequence || sharing.length === 0) return true;
  // A feed that begins some ledgers back speaks for every wallet.
  if (hasFeed) return true;
  // A window begins with the newest ledger that was known then, which may be an older one: what was
  // dropped behind it has no date. By a server that is behind, its reading begins up to 15 s
  // before it.
  const beginsWithin = ({ ledger }: Doc) =>
    ledger !== null && ledger + 1 >= gap.fromLedger && ledger - OVERLAP_LEDGERS <= gap.toLedger;
  if (wallet.windows.some(({ from }: Doc) => beginsWithin(from))) return true;
  // Where no ledger was known then, and the server that is asked has dropped it since, its reading
  // begins with the first of all.
  if (gap.fromLedger === 1 && wallet.windows.some(({ from }: Doc) => from.ledger === null)) return true;
  // What closes behind an earlier gap is not dated before the next ledger that is asked for.
  const { fromLedger } = known.gaps.get(wallet._id)![0]!;
  const fromMs = closeOf(known, fromLedger - OVERLAP_LEDGERS);
  // A window begins with the newest ledger that was known, and its reading a little before.
  const untilMs = closeOf(known, gap.toLedger + 1);
  return sharing.some(({ active }) => wasActiveBetween(active, fromMs, untilMs));
}

/** Notes the gaps that are flagged, and checks them and the ledgers that wallets claim to be read
 *  up to. */
export function checkSync(known: Knowledge, chain: Chain, stored: StoredForWatching, nowMs: number): string[] {
  const faults: string[] = [];
  const cursors = new Map(stored.cursors.map((cursor) => [cursor._id, cursor]));
  for (const wallet of stored.wallets) {
    const { gap } = wallet;
    const seen = known.gaps.get(wallet._id) ?? [];
    const same = gap && seen.find((each) => each.at.getTime() === gap.at.getTime());
    // A gap that goes on grows.
    if (same && same.toLedger !== gap.toLedger) Object.assign(same, { toLedger: gap.toLedger, flaggedMs: nowMs });
    if (!gap || same) continue;
    known.gaps.set(wallet._id, [...seen, { ...gap, flaggedMs: nowMs }]);
    // No source ever had ledgers that are older than the run's network.
    if (known.isKept && gap.toLedger >= known.ledgers[0]!.sequence)
      faults.push(
        `${wallet._id.slice(-6)} has a GAP ${gap.fromLedger}–${gap.toLedger}, which another server still has`,
      );
    else if (known.resetsMs.length === 0 && !mayConcern(known, wallet, gap, cursors.has('LOCAL:feed')))
      faults.push(`${wallet._id.slice(-6)} has a GAP ${gap.fromLedger}–${gap.toLedger}, in which it was not active`);
  }
  const state = stored.networkStates.find(({ seenAt }) => seenAt !== undefined);
  if (known.isUneven) return faults;
  // Until a reset is noticed, ledger numbers are those of the old network, whose last ledger may
  // have closed in the second of the reset.
  if (known.resetsMs.some((resetMs) => !state || state.latestClosedAt.getTime() <= resetMs)) return faults;
  const claimed = (wallet: Doc): number => {
    if (wallet.gap) return -1;
    const own = cursors.get(`LOCAL:${wallet.address}`);
    const sync = syncOf(wallet as never, own as never, cursors.get('LOCAL:feed') as never, state as never, nowMs);
    return sync.ledger ?? -1;
  };
  return [...faults, ...missing(known, chain, stored, claimed)];
}

/** A grant may be as old as the database is slow when its request is sent. */
const BUDGET_SPAN_MS = 3_600_000 - 5000;

/** In no hour there are more requests than the budget grants. @param sentMs in their order. @param
 *  perHour null without a budget */
export const checkBudget = (sentMs: readonly number[], perHour: number | null): string[] =>
  perHour === null || !isOver(sentMs, perHour) ? [] : [`more than ${perHour} requests were sent within an hour`];

/** Pages and payers get at most an eighth of it, and at least one request an hour. */
export function checkStrangers(sentMs: readonly number[], perHour: number | null): string[] {
  if (perHour === null) return [];
  const share = Math.max(1, Math.floor(perHour / 8));
  return isOver(sentMs, share) ? [`strangers caused more than ${share} of ${perHour} requests within an hour`] : [];
}

const isOver = (sentMs: readonly number[], perHour: number): boolean =>
  sentMs.some((ms, index) => {
    const first = sentMs[index - perHour];
    return first !== undefined && ms - first < BUDGET_SPAN_MS;
  });

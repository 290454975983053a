/** Turns a page of records into credits, refunds and parked records of our wallets. What an
 *  incomplete record lacks is fetched; a record that stays incomplete or cannot be understood is
 *  parked and never stops those after it. */
import { createHash } from 'node:crypto';
import type { Network } from '../../contracts/networks.js';
import { memoRefunded } from '../domain/refund.js';
import type { Clock } from '../kit/clock.js';
import {
  type Credit,
  type LedgerRecord,
  type LedgerSession,
  LedgerUnavailable,
  ledgerOfCursor,
  mayPayIssuer,
  partiesOf,
  type RecordOutcome,
} from '../ledger/index.js';
import { ANY_WALLET, type ParkedRecordDoc } from './parked-store.js';

const FETCHED_AT_ONCE = 8;
/** After this many failed fetches, a page that may park incomplete records parks the rest
 *  without asking. */
const MOST_IN_VAIN = 8;
const FIRST_TRY_MS = 2000;
/** A record read this soon after its close may pay anything made before it was read, whichever
 *  clock dated it. */
const READ_SOON_MS = 86_400_000;

export interface Reading {
  credits: Credit[];
  /** Money that our wallets sent with a refund's memo. */
  refunds: Credit[];
  /** Possible money that cannot be recorded yet. */
  parked: ParkedRecordDoc[];
}

interface ReadingDeps {
  network: Network;
  session: Pick<LedgerSession, 'complete'>;
  clock: Clock;
  /** Finds the addresses that have a wallet here. Call it after fetching the page, so that a wallet
   *  made before a ledger closed is not overlooked in that ledger. */
  isOurs: (addresses: readonly string[]) => Promise<ReadonlySet<string>>;
  /** The watched address whose history the records are: a record that names no receiver concerns
   *  it. Null for the feed. */
  historyOf: string | null;
  /** Close time of the ledgers before the records, or earlier. Default unknown. */
  closedFrom?: Date;
  /** Which failed fetches park their record: `everything`: any; `one_by_one`: those where only this
   *  record's answer is bad. Default none: the reading fails, unless the source merely answers that
   *  it has nothing. */
  leavesBehind?: 'one_by_one' | 'everything';
  /** A parked record is read again: all of it that is not understood stays parked. */
  again?: ParkedRecordDoc;
}

/** @throws LedgerUnavailable when a fetch fails */
export async function readRecords(deps: ReadingDeps, records: readonly LedgerRecord[]): Promise<Reading> {
  const { isOurs, historyOf, again } = deps;
  let ours = await isOurs([...new Set(records.flatMap(({ outcome }) => addressesOf(outcome)))]);
  const concernsUs = (addresses: readonly string[] | null) =>
    again !== undefined || addresses === null || addresses.some((address) => ours.has(address));
  const completed = await completeAll(deps, records, concernsUs);
  // An event names only some of the receivers of its transaction.
  const more = completed.flatMap(({ outcome }, index) =>
    outcome === records[index]!.outcome ? [] : addressesOf(outcome),
  );
  if (more.length > 0) ours = new Set([...ours, ...(await isOurs([...new Set(more)]))]);

  const reading: Reading = { credits: [], refunds: [], parked: [] };
  const park = (raw: unknown, fault: Parameters<typeof toParked>[2]) =>
    reading.parked.push(toParked({ ...deps, ours }, raw, fault));
  for (const { raw, outcome } of completed) {
    if (outcome.kind === 'incomplete') {
      const { pagingToken, needs, receivers } = outcome;
      // A record that is too large to be read is never booked as a refund: its senders do
      // not count.
      if (concernsUs(outcome.isTooLarge ? receivers : partiesOf(outcome)))
        park(raw, { id: pagingToken, pagingToken, receivers, reason: `its ${needs} cannot be fetched` });
    } else if (outcome.kind === 'parked') {
      const { pagingToken } = outcome;
      const isNew = historyOf !== null && outcome.fault === 'unknown_type';
      if (isNew || concernsUs(outcome.receivers)) park(raw, { ...outcome, id: pagingToken ?? fingerprint(raw) });
    } else if (outcome.kind === 'credits') {
      reading.credits.push(...outcome.credits.filter((credit) => ours.has(credit.receiver)));
      reading.refunds.push(...outcome.credits.filter((credit) => isRefund(credit) && ours.has(credit.sender)));
      const { pagingToken } = outcome;
      for (const change of outcome.parked) {
        if (concernsUs(change.receivers))
          park(raw, { ...change, id: `${pagingToken}:${change.changeIndex}`, pagingToken });
      }
    }
  }
  return reading;
}

function toParked(
  { network, clock, historyOf, closedFrom, again, ours }: ReadingDeps & { ours: ReadonlySet<string> },
  raw: unknown,
  {
    id,
    pagingToken,
    receivers,
    reason,
    fault,
  }: {
    id: string;
    pagingToken: string | null;
    receivers: readonly string[] | null;
    reason: string;
    fault?: string;
  },
): ParkedRecordDoc {
  const now = clock.now();
  const known = (receivers ?? []).filter((address) => ours.has(address));
  // A record of an unknown type may pay addresses that it does not name.
  const isOpen = receivers === null || fault === 'unknown_type';
  const others = isOpen ? (again?.concerns ?? [historyOf ?? (receivers === null ? ANY_WALLET : [])].flat()) : [];
  const closedAt = closedAtOf(raw);
  const isSoon = closedAt !== null && now > closedAt && now.getTime() - closedAt.getTime() < READ_SOON_MS;
  const json = JSON.stringify(raw);
  return {
    _id: `${network}:${id}`,
    network,
    reason,
    raw: json,
    createdAt: now,
    concerns: [...new Set([...known, ...others])],
    ...(mayPayIssuer(json, known) ? { mayPayIssuer: true } : {}),
    ledger: pagingToken === null ? null : ledgerOfCursor(pagingToken),
    closedFrom: closedAt ?? again?.closedFrom ?? closedFrom ?? new Date(0),
    payableUntil: again?.payableUntil ?? (closedAt === null || isSoon ? now : closedAt),
    tries: 0,
    nextTryAt: new Date(now.getTime() + FIRST_TRY_MS),
    dismissed: null,
  };
}

/** Fields for the close time in records of Horizon, and in events and operations of Stellar RPC. */
const CLOSE_FIELDS = ['created_at', 'ledgerClosedAt', 'closedAt'];

/** Null where the record has none. */
function closedAtOf(raw: unknown): Date | null {
  for (const field of CLOSE_FIELDS) {
    const text = (Object(raw) as Record<string, unknown>)[field];
    const at = typeof text === 'string' ? new Date(text) : null;
    if (at && !Number.isNaN(at.getTime())) return at;
  }
  return null;
}

/** Fetches what the records lack, a few at a time. @returns them in order; a record whose fetch
 *  failed stays incomplete */
async function completeAll(
  { session, leavesBehind }: Pick<ReadingDeps, 'session' | 'leavesBehind'>,
  records: readonly LedgerRecord[],
  concernsUs: (receivers: readonly string[]) => boolean,
): Promise<LedgerRecord[]> {
  const whole = [...records];
  const lacking = records.flatMap(({ outcome }, index) =>
    outcome.kind === 'incomplete' && concernsUs(partiesOf(outcome)) ? [index] : [],
  );
  const left = [...lacking].reverse();
  let inVain = 0;
  const fetchOne = async (index: number) => {
    try {
      whole[index] = await session.complete(records[index]!, concernsUs);
    } catch (error) {
      const isOfOne = error instanceof LedgerUnavailable && (error.isOfOne || leavesBehind === 'everything');
      if (!isOfOne) throw error;
    }
    const { outcome } = whole[index]!;
    if (outcome.kind === 'incomplete' && !outcome.isTooLarge) inVain += 1;
    if (leavesBehind && inVain >= MOST_IN_VAIN) left.length = 0;
  };
  const fetchOn = async () => {
    for (let index = left.pop(); index !== undefined; index = left.pop()) {
      try {
        await fetchOne(index);
      } catch (error) {
        // The page is read again as a whole.
        left.length = 0;
        throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(FETCHED_AT_ONCE, lacking.length) }, fetchOn));
  return whole;
}

function addressesOf(outcome: RecordOutcome): readonly string[] {
  switch (outcome.kind) {
    case 'credits':
      return [
        ...outcome.credits.map((credit) => credit.receiver),
        ...outcome.credits.filter(isRefund).map((credit) => credit.sender),
        ...outcome.parked.flatMap((change) => change.receivers ?? []),
      ];
    case 'incomplete':
      return [...outcome.receivers, ...(outcome.senders ?? [])];
    case 'parked':
      return outcome.receivers ?? [];
    case 'ignored':
      return [];
  }
}

const isRefund = ({ memo }: Credit) => memoRefunded(memo) !== null;

const fingerprint = (raw: unknown) =>
  createHash('sha256')
    .update(JSON.stringify(raw) ?? 'undefined')
    .digest('hex');

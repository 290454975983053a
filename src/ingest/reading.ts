/** One page of records → what it means for the wallets of this service. What a record lacks and a second request can fetch is fetched; a record
 *  that lacks it still, or cannot be understood, is set aside and never stops the records after it. */
import { createHash } from 'node:crypto';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { ANY_WALLET } from '../domain/parked.js';
import { memoRefunded } from '../domain/refund.js';
import { LedgerUnavailable } from '../ledger/errors.js';
import type { LedgerSession } from '../ledger/network-ledger.js';
import { type Credit, type LedgerRecord, partiesOf, type RecordOutcome } from '../ledger/records.js';
import { ledgerOfCursor } from '../ledger/toid.js';
import type { ParkedRecordDoc } from '../stores/parked-records.js';

const FETCHED_AT_ONCE = 8;
/** After so many records were asked for in vain, a page that may leave records behind leaves the others unasked. */
const MOST_IN_VAIN = 8;
const FIRST_TRY_MS = 2000;
/** What is read within this time of its close may have paid what was made until then, by whichever clock. */
const READ_SOON_MS = 86_400_000;

export interface Reading {
  credits: Credit[];
  /** What our wallets sent with the memo of a refund. */
  refunds: Credit[];
  /** What may be money and cannot be recorded yet. */
  parked: ParkedRecordDoc[];
}

interface ReadingDeps {
  network: Network;
  session: Pick<LedgerSession, 'complete'>;
  clock: Clock;
  /** Tells which of some addresses have a wallet here; it must be asked after the page was fetched, so that a wallet made before a ledger closed is never
   *  overlooked in that ledger. */
  isOurs: (addresses: readonly string[]) => Promise<ReadonlySet<string>>;
  /** The records are the history of this watched address: one that names no receiver concerns it. Null for records of the whole network. */
  historyOf: string | null;
  /** When the ledgers before the records closed, or earlier. Default unknown. */
  closedFrom?: Date;
  /** Records are set aside when asking for what they lack fails: each by itself, whatever it fails with for `everything`; where only the answer for one
   *  record is bad for `one_by_one`. Default none: then the reading fails, unless all that a source says is that it has nothing. */
  leavesBehind?: 'one_by_one' | 'everything';
  /** The record is read again: whatever of it is not understood stays. */
  again?: ParkedRecordDoc;
}

/** @throws LedgerUnavailable when something has to be fetched and cannot be */
export async function readRecords(deps: ReadingDeps, records: readonly LedgerRecord[]): Promise<Reading> {
  const { isOurs, historyOf, again } = deps;
  let ours = await isOurs([...new Set(records.flatMap(({ outcome }) => addressesOf(outcome)))]);
  const concernsUs = (addresses: readonly string[] | null) =>
    again !== undefined || addresses === null || addresses.some((address) => ours.has(address));
  const completed = await completeAll(deps, records, concernsUs);
  // An event names some of those whom its transaction pays.
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
      // Money sent by a wallet of ours may be a refund, unless its size is beyond what can be told.
      if (concernsUs(outcome.isTooLarge ? receivers : partiesOf(outcome)))
        park(raw, { id: pagingToken, pagingToken, receivers, reason: `its ${needs} cannot be had` });
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

/** A record as it is set aside. */
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
  // A record of an unknown type may pay more than those whom it names.
  const isOpen = receivers === null || fault === 'unknown_type';
  const others = isOpen ? (again?.concerns ?? [historyOf ?? (receivers === null ? ANY_WALLET : [])].flat()) : [];
  const closedAt = closedAtOf(raw);
  const isSoon = closedAt !== null && now > closedAt && now.getTime() - closedAt.getTime() < READ_SOON_MS;
  return {
    _id: `${network}:${id}`,
    network,
    reason,
    raw: JSON.stringify(raw),
    createdAt: now,
    concerns: [...new Set([...known, ...others])],
    ledger: pagingToken === null ? null : ledgerOfCursor(pagingToken),
    closedFrom: closedAt ?? again?.closedFrom ?? closedFrom ?? new Date(0),
    payableUntil: again?.payableUntil ?? (closedAt === null || isSoon ? now : closedAt),
    tries: 0,
    nextTryAt: new Date(now.getTime() + FIRST_TRY_MS),
    dismissed: null,
  };
}

/** The fields in which records of Horizon, events and operations of Stellar RPC say when their ledger closed. */
const CLOSE_FIELDS = ['created_at', 'ledgerClosedAt', 'closedAt'];

/** Null where the record does not tell. */
function closedAtOf(raw: unknown): Date | null {
  for (const field of CLOSE_FIELDS) {
    const text = (Object(raw) as Record<string, unknown>)[field];
    const at = typeof text === 'string' ? new Date(text) : null;
    if (at && !Number.isNaN(at.getTime())) return at;
  }
  return null;
}

/** Fetches what the records lack, a few at a time. @returns them in their order; what could not be had is still incomplete */
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

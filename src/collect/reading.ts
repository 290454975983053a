/** One page of records → what it means for the wallets of this service. What a record lacks and a second request can fetch is fetched; a record
 *  that cannot be understood is parked and never stops the records after it. */
import { createHash } from 'node:crypto';
import type { Network } from '../../contracts/networks.js';
import type { Clock } from '../clock.js';
import { memoRefunded } from '../domain/refund.js';
import { LedgerUnavailable } from '../ledger/errors.js';
import type { LedgerSession } from '../ledger/network-ledger.js';
import { type Credit, type Incomplete, type LedgerRecord, partiesOf, type RecordOutcome } from '../ledger/records.js';
import type { ParkedRecordDoc } from '../stores/parked-records.js';

const FETCHED_AT_ONCE = 8;
const LATE_RETRY_MS = 1000;

export interface Reading {
  credits: Credit[];
  /** What our wallets sent with the memo of a refund. */
  refunds: Credit[];
  parked: ParkedRecordDoc[];
}

/** @param isOurs tells which of some addresses have a wallet here; it must be asked after the page was fetched, so that a wallet made before
 *  a ledger closed is never overlooked in that ledger.
 *  @throws LedgerUnavailable when something has to be fetched and cannot be, or may come. */
export async function readRecords(
  deps: {
    network: Network;
    session: Pick<LedgerSession, 'complete'>;
    clock: Clock;
    isOurs: (addresses: readonly string[]) => Promise<ReadonlySet<string>>;
    /** The records are the history of one watched address: a record of an unknown type concerns it, whomever it names. */
    ofOneAddress: boolean;
    /** Parks whatever is not understood, even if it names no wallet of ours. */
    keepAll?: boolean;
    /** Whether to read the page again when the source lacks what a record needs. Default never. */
    mayCome?: () => boolean;
  },
  records: readonly LedgerRecord[],
): Promise<Reading> {
  const { network, session, clock, isOurs, ofOneAddress, keepAll = false, mayCome = () => false } = deps;
  const ours = await isOurs([...new Set(records.flatMap(({ outcome }) => addressesOf(outcome)))]);
  const concernsUs = (addresses: readonly string[] | null) =>
    keepAll || addresses === null || addresses.some((address) => ours.has(address));

  const reading: Reading = { credits: [], refunds: [], parked: [] };
  const park = (raw: unknown, id: string, reason: string) =>
    reading.parked.push({ _id: `${network}:${id}`, network, reason, raw: JSON.stringify(raw), createdAt: clock.now() });

  const completed = await completeAll(session, records, concernsUs);
  // Money sent by a wallet of ours may be a refund, unless it is too large for anybody to tell.
  const isLacking = (outcome: Incomplete) => concernsUs(outcome.isTooLarge ? outcome.receivers : partiesOf(outcome));
  const [late] = completed.flatMap(({ outcome }) =>
    outcome.kind === 'incomplete' && !outcome.isTooLarge && isLacking(outcome) ? [outcome] : [],
  );
  if (late && mayCome()) throw new LedgerUnavailable(`the ${late.needs} of a record is not there yet`, LATE_RETRY_MS);
  for (const record of completed) {
    const { raw, outcome } = record;
    if (outcome.kind === 'incomplete') {
      if (isLacking(outcome)) park(raw, outcome.pagingToken, `its ${outcome.needs} cannot be had`);
    } else if (outcome.kind === 'parked') {
      const isNew = ofOneAddress && outcome.fault === 'unknown_type';
      if (isNew || concernsUs(outcome.receivers)) park(raw, outcome.pagingToken ?? fingerprint(raw), outcome.reason);
    } else if (outcome.kind === 'credits') {
      reading.credits.push(...outcome.credits.filter((credit) => ours.has(credit.receiver)));
      reading.refunds.push(...outcome.credits.filter((credit) => isRefund(credit) && ours.has(credit.sender)));
      for (const change of outcome.parked) {
        if (concernsUs(change.receivers)) park(raw, `${outcome.pagingToken}:${change.changeIndex}`, change.reason);
      }
    }
  }
  return reading;
}

/** Fetches what the records lack, a few at a time. @returns them in their order */
async function completeAll(
  session: Pick<LedgerSession, 'complete'>,
  records: readonly LedgerRecord[],
  concernsUs: (receivers: readonly string[]) => boolean,
): Promise<LedgerRecord[]> {
  const whole = [...records];
  const lacking = records.flatMap(({ outcome }, index) =>
    outcome.kind === 'incomplete' && concernsUs(partiesOf(outcome)) ? [index] : [],
  );
  const left = [...lacking].reverse();
  const fetchOn = async () => {
    for (let index = left.pop(); index !== undefined; index = left.pop()) {
      try {
        whole[index] = await session.complete(records[index]!, concernsUs);
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

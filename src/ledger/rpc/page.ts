/** A page of payments from events. Each operation that may be a payment is one incomplete record:
 *  its transaction tells what was paid, and is fetched only if the operation concerns a
 *  watched wallet. */

import { cursorAfter, type LedgerRecord, ledgerOf, ledgerOfCursor, type RecordOutcome } from '../records.js';
import { type Page, SourceError } from '../source.js';
import type { Call } from './call.js';
import {
  type EventFilter,
  getEvents,
  MOST_NAMED,
  operationIdOf,
  partiesOfEvent,
  paymentTopics,
  type RpcEvent,
  readEvent,
  toidOf,
} from './events.js';
import { type Looking, readSeenLedgers } from './sight.js';
import type { ContractIdOf } from './token-event.js';

// Reads the events of whole ledgers.

/** Starts at a ledger, perhaps with an end (exclusive). */
export interface LedgerRange {
  startLedger: number;
  endLedger?: number;
}

export interface WholeLedgers {
  events: RpcEvent[];
  /** Entries that are not events. */
  odd: unknown[];
  /** The last completely read ledger; the one before the start when there is none. */
  upTo: number;
  /** The server's newest ledger. */
  latestLedger: number;
}

const MOST_OF_LEDGER = 100_000;

/** Reads on until the first ledger is complete, and omits an incomplete last one.
 *  @param limit of one answer, at least 2. @throws SourceError, an `RpcError` for ledgers that the
 *  server does not have */
export async function readWholeLedgers(
  call: Call,
  range: LedgerRange,
  filters: readonly EventFilter[],
  limit: number,
): Promise<WholeLedgers> {
  let answer = await getEvents(call, range, filters, limit);
  const { events, odd } = answer;
  while (answer.isFull && events[0]?.ledger === events.at(-1)?.ledger) {
    const [before, last] = answer.events.slice(-2);
    if (!before || !last) throw new SourceError('a full answer without events');
    answer = await getEvents(call, { cursor: before.id }, filters, limit);
    // Another machine may answer now. Events of contract calls come last in a ledger and every
    // machine shows them; if a classic payment shows again, so do those after it.
    if (answer.events[0]?.id !== last.id) throw new SourceError('an event that it showed is missing');
    events.push(...answer.events.slice(1));
    odd.push(...answer.odd);
    if (events.length > MOST_OF_LEDGER) throw new SourceError('more events of one ledger than there can be');
  }
  const { isFull, cursor, latestLedger } = answer;
  const upTo = isFull ? events.at(-1)!.ledger - 1 : Math.min(ledgerOf(toidOf(cursor)), latestLedger);
  return { events: events.filter(({ ledger }) => ledger <= upTo), odd, upTo, latestLedger };
}

export interface PageRequest {
  /** At most 12; null for all. */
  addresses: readonly string[] | null;
  cursor: string;
  /** Everything up to this ledger has been dealt with. */
  shownLedger: number;
  /** The most records that name these addresses. */
  limit: number;
}

/** Answers hold other events too: mints, burns and fees beside the payments of an address, and
 *  payments of unwatched accounts beside those of all. */
const EVENTS_PER_RECORD = { named: 20, all: 10 };
const MOST_EVENTS = 10_000;
/** Ledgers that a request may search for each requested record. Searching takes the time, so a
 *  request for fewer records searches less. */
const LEDGERS_PER_RECORD = 50;
const USUAL_LIMIT = 200;

/** Ledgers are read whole. If the cursor is within a ledger, records up to the cursor
 *  are skipped. */
export function rangeOf({ cursor, shownLedger, limit }: PageRequest): LedgerRange {
  const ledger = ledgerOf(BigInt(cursor));
  const startLedger = Math.max(cursor === cursorAfter(ledger) ? ledger + 1 : ledger, shownLedger + 1, 1);
  return { startLedger, ...(limit < USUAL_LIMIT ? { endLedger: startLedger + limit * LEDGERS_PER_RECORD } : {}) };
}

/** @throws SourceError */
export async function readEventsPage(looking: Looking, request: PageRequest): Promise<Page> {
  const { addresses, cursor, limit } = request;
  const { contractIdOf } = looking;
  const range = rangeOf(request);
  const answer = joined(
    await Promise.all(
      groupsOf(addresses).map((group) => readSeenLedgers(looking, range, paymentTopics(group), eventsLimit(request))),
    ),
  );
  const wanted = addresses && new Set(addresses);
  const found = new Map<bigint, Found>();
  for (const event of answer.events) {
    const { receiver, sender } = partiesOfEvent(event, contractIdOf);
    const operationId = operationIdOf(event);
    if (receiver === null || operationId === null || operationId <= BigInt(cursor)) continue;
    if (wanted && !wanted.has(receiver) && !wanted.has(sender ?? '')) continue;
    const known = found.get(operationId) ?? { event, receivers: new Set(), senders: new Set() };
    known.receivers.add(receiver);
    if (sender) known.senders.add(sender);
    found.set(operationId, known);
  }
  const all = [...found].map(([operationId, each]) => toRecord(operationId, each));
  const records = wanted ? all.slice(0, limit) : all;
  const end = endOf(answer, range, records, records.length < all.length);
  return { records: [...records, ...answer.odd.map(setAside)], ...end, gone: false, among: addresses };
}

/** An unreadable entry, which may concern any account. */
const setAside = (raw: unknown): LedgerRecord => ({
  raw,
  outcome: {
    kind: 'parked',
    ...{ pagingToken: null, operationId: null, transactionHash: null },
    ...{ fault: 'not_a_record', reason: 'is not an event', receivers: null },
  },
});

interface Found {
  /** The operation's first event. */
  event: RpcEvent;
  receivers: Set<string>;
  senders: Set<string>;
}

/** Splits the addresses into as few requests as can name them all. */
function groupsOf(addresses: readonly string[] | null): (readonly string[] | null)[] {
  if (addresses === null || addresses.length <= MOST_NAMED) return [addresses];
  const size = Math.ceil(addresses.length / Math.ceil(addresses.length / MOST_NAMED));
  return Array.from({ length: Math.ceil(addresses.length / size) }, (_, index) =>
    addresses.slice(index * size, (index + 1) * size),
  );
}

/** Joins answers that start at the same ledger, up to the end of the shortest. */
function joined(answers: readonly WholeLedgers[]): WholeLedgers {
  const [least, ...others] = [...answers].sort((a, b) => a.upTo - b.upTo);
  if (others.length === 0) return least!;
  const byId = new Map(answers.flatMap(({ events }) => events).map((event) => [event.id, event]));
  const events = [...byId.values()]
    .filter(({ ledger }) => ledger <= least!.upTo)
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  return { ...least!, events, odd: answers.flatMap(({ odd }) => odd) };
}

const eventsLimit = ({ addresses, limit }: PageRequest): number =>
  Math.min(MOST_EVENTS, limit * (addresses ? EVENTS_PER_RECORD.named : EVENTS_PER_RECORD.all));

/** @param isCut more records were found than are returned */
function endOf(
  { upTo, latestLedger }: WholeLedgers,
  { startLedger }: LedgerRange,
  records: readonly LedgerRecord[],
  isCut: boolean,
): Pick<Page, 'cursor' | 'full' | 'shownLedger'> {
  const last = records.at(-1)?.outcome.pagingToken ?? null;
  if (isCut) return { cursor: last, full: true, shownLedger: null };
  const isOnTheWay = startLedger <= upTo && upTo < latestLedger;
  if (isOnTheWay) return { cursor: cursorAfter(upTo), full: true, shownLedger: null };
  return { cursor: last, full: false, shownLedger: upTo };
}

const toRecord = (operationId: bigint, { event, receivers, senders }: Found): LedgerRecord => ({
  raw: event,
  outcome: awaitsTransaction(operationId, event, { receivers: [...receivers], senders: [...senders] }),
});

const awaitsTransaction = (
  operationId: bigint,
  { txHash }: RpcEvent,
  parties: { receivers: string[]; senders: string[] },
): RecordOutcome => {
  const id = operationId.toString();
  const place = { operationId: id, pagingToken: id, transactionHash: txHash, ledger: ledgerOfCursor(id) };
  return { kind: 'incomplete', needs: 'transaction', ...parties, ...place };
};

/** An event that was parked because its transaction was unavailable: it still needs the
 *  transaction. Null for anything but an event of an operation. */
export function parseEvent(raw: unknown, contractIdOf: ContractIdOf): RecordOutcome | null {
  const event = readEvent(raw);
  const operationId = event && operationIdOf(event);
  if (!operationId) return null;
  const { receiver, sender } = partiesOfEvent(event, contractIdOf);
  return awaitsTransaction(operationId, event, {
    receivers: receiver === null ? [] : [receiver],
    senders: sender === null ? [] : [sender],
  });
}

/** A page of payments from events. Each operation that may pay somebody is one incomplete record; its transaction says what was paid, and is fetched
 *  only if the operation concerns a wallet of ours. */
import { SourceError } from '../errors.js';
import type { LedgerRecord, RecordOutcome } from '../records.js';
import type { Page } from '../source.js';
import { cursorAfter, ledgerOf, ledgerOfCursor } from '../toid.js';
import type { Call } from './call.js';
import {
  afterOperation,
  type EventFilter,
  type EventsAnswer,
  type EventsFrom,
  getEvents,
  MOST_NAMED,
  operationIdOf,
  partiesOfEvent,
  paymentFilters,
  type RpcEvent,
  readEvent,
  toidOf,
} from './events.js';
import type { ContractIdOf } from './token-event.js';

export interface PageRequest {
  /** At most 12; null for all. */
  addresses: readonly string[] | null;
  cursor: string;
  /** Everything up to it has been dealt with. */
  shownLedger: number;
  /** Records of addresses that are named. */
  limit: number;
}

/** Events of others come between those of one address (burns), and those of nobody here between those of all. */
const EVENTS_PER_RECORD = { named: 5, all: 10 };
const MOST_EVENTS = 10_000;
const MOST_OF_OPERATION = 100_000;
/** How many ledgers a request may search for each record that it asks for. The search takes the time, so a request for fewer records searches less. */
const LEDGERS_PER_RECORD = 50;
const USUAL_LIMIT = 200;

/** Where to read on. A cursor within a ledger begins after its operation, every other one at a ledger. */
function startOf({ cursor, shownLedger, limit }: PageRequest): EventsFrom {
  const at = BigInt(cursor);
  const ledger = ledgerOf(at);
  const isWithin = ledger > shownLedger && cursor !== cursorAfter(ledger) && (at & 0xfffn) > 0n;
  if (isWithin) return { cursor: afterOperation(at) };
  const startLedger = Math.max(cursor === cursorAfter(ledger) ? ledger + 1 : ledger, shownLedger + 1, 1);
  return { startLedger, ...(limit < USUAL_LIMIT ? { endLedger: startLedger + limit * LEDGERS_PER_RECORD } : {}) };
}

/** The first ledger that a request looks at. */
export const firstLedgerOf = (request: PageRequest): number => {
  const from = startOf(request);
  return 'cursor' in from ? ledgerOf(toidOf(from.cursor)) : from.startLedger;
};

/** @throws SourceError */
export async function readEventsPage(call: Call, request: PageRequest, contractIdOf: ContractIdOf): Promise<Page> {
  const { addresses, cursor, limit } = request;
  const answers = await Promise.all(
    groupsOf(addresses).map((group) =>
      readWholeOperations(call, startOf(request), paymentFilters(group), eventsLimit(request)),
    ),
  );
  const answer = joined(answers);
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
  return { records, ...endOf(answer, records, records.length < all.length), gone: false, among: addresses };
}

interface Found {
  /** The operation's first. */
  event: RpcEvent;
  receivers: Set<string>;
  senders: Set<string>;
}

/** The addresses of each request: as few requests as can name them all. */
function groupsOf(addresses: readonly string[] | null): (readonly string[] | null)[] {
  if (addresses === null || addresses.length <= MOST_NAMED) return [addresses];
  const size = Math.ceil(addresses.length / Math.ceil(addresses.length / MOST_NAMED));
  return Array.from({ length: Math.ceil(addresses.length / size) }, (_, index) =>
    addresses.slice(index * size, (index + 1) * size),
  );
}

/** Answers to requests that began at the same place, as far as the one that looked through least. */
function joined(answers: readonly EventsAnswer[]): EventsAnswer {
  const [least, ...others] = [...answers].sort((a, b) => (shownUpTo(a) < shownUpTo(b) ? -1 : 1));
  if (others.length === 0) return least!;
  const end = shownUpTo(least!);
  const byId = new Map(answers.flatMap(({ events }) => events).map((event) => [event.id, event]));
  const events = [...byId.values()].filter(({ id }) => toidOf(id) <= end).sort((a, b) => (a.id < b.id ? -1 : 1));
  return { ...least!, events };
}

/** The place up to which an answer of whole operations shows everything. */
const shownUpTo = ({ events, cursor, isFull, latestLedger }: EventsAnswer): bigint =>
  isFull ? toidOf(events.at(-1)!.id) : BigInt(cursorAfter(Math.min(ledgerOf(toidOf(cursor)), latestLedger)));

const eventsLimit = ({ addresses, limit }: PageRequest): number =>
  Math.min(MOST_EVENTS, limit * (addresses ? EVENTS_PER_RECORD.named : EVENTS_PER_RECORD.all));

/** Reads on until no operation is cut in two: a cursor stands only behind whole operations. */
async function readWholeOperations(
  call: Call,
  from: EventsFrom,
  filters: readonly EventFilter[],
  limit: number,
): Promise<EventsAnswer> {
  let answer = await getEvents(call, from, filters, limit);
  const events = [...answer.events];
  while (answer.isFull && toidOf(events[0]!.id) === toidOf(events.at(-1)!.id)) {
    answer = await getEvents(call, { cursor: answer.events.at(-1)!.id }, filters, limit);
    events.push(...answer.events);
    if (events.length > MOST_OF_OPERATION) throw new SourceError('more events of one operation than there can be');
  }
  if (!answer.isFull) return { ...answer, events };
  const cut = toidOf(events.at(-1)!.id);
  return { ...answer, events: events.filter(({ id }) => toidOf(id) !== cut) };
}

/** @param isCut more records were found than are given. */
function endOf(
  { events, cursor, isFull, latestLedger }: EventsAnswer,
  records: readonly LedgerRecord[],
  isCut: boolean,
): Pick<Page, 'cursor' | 'full' | 'shownLedger'> {
  const last = records.at(-1)?.outcome.pagingToken ?? null;
  if (isCut) return { cursor: last, full: true, shownLedger: null };
  if (isFull) {
    const end = toidOf(events.at(-1)!.id);
    const isOfOperation = operationIdOf(events.at(-1)!) !== null;
    return { cursor: (isOfOperation ? end + 1n : end).toString(), full: true, shownLedger: null };
  }
  const lookedThrough = Math.min(ledgerOf(toidOf(cursor)), latestLedger);
  if (lookedThrough < latestLedger) return { cursor: cursorAfter(lookedThrough), full: true, shownLedger: null };
  return { cursor: last, full: false, shownLedger: lookedThrough };
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

/** An event that was set aside because its transaction could not be had: it lacks it still. Null for what is no event of an operation. */
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

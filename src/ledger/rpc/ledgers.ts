/** Reads the events of whole ledgers. */
import { SourceError } from '../errors.js';
import { ledgerOf } from '../toid.js';
import type { Call } from './call.js';
import { type EventFilter, getEvents, type RpcEvent, toidOf } from './events.js';

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
 *  @param limit of one answer, at least 2. @throws SourceError, an `RpcError` for ledgers that the server does not have */
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
    // Another machine may answer now. Events of contract calls come last in a ledger and every machine shows them; if a classic payment shows again,
    // so do those after it.
    if (answer.events[0]?.id !== last.id) throw new SourceError('an event that it showed is missing');
    events.push(...answer.events.slice(1));
    odd.push(...answer.odd);
    if (events.length > MOST_OF_LEDGER) throw new SourceError('more events of one ledger than there can be');
  }
  const { isFull, cursor, latestLedger } = answer;
  const upTo = isFull ? events.at(-1)!.ledger - 1 : Math.min(ledgerOf(toidOf(cursor)), latestLedger);
  return { events: events.filter(({ ledger }) => ledger <= upTo), odd, upTo, latestLedger };
}

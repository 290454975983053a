/** Events that may be payments: the filters to request them, and the reading of answers. */
import { z } from 'zod';
import { hash } from '../horizon/fields.js';
import { ledgerOf } from '../records.js';
import { SourceError } from '../source.js';
import { base64, type Call, ledgerNumber, moment } from './call.js';
import { accountTopic, type ContractIdOf, readTokenEvent, receiverOf, senderOf, symbol } from './token-event.js';
import { scValAsJson } from './xdr-json.js';

/** Topics in one filter. A request takes five filters. */
const TOPICS_EACH = 5;
/** Addresses in one request. Each takes two of its 25 topics; one is for mints and one
 *  for burns. */
export const MOST_NAMED = 8;
/** The rest of the request's topics. */
export const MOST_WITNESSES = 7;

export interface EventFilter {
  type: 'contract';
  topics: string[][];
}

const ANY = '*';
/** The first topics of possible payments. */
const MOVES = ['transfer', 'mint', 'burn'] as const;

/** Topics of payments to these accounts, and by them, because those may be refunds. A mint or burn
 *  names its issuer only inside the asset, which no filter reads: all are requested, so that
 *  payments from and to an issuer's own wallet are found.
 *  @param addresses at most `MOST_NAMED`; null requests all movements */
export function paymentTopics(addresses: readonly string[] | null): string[][] {
  const [transfer, mint, burn] = [symbol('transfer'), symbol('mint'), symbol('burn')];
  const transfers = addresses?.map(accountTopic).flatMap((topic) => [
    [transfer, ANY, topic, ANY],
    [transfer, topic, ANY, ANY],
  ]);
  return [...(transfers ?? [[transfer, ANY, ANY, ANY]]), [mint, ANY, ANY], [burn, ANY, ANY]];
}

/** Topics of fees: every transaction has a fee, even a failed one.
 *  @param payers at most `MOST_WITNESSES`, as topics; null requests the fees of all payers */
export const feeTopics = (payers: readonly string[] | null): string[][] =>
  (payers ?? [ANY]).map((payer) => [symbol('fee'), payer]);

/** Filters of one form only: versions before 27.1.1 miss events when filters differ in form. */
export const filtersFor = (topics: readonly string[][]): EventFilter[] =>
  Array.from({ length: Math.ceil(topics.length / TOPICS_EACH) }, (_, index) => ({
    type: 'contract',
    topics: topics.slice(index * TOPICS_EACH, (index + 1) * TOPICS_EACH),
  }));

/** The payer of a fee event, as a topic; null for other events. A blind server has no fee
 *  events either. */
export function feePayerOf({ contractId, topic }: RpcEvent, contractIdOf: ContractIdOf): string | null {
  const isFee = topic.length === 2 && topic[0] === symbol('fee') && contractId === contractIdOf('native');
  return isFee ? topic[1]! : null;
}

/** `<TOID>-<index>`; this TOID numbers operations from 0. */
const eventId = z.string().regex(/^\d{19}-\d{10}$/);

const eventSchema = z.object({
  id: eventId,
  ledger: ledgerNumber,
  ledgerClosedAt: z.iso.datetime({ offset: true }),
  txHash: hash,
  contractId: z.string().nullish(),
  topic: z.array(base64),
});

const answerSchema = z.object({
  events: z.array(z.unknown()).nullish(),
  cursor: eventId,
  latestLedger: ledgerNumber,
  latestLedgerCloseTime: moment.optional().catch(undefined),
});

export type RpcEvent = z.output<typeof eventSchema>;

/** An event as a server gave it, perhaps long ago; null for any other value. */
export function readEvent(raw: unknown): RpcEvent | null {
  const { data } = eventSchema.safeParse(raw);
  return data && ledgerOf(toidOf(data.id)) === data.ledger ? data : null;
}

interface EventsAnswer {
  /** In order, without duplicates. */
  events: RpcEvent[];
  /** Entries that are not events. */
  odd: unknown[];
  /** The last event's cursor, or the end of the last searched ledger. */
  cursor: string;
  /** As many events as requested. */
  isFull: boolean;
  latestLedger: number;
  latestClosedAt: Date | null;
}

/** Where to start: at a ledger, perhaps with an end (exclusive), or after an event. */
type EventsFrom = { startLedger: number; endLedger?: number } | { cursor: string };

/** @throws SourceError, an `RpcError` for ledgers that the server does not have */
export async function getEvents(
  call: Call,
  from: EventsFrom,
  filters: readonly EventFilter[],
  limit: number,
): Promise<EventsAnswer> {
  const { cursor: after, ...range } = 'cursor' in from ? from : { ...from, cursor: null };
  const pagination = { limit, ...(after === null ? {} : { cursor: after }) };
  const answer = await call('getEvents', { ...range, filters, pagination }, answerSchema);
  const entries = answer.events ?? [];
  const read = entries.map((raw) => ({ raw, event: readEvent(raw) }));
  const odd = read.flatMap(({ raw, event }) => (event === null ? [raw] : []));
  const found = read.flatMap(({ event }) => event ?? []);
  const start = after ?? toidText(BigInt('startLedger' in from ? from.startLedger : 0) << 32n);
  // Duplicates and events up to the cursor are dropped.
  const events = [...new Map(found.map((event) => [event.id, event])).values()].filter(({ id }) => id > start);
  // A cached or reversed answer would move the cursor past unread events.
  const isOther = events.length === 0 && found.length > 0;
  if (isOther || events.some(({ id }, index) => index > 0 && id < events[index - 1]!.id))
    throw new SourceError('events that do not follow their cursor');
  const { latestLedgerCloseTime: latestClosedAt = null, latestLedger, cursor } = answer;
  return { events, odd, cursor, isFull: entries.length >= limit, latestLedger, latestClosedAt };
}

/** The TOID of an event's operation, or of a cursor; operations are numbered from 0. */
export const toidOf = (id: string): bigint => BigInt(id.slice(0, 19));

const toidText = (place: bigint): string => place.toString().padStart(19, '0');

export const eventIdOf = (place: bigint, index: number): string =>
  `${toidText(place)}-${index.toString().padStart(10, '0')}`;

export const LAST_INDEX = 0xffff_ffff;

/** All bits of the operation: the number of events that belong to the whole transaction. */
export const NO_OPERATION = 0xfffn;

/** Horizon's id of the event's operation; null for an event of the whole transaction. */
export function operationIdOf({ id }: RpcEvent): bigint | null {
  const place = toidOf(id);
  return (place & NO_OPERATION) === NO_OPERATION ? null : place + 1n;
}

/** The account that the event pays and the one that pays; both null for an event that is not of the
 *  asset's own contract. */
export function partiesOfEvent(
  { contractId = null, topic }: RpcEvent,
  contractIdOf: ContractIdOf,
): { receiver: string | null; sender: string | null } {
  const unknown = { receiver: null, sender: null };
  if (!MOVES.some((word) => symbol(word) === topic[0])) return unknown;
  // An unreadable party leaves the other one readable.
  const event = readTokenEvent(contractId, topic.map(scValAsJson), contractIdOf);
  return event ? { receiver: receiverOf(event), sender: senderOf(event) } : unknown;
}

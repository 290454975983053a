/** Reads events that may be payments: which to ask for, and what an answer shows. */
import { z } from 'zod';
import { SourceError } from '../errors.js';
import { hash } from '../horizon/fields.js';
import { ledgerOf } from '../toid.js';
import type { Call } from './call.js';
import { base64, ledgerNumber, moment } from './fields.js';
import { accountTopic, type ContractIdOf, readTokenEvent, receiverOf, senderOf, symbol } from './token-event.js';
import { scValAsJson } from './xdr-json.js';

/** Topics in one filter; a request takes five filters. */
const TOPICS_EACH = 5;
/** Two topics each, one for mints and one for burns. */
export const MOST_NAMED = 8;
/** What is left of a request's topics. */
export const MOST_WITNESSES = 7;

export interface EventFilter {
  type: 'contract';
  topics: string[][];
}

const ANY = '*';
/** The first topics of what may be a payment. */
const MOVES = ['transfer', 'mint', 'burn'] as const;

/** What was paid to these accounts, and by them, which may be a refund. A mint and a burn name their issuer inside the asset alone, which no filter
 *  looks into: all of them are asked for, so that what an issuer's own wallet pays and is paid is found.
 *  @param addresses at most `MOST_NAMED`; null asks for all that moved. */
export function paymentTopics(addresses: readonly string[] | null): string[][] {
  const [transfer, mint, burn] = [symbol('transfer'), symbol('mint'), symbol('burn')];
  const transfers = addresses?.map(accountTopic).flatMap((topic) => [
    [transfer, ANY, topic, ANY],
    [transfer, topic, ANY, ANY],
  ]);
  return [...(transfers ?? [[transfer, ANY, ANY, ANY]]), [mint, ANY, ANY], [burn, ANY, ANY]];
}

/** Fees: every transaction has one, a failed one too.
 *  @param payers at most `MOST_WITNESSES`, as topics; null asks for everybody's */
export const feeTopics = (payers: readonly string[] | null): string[][] =>
  (payers ?? [ANY]).map((payer) => [symbol('fee'), payer]);

/** All of one form: versions before 27.1.1 miss events where one filter has what another lacks. */
export const filtersFor = (topics: readonly string[][]): EventFilter[] =>
  Array.from({ length: Math.ceil(topics.length / TOPICS_EACH) }, (_, index) => ({
    type: 'contract',
    topics: topics.slice(index * TOPICS_EACH, (index + 1) * TOPICS_EACH),
  }));

/** The account that paid the fee, as a topic; null for what is no event of a fee. A server without events of classic payments has none of those either. */
export function feePayerOf({ contractId, topic }: RpcEvent, contractIdOf: ContractIdOf): string | null {
  const isFee = topic.length === 2 && topic[0] === symbol('fee') && contractId === contractIdOf('native');
  return isFee ? topic[1]! : null;
}

/** `<TOID>-<index>`; the TOID counts operations from 0. */
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

/** An event as a server gave it, perhaps long ago; null for anything else. */
export function readEvent(raw: unknown): RpcEvent | null {
  const { data } = eventSchema.safeParse(raw);
  return data && ledgerOf(toidOf(data.id)) === data.ledger ? data : null;
}

interface EventsAnswer {
  /** In their order, each once. */
  events: RpcEvent[];
  /** Entries that are no events. */
  odd: unknown[];
  /** Cursor of the last event, or the end of the last ledger that was looked through. */
  cursor: string;
  /** As many events as were asked for. */
  isFull: boolean;
  latestLedger: number;
  latestClosedAt: Date | null;
}

/** Where to begin: at a ledger, perhaps up to another one (exclusive), or after an event. */
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
  // What comes twice is one event, and what came before is known.
  const events = [...new Map(found.map((event) => [event.id, event])).values()].filter(({ id }) => id > start);
  // A cached or reversed answer would move a cursor to where nothing was read.
  const isOther = events.length === 0 && found.length > 0;
  if (isOther || events.some(({ id }, index) => index > 0 && id < events[index - 1]!.id))
    throw new SourceError('events that do not follow their cursor');
  const { latestLedgerCloseTime: latestClosedAt = null, latestLedger, cursor } = answer;
  return { events, odd, cursor, isFull: entries.length >= limit, latestLedger, latestClosedAt };
}

/** The TOID of an event's operation, or of a cursor; operations count from 0. */
export const toidOf = (id: string): bigint => BigInt(id.slice(0, 19));

const toidText = (place: bigint): string => place.toString().padStart(19, '0');

export const eventIdOf = (place: bigint, index: number): string =>
  `${toidText(place)}-${index.toString().padStart(10, '0')}`;

export const LAST_INDEX = 0xffff_ffff;

/** The bits of an operation; events of a transaction as a whole stand under this number. */
export const NO_OPERATION = 0xfffn;

/** The id that Horizon gives the event's operation; null for one of the transaction as a whole. */
export function operationIdOf({ id }: RpcEvent): bigint | null {
  const place = toidOf(id);
  return (place & NO_OPERATION) === NO_OPERATION ? null : place + 1n;
}

/** The accounts that the event pays and is paid by; null when it is not told by the asset's own contract. */
export function partiesOfEvent(
  { contractId = null, topic }: RpcEvent,
  contractIdOf: ContractIdOf,
): { receiver: string | null; sender: string | null } {
  const unknown = { receiver: null, sender: null };
  if (!MOVES.some((word) => symbol(word) === topic[0])) return unknown;
  // A party that cannot be read does not hide the other one.
  const event = readTokenEvent(contractId, topic.map(scValAsJson), contractIdOf);
  return event ? { receiver: receiverOf(event), sender: senderOf(event) } : unknown;
}

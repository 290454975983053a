/** Reads events that may be payments: which to ask for, and what an answer shows. */
import { z } from 'zod';
import { sdk } from '../../domain/stellar-sdk.js';
import { SourceError } from '../errors.js';
import { hash } from '../horizon/fields.js';
import { ledgerOf } from '../toid.js';
import type { Call } from './call.js';
import { base64, ledgerNumber, moment } from './fields.js';
import { accountTopic, type ContractIdOf, readTokenEvent, receiverOf, senderOf, symbol } from './token-event.js';

/** Of one filter; a request takes five filters. */
const TOPICS_EACH = 5;
/** Three topics each, and one for burns. */
export const MOST_NAMED = 8;

export interface EventFilter {
  type: 'contract';
  topics: string[][];
}

const ANY = '*';
/** The first topics of what may be a payment. */
const MOVES = ['transfer', 'mint', 'burn'] as const;

/** What was paid to these accounts, and by them, which may be a refund. A mint and a burn name only the other party: an issuer's payments are
 *  found where another address takes part.
 *  @param addresses at most `MOST_NAMED`; null asks for all that moved. */
export function paymentFilters(addresses: readonly string[] | null): EventFilter[] {
  const [transfer, mint, burn] = [symbol('transfer'), symbol('mint'), symbol('burn')];
  // A burn names its issuer inside the asset, which no filter looks into.
  const burns = [burn, ANY, ANY];
  const topics =
    addresses === null
      ? [[transfer, ANY, ANY, ANY], [mint, ANY, ANY], burns]
      : [
          ...addresses.map(accountTopic).flatMap((topic) => [
            [transfer, ANY, topic, ANY],
            [transfer, topic, ANY, ANY],
            [mint, topic, ANY],
          ]),
          burns,
        ];
  // All of one form: versions before 27.1.1 miss events where one filter has what another lacks.
  return Array.from({ length: Math.ceil(topics.length / TOPICS_EACH) }, (_, index) => ({
    type: 'contract',
    topics: topics.slice(index * TOPICS_EACH, (index + 1) * TOPICS_EACH),
  }));
}

/** Every transaction has one, a failed one too. */
export const feeFilters = (): EventFilter[] => [{ type: 'contract', topics: [[symbol('fee'), ANY]] }];

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
  events: z.array(eventSchema).nullish(),
  cursor: eventId,
  latestLedger: ledgerNumber,
  latestLedgerCloseTime: moment.optional().catch(undefined),
});

export type RpcEvent = z.output<typeof eventSchema>;

/** An event that was set aside as it is; null for anything else. */
export const readEvent = (raw: unknown): RpcEvent | null => eventSchema.safeParse(raw).data ?? null;

export interface EventsAnswer {
  events: RpcEvent[];
  /** Of the last event, or the end of the last ledger that was looked through. */
  cursor: string;
  /** As many events as were asked for. */
  isFull: boolean;
  latestLedger: number;
  latestClosedAt: Date | null;
}

/** Where to begin: at a ledger, perhaps up to another one (exclusive), or after an event. */
export type EventsFrom = { startLedger: number; endLedger?: number } | { cursor: string };

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
  const events = answer.events ?? [];
  const ids = events.map(({ id }) => id);
  const start =
    after ?? `${(BigInt('startLedger' in from ? from.startLedger : 0) << 32n).toString().padStart(19, '0')}`;
  // A cached or reversed answer would move a cursor to where nothing was read.
  if (ids.some((id, index) => id <= (ids[index - 1] ?? start)))
    throw new SourceError('events that do not follow their cursor');
  if (events.some(({ id, ledger }) => ledgerOf(toidOf(id)) !== ledger))
    throw new SourceError('an event outside its ledger');
  const { latestLedgerCloseTime: latestClosedAt = null, latestLedger, cursor } = answer;
  return { events, cursor, isFull: events.length >= limit, latestLedger, latestClosedAt };
}

/** The TOID of an event's operation, or of a cursor; operations count from 0. */
export const toidOf = (id: string): bigint => BigInt(id.slice(0, 19));

/** Behind the last event of this operation, which counts from 1 as Horizon counts it. */
export const afterOperation = (operationId: bigint): string =>
  `${(operationId - 1n).toString().padStart(19, '0')}-4294967295`;

/** Events of a transaction as a whole stand under this. */
const NO_OPERATION = 0xfffn;

/** The id that Horizon gives the event's operation; null for one of the transaction as a whole. */
export function operationIdOf({ id }: RpcEvent): bigint | null {
  const place = toidOf(id);
  return (place & NO_OPERATION) === NO_OPERATION ? null : place + 1n;
}

/** Whose accounts the event pays and is paid by; nobody's when it is not told by the asset's own contract. */
export function partiesOfEvent(
  { contractId = null, topic }: RpcEvent,
  contractIdOf: ContractIdOf,
): { receiver: string | null; sender: string | null } {
  const nobody = { receiver: null, sender: null };
  if (!MOVES.some((word) => symbol(word) === topic[0])) return nobody;
  try {
    const topics = topic.map((each) => sdk().xdr.ScVal.fromXDR(each, 'base64'));
    const event = readTokenEvent(contractId, topics, contractIdOf);
    return event ? { receiver: receiverOf(event), sender: senderOf(event) } : nobody;
  } catch {
    return nobody;
  }
}

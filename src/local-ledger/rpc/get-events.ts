/** `getEvents`: movements in a range of ledgers. */
import { z } from 'zod';
import { toTimestamp } from '../headers.js';
import type { Ledger } from '../ledger.js';
import { afterLedger, ledgerOf, ledgerStart } from '../toid.js';
import { invalidParams } from './error.js';
import { eventFilterSchema, toQuery } from './event-filter.js';
import { type EventDocument, eventId, jsonOfEvent } from './events.js';
import { refuseLost } from './meta.js';
import type { Format } from './piece.js';
import { ledgerRange, pageSchema, refuseOutside, toPage } from './range.js';

/** The most ledgers that one call searches. */
const SCAN_LIMIT = 10_000;
const LIMITS = { usual: 100, most: 10_000 };
const LAST_INDEX = 0xffff_ffff;

export const getEventsParams = pageSchema.extend({ filters: z.array(eventFilterSchema).nullish() });

export async function getEvents(ledger: Ledger, params: z.output<typeof getEventsParams>) {
  const page = toPage(params, LIMITS);
  const query = toQuery(params.filters ?? []);
  const { cursor, limit } = page;
  if (cursor !== null && !/^\d{19}-\d{10}$/.test(cursor)) throw invalidParams(`invalid cursor: ${cursor}`);
  const startLedger = cursor === null ? page.startLedger : ledgerOf(BigInt(cursor.split('-')[0]!));
  const range = await ledgerRange(ledger);
  const end = Math.min(range.latest + 1, startLedger + SCAN_LIMIT, page.endLedger || Number.POSITIVE_INFINITY);
  refuseOutside(startLedger, range);
  const found = await ledger.events.find(query, {
    ...(cursor === null ? { from: eventId(ledgerStart(startLedger), 0) } : { after: cursor }),
    before: eventId(ledgerStart(end), 0),
    limit,
  });
  refuseLost(params.xdrFormat, found);
  return {
    events: found.map((event) => toAnswer(event, params.xdrFormat)),
    // Without a full page everything up to the last ledger was searched.
    cursor: found.length === limit ? found.at(-1)!._id : eventId(afterLedger(end - 1), LAST_INDEX),
    latestLedger: range.latest,
    oldestLedger: range.oldest,
    latestLedgerCloseTime: String(range.latestCloseTime),
    oldestLedgerCloseTime: String(range.oldestCloseTime),
  };
}

const toAnswer = (event: EventDocument, format: Format) => ({
  type: 'contract',
  ledger: event.ledger,
  ledgerClosedAt: toTimestamp(event.closeTime),
  contractId: event.contractId,
  id: event._id,
  operationIndex: event.operationIndex,
  transactionIndex: event.transactionIndex,
  txHash: event.txHash,
  inSuccessfulContractCall: true,
  ...(format === 'json' ? inJson(event) : { topic: event.topics, value: event.value }),
});

function inJson(event: EventDocument) {
  const { topics, value } = jsonOfEvent(event);
  return { topicJson: topics, valueJson: value };
}

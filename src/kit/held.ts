/** Documents that hold from a ledger time until the next one of their kind begins: samples of
 *  rates, and an account's own rates. */
import type mongoose from 'mongoose';
import type { Span } from '../domain/shown-rates.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { Session } from './database.js';

/** Several may begin at the time of one ledger: the id, which grows with the clock, decides. */
export const NEWEST_FIRST = { 'from.at': -1, _id: -1 } as const;
const OLDEST_FIRST = { 'from.at': 1, _id: 1 } as const;

/** Documents of the filter that held at some time of the span, including the last one begun before
 *  it; oldest first. */
export async function heldWithin<Doc extends { _id: string; from: LedgerStamp }>(
  collection: mongoose.mongo.Collection<Doc>,
  filter: mongoose.mongo.Filter<Doc>,
  { from, to }: Span,
  session?: Session,
): Promise<Doc[]> {
  const begun = (at: mongoose.mongo.Condition<Date>) => ({ ...filter, 'from.at': at }) as mongoose.mongo.Filter<Doc>;
  const before = await collection.findOne<Doc>(begun({ $lte: from }), { session, sort: NEWEST_FIRST });
  const within = collection.find<Doc>(begun({ $gt: from, $lte: to }), { session, sort: OLDEST_FIRST });
  return [...(before ? [before] : []), ...(await within.toArray())];
}

/** What holds from a moment of the ledger until the next of its kind begins: samples of rates, and an account's own rates. */
import type mongoose from 'mongoose';
import type { Span } from '../domain/shown-rates.js';
import type { LedgerStamp } from '../domain/terms.js';
import type { Session } from './database.js';

/** While a ledger stands still, several begin at its time: the id, which grows with the clock, decides. */
export const NEWEST_FIRST = { 'from.at': -1, _id: -1 } as const;
const OLDEST_FIRST = { 'from.at': 1, _id: 1 } as const;

/** Documents of the filter that held at some time of the span, oldest first: the last one that began before it too. */
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

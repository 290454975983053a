/** Samples of rates: what one unit of an asset was worth in a currency, when, by which sources.
 *  They are only ever added; what is judged is judged by them, so they are kept long. */
import type mongoose from 'mongoose';
import type { Span } from '../domain/shown-rates.js';
import type { LedgerStamp } from '../domain/terms.js';
import { type DocOf, define, openCollection, optional, shape } from '../kit/collection.js';
import { isDuplicateKey, type Session } from '../kit/database.js';
import { heldWithin, NEWEST_FIRST } from '../kit/held.js';
import { createSharedRead } from '../kit/tick-loader.js';

const RATE_SAMPLES = define(
  'rateSamples',
  {
    /** The pair's key and the time: two processes that take one at the same moment keep one. */
    _id: String,
    /** Key of the pair. */
    pair: String,
    /** Canonical decimal text. */
    rate: String,
    /** When it was taken, by the clock of the process. */
    at: Date,
    /** The time of the oldest answer in it. Missing in samples from before it was kept. */
    answeredAt: optional(Date),
    /** Since when it is shown, as the ledger sees it. */
    from: shape<LedgerStamp>(),
    /** Names of the sources that it is made of. */
    source: String,
    /** The first of its pair in an hour, which is never removed. */
    isHourly: Boolean,
  },
  [
    { key: { pair: 1, 'from.at': 1, _id: 1 } },
    { key: { at: 1 }, partialFilterExpression: { isHourly: false }, name: 'removal' },
  ],
);

export interface RateSampleDoc extends DocOf<typeof RATE_SAMPLES> {}

/** A checkout lives for 90 days; what is judged later is judged by the samples of each hour. */
const SAMPLES_KEPT_DAYS = 100;
const DAY_MS = 24 * 3_600_000;
const HOUR_MS = 3_600_000;
const REMOVED_AT_ONCE = 5000;

export type RateSampleStore = ReturnType<typeof createRateSampleStore>;

export function createRateSampleStore(connection: mongoose.Connection) {
  const collection = openCollection<RateSampleDoc>(connection, RATE_SAMPLES);
  /** @param last the newest of the pair so far; null for none */
  const toDoc = (sample: Omit<RateSampleDoc, '_id' | 'isHourly'>, last: Pick<RateSampleDoc, 'at'> | null) => {
    const hourOf = (at: Date) => Math.floor(at.getTime() / HOUR_MS);
    const isHourly = last === null || hourOf(last.at) !== hourOf(sample.at);
    return { _id: `${sample.pair} ${sample.at.toISOString()}`, ...sample, isHourly };
  };
  const newest = createSharedRead(String, (pair: string) => collection.findOne({ pair }, { sort: NEWEST_FIRST }));
  return {
    /** The first of two that are taken at the same moment stays. */
    async add(sample: Omit<RateSampleDoc, '_id' | 'isHourly'>, last: RateSampleDoc | null): Promise<RateSampleDoc> {
      const doc = toDoc(sample, last);
      await collection.insertOne(doc).catch((error: unknown) => {
        if (!isDuplicateKey(error)) throw error;
      });
      return doc;
    },
    /** Null where the pair was never sampled. */
    newest,
    /** Samples that were the newest at some time of the span, oldest first. */
    held: (pair: string, span: Span, session?: Session) => heldWithin(collection, { pair }, span, session),
    /** Removes old samples, but for the first of each hour. @returns how many */
    async removeOld(now: Date, signal: AbortSignal): Promise<number> {
      const filter = { isHourly: false, at: { $lt: new Date(now.getTime() - SAMPLES_KEPT_DAYS * DAY_MS) } };
      for (let removed = 0; ; ) {
        const old = await collection.find(filter, { projection: { _id: 1 }, limit: REMOVED_AT_ONCE }).toArray();
        if (old.length > 0) await collection.deleteMany({ _id: { $in: old.map(({ _id }) => _id) } });
        removed += old.length;
        if (old.length < REMOVED_AT_ONCE || signal.aborted) return removed;
      }
    },
  };
}

/** The pairs of currency and asset that are sampled: when each is due, and what troubles it. A pair
 *  is opened by what first needs it, and removed when nothing does any more. */
import type mongoose from 'mongoose';
import type { Network } from '../../contracts/networks.js';
import { CLOCKS_MS } from '../domain/shown-rates.js';
import { type DocOf, define, nullable, openCollection, optional, text } from '../kit/collection.js';
import { isDuplicateKey } from '../kit/database.js';
import { createSharedRead } from '../kit/tick-loader.js';

/** See `RateAnswer`. */
const ANSWER = { of: String, rate: String, at: Date };

const RATE_PAIRS = define(
  'ratePairs',
  {
    /** `pairKey`. */
    _id: String,
    currency: String,
    assetCode: String,
    assetIssuer: nullable(String),
    network: text<Network>(),
    /** The account that needed it first. */
    openedBy: String,
    openedAt: Date,
    /** When to sample it next. */
    dueAt: Date,
    /** Until then it is sampled even where nothing that is stored uses it. */
    neededUntil: Date,
    /** Time of its newest sample; null before the first. */
    sampledAt: nullable(Date),
    /** A rate that jumped from the newest sample, and waits for an answer that is newer than those
     *  that may be wrong. */
    unconfirmed: nullable({ rate: String, suspects: [ANSWER] }),
    /** Answers that the newest sample is made of. */
    answers: optional([ANSWER]),
    /** The `of` of all answers that samples were made of. */
    knownBy: optional([String]),
    /** Since when it gets no sample, and why; null while it does. */
    trouble: nullable({ since: Date, reason: String }),
  },
  [{ key: { dueAt: 1 } }, { key: { openedBy: 1 } }],
);

export interface RatePairDoc extends DocOf<typeof RATE_PAIRS> {}
export type StoredAnswer = NonNullable<RatePairDoc['answers']>[number];

export type RatePairStore = ReturnType<typeof createRatePairStore>;

export function createRatePairStore(connection: mongoose.Connection) {
  const collection = openCollection<RatePairDoc>(connection, RATE_PAIRS);
  return {
    byId: createSharedRead(String, (id: string) => collection.findOne({ _id: id })),
    all: () => collection.find({}, { sort: { _id: 1 } }).toArray(),
    /** Those without a sample, the longest first. */
    troubled: (limit: number) =>
      collection.find({ trouble: { $ne: null } }, { sort: { 'trouble.since': 1 }, limit }).toArray(),
    /** Currencies of all pairs. */
    currencies: (): Promise<string[]> => collection.distinct('currency'),
    countOpenedBy: (accountId: string) => collection.countDocuments({ openedBy: accountId }),
    /** Opens a pair, or keeps an open one for longer. @returns whether it was opened by this: of
     *  two at once, one */
    async open(pair: RatePairDoc): Promise<boolean> {
      const { _id, neededUntil, ...rest } = pair;
      try {
        const before = await collection.findOneAndUpdate(
          { _id },
          { $setOnInsert: rest, $max: { neededUntil } },
          { upsert: true, returnDocument: 'before', projection: { _id: 1 } },
        );
        return before === null;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    /** @returns whether the pair is open */
    async needUntil(id: string, neededUntil: Date): Promise<boolean> {
      const { matchedCount } = await collection.updateOne({ _id: id }, { $max: { neededUntil } });
      return matchedCount > 0;
    },
    /** Takes the pair that has been due for longest. Null when none is.
     *  @param options.intervalMs from now to its next sample
     *  @param options.isSound only of those that had a sample the last time */
    async claimDue(
      now: Date,
      { intervalMs, isSound }: { intervalMs: number; isSound: boolean },
    ): Promise<RatePairDoc | null> {
      const ahead = (ms: number) => new Date(now.getTime() + ms);
      return collection.findOneAndUpdate(
        {
          // One that is due later than any claim by another clock was claimed before the clock was
          // set back.
          $or: [{ dueAt: { $lte: now } }, { dueAt: { $gt: ahead(intervalMs + Math.max(intervalMs, CLOCKS_MS)) } }],
          ...(isSound ? { trouble: null } : {}),
        },
        { $set: { dueAt: ahead(intervalMs) } },
        { sort: { dueAt: 1 }, returnDocument: 'after' },
      );
    },
    /** Unless it was needed again since it was read. */
    async removeUnneeded({ _id, neededUntil }: RatePairDoc): Promise<boolean> {
      const { deletedCount } = await collection.deleteOne({ _id, neededUntil });
      return deletedCount > 0;
    },
    /** @param answers that it is made of */
    async noteSample(id: string, sampledAt: Date, answers: StoredAnswer[]): Promise<void> {
      await collection.updateOne(
        { _id: id },
        {
          $set: { sampledAt, unconfirmed: null, trouble: null, answers },
          $addToSet: { knownBy: { $each: answers.map(({ of }) => of) } },
        },
      );
    },
    /** Why there was no sample. @param unconfirmed the rate that jumped, where that is
     *  the reason */
    async noteTrouble(
      id: string,
      trouble: { since: Date; reason: string },
      unconfirmed: RatePairDoc['unconfirmed'],
    ): Promise<void> {
      const since = { $ifNull: ['$trouble.since', trouble.since] };
      const noted = { since, reason: { $literal: trouble.reason } };
      await collection.updateOne({ _id: id }, [{ $set: { trouble: noted, unconfirmed: { $literal: unconfirmed } } }]);
    },
  };
}

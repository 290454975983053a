/** Answers of sources with few allowed requests, stored in the database for all processes and
 *  across restarts. */
import type mongoose from 'mongoose';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, openCollection, shape } from '../kit/collection.js';
import { isDuplicateKey } from '../kit/database.js';

// The last answer of each source of rates that may seldom be asked.

/** `rate` as the source wrote it. */
interface StoredQuote {
  currency: string;
  rate: string;
  at: Date;
}

const RATE_ANSWERS = define('rateAnswers', {
  /** The source's name. */
  _id: String,
  askedAt: Date,
  /** Currencies that it was asked for: all that were ever wanted, so that a new one costs a request
   *  only once. */
  wanted: shape<readonly string[]>(),
  /** It did not answer, or not yet: the quotes are those of before. */
  failed: Boolean,
  quotes: shape<readonly StoredQuote[]>(),
});

interface RateAnswerDoc extends DocOf<typeof RATE_ANSWERS> {}

/** When a source was asked that never was. */
const LONG_AGO = new Date(0);

type RateAnswerStore = ReturnType<typeof createRateAnswerStore>;

export function createRateAnswerStore(connection: mongoose.Connection) {
  const answers = openCollection<RateAnswerDoc>(connection, RATE_ANSWERS);
  return {
    of: (source: string) => answers.findOne({ _id: source }),
    /** Before the source is asked: of those who would ask it at the same time one does. @param
     *  before as it was read; null for none */
    async claim(answer: RateAnswerDoc, before: RateAnswerDoc | null): Promise<boolean> {
      const { _id, ...rest } = answer;
      try {
        const filter = before ? { _id, askedAt: before.askedAt } : { _id, askedAt: LONG_AGO };
        const { matchedCount, upsertedCount } = await answers.updateOne(filter, { $set: rest }, { upsert: !before });
        return matchedCount + upsertedCount > 0;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    async save({ _id, ...answer }: RateAnswerDoc): Promise<void> {
      await answers.updateOne({ _id }, { $set: answer }, { upsert: true });
    },
  };
}

/** The known answers of a source. */
interface Remembered {
  /** Its last answer. */
  quotes: readonly StoredQuote[];
  /** The last request failed, or did not name every wanted currency: a missing quote may exist. */
  isPartial: boolean;
}

/** A source's last answer.
 *  @param options.everyMs how long an answer is used without another request
 *  @param options.wanted currencies that the request must have named
 *  @throws what `read` throws; until the next attempt the previous answer is returned */
export type Remember = (
  source: string,
  options: { everyMs: number; wanted: readonly string[] },
  read: (wanted: readonly string[]) => Promise<StoredQuote[]>,
) => Promise<Remembered>;

/** The pause after a failure. */
const AGAIN_MS = 300_000;

export function createRemember({ answers, clock }: { answers: RateAnswerStore; clock: Clock }): Remember {
  /** Concurrent calls share a request. */
  const reading = new Map<string, Promise<Remembered>>();
  return async (source, { everyMs, wanted }, read) => {
    const key = `${source} ${wanted.join()}`;
    const current = reading.get(key);
    if (current) return current;
    const answer = (async () => {
      const nowMs = clock.nowMs();
      const known = await answers.of(source);
      const old = { quotes: known?.quotes ?? [], isPartial: true };
      const agoMs = known ? nowMs - known.askedAt.getTime() : Number.POSITIVE_INFINITY;
      const restMs = known?.failed ? Math.min(AGAIN_MS, everyMs) : everyMs;
      const isKnown = known && wanted.every((each) => known.wanted.includes(each));
      if (isKnown && agoMs >= 0 && agoMs < restMs) return { ...old, isPartial: known.failed };
      const all = [...new Set([...(known?.wanted ?? []), ...wanted])].sort();
      const asked = { _id: source, askedAt: new Date(nowMs), wanted: all, failed: true, quotes: old.quotes };
      // Another process is asking.
      if (!(await answers.claim(asked, known))) return old;
      const quotes = await read(all);
      await answers.save({ ...asked, failed: false, quotes });
      return { quotes, isPartial: false };
    })().finally(() => reading.delete(key));
    reading.set(key, answer);
    return answer;
  };
}

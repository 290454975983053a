/** Answers of sources with few allowed requests, stored in the database for all processes and across restarts. */
import type { Clock } from '../kit/clock.js';
import type { RateAnswerStore, StoredQuote } from './rate-answers.js';

/** The known answers of a source. */
export interface Remembered {
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
  read: () => Promise<StoredQuote[]>,
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
      const asked = { _id: source, askedAt: new Date(nowMs), wanted, failed: true, quotes: old.quotes };
      // Another process is asking.
      if (!(await answers.claim(asked, known))) return old;
      const quotes = await read();
      await answers.save({ ...asked, failed: false, quotes });
      return { quotes, isPartial: false };
    })().finally(() => reading.delete(key));
    reading.set(key, answer);
    return answer;
  };
}

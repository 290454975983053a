/** Answers of sources that may seldom be asked: they are kept in the database, for all processes and over restarts. */
import type { Clock } from '../clock.js';
import type { RateAnswerStore, StoredQuote } from '../stores/rate-answers.js';

/** What is known of a source. */
export interface Remembered {
  /** As it answered last. */
  quotes: readonly StoredQuote[];
  /** It did not answer since, or was not asked for all that is wanted: what is not there may be there. */
  isPartial: boolean;
}

/** What a source answered last.
 *  @param options.everyMs how long an answer is taken as it is
 *  @param options.wanted currencies that it must have been asked for
 *  @throws what `read` throws; until the next time, what it answered before is returned */
export type Remember = (
  source: string,
  options: { everyMs: number; wanted: readonly string[] },
  read: () => Promise<StoredQuote[]>,
) => Promise<Remembered>;

/** After a failure. */
const AGAIN_MS = 300_000;

export function createRemember({ answers, clock }: { answers: RateAnswerStore; clock: Clock }): Remember {
  /** Pairs are asked for side by side. */
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
      // Another process asks it just now.
      if (!(await answers.claim(asked, known))) return old;
      const quotes = await read();
      await answers.save({ ...asked, failed: false, quotes });
      return { quotes, isPartial: false };
    })().finally(() => reading.delete(key));
    reading.set(key, answer);
    return answer;
  };
}

/** Lists and searches of an API process: each ends in time, in MongoDB too, and no account has more than its share of them. */
import { unavailable } from './api-error.js';
import type { Caller } from './caller.js';
import { createFairQueue } from './fair-queue.js';

const LIST_MS = 10_000;
const QUEUE_BOUNDS = { most: 40, mostOfAccount: 4, mostWaiting: 200 };

/** Runs the reading of a list. @throws ApiError `unavailable` after 10 s, waiting included; `rate_limited` when too many of the account wait */
export type Listing = <T>(caller: Pick<Caller, 'accountId' | 'signal'>, work: () => Promise<T>) => Promise<T>;

/** @param readingUntil ends reads with a signal */
export function createListing(
  readingUntil: <T>(signal: AbortSignal, work: () => Promise<T>) => Promise<T>,
  listMs = LIST_MS,
): Listing {
  const queue = createFairQueue(QUEUE_BOUNDS);
  return async ({ accountId, signal: hangUp }, work) => {
    const late = AbortSignal.timeout(listMs);
    const signal = hangUp ? AbortSignal.any([hangUp, late]) : late;
    try {
      return await queue.run({ accountId, signal }, () => readingUntil(signal, work));
    } catch (error) {
      if (!late.aborted) throw error;
      throw unavailable('This list takes too long: ask for less, with more filters or longer words.');
    }
  };
}

/** A queue for work that is heavy for the database: one piece at a time for each account and few in all, so that no account delays others for long. */
import { ApiError, rateLimited } from '../domain/api-error.js';
import type { Caller } from './caller.js';

interface FairQueue {
  /** Waits in the queue, then works. A caller that hangs up while waiting leaves the queue.
   *  @throws ApiError `rate_limited` when the account has too many waiting; any error of `work` */
  run<T>(caller: Pick<Caller, 'accountId' | 'signal'>, work: () => Promise<T>): Promise<T>;
}

interface Waiting {
  accountId: string;
  begin(): void;
}

/** The caller has hung up. */
const hungUp = () => new ApiError('unavailable', 'The caller disconnected.');
const RETRY_AFTER_S = 5;

/** @param most at a time. @param mostWaiting per account */
export function createFairQueue({ most, mostWaiting }: { most: number; mostWaiting: number }): FairQueue {
  const waiting: Waiting[] = [];
  /** Accounts whose work runs. */
  const working = new Set<string>();

  function beginNext(): void {
    while (working.size < most) {
      const index = waiting.findIndex(({ accountId }) => !working.has(accountId));
      if (index < 0) return;
      const [next] = waiting.splice(index, 1);
      working.add(next!.accountId);
      next!.begin();
    }
  }

  const startOf = (accountId: string, signal: AbortSignal | undefined) =>
    new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(mine), 1);
        reject(hungUp());
      };
      const begin = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const mine = { accountId, begin };
      signal?.addEventListener('abort', leave, { once: true });
      waiting.push(mine);
      beginNext();
    });

  return {
    async run({ accountId, signal }, work) {
      if (signal?.aborted) throw hungUp();
      if (waiting.filter((each) => each.accountId === accountId).length >= mostWaiting)
        throw rateLimited(RETRY_AFTER_S);
      await startOf(accountId, signal);
      try {
        return await work();
      } catch (error) {
        throw signal?.aborted ? hungUp() : error;
      } finally {
        working.delete(accountId);
        beginNext();
      }
    },
  };
}

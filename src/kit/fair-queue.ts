/** A queue for work that is heavy for the database: few pieces at a time for each account and in
 *  all, so that no account delays others for long. */
import { ApiError, rateLimited } from './api-error.js';
import type { Caller } from './caller.js';

/** A cache by group and key. Groups have equal shares: one with very many values evicts its own. */
export class FairCache<Value> {
  /** Least recently used first. */
  readonly #values = new Map<string, { group: string; value: Value }>();
  readonly #most: number;

  /** @param most values of all groups together */
  constructor(most: number) {
    this.#most = most;
  }

  get(group: string, key: string): Value | undefined {
    const name = `${group} ${key}`;
    const found = this.#values.get(name);
    if (!found) return undefined;
    this.#values.delete(name);
    this.#values.set(name, found);
    return found.value;
  }

  set(group: string, key: string, value: Value): void {
    const name = `${group} ${key}`;
    this.#values.delete(name);
    this.#values.set(name, { group, value });
    if (this.#values.size > this.#most) this.#values.delete(this.#nameToForget());
  }

  delete(group: string, key: string): void {
    this.#values.delete(`${group} ${key}`);
  }

  /** Evicts the least recently used value of the largest group. */
  #nameToForget(): string {
    const byGroup = new Map<string, string[]>();
    let most: string[] = [];
    for (const [name, { group }] of this.#values) {
      const same = byGroup.get(group) ?? [];
      same.push(name);
      byGroup.set(group, same);
      if (same.length > most.length) most = same;
    }
    return most[0]!;
  }
}

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

interface Bounds {
  /** At a time. */
  most: number;
  /** Of one account at a time. Default 1. */
  mostOfAccount?: number;
  /** Of one account. */
  mostWaiting: number;
}

export function createFairQueue({ most, mostOfAccount = 1, mostWaiting }: Bounds): FairQueue {
  const waiting: Waiting[] = [];
  /** How much of each account runs. */
  const working = new Map<string, number>();
  let running = 0;

  function count(accountId: string, change: 1 | -1): void {
    running += change;
    const own = (working.get(accountId) ?? 0) + change;
    if (own > 0) working.set(accountId, own);
    else working.delete(accountId);
  }

  function beginNext(): void {
    while (running < most) {
      const index = waiting.findIndex(({ accountId }) => (working.get(accountId) ?? 0) < mostOfAccount);
      if (index < 0) return;
      const [next] = waiting.splice(index, 1);
      count(next!.accountId, 1);
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
        // It may have hung up between its turn and this moment.
        if (signal?.aborted) throw hungUp();
        return await work();
      } catch (error) {
        throw signal?.aborted ? hungUp() : error;
      } finally {
        count(accountId, -1);
        beginNext();
      }
    },
  };
}

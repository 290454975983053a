/** Notifies waiters in this process when an account has new events, whichever process numbered them. All waiters share one MongoDB change stream; what
 *  came before it opened is read by a query. */
import type { Logger } from 'pino';
import { type Clock, within } from '../clock.js';
import type { CounterWatch, EventCounterStore } from '../stores/event-counters.js';

/** An idle change stream answers every second; without an answer for this long it is taken for dead. */
const SILENCE_MS = 10_000;
const refuseSilence = () => {
  throw new Error(`the change stream has been silent for ${SILENCE_MS} ms`);
};
const RETRY_MS = 1000;
const ACCOUNTS_PER_QUERY = 500;

export interface Follower {
  /** The account's latest event now has this number. */
  moved(last: number): void;
  /** The process is about to end. */
  ended(): void;
}

export type EventNotifier = ReturnType<typeof createEventNotifier>;

/** The change stream is opened for the first follower. */
export function createEventNotifier(deps: {
  eventCounters: Pick<EventCounterStore, 'watch' | 'lastOf'>;
  clock: Clock;
  log: Logger;
}) {
  const { eventCounters, clock, log } = deps;
  const followers = new Map<string, Set<Follower>>();
  const closing = new AbortController();
  let stream: CounterWatch | null = null;
  let running: Promise<void> | null = null;

  function notify({ accountId, last }: { accountId: string; last: number }): void {
    for (const follower of followers.get(accountId) ?? []) follower.moved(last);
  }

  async function catchUp(): Promise<void> {
    const accountIds = [...followers.keys()];
    for (let from = 0; from < accountIds.length; from += ACCOUNTS_PER_QUERY) {
      for (const each of await eventCounters.lastOf(accountIds.slice(from, from + ACCOUNTS_PER_QUERY))) notify(each);
    }
  }

  async function watch(): Promise<void> {
    const changes = eventCounters.watch();
    stream = changes;
    try {
      for (let isFirst = true; !closing.signal.aborted; isFirst = false) {
        const change = await within(clock, SILENCE_MS, changes.next(), refuseSilence);
        // From its first answer on, the change stream misses nothing; a query finds what came before.
        if (isFirst) await catchUp();
        if (change) notify(change);
      }
    } finally {
      await changes.close().catch(() => undefined);
    }
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        await watch();
      } catch (err) {
        if (closing.signal.aborted) break;
        log.warn({ err, accounts: followers.size }, 'new events cannot be followed; trying again');
        await clock.sleep(RETRY_MS, closing.signal);
      }
    }
  }
  return {
    /** Notifies the follower whenever an event of the account is numbered. @returns a function that ends it */
    follow(accountId: string, follower: Follower): () => void {
      const own = followers.get(accountId) ?? new Set();
      followers.set(accountId, own.add(follower));
      if (closing.signal.aborted) follower.ended();
      else running ??= run();
      return () => {
        own.delete(follower);
        if (own.size === 0 && followers.get(accountId) === own) followers.delete(accountId);
      };
    },
    /** Ends all followers. */
    async close(): Promise<void> {
      closing.abort();
      for (const own of [...followers.values()]) for (const follower of [...own]) follower.ended();
      await stream?.close().catch(() => undefined);
      await running;
    },
  };
}

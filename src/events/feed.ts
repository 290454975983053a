/** Tells whoever waits in this process that an account has new events, whichever process numbered them: from one change stream, however many wait.
 *  What the stream may have missed is looked up when it begins. */
import type { Logger } from 'pino';
import { type Clock, within } from '../clock.js';
import type { CounterWatch, EventCounterStore } from '../stores/event-counters.js';

/** An idle stream answers every second; this long without an answer, it is dead. */
const SILENCE_MS = 10_000;
const refuseSilence = () => {
  throw new Error(`the change stream has been silent for ${SILENCE_MS} ms`);
};
const RETRY_MS = 1000;
const ACCOUNTS_PER_QUERY = 500;

export interface Follower {
  /** The account's latest event has this number now. */
  moved(last: number): void;
  /** The process is about to end. */
  ended(): void;
}

export type EventFeed = ReturnType<typeof createEventFeed>;

/** The change stream is opened for the first follower. */
export function createEventFeed(deps: {
  eventCounters: Pick<EventCounterStore, 'watch' | 'lastOf'>;
  clock: Clock;
  log: Logger;
}) {
  const { eventCounters, clock, log } = deps;
  const followers = new Map<string, Set<Follower>>();
  const closing = new AbortController();
  let stream: CounterWatch | null = null;
  let running: Promise<void> | null = null;

  function tell({ accountId, last }: { accountId: string; last: number }): void {
    for (const follower of followers.get(accountId) ?? []) follower.moved(last);
  }

  async function catchUp(): Promise<void> {
    const accountIds = [...followers.keys()];
    for (let from = 0; from < accountIds.length; from += ACCOUNTS_PER_QUERY) {
      for (const each of await eventCounters.lastOf(accountIds.slice(from, from + ACCOUNTS_PER_QUERY))) tell(each);
    }
  }

  async function watch(): Promise<void> {
    const changes = eventCounters.watch();
    stream = changes;
    try {
      for (let isFirst = true; !closing.signal.aborted; isFirst = false) {
        const change = await within(clock, SILENCE_MS, changes.next(), refuseSilence);
        // From its first answer on the stream tells everything; what came before, only a query does.
        if (isFirst) await catchUp();
        if (change) tell(change);
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
    /** Tells the follower of every event of the account that is numbered from now on. @returns a function that ends it */
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
    /** Ends all that wait. */
    async close(): Promise<void> {
      closing.abort();
      for (const own of [...followers.values()]) for (const follower of [...own]) follower.ended();
      await stream?.close().catch(() => undefined);
      await running;
    },
  };
}

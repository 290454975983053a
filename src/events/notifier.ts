/** Notifies waiters in this process when an account has new events, whichever process numbered
 *  them. All waiters share one follower; where its change stream is late, the numbers are asked for
 *  as well. */
import type { Logger } from 'pino';
import type { Clock } from '../kit/clock.js';
import { createFollower } from '../kit/follower.js';
import type { EventCounterStore, Numbering } from './event-counters.js';

const ACCOUNTS_PER_QUERY = 500;
const ASK_MS = 250;

interface EventFollower {
  /** The account's latest event now has this number. */
  moved(last: number): void;
  /** The process is about to end. */
  ended(): void;
}

export type EventNotifier = ReturnType<typeof createEventNotifier>;

interface EventNotifierDeps {
  eventCounters: Pick<EventCounterStore, 'watch' | 'lastOf'>;
  /** A sharded cluster's router delays changes until every shard has reported: up to 10 s. */
  isStreamLate: boolean;
  clock: Clock;
  log: Logger;
}

/** The change stream is opened for the first follower. */
export function createEventNotifier(deps: EventNotifierDeps) {
  const { eventCounters, isStreamLate, clock, log } = deps;
  const followers = new Map<string, Set<EventFollower>>();
  /** The numbers that the last question found. */
  const found = new Map<string, number>();
  const closing = new AbortController();
  let isAsking = false;

  function notify({ accountId, last }: Numbering): void {
    for (const follower of followers.get(accountId) ?? []) follower.moved(last);
  }

  async function readNumbers(tell: (numbering: Numbering) => void): Promise<void> {
    const accountIds = [...followers.keys()];
    for (let from = 0; from < accountIds.length; from += ACCOUNTS_PER_QUERY) {
      for (const each of await eventCounters.lastOf(accountIds.slice(from, from + ACCOUNTS_PER_QUERY))) tell(each);
    }
  }

  function notifyMoved(numbering: Numbering): void {
    const { accountId, last } = numbering;
    if (!followers.has(accountId) || found.get(accountId) === last) return;
    found.set(accountId, last);
    notify(numbering);
  }

  /** Runs while there are followers. A failed query is repeated; the follower logs it. */
  async function keepAsking(): Promise<void> {
    if (isAsking) return;
    isAsking = true;
    while (followers.size > 0 && !closing.signal.aborted) {
      await readNumbers(notifyMoved).catch(() => undefined);
      await clock.sleep(ASK_MS, closing.signal);
    }
    isAsking = false;
  }

  const numberings = createFollower({
    what: 'numbers of events',
    open: eventCounters.watch,
    catchUp: () => readNumbers(notify),
    onChange: notify,
    clock,
    log,
  });

  return {
    /** Notifies the follower whenever an event of the account is numbered. @returns a function that
     *  ends it */
    follow(accountId: string, follower: EventFollower): () => void {
      const own = followers.get(accountId) ?? new Set();
      followers.set(accountId, own.add(follower));
      if (closing.signal.aborted) follower.ended();
      else numberings.start();
      if (isStreamLate) void keepAsking();
      return () => {
        own.delete(follower);
        if (own.size > 0 || followers.get(accountId) !== own) return;
        followers.delete(accountId);
        found.delete(accountId);
      };
    },
    /** Ends all followers. */
    async close(): Promise<void> {
      closing.abort();
      for (const own of [...followers.values()]) for (const follower of [...own]) follower.ended();
      await numberings.close();
    },
  };
}

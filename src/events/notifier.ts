/** Notifies waiters in this process when an account has new events, whichever process numbered them. All waiters share one follower. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { createFollower } from '../runtime/follower.js';
import type { EventCounterStore, Numbering } from '../stores/event-counters.js';

const ACCOUNTS_PER_QUERY = 500;

export interface EventFollower {
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
  const followers = new Map<string, Set<EventFollower>>();
  let isClosed = false;

  function notify({ accountId, last }: Numbering): void {
    for (const follower of followers.get(accountId) ?? []) follower.moved(last);
  }

  async function catchUp(): Promise<void> {
    const accountIds = [...followers.keys()];
    for (let from = 0; from < accountIds.length; from += ACCOUNTS_PER_QUERY) {
      for (const each of await eventCounters.lastOf(accountIds.slice(from, from + ACCOUNTS_PER_QUERY))) notify(each);
    }
  }

  const numberings = createFollower({
    what: 'numbers of events',
    open: eventCounters.watch,
    catchUp,
    onChange: notify,
    clock,
    log,
  });

  return {
    /** Notifies the follower whenever an event of the account is numbered. @returns a function that ends it */
    follow(accountId: string, follower: EventFollower): () => void {
      const own = followers.get(accountId) ?? new Set();
      followers.set(accountId, own.add(follower));
      if (isClosed) follower.ended();
      else numberings.start();
      return () => {
        own.delete(follower);
        if (own.size === 0 && followers.get(accountId) === own) followers.delete(accountId);
      };
    },
    /** Ends all followers. */
    async close(): Promise<void> {
      isClosed = true;
      for (const own of [...followers.values()]) for (const follower of [...own]) follower.ended();
      await numberings.close();
    },
  };
}

/** Follows events in this process for all waiting pulls and all streams, composed around the core. */
import { createEventNotifier, type EventNotifier } from '../events/notifier.js';
import { createEventTail, type EventTail } from '../services/event-tail.js';
import { createKeyWatch } from '../services/key-watch.js';
import type { Core } from './core.js';

export interface OpenEventTail {
  tail: EventTail;
  follow: EventNotifier['follow'];
  /** Ends all waiters. May be called several times. */
  close(): Promise<void>;
}

/** The first waiter opens the change stream. @param isStreamLate change streams lag, as on a sharded cluster */
export function openEventTail(
  core: Core,
  { maxOpenPerAccount, isStreamLate }: { maxOpenPerAccount: number; isStreamLate: boolean },
): OpenEventTail {
  const { stores, clock, log } = core;
  const { apiKeys, eventCounters } = stores.system;
  const notifier = createEventNotifier({ eventCounters, isStreamLate, clock, log });
  const keyWatch = createKeyWatch({ apiKeys, clock, log });
  return {
    follow: notifier.follow,
    tail: createEventTail({ forAccount: stores.forAccount, notifier, keyWatch, maxOpenPerAccount }),
    async close() {
      await Promise.all([notifier.close(), keyWatch.close()]);
    },
  };
}

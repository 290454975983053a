/** Follows events in this process for all waiting pulls and all streams, composed around
 *  the core. */

import { createKeyWatch, type WatchCaller } from '../accounts/index.js';
import { createEventNotifier, createEventTail, type EventNotifier, type EventTail } from '../events/index.js';
import type { Core } from './core.js';

export interface OpenEventTail {
  tail: EventTail;
  follow: EventNotifier['follow'];
  watch: WatchCaller;
  /** Ends all waiters. May be called several times. */
  close(): Promise<void>;
}

/** The first waiter opens the change stream. @param isStreamLate change streams lag, as on a
 *  sharded cluster */
export function openEventTail(
  core: Core,
  { maxOpenPerAccount, isStreamLate }: { maxOpenPerAccount: number; isStreamLate: boolean },
): OpenEventTail {
  const { stores, clock, log } = core;
  const { eventCounters } = stores.system;
  const notifier = createEventNotifier({ eventCounters, isStreamLate, clock, log });
  const keyWatch = createKeyWatch({ ...stores.system, clock, log });
  return {
    follow: notifier.follow,
    watch: keyWatch.watch,
    tail: createEventTail({ forAccount: stores.forAccount, notifier, keyWatch, maxOpenPerAccount }),
    async close() {
      await Promise.all([notifier.close(), keyWatch.close()]);
    },
  };
}

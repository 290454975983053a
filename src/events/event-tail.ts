/** Follows an account's events for its waiters: pulls with `wait`, and streams. Waiters are bounded
 *  in number, end with their key, their caller or the process, and cost only a little memory
 *  while idle. */

import type { KeyWatch } from '../accounts/index.js';
import { ApiError, rateLimited } from '../kit/api-error.js';
import type { Caller, StreamedEvent } from '../kit/caller.js';
import type { ForAccount } from '../stores.js';
import type { EventDoc } from './event-store.js';
import { toEventBody } from './events.js';
import type { EventNotifier } from './notifier.js';

/** Over all accounts. */
const MAX_OPEN = 20_000;
const FULL_RETRY_SECONDS = 30;
/** Size of a read for a stream; the next read follows when the reader has taken it. */
const BATCH = 50;
const BATCH_BYTES = 256 * 1024;

interface EventTailDeps {
  forAccount: ForAccount<'events'>;
  notifier: Pick<EventNotifier, 'follow'>;
  keyWatch: Pick<KeyWatch, 'watch'>;
  maxOpenPerAccount: number;
}

/** A caller that waits for events of an account. */
interface Waiter {
  /** The highest known number; 0 before any. */
  known(): number;
  /** Resolves when a later number is known, `wake` was called, or the waiter is over. */
  until(sequence: number): Promise<void>;
  wake(): void;
  /** The caller hung up, its key ended, or the process is ending. */
  isOver(): boolean;
  /** @throws ApiError `unauthorized` */
  throwIfKeyEnded(): void;
  /** May be called several times. */
  leave(): void;
}

/** @param left called once, when the waiter has left */
function createWaiter(
  { notifier, keyWatch }: Pick<EventTailDeps, 'notifier' | 'keyWatch'>,
  caller: Caller,
  left: () => void,
): Waiter {
  const { accountId, signal } = caller;
  let known = 0;
  let keyHasEnded = false;
  let isOver = false;
  let hasLeft = false;
  let wake: () => void = () => undefined;
  const end = () => {
    isOver = true;
    wake();
  };
  const moved = (last: number) => {
    known = Math.max(known, last);
    wake();
  };
  const leave = () => {
    if (hasLeft) return;
    hasLeft = true;
    left();
    unfollow();
    unwatch();
    signal?.removeEventListener('abort', hangUp);
  };
  const hangUp = () => {
    end();
    leave();
  };
  const keyEnded = () => {
    keyHasEnded = true;
    end();
  };
  const unwatch = keyWatch.watch(caller, keyEnded);
  const unfollow = notifier.follow(accountId, { moved, ended: end });
  if (signal?.aborted) hangUp();
  else signal?.addEventListener('abort', hangUp, { once: true });
  return {
    known: () => known,
    until: async (sequence) => {
      if (known > sequence || isOver) return;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    },
    wake: () => wake(),
    isOver: () => isOver,
    throwIfKeyEnded: () => {
      if (keyHasEnded) throw callerEnded(caller);
    },
    leave,
  };
}

const callerEnded = ({ sessionHash }: Pick<Caller, 'sessionHash'>) =>
  new ApiError(
    'unauthorized',
    sessionHash === undefined ? 'The API key was revoked or replaced, or has expired.' : 'The session has ended.',
  );

export type EventTail = ReturnType<typeof createEventTail>;

export function createEventTail({ forAccount, notifier, keyWatch, maxOpenPerAccount }: EventTailDeps) {
  const openOf = new Map<string, number>();
  const reading = new Map<string, Promise<StreamedEvent[]>>();
  let open = 0;

  function count(accountId: string, change: 1 | -1): void {
    open += change;
    const own = (openOf.get(accountId) ?? 0) + change;
    if (own > 0) openOf.set(accountId, own);
    else openOf.delete(accountId);
  }

  /** One read shared by all streams of an account at the same position, as idle ones are. It began
   *  after `known` was assigned. */
  function read(accountId: string, after: number, known: number): Promise<StreamedEvent[]> {
    const key = `${accountId} ${after} ${known}`;
    const begun = reading.get(key);
    if (begun) return begun;
    const events = forAccount(accountId)
      .events.after(after, BATCH, { maxBytes: BATCH_BYTES })
      .then((found) => found.map(toStreamed))
      .finally(() => reading.delete(key));
    reading.set(key, events);
    return events;
  }

  /** @throws ApiError `rate_limited` at the limit of the account or of the process */
  function enter(caller: Caller): Waiter {
    const { accountId } = caller;
    if ((openOf.get(accountId) ?? 0) >= maxOpenPerAccount || open >= MAX_OPEN) throw rateLimited(FULL_RETRY_SECONDS);
    count(accountId, 1);
    return createWaiter({ notifier, keyWatch }, caller, () => count(accountId, -1));
  }

  async function* stream(waiter: Waiter, accountId: string, from: number): AsyncGenerator<StreamedEvent, void> {
    try {
      for (let after = from; !waiter.isOver(); ) {
        const known = waiter.known();
        const batch = await read(accountId, after, known);
        for (const event of batch) {
          if (waiter.isOver()) break;
          yield event;
          after = Number(event.id);
        }
        if (batch.length > 0) continue;
        // Known but missing events were removed, as RETENTION_DAYS does with older ones.
        after = Math.max(after, known);
        await waiter.until(after);
      }
      waiter.throwIfKeyEnded();
    } finally {
      waiter.leave();
    }
  }

  return {
    enter,
    /** Yields the events after a number, then each new one as it is numbered. Ends with the caller
     *  and with the process.
     *  @throws ApiError `rate_limited` at once; `unauthorized` from the stream when the caller's
     *  key has ended */
    stream: (caller: Caller, after: number): AsyncGenerator<StreamedEvent, void> =>
      stream(enter(caller), caller.accountId, after),
  };
}

const toStreamed = (event: EventDoc): StreamedEvent => ({
  id: String(event.sequence),
  type: event.type,
  data: toEventBody(event),
});

/** Following one account's events, for all who wait for them: pulls that wait, and streams. Each is bounded, ends with its key, its caller or the
 *  process, and costs nothing but a little memory while nothing happens. */
import { ApiError, rateLimited } from '../domain/api-error.js';
import type { EventNotifier } from '../events/notifier.js';
import { toEventBody } from '../resources/event.js';
import type { EventDoc } from '../stores/events.js';
import type { ForAccount } from '../stores/index.js';
import type { Caller, StreamedEvent } from './caller.js';
import type { KeyWatch } from './key-watch.js';

/** All accounts together. */
const MAX_OPEN = 20_000;
const FULL_RETRY_SECONDS = 30;
/** What is read at once for a stream; it is read on when the reader has taken it. */
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
  /** The highest number that is known to be given; 0 when none is known yet. */
  known(): number;
  /** Resolves when a number after this one is known, when `wake` was called, or when it is over. */
  until(sequence: number): Promise<void>;
  wake(): void;
  /** The caller has hung up, its key has ended, or the process is about to end. */
  isOver(): boolean;
  /** @throws ApiError `unauthorized` */
  throwIfKeyEnded(): void;
  /** May be called several times. */
  leave(): void;
}

/** @param left called once, when the waiter has left */
function createWaiter(
  { notifier, keyWatch }: Pick<EventTailDeps, 'notifier' | 'keyWatch'>,
  { accountId, keyHash, signal }: Caller,
  left: () => void,
): Waiter {
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
    unwatch?.();
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
  const unwatch = keyHash === undefined ? null : keyWatch.watch(keyHash, keyEnded);
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
      if (keyHasEnded) throw new ApiError('unauthorized', 'The API key was revoked or replaced, or has expired.');
    },
    leave,
  };
}

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

  /** One look for all streams of an account that have come equally far and know the same, as idle ones do. It began after `known` was given. */
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

  /** @throws ApiError `rate_limited` when the account, or the process, has as many as it may have */
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
        // What was known and is not there was removed since, as older events are with RETENTION_DAYS.
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
    /** The events after a number, one after the other, and each new one as it is numbered. Ends with the caller and with the process.
     *  @throws ApiError `rate_limited` at once; `unauthorized` from the stream when the caller's key has ended */
    stream: (caller: Caller, after: number): AsyncGenerator<StreamedEvent, void> =>
      stream(enter(caller), caller.accountId, after),
  };
}

const toStreamed = (event: EventDoc): StreamedEvent => ({
  id: String(event.sequence),
  type: event.type,
  data: toEventBody(event),
});

/** What the API does with events: reading them, and waiting for them. */
import type { Contract } from '../../contracts/index.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import type { Clock } from '../clock.js';
import { notFound } from '../domain/api-error.js';
import { toEvent } from '../resources/event.js';
import type { AccountEvents, EventDoc } from '../stores/events.js';
import type { ForAccount } from '../stores/index.js';
import type { Caller, ServiceOf } from './caller.js';
import type { EventTail } from './event-tail.js';

/** A reader who has just seen a payment waits at most this long for its events to be numbered. */
const NUMBERING_MS = 1000;
const NUMBERING_POLL_MS = 20;

type ListInput = ParsedInputOf<Contract['events']['list']>;

export function createEventService(deps: {
  forAccount: ForAccount<'events' | 'eventCounters'>;
  tail: EventTail;
  /** Wakes the sequencer of this process, if it has one. */
  eventsStored: () => void;
  clock: Clock;
}): ServiceOf<Contract['events']> {
  const { forAccount, tail, eventsStored, clock } = deps;

  /** Lists show numbered events only: whoever has seen a payment finds its events too. */
  async function numbered(events: AccountEvents): Promise<void> {
    const newest = await events.newestUnnumbered();
    if (newest === null) return;
    eventsStored();
    const giveUpMs = clock.nowMs() + NUMBERING_MS;
    do await clock.sleep(NUMBERING_POLL_MS);
    while ((await events.newestUnnumbered(newest)) !== null && clock.nowMs() < giveUpMs);
  }

  async function listAfter(caller: Caller, after: number, { wait = 0, pageSize, type, paymentId }: ListInput) {
    const { events } = forAccount(caller.accountId);
    const read = () => events.after(after, pageSize + 1, { type, subjectId: paymentId });
    if (wait === 0) await numbered(events);
    const found = wait === 0 ? await read() : await waitFor(caller, after, wait, read);
    const items = found.slice(0, pageSize).map(toEvent);
    return { items, meta: { after: items.at(-1)?.sequence ?? after, hasMore: found.length > pageSize } };
  }

  /** Reads again with every new event of the account, until something fits, the time is over, or nobody waits any more. */
  async function waitFor(caller: Caller, after: number, seconds: number, read: () => Promise<EventDoc[]>) {
    const waiter = tail.enter(caller);
    const done = new AbortController();
    let isLate = false;
    void clock.sleep(seconds * 1000, done.signal).then(() => {
      isLate = true;
      waiter.wake();
    });
    try {
      for (let seen = after; ; ) {
        const known = waiter.known();
        const found = await read();
        waiter.throwIfKeyEnded();
        if (found.length > 0 || isLate || waiter.isOver()) return found;
        seen = Math.max(seen, known);
        await waiter.until(seen);
      }
    } finally {
      done.abort();
      waiter.leave();
    }
  }

  return {
    async list(caller, input) {
      // The type of the meta says why: `events.list` in the contract.
      if (input.after !== undefined) return listAfter(caller, input.after, input) as never;
      const { page = 1, pageSize, paymentId, createdFrom, createdTo, type, order = 'desc' } = input;
      const { events } = forAccount(caller.accountId);
      await numbered(events);
      const { items, meta } = await events.list(
        {
          type,
          order,
          subjectId: paymentId,
          createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
          createdTo: createdTo === undefined ? undefined : new Date(createdTo),
        },
        { page, pageSize },
      );
      return { items: items.map(toEvent), meta };
    },

    async stream(caller, { after, lastEventId = '' }) {
      const from =
        lastEventId === '' ? (after ?? (await forAccount(caller.accountId).eventCounters.last())) : Number(lastEventId);
      return tail.stream(caller, from);
    },

    async get({ accountId }, { id }) {
      const event = await forAccount(accountId).events.byId(id);
      if (!event) throw notFound('event');
      return toEvent(event);
    },
  };
}

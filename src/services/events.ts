/** What the API does with events: reading them. */
import type { Event } from '../../contracts/events.js';
import type { Contract } from '../../contracts/index.js';
import type { Clock } from '../clock.js';
import { notFound } from '../domain/api-error.js';
import type { AccountEvents, EventDoc } from '../stores/events.js';
import type { ForAccount } from '../stores/index.js';
import type { ServiceOf } from './caller.js';

/** A reader who has just seen a payment waits at most this long for its events to be numbered. */
const NUMBERING_MS = 1000;
const NUMBERING_POLL_MS = 20;

export function createEventService(deps: {
  forAccount: ForAccount<'events'>;
  /** Wakes the sequencer of this process, if it has one. */
  eventsStored: () => void;
  clock: Clock;
}): ServiceOf<Contract['events']> {
  const { forAccount, eventsStored, clock } = deps;

  /** Lists show numbered events only: whoever has seen a payment finds its events too. */
  async function numbered(events: AccountEvents): Promise<void> {
    const newest = await events.newestUnnumbered();
    if (newest === null) return;
    eventsStored();
    const giveUpMs = clock.nowMs() + NUMBERING_MS;
    do await clock.sleep(NUMBERING_POLL_MS);
    while ((await events.newestUnnumbered(newest)) !== null && clock.nowMs() < giveUpMs);
  }

  return {
    async list({ accountId }, { page, pageSize, paymentId, createdFrom, createdTo, ...filter }) {
      const { events } = forAccount(accountId);
      await numbered(events);
      const { items, meta } = await events.list(
        {
          ...filter,
          subjectId: paymentId,
          createdFrom: createdFrom === undefined ? undefined : new Date(createdFrom),
          createdTo: createdTo === undefined ? undefined : new Date(createdTo),
        },
        { page, pageSize },
      );
      return { items: items.map(toEvent), meta };
    },

    async get({ accountId }, { id }) {
      const { events } = forAccount(accountId);
      const event = await events.byId(id);
      if (!event) throw notFound('event');
      return toEvent(event);
    },
  };
}

const toEvent = (event: EventDoc): Event =>
  ({
    id: event._id,
    type: event.type,
    sequence: event.sequence,
    createdAt: event.createdAt.toISOString(),
    data: JSON.parse(event.data),
  }) satisfies Record<keyof Event, unknown> as Event;

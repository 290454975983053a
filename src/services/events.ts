/** What the API does with events: reading them. */
import type { Event } from '../../contracts/events.js';
import type { Contract } from '../../contracts/index.js';
import { notFound } from '../domain/api-error.js';
import type { EventDoc } from '../stores/events.js';
import type { ForAccount } from '../stores/index.js';
import type { ServiceOf } from './caller.js';

export function createEventService({
  forAccount,
}: {
  forAccount: ForAccount<'events'>;
}): ServiceOf<Contract['events']> {
  return {
    async list({ accountId }, { page, pageSize, paymentId, createdFrom, createdTo, ...filter }) {
      const { events } = forAccount(accountId);
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

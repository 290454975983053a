/** Events, as sent to webhooks and kept for consumers that read them instead. */
import { z } from 'zod';
import type { FieldError } from './errors.js';
import { EVENT_KINDS, EVENT_TYPES, type EventDataOf, type EventType, eventTypeSchema } from './event-kinds.js';
import { eventExample } from './examples.js';
import { operation, type RawBody, streamOperation } from './operation.js';
import { idInput, idOf, type ListMeta, metaSchema, momentInput, pageQuery, timestamp } from './primitives.js';

/** One union member for each kind. */
const eachKind = <Member>(member: (type: EventType, data: z.ZodType) => Member) =>
  EVENT_TYPES.map((type) => member(type, EVENT_KINDS[type].data)) as [Member, ...Member[]];

const sequence = z.int().meta({
  description:
    "The account's events are numbered 1, 2, 3 … without holes, in an order that never changes. Null in the sample event of a test.",
});

/** @interface */
export type Event = {
  [Type in EventType]: { id: string; type: Type; sequence: number; createdAt: string; data: EventDataOf<Type> };
}[EventType];

export const eventSchema = z
  .discriminatedUnion(
    'type',
    eachKind((type, data) =>
      z.object({ id: idOf('evt', 'event'), type: z.literal(type), sequence, createdAt: timestamp, data }),
    ),
  )
  .meta({ id: 'Event', examples: [eventExample] }) as unknown as z.ZodType<Event>;

/** The JSON body of a delivery, once its signature is verified: narrow it by `type`. */
export type WebhookPayload = {
  [Type in EventType]: {
    id: string;
    type: Type;
    /** Null in the sample event of a test. */
    sequence: number | null;
    timestamp: string;
    data: EventDataOf<Type>;
  };
}[EventType];

/** The JSON body of a delivery. */
export const webhookPayloadSchema = z
  .discriminatedUnion(
    'type',
    eachKind((type, data) =>
      z.object({
        id: idOf('evt', 'event'),
        type: z.literal(type),
        sequence: sequence.nullable(),
        timestamp,
        data,
      }),
    ),
  )
  .meta({
    id: 'WebhookPayload',
    description: 'Body of a delivery, signed after Standard Webhooks 1.0.',
  }) as unknown as z.ZodType<WebhookPayload>;

const afterMetaSchema = z
  .object({
    after: z.int().meta({ description: '`sequence` of the last item, to be passed as `after` for the next ones.' }),
    hasMore: z.boolean().meta({ description: 'Whether more events follow already.' }),
  })
  .meta({ id: 'EventsAfterMeta', description: 'Meta of a request with `after`.' });

/** With `after` the meta is `{after, hasMore}`, otherwise that of every list. The type always has
 *  every list's fields, so that callers without `after` need not distinguish the two. */
const eventsMetaSchema = z.union([metaSchema, afterMetaSchema]) as unknown as z.ZodType<
  ListMeta & Partial<z.infer<typeof afterMetaSchema>>
>;

/** Parameters that `after` excludes, because it fixes the start and the order. */
const NOT_WITH_AFTER = ['page', 'order', 'createdFrom', 'createdTo'];

function afterRules(query: RawBody): FieldError[] {
  if (query.after !== undefined) {
    return NOT_WITH_AFTER.filter((name) => query[name] !== undefined).map((path) => ({
      path,
      message: 'Cannot be combined with `after`.',
      code: 'not_allowed',
    }));
  }
  if (query.wait === undefined) return [];
  return [{ path: 'wait', message: 'Only allowed together with `after`.', code: 'not_allowed' }];
}

const afterInput = z
  .int({ error: 'Must be a whole number from 0: the `sequence` of the last event that you have.' })
  .min(0);

const tag = 'Events';

export const events = {
  list: operation({
    method: 'GET',
    path: '/events',
    effect: 'reads',
    summary: 'List events',
    description:
      'Newest first. For a consumer that polls instead of using webhooks: `after` answers the events after that `sequence`, oldest first, with `meta` `{after, hasMore}`; with `wait` it answers as soon as there is one.',
    tag,
    query: {
      page: z
        .int({ error: 'Must be a whole number from 1.' })
        .min(1)
        .max(1_000_000_000)
        .optional()
        .meta({ description: 'Page, from 1; 1 by default. Not with `after`.' }),
      pageSize: pageQuery.pageSize,
      type: eventTypeSchema.optional(),
      paymentId: z.string().optional(),
      createdFrom: momentInput.optional().meta({
        description: 'Made at or after: ISO 8601 with an offset, or a date (midnight UTC). Not with `after`.',
      }),
      createdTo: momentInput.optional().meta({ description: 'Made before. Not with `after`.' }),
      order: z.enum(['asc', 'desc']).optional().meta({ description: '`desc` by default. Not with `after`.' }),
      after: afterInput.optional().meta({
        description: 'Answers the events after this `sequence`, oldest first; 0 begins with the first event.',
      }),
      wait: z
        .int({ error: 'Must be a whole number from 0 to 30.' })
        .min(0)
        .max(30)
        .optional()
        .meta({ description: 'With `after`: for how many seconds to wait until there is an event that fits.' }),
    },
    rules: afterRules,
    output: z.object({ items: z.array(eventSchema), meta: eventsMetaSchema }),
  }),
  stream: streamOperation({
    method: 'GET',
    path: '/events/stream',
    effect: 'reads',
    summary: 'Follow events',
    description:
      'A stream of server-sent events: `id` is the `sequence`, `event` the type, `data` the body that webhooks get. Without `after` it begins now. After a break, `Last-Event-ID` (which wins over `after`) continues without a hole. Comments come at least every 30 s. The stream ends when its API key does. Over tRPC it is a subscription.',
    tag,
    query: {
      after: afterInput.optional().meta({ description: 'Begins after the event with this `sequence`.' }),
      lastEventId: z
        .string()
        .regex(/^\d{0,15}$/, 'Must be the `sequence` of an event.')
        .optional()
        .meta({ description: 'The same; wins over `after`. Also as header `Last-Event-ID`, which wins over both.' }),
    },
    output: webhookPayloadSchema,
  }),
  get: operation({
    method: 'GET',
    path: '/events/{id}',
    effect: 'reads',
    summary: 'One event',
    description: 'Returns an event with the resources as they were when it happened.',
    tag,
    params: { id: idInput('evt', 'event') },
    output: eventSchema,
  }),
};

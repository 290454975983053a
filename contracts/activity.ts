/** Activity: who changed what in an account, and from where. It is written together with the change
 *  and never changed or removed. */
import { z } from 'zod';
import { listOf } from './envelope.js';
import { activityExample } from './examples.js';
import { operation } from './operation.js';
import { idOf, momentInput, pageQuery, timestamp } from './primitives.js';
import { MANAGERS } from './roles.js';

export const ACTOR_TYPES = ['user', 'key', 'cli', 'system'] as const;

const actorSchema = z
  .object({
    type: z.enum(ACTOR_TYPES).meta({ id: 'ActorType' }),
    id: z.string(),
    name: z.string(),
  })
  .meta({
    id: 'Actor',
    description:
      "A user, an API key, the operator's command line (`cli`), or the service itself (`system`); `name` is the name at that time.",
  });

const valueSchema = z
  .union([z.string(), z.number(), z.boolean(), z.array(z.string()), z.null()])
  .meta({ description: 'As the resource shows it. Long text is cut and marked as cut.' });

const changeSchema = z
  .object({ field: z.string(), from: valueSchema, to: valueSchema })
  .meta({ id: 'Change', description: 'Both are null for a secret: only the fact that it changed is kept.' });

export const activitySchema = z
  .object({
    id: idOf('act', 'activity'),
    at: timestamp,
    actor: actorSchema,
    operation: z.string().meta({
      description:
        'The `operationId`, such as `products_update`; for cli and system also names that are no operation here.',
    }),
    subjectId: z.string().meta({ description: 'Id of the changed resource; for a rate its pair.' }),
    changes: z.array(changeSchema).meta({ description: 'For a creation the requested fields.' }),
    address: z.string().nullable().meta({
      description: 'Address of the client, as limits count it: IPv6 by its /64. Null for cli and system.',
    }),
  })
  .meta({ id: 'Activity', examples: [activityExample] });

export const activity = {
  list: operation({
    method: 'GET',
    path: '/activity',
    effect: 'reads',
    roles: MANAGERS,
    needsFullKey: true,
    summary: 'List activity',
    description:
      'Changes and their actors, newest first. Each entry is written in the transaction of its change, so there is none without the other. Nothing changes or removes an entry, not even `RETENTION_DAYS`. READ keys get 403.',
    tag: 'Activity',
    query: {
      ...pageQuery,
      actorId: z.string().optional().meta({ description: 'A user or API key; `cli`; `system`.' }),
      operation: z.string().optional().meta({ description: 'An `operationId`, such as `products_update`.' }),
      subjectId: z.string().optional().meta({ description: 'Changed resource, by id.' }),
      createdFrom: momentInput
        .optional()
        .meta({ description: 'At or after: ISO 8601 with an offset, or a date (midnight UTC).' }),
      createdTo: momentInput.optional().meta({ description: 'Before.' }),
    },
    output: listOf(activitySchema),
  }),
};

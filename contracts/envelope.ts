/** The envelope of every HTTP answer, and the shape of lists over tRPC. */
import { z } from 'zod';
import { errorSchema } from './errors.js';
import { metaSchema } from './primitives.js';

export const listOf = <T extends z.ZodType>(item: T) => z.object({ items: z.array(item), meta: metaSchema });

export const deletedSchema = z
  .object({ id: z.string(), deleted: z.literal(true) })
  .meta({ id: 'Deleted', description: 'What was deleted.' });

export const errorEnvelope = z.object({ data: z.null(), error: errorSchema }).meta({ id: 'ErrorResponse' });

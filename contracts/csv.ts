/** How CSV files are written, for exports and statements alike. */
import { z } from 'zod';

export const timeZoneInput = z
  .string()
  .regex(/^[A-Za-z0-9_+:/-]{1,64}$/, 'Must be a time zone, such as Europe/Berlin or +02:00.')
  .default('UTC');

export const CSV_SEPARATORS = [',', ';'] as const;

export const csvQuery = {
  timeZone: timeZoneInput.meta({
    description:
      'A name such as `Europe/Berlin`, `UTC`, or an offset such as `+05:30`: the zone of the times in CSV, and of dates in the query, which mean the beginning of their day.',
  }),
  separator: z.enum(CSV_SEPARATORS).default(',').meta({ description: 'Between the cells of CSV.' }),
  bom: z.boolean().optional().meta({
    description: 'With `true` CSV begins with a byte order mark, by which spreadsheets know UTF-8.',
  }),
};

/** A page of records, parsed record by record: what is wrong with one never touches the next. */
import { z } from 'zod';
import { parseRecord, type RecordOutcome } from './record.js';
import { parseToid } from './toid.js';

export interface ParsedPage {
  /** In the page's order; `raw` for parking. */
  records: { raw: unknown; outcome: RecordOutcome }[];
  /** Where the next page begins: the last readable paging token; null when there is none. */
  cursor: string | null;
}

const pageSchema = z.object({
  _embedded: z.object({ records: z.array(z.unknown()) }),
  _links: z.unknown().optional(),
});

/** Null when the body is no page of records. */
export function parsePage(body: unknown): ParsedPage | null {
  const page = pageSchema.safeParse(body).data;
  if (!page) return null;
  const records = page._embedded.records.map((raw) => ({ raw, outcome: parseRecord(raw) }));
  const last = records.findLast(({ outcome }) => outcome.pagingToken !== null)?.outcome.pagingToken;
  return { records, cursor: last ?? (records.length > 0 ? nextCursor(page._links) : null) };
}

const linksSchema = z.object({ next: z.object({ href: z.string() }) });

/** For a page of which no record can be read: the only way past it is the server's own. */
function nextCursor(links: unknown): string | null {
  const href = linksSchema.safeParse(links).data?.next.href;
  const url = href !== undefined && URL.canParse(href, 'http://any') ? new URL(href, 'http://any') : null;
  const cursor = url?.searchParams.get('cursor') ?? '';
  return parseToid(cursor) === null ? null : cursor;
}

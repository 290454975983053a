/** A page of records, parsed record by record: what is wrong with one never touches the next. */
import { z } from 'zod';
import type { LedgerRecord } from '../records.js';
import { ledgerOf, parseToid } from '../toid.js';
import { parseRecord } from './record.js';

export interface ParsedPage {
  /** In the page's order. */
  records: LedgerRecord[];
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

/** For a page of which no record can be read: only the server's own link leads past it. */
const nextCursor = (links: unknown): string | null => cursorIn(links, 'next');

/** `now` is looked up once for the query and again for the link that names it. In between the server takes in what closes, ten ledgers a second or
 *  less, and one that catches up takes in some at once: twice as many, and a few more. */
const TAKEN_IN_PER_SECOND = 20;
const TAKEN_IN_AT_ONCE = 5;

/** A ledger that the server certainly had which answered a query from `now` on: an answer's link to itself names the cursor that was used.
 *  Null when the link does not tell. */
export function shownByNow({ body, tookMs }: { body: unknown; tookMs: number }): number | null {
  const cursor = cursorIn(pageSchema.safeParse(body).data?._links, 'self');
  if (cursor === null) return null;
  return ledgerOf(BigInt(cursor)) - TAKEN_IN_AT_ONCE - Math.ceil((tookMs / 1000) * TAKEN_IN_PER_SECOND);
}

const linkSchema = z.object({ href: z.string() });

function cursorIn(links: unknown, name: 'next' | 'self'): string | null {
  const href = linkSchema.safeParse((links as Record<string, unknown> | null | undefined)?.[name]).data?.href;
  const url = href !== undefined && URL.canParse(href, 'http://any') ? new URL(href, 'http://any') : null;
  const cursor = url?.searchParams.get('cursor') ?? '';
  return parseToid(cursor) === null ? null : cursor;
}

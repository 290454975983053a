/** A page of records, parsed one by one: a faulty record does not affect the others. */
import { z } from 'zod';
import type { LedgerRecord } from '../records.js';
import { ledgerOf, parseToid } from '../toid.js';
import { parseRecord } from './record.js';

export interface ParsedPage {
  /** In the page's order. */
  records: LedgerRecord[];
  /** The cursor of the next page: the last readable paging token; null without one. */
  cursor: string | null;
}

const pageSchema = z.object({
  _embedded: z.object({ records: z.array(z.unknown()) }),
  _links: z.unknown().optional(),
});

/** Null for anything but a page of records. */
export function parsePage(body: unknown): ParsedPage | null {
  const page = pageSchema.safeParse(body).data;
  if (!page) return null;
  const records = page._embedded.records.map((raw) => ({ raw, outcome: parseRecord(raw) }));
  const last = records.findLast(({ outcome }) => outcome.pagingToken !== null)?.outcome.pagingToken;
  return { records, cursor: last ?? (records.length > 0 ? nextCursor(page._links) : null) };
}

/** If no record of a page is readable, only the server's own link leads past it. */
const nextCursor = (links: unknown): string | null => cursorIn(links, 'next');

/** Horizon resolves `now` once for the query and again for its link. In between the server ingests at most ten ledgers a second, and several at
 *  once while catching up. The bound is twice that rate and a few ledgers more. */
const TAKEN_IN_PER_SECOND = 20;
const TAKEN_IN_AT_ONCE = 5;

/** A ledger that the server certainly had when it answered a query from `now`: the answer's link to itself names the resolved cursor. Null when
 *  the link is missing. */
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

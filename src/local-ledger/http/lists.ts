/** Answers every list endpoint with a page of records as JSON, or with the same records as
 *  a stream. */
import type { Request, Response } from 'express';
import type { Ledger } from '../ledger.js';
import { afterLedger, ledgerOf, ledgerStart } from '../toid.js';
import { baseUrl, negotiate, sendHal } from './answer.js';
import { type PageQuery, pageQuery } from './parameters.js';
import { Problem } from './problem.js';
import { streamRecords } from './stream.js';

export type ListRecord = { paging_token: string } & Record<string, unknown>;

/** One list for one request, with the request's filters. */
export interface List {
  /** At most `limit` records after the cursor. */
  read(page: PageQuery): Promise<ListRecord[]>;
  /** Called when a page is empty: whether Horizon does not know the resource. */
  isUnknown?(): Promise<boolean>;
}

/** Answers a request for a list. `open` reads the filters and may throw a problem. */
export async function answerList(
  ledger: Ledger,
  req: Request,
  res: Response,
  open: (base: string) => List | Promise<List>,
): Promise<void> {
  const format = negotiate(req, true);
  const page = pageQuery(req);
  const base = baseUrl(req);
  const list = await open(base);
  const resolve = (): PageQuery => ({ ...page, cursor: resolveNow(ledger, page.cursor) });
  refusePruned(ledger, resolve());
  if (format === 'stream') return await streamRecords(ledger, req, res, list, resolve());
  const records = await list.read(resolve());
  if (records.length === 0 && (await list.isUnknown?.())) throw new Problem('not_found');
  await sendHal(req, res, {
    _links: pageLinks(req, base, resolve(), records),
    _embedded: { records },
  });
}

/** `now` means after the newest ingested ledger at this moment. */
const resolveNow = (ledger: Ledger, cursor: string): string =>
  cursor === 'now' ? afterLedger(ledger.visible().latest).toString() : cursor;

/** Refuses to page backwards from before the retention edge. Forwards, Horizon silently starts at
 *  the edge. */
function refusePruned(ledger: Ledger, { cursor, order }: PageQuery): void {
  const id = /^\d+/.exec(cursor)?.[0];
  if (order === 'asc' || id === undefined) return;
  const { elder } = ledger.visible();
  if (elder > 1 && BigInt(id) < ledgerStart(elder) && ledgerOf(BigInt(id)) < elder) throw new Problem('before_history');
}

function pageLinks(req: Request, base: string, page: PageQuery, records: ListRecord[]) {
  const href = (cursor: string, order: 'asc' | 'desc') => {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(req.query)) if (typeof value === 'string') query.set(name, value);
    query.set('cursor', cursor);
    query.set('limit', String(page.limit));
    query.set('order', order);
    query.sort();
    return { href: `${base}${req.path}?${query}` };
  };
  return {
    self: href(page.cursor, page.order),
    next: href(records.at(-1)?.paging_token ?? page.cursor, page.order),
    prev: href(records[0]?.paging_token ?? page.cursor, page.order === 'asc' ? 'desc' : 'asc'),
  };
}

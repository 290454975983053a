/** Pages of records, parsed one by one: a faulty record does not affect the others, and an
 *  incomplete one is completed by its transaction or effects. */
import { z } from 'zod';
import { type LedgerRecord, ledgerOf, type Place, parseToid, partiesOf } from '../records.js';
import { type LedgerSource, SourceError } from '../source.js';
import type { Get } from './api.js';
import { isObject } from './fields.js';
import { parseRecord, type Supplement } from './record.js';

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

/** Horizon resolves `now` once for the query and again for its link. In between the server ingests
 *  at most ten ledgers a second, and several at once while catching up. The bound is twice that
 *  rate and a few ledgers more. */
const TAKEN_IN_PER_SECOND = 20;
const TAKEN_IN_AT_ONCE = 5;

/** A ledger that the server certainly had when it answered a query from `now`: the answer's link to
 *  itself names the resolved cursor. Null when the link is missing. */
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

const TOO_LARGE = Symbol('too large ever to be read');

/** Completes an incomplete record by fetching its transaction or effects. A record from Stellar RPC
 *  is replaced by Horizon's own. */
export function createSupplements(get: Get): Pick<LedgerSource, 'complete' | 'transactionRecords'> {
  /** The raw answer; null when Horizon does not have it. */
  async function fetchSupplement(path: string, query?: Record<string, string>): Promise<unknown> {
    try {
      return (await get(path, query)).body;
    } catch (error) {
      if (error instanceof SourceError && error.kind === 'too_large') return TOO_LARGE;
      throw error;
    }
  }

  const complete: LedgerSource['complete'] = async (record, concernsUs) => {
    const { raw } = record;
    let { outcome } = record;
    if (outcome.kind !== 'incomplete' || !concernsUs(partiesOf(outcome))) return record;
    if (!isOwnRecord(raw)) return replaceByOwn(record, outcome, concernsUs);
    const fetched: Supplement = {};
    // With its transaction, a record may turn out to lack effects.
    while (outcome.kind === 'incomplete' && concernsUs(partiesOf(outcome)) && !(outcome.needs in fetched)) {
      const found =
        outcome.needs === 'transaction'
          ? await fetchSupplement(`/transactions/${outcome.transactionHash}`)
          : await fetchSupplement(`/operations/${outcome.operationId}/effects`, { order: 'asc', limit: '200' });
      if (found === TOO_LARGE) return { raw, outcome: { ...outcome, isTooLarge: true } };
      fetched[outcome.needs] = found;
      outcome = parseRecord(raw, fetched);
    }
    return { raw, outcome };
  };

  async function replaceByOwn(
    record: LedgerRecord,
    { transactionHash, pagingToken }: Place,
    concernsUs: (receivers: readonly string[]) => boolean,
  ): Promise<LedgerRecord> {
    const records = await transactionRecords(transactionHash);
    if (records === null) return record;
    const own = records.find(({ outcome }) => outcome.pagingToken === pagingToken);
    if (own) return complete(own, concernsUs);
    // Horizon lists no payment there: trades, claims and the like emit events, too.
    return { raw: record.raw, outcome: { kind: 'ignored', reason: 'no_account_credited', pagingToken } };
  }

  const transactionRecords: LedgerSource['transactionRecords'] = async (transactionHash) => {
    const query = { limit: '200', order: 'asc', join: 'transactions' };
    const { status, body } = await get(`/transactions/${transactionHash}/payments`, query);
    if (status !== 200) return null;
    const found = parsePage(body);
    if (!found) throw new SourceError('invalid page response');
    return found.records;
  };

  return { complete, transactionRecords };
}

/** Whether the record is Horizon's: records from Stellar RPC have no paging token. */
const isOwnRecord = (raw: unknown): boolean => isObject(raw) && 'paging_token' in raw;

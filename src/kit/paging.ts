/** Pages of a collection, as every list operation returns them. The order is total (it always ends
 *  with `_id`), so that no item is on two pages. A read ends in time, in MongoDB too. */
import type { mongo } from 'mongoose';
import type { ListMeta } from '../../contracts/primitives.js';
import { unavailable } from './api-error.js';
import type { Caller } from './caller.js';
import { type Collection, projectionOf } from './collection.js';
import { createFairQueue } from './fair-queue.js';
import { createSharedCount } from './tick-loader.js';

// Lists and searches of an API process: each ends in time, in MongoDB too, and no account has more
// than its share of them.

const LIST_MS = 10_000;
const QUEUE_BOUNDS = { most: 40, mostOfAccount: 4, mostWaiting: 200 };

/** Runs the reading of a list, until the signal that it passes. @throws ApiError `unavailable`
 *  after 10 s, waiting included; `rate_limited` when too many of the account wait */
export type Listing = <C extends Pick<Caller, 'accountId' | 'signal'>, T>(
  caller: C,
  work: (caller: C & { signal: AbortSignal }) => Promise<T>,
) => Promise<T>;

export function createListing(listMs = LIST_MS): Listing {
  const queue = createFairQueue(QUEUE_BOUNDS);
  return async (caller, work) => {
    const { accountId, signal: hangUp } = caller;
    const late = AbortSignal.timeout(listMs);
    const signal = hangUp ? AbortSignal.any([hangUp, late]) : late;
    try {
      return await queue.run({ accountId, signal }, () => work({ ...caller, signal }));
    } catch (error) {
      if (!late.aborted) throw error;
      throw unavailable('This list takes too long: ask for less, with more filters or longer words.');
    }
  };
}

/** `page` counts from 1. Without `sort` the newest come first: ids sort by creation time. */
export interface PageRequest {
  page: number;
  pageSize: number;
  sort?: Readonly<Record<string, 1 | -1>>;
  /** Ends the reads, in MongoDB too. */
  signal?: AbortSignal | undefined;
}

/** The page that a caller asks for. */
export const pageOf = (
  { signal }: Pick<Caller, 'signal'>,
  { page, pageSize }: Pick<PageRequest, 'page' | 'pageSize'>,
): PageRequest => ({ page, pageSize, signal });

export interface Page<Doc> {
  items: Doc[];
  meta: ListMeta;
}

/** From `from` on and before `to`. */
export interface IdRange {
  from?: string | undefined;
  to?: string | undefined;
}

/** The same as a condition on `_id`; empty without a bound. */
export function withinIds({ from, to }: IdRange): { _id?: { $gte?: string; $lt?: string } } {
  if (from === undefined && to === undefined) return {};
  return { _id: { ...(from === undefined ? {} : { $gte: from }), ...(to === undefined ? {} : { $lt: to }) } };
}

/** Reads pages of a collection, counting totals each time. `unused`: a long field that no list
 *  shows and items are read without. */
export function createPages<Doc extends { _id: string }>(collection: Collection<Doc>) {
  const count = createSharedCount(collection);
  return <Unused extends keyof Doc & string = never>(
    filter: mongo.Filter<Doc>,
    request: PageRequest,
    unused: readonly Unused[] = [],
  ): Promise<Page<Omit<Doc, Unused>>> =>
    pageOfKnown(collection, filter, request, () => count(filter, request.signal), unused);
}

/** A page with a known total. @param unused as in `createPages` */
export async function pageOfKnown<Doc extends { _id: string }, Unused extends keyof Doc & string = never>(
  collection: Collection<Doc>,
  filter: mongo.Filter<Doc>,
  request: PageRequest,
  count: () => PromiseLike<number>,
  unused: readonly Unused[] = [],
): Promise<Page<Omit<Doc, Unused>>> {
  const projection = projectionOf(collection, unused);
  const { skip, limit, sort } = windowOf(request);
  type Item = Omit<Doc, Unused> & { _id: string };
  const read = (query: object, options: object): Promise<Item[]> =>
    collection.find(query, { sort, projection, signal: request.signal, ...options }).toArray() as never;
  const items = itemsAt<Item>(skip, {
    documents: () => read(filter, { skip, limit }),
    ids: () => read(filter, { skip, limit, projection: { _id: 1 } }),
    byIds: (ids) => read({ ...filter, _id: { $in: ids } }, {}),
  });
  // In parallel: cheaper for MongoDB than one aggregation of both.
  const [found, total] = await Promise.all([items, count()]);
  return { items: found, meta: toMeta(request, total) };
}

/** Skipping a document costs MongoDB ten times as much as skipping an index key; a second query
 *  costs a round trip. */
const SKIPPED_WITH_DOCUMENTS = 500;

/** The documents of a page after `skip` others; deep in a list, finds their ids first. */
export async function itemsAt<Doc extends { _id: string }>(
  skip: number,
  read: {
    documents(): Promise<Doc[]>;
    ids(): Promise<Pick<Doc, '_id'>[]>;
    /** In the list's order. */
    byIds(ids: string[]): Promise<Doc[]>;
  },
): Promise<Doc[]> {
  if (skip <= SKIPPED_WITH_DOCUMENTS) return read.documents();
  const ids = (await read.ids()).map(({ _id }) => _id);
  return ids.length === 0 ? [] : read.byIds(ids);
}

function windowOf({ page, pageSize, sort = {} }: PageRequest) {
  const lastDirection = Object.values(sort).at(-1) ?? -1;
  return { sort: { ...sort, _id: sort._id ?? lastDirection }, skip: (page - 1) * pageSize, limit: pageSize };
}

export function toMeta({ page, pageSize }: Pick<PageRequest, 'page' | 'pageSize'>, total: number): ListMeta {
  return { page, pageSize, total, totalPages: Math.ceil(total / pageSize) };
}

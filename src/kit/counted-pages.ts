/** Pages of long lists with exact totals. A segment's count holds as long as its version: a total sums remembered counts and recounts only changed segments; a
 *  deep page is found by walking the sums and skipping within one segment. */
import type { Model, mongo, QueryFilter } from 'mongoose';
import { type CountSegmentDoc, FIRST, LEAST_ROOM, ofList } from './count-segment-document.js';
import { projectionOf } from './database.js';
import { FairCache } from './fair-cache.js';
import { type IdRange, itemsAt, type Page, toMeta, withinIds } from './paging.js';
import { untilEnd } from './reading.js';

/** Shorter lists are counted each time. */
const SHORT_LIST = 5000;
/** Filters with remembered counts, over all lists. */
const MAX_FILTERS = 300;
const COUNTED_AT_ONCE = 8;
/** An unacknowledged write may be rolled back, and its version reused by another change. */
const FOR_REMEMBERING = { readConcern: { level: 'majority' } } as const;
const UNKNOWN = -1;

interface LongListRequest {
  page: number;
  pageSize: number;
  /** 1: oldest first. */
  direction: 1 | -1;
  ids?: IdRange;
  /** Index hint, where MongoDB might choose a worse one. */
  hint?: Readonly<Record<string, 1 | -1>>;
}

/** `after < id <= upTo`. */
interface CountSegment {
  after: string;
  upTo: string | null;
  version: number;
}

interface RememberedCount {
  version: number;
  upTo: string | null;
  count: number | Promise<number>;
}

/** The counts of one filter, by the start of the segment. */
type RememberedCounts = Map<string, RememberedCount>;

/** Reads pages of documents in the order of their ids. */
export function createCountedPages(segments: mongo.Collection<CountSegmentDoc>) {
  /** The counts of each filter, by list. */
  const remembered = new FairCache<RememberedCounts>(MAX_FILTERS);

  /** @param filter must not depend on the id, or on fields that change without a `touch` */
  return async <Doc extends { _id: string }>(
    list: string,
    model: Model<Doc>,
    filter: QueryFilter<Doc>,
    request: LongListRequest,
  ): Promise<Page<Doc>> => {
    const { page, pageSize, direction, ids = {} } = request;
    const offset = (page - 1) * pageSize;
    const answer = (items: Doc[], total: number): Page<Doc> => ({ items, meta: toMeta({ page, pageSize }, total) });
    const { itemsIn, countIn } = createQueries(model, filter, request);
    const key = JSON.stringify(filter);
    let known = remembered.get(list, key);
    if (!known) {
      const [items, total] = await Promise.all([
        offset <= SHORT_LIST ? itemsIn({}, offset) : [],
        countIn({}, { limit: SHORT_LIST + 1, ...untilEnd() }),
      ]);
      if (total <= SHORT_LIST) return answer(items, total);
      known = remembered.get(list, key) ?? new Map();
      remembered.set(list, key, known);
    }
    const shallow = offset <= LEAST_ROOM ? itemsIn({}, offset) : null;
    // Awaited last: an earlier failure must not end the process as an unhandled rejection.
    shallow?.catch(() => undefined);
    const counts = known;
    const { total, start } = await addUp(await segmentsOf(segments, list, direction, ids), offset, (segment) =>
      // Ranges are too many to remember: count the segments at their ends each time.
      segment.version === UNKNOWN || !isWithin(segment, ids)
        ? countIn(segment)
        : countOnce(counts, segment, () => countIn(segment, FOR_REMEMBERING)),
    );
    if (shallow) return answer(await shallow, total);
    if (!start) return answer([], total);
    const { after, upTo } = start.segment;
    return answer(await itemsIn(direction === 1 ? { after } : { upTo }, start.skip), total);
  };
}

/** The segments with ids in this range, in the list's direction. */
async function segmentsOf(
  segments: mongo.Collection<CountSegmentDoc>,
  list: string,
  direction: 1 | -1,
  ids: IdRange,
): Promise<CountSegment[]> {
  // As one document: the driver needs a sixth of the time for as many documents.
  const [found] = await segments
    .aggregate<{ after: string[]; version: number[] }>(
      [
        { $match: ofList(list) },
        { $sort: { after: 1 } },
        { $group: { _id: null, after: { $push: '$after' }, version: { $push: '$version' } } },
      ],
      FOR_REMEMBERING,
    )
    .toArray();
  // Without segments there is no version to remember a count by.
  if (!found) return [{ after: FIRST, version: UNKNOWN, upTo: null }];
  const ascending = found.after
    .map((after, index) => ({ after, version: found.version[index]!, upTo: found.after[index + 1] ?? null }))
    .filter(
      ({ after, upTo }) =>
        (ids.from === undefined || upTo === null || upTo >= ids.from) && (ids.to === undefined || after < ids.to),
    );
  return direction === 1 ? ascending : ascending.reverse();
}

const isWithin = ({ after, upTo }: CountSegment, { from, to }: IdRange) =>
  (from === undefined || after >= from) && (to === undefined || (upTo ?? '~') < to);

/** The documents of a list within further bounds, and their number. */
function createQueries<Doc extends { _id: string }>(
  model: Model<Doc>,
  filter: QueryFilter<Doc>,
  { pageSize, direction, ids = {}, hint }: LongListRequest,
) {
  const indexed = hint ? { hint } : {};
  const projection = projectionOf(model);
  function within({ after, upTo }: Partial<CountSegment>): QueryFilter<Doc> {
    const id = { ...withinIds(ids)._id, ...(after ? { $gt: after } : {}), ...(upTo ? { $lte: upTo } : {}) };
    return Object.keys(id).length === 0 ? filter : { ...filter, _id: id };
  }
  return {
    countIn: (bounds: Partial<CountSegment>, options: object = {}): Promise<number> =>
      model.collection.countDocuments(within(bounds) as never, { ...indexed, ...options }),
    itemsIn(bounds: Partial<CountSegment>, skip: number): Promise<Doc[]> {
      const read = (fields: { _id: 1 } | null) =>
        model.collection
          .find(within(bounds) as never, {
            ...{ ...indexed, ...untilEnd(), sort: { _id: direction }, skip, limit: pageSize },
            projection: fields ?? projection,
          })
          .toArray() as unknown as Promise<Doc[]>;
      const byIds = (found: string[]) =>
        model.collection
          .find({ ...filter, _id: { $in: found } } as never, { ...untilEnd(), sort: { _id: direction }, projection })
          .toArray() as unknown as Promise<Doc[]>;
      return itemsAt<Doc>(skip, { documents: () => read(null), ids: () => read({ _id: 1 }), byIds });
    },
  };
}

/** @returns the sum, and the segment of the item at `offset` */
async function addUp(
  segments: readonly CountSegment[],
  offset: number,
  count: (segment: CountSegment) => number | Promise<number>,
): Promise<{ total: number; start: { segment: CountSegment; skip: number } | null }> {
  let total = 0;
  let start: { segment: CountSegment; skip: number } | null = null;
  const { signal } = untilEnd();
  for (let from = 0; from < segments.length; from += COUNTED_AT_ONCE) {
    // Counts of segments are shared and small: they end by themselves.
    signal?.throwIfAborted();
    const some = segments.slice(from, from + COUNTED_AT_ONCE);
    const counted = some.map(count);
    // Most segments are known and need no wait.
    const isKnown = counted.every((found) => typeof found === 'number');
    for (const [index, found] of (isKnown ? counted : await Promise.all(counted)).entries()) {
      if (!start && offset < total + found) start = { segment: some[index]!, skip: offset - total };
      total += found;
    }
  }
  return { total, start };
}

/** Counts a segment unless its count is known, or is being counted. */
function countOnce(
  counts: RememberedCounts,
  { after, upTo, version }: CountSegment,
  count: () => Promise<number>,
): number | Promise<number> {
  const known = counts.get(after);
  if (known?.version === version && known.upTo === upTo) return known.count;
  const counting = count();
  const fresh: RememberedCount = { version, upTo, count: counting };
  counts.set(after, fresh);
  counting.then(
    (found) => {
      fresh.count = found;
    },
    () => counts.get(after) === fresh && counts.delete(after),
  );
  return counting;
}

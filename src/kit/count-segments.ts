/** Segments for counting and paging long lists at nearly constant cost.
 *
 *  A list's ids are cut into segments of some thousands. Each has a version that rises in the
 *  transaction that adds to it or changes a filtered field; counts are cached by it. */

import type { Connection, mongo } from 'mongoose';
import { type Collection, type DocOf, define, openCollection, optional, projectionOf } from './collection.js';
import type { Session } from './database.js';
import { FairCache } from './fair-queue.js';
import { type IdRange, itemsAt, type Page, toMeta, withinIds } from './paging.js';

// The document of a segment of a long list.

const SEGMENTS = define(
  'countSegments',
  {
    _id: String,
    accountId: String,
    /** Names a collection and, behind a colon, the account. */
    list: String,
    /** The segment holds the ids after this one, up to where the next segment begins. */
    after: String,
    /** Number of ids ever added. */
    size: Number,
    /** Capacity: ids added before the next segment begins; the smallest capacity when absent. */
    room: optional(Number),
    version: Number,
  },
  [{ key: { accountId: 1, list: 1, after: 1, version: 1 } }],
);

type Segments = Collection<DocOf<typeof SEGMENTS>>;

/** The smallest capacity. */
const LEAST_ROOM = 2500;
/** The `after` of a list's first segment. */
const FIRST = '';

/** Filter for a list's segments. */
const ofList = (list: string) => ({ accountId: list.slice(list.indexOf(':') + 1), list });

// Pages of long lists with exact totals. A segment's count holds as long as its version: a total
// sums remembered counts and recounts only changed segments; a deep page is found by walking the
// sums and skipping within one segment.

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
  signal?: AbortSignal | undefined;
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
function createCountedPages(segments: Segments) {
  /** The counts of each filter, by list. */
  const remembered = new FairCache<RememberedCounts>(MAX_FILTERS);

  /** @param filter must not depend on the id, or on fields that change without a `touch` */
  return async <Doc extends { _id: string }>(
    list: string,
    collection: Collection<Doc>,
    filter: mongo.Filter<Doc>,
    request: LongListRequest,
  ): Promise<Page<Doc>> => {
    const { page, pageSize, direction, ids = {}, signal } = request;
    const offset = (page - 1) * pageSize;
    const answer = (items: Doc[], total: number): Page<Doc> => ({ items, meta: toMeta({ page, pageSize }, total) });
    const { itemsIn, countIn } = createQueries(collection, filter, request);
    const key = JSON.stringify(filter);
    let known = remembered.get(list, key);
    if (!known) {
      const [items, total] = await Promise.all([
        offset <= SHORT_LIST ? itemsIn({}, offset) : [],
        countIn({}, { limit: SHORT_LIST + 1, signal }),
      ]);
      if (total <= SHORT_LIST) return answer(items, total);
      known = remembered.get(list, key) ?? new Map();
      remembered.set(list, key, known);
    }
    const shallow = offset <= LEAST_ROOM ? itemsIn({}, offset) : null;
    // Awaited last: an earlier failure must not end the process as an unhandled rejection.
    shallow?.catch(() => undefined);
    const counts = known;
    const { total, start } = await addUp(await segmentsOf(segments, list, direction, ids), request, (segment) =>
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
async function segmentsOf(segments: Segments, list: string, direction: 1 | -1, ids: IdRange): Promise<CountSegment[]> {
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
  collection: Collection<Doc>,
  filter: mongo.Filter<Doc>,
  { pageSize, direction, ids = {}, hint, signal }: LongListRequest,
) {
  const indexed = hint ? { hint } : {};
  const projection = projectionOf(collection);
  function within({ after, upTo }: Partial<CountSegment>): mongo.Filter<Doc> {
    const id = { ...withinIds(ids)._id, ...(after ? { $gt: after } : {}), ...(upTo ? { $lte: upTo } : {}) };
    return Object.keys(id).length === 0 ? filter : { ...filter, _id: id };
  }
  return {
    countIn: (bounds: Partial<CountSegment>, options: object = {}): Promise<number> =>
      collection.countDocuments(within(bounds), { ...indexed, ...options }),
    itemsIn(bounds: Partial<CountSegment>, skip: number): Promise<Doc[]> {
      const read = (fields: { _id: 1 } | null) =>
        collection
          .find(within(bounds) as never, {
            ...{ ...indexed, signal, sort: { _id: direction }, skip, limit: pageSize },
            projection: fields ?? projection,
          })
          .toArray() as unknown as Promise<Doc[]>;
      const byIds = (found: string[]) =>
        collection
          .find({ ...filter, _id: { $in: found } } as never, { signal, sort: { _id: direction }, projection })
          .toArray() as unknown as Promise<Doc[]>;
      return itemsAt<Doc>(skip, { documents: () => read(null), ids: () => read({ _id: 1 }), byIds });
    },
  };
}

/** @returns the sum, and the segment of the item at `offset` */
async function addUp(
  segments: readonly CountSegment[],
  { page, pageSize, signal }: LongListRequest,
  count: (segment: CountSegment) => number | Promise<number>,
): Promise<{ total: number; start: { segment: CountSegment; skip: number } | null }> {
  const offset = (page - 1) * pageSize;
  let total = 0;
  let start: { segment: CountSegment; skip: number } | null = null;
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

/** A total visits each segment and recounts the changed ones, so number and size should both grow
 *  with the square root of the list. This many have the smallest capacity; later ones grow with
 *  their number: 10,000,000 ids make some 1,250 segments of at most 16,000. */
const OF_LEAST_ROOM = 200;

/** @param segments the list's number of segments */
export const roomOfNext = (segments: number): number => Math.floor(LEAST_ROOM * Math.max(1, segments / OF_LEAST_ROOM));

export type CountSegments = ReturnType<typeof createCountSegments>;

export function createCountSegments(connection: Connection) {
  const collection = openCollection(connection, SEGMENTS);
  return {
    page: createCountedPages(collection),

    /** Call in the transaction that adds, changes or removes documents with these `ids`.
     *  @param added how many of them are new */
    touch: (list: string, ids: readonly string[], added: number, session: Session): Promise<void> =>
      touch(collection, list, ids, added, session),

    /** Call in the transaction that adds these documents to their lists. */
    async touchAll<Doc extends { _id: string }>(
      docs: readonly Doc[],
      listOf: (doc: Doc) => string,
      session: Session,
    ): Promise<void> {
      const idsByList = new Map<string, string[]>();
      for (const doc of docs) {
        const ids = idsByList.get(listOf(doc));
        if (ids) ids.push(doc._id);
        else idsByList.set(listOf(doc), [doc._id]);
      }
      for (const [list, ids] of idsByList) await touch(collection, list, ids, ids.length, session);
    },
  };
}

async function touch(
  collection: Segments,
  list: string,
  ids: readonly string[],
  added: number,
  session: Session,
): Promise<void> {
  if (ids.length === 0) return;
  const sorted = [...ids].sort();
  const [first, last] = [sorted[0]!, sorted.at(-1)!];
  const lastTouched = await collection.findOneAndUpdate(
    { ...ofList(list), after: { $lt: last } },
    { $inc: { version: 1, size: added }, $setOnInsert: { _id: `${list}:`, after: FIRST } },
    { sort: { after: -1 }, upsert: true, returnDocument: 'before', session },
  );
  if (lastTouched && lastTouched.after >= first) {
    const [firstTouched] = await collection
      .find({ ...ofList(list), after: { $lt: first } }, { sort: { after: -1 }, limit: 1, session })
      .toArray();
    await collection.updateMany(
      { ...ofList(list), after: { $gte: firstTouched?.after ?? FIRST, $lt: lastTouched.after } },
      { $inc: { version: 1 } },
      { session },
    );
  }
  const { after = FIRST, size = 0, room = LEAST_ROOM } = lastTouched ?? {};
  // Split again after as many additions: ids out of order go to earlier segments, too.
  if (Math.floor((size + added) / room) === Math.floor(size / room)) return;
  const within = sorted.filter((id) => id > after);
  const middle = within[Math.floor(within.length / 2)]!;
  const next = roomOfNext(await collection.countDocuments(ofList(list), { session }));
  await collection.updateOne(
    { _id: `${list}:${middle}`, ...ofList(list) },
    { $setOnInsert: { after: middle, size: 0, room: next, version: 0 } },
    { upsert: true, session },
  );
}

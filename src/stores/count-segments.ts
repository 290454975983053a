/** Exact totals and deep pages of long lists at a cost that hardly grows with them.
 *
 *  The ids of a list are cut into segments of some thousands, each with a version that rises in the transaction that adds to it or changes in
 *  it what a filter looks at. So a count of a segment stands for as long as its version does, whatever the filter: a total is a sum of counts
 *  that are remembered, but for the few segments that changed, and a deep page is found by walking the sums and skipping within one segment. */
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { makeIndexes, SCHEMA_OPTIONS, type Session } from './database.js';
import { type IdRange, itemsAt, type Page, toMeta, withinIds } from './paging.js';

interface CountSegmentDoc {
  _id: string;
  accountId: string;
  /** Names a collection and, behind a colon, the account. */
  list: string;
  /** The segment holds the ids after this one, up to where the next segment begins. */
  after: string;
  /** Ids that were ever added to it. */
  size: number;
  /** So many ids are added to it before the next one begins; absent where that is the least room. */
  room?: number;
  version: number;
}

const countSegmentSchema = new mongoose.Schema<CountSegmentDoc>(
  { _id: String, accountId: String, list: String, after: String, size: Number, room: Number, version: Number },
  { ...SCHEMA_OPTIONS, collection: 'countSegments' },
);
countSegmentSchema.index({ accountId: 1, list: 1, after: 1, version: 1 });

const LEAST_ROOM = 2500;
/** A total looks at each segment, and counts those anew that changed: their number and their size both grow with the square root of the list. So
 *  many have the least room, behind them the room grows with their number: 10,000,000 ids are some 1,250 segments, of at most 16,000. */
const OF_LEAST_ROOM = 200;
/** Shorter lists are simply counted. */
const SHORT_LIST = 5000;
/** Filters whose counts are remembered, of all lists together. */
const MAX_FILTERS = 300;
const COUNTED_AT_ONCE = 8;
/** What was not acknowledged may be undone, and the version that it brought given to another change. */
const FOR_REMEMBERING = { readConcern: { level: 'majority' } } as const;
const FIRST = '';
const UNKNOWN = -1;

export interface LongListRequest {
  page: number;
  pageSize: number;
  /** 1: oldest first. */
  direction: 1 | -1;
  ids?: IdRange;
  /** The index to use, where MongoDB may take another one that is worse. */
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

/** Of one filter, by the start of the segment. */
type RememberedCounts = Map<string, RememberedCount>;

/** What finds a list's segments. */
const ofList = (list: string) => ({ accountId: list.slice(list.indexOf(':') + 1), list });

/** @param segments that the list has already */
export const roomOfNext = (segments: number): number => Math.floor(LEAST_ROOM * Math.max(1, segments / OF_LEAST_ROOM));

export type CountSegments = ReturnType<typeof createCountSegments>;

export function createCountSegments(connection: mongoose.Connection) {
  const segments = connection.model<CountSegmentDoc>('CountSegment', countSegmentSchema);
  const collection = segments.collection as unknown as mongoose.mongo.Collection<CountSegmentDoc>;
  /** By list and filter, least recently used first. */
  const remembered = new Map<string, RememberedCounts>();

  function countsOf(key: string): RememberedCounts | undefined {
    const counts = remembered.get(key);
    if (counts) {
      remembered.delete(key);
      remembered.set(key, counts);
    }
    return counts;
  }

  function rememberCounts(key: string): RememberedCounts {
    const counts: RememberedCounts = new Map();
    remembered.set(key, counts);
    if (remembered.size > MAX_FILTERS) remembered.delete(keyToForget(remembered.keys()));
    return counts;
  }

  /** Those that hold ids of this range, in the list's direction. */
  async function segmentsOf(list: string, direction: 1 | -1, ids: IdRange): Promise<CountSegment[]> {
    // As one document, which takes the driver a sixth of what as many documents do.
    const [found] = await collection
      .aggregate<{ after: string[]; version: number[] }>(
        [
          { $match: ofList(list) },
          { $sort: { after: 1 } },
          { $group: { _id: null, after: { $push: '$after' }, version: { $push: '$version' } } },
        ],
        FOR_REMEMBERING,
      )
      .toArray();
    // Of a list that nobody ever touched nothing may be remembered.
    if (!found) return [{ after: FIRST, version: UNKNOWN, upTo: null }];
    const ascending = found.after
      .map((after, index) => ({ after, version: found.version[index]!, upTo: found.after[index + 1] ?? null }))
      .filter(
        ({ after, upTo }) =>
          (ids.from === undefined || upTo === null || upTo >= ids.from) && (ids.to === undefined || after < ids.to),
      );
    return direction === 1 ? ascending : ascending.reverse();
  }

  /** Called in the transaction that adds `ids` to the list, or that changes or removes what stands under them.
   *  @param added how many of them are new */
  async function touch(list: string, ids: readonly string[], added: number, session: Session): Promise<void> {
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
    // Cut again whenever as many were added again: ids that come out of order go to earlier segments, too.
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

  return {
    ensureIndexes: () => makeIndexes(segments),

    touch,

    /** Called in the transaction that adds these documents to their lists. */
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
      for (const [list, ids] of idsByList) await touch(list, ids, ids.length, session);
    },

    /** A page of the documents that match `filter`, in the order of their ids.
     *  @param filter looks at nothing that changes without a touch, and not at the id */
    async page<Doc extends { _id: string }>(
      list: string,
      model: Model<Doc>,
      filter: QueryFilter<Doc>,
      request: LongListRequest,
    ): Promise<Page<Doc>> {
      const { page, pageSize, direction, ids = {} } = request;
      const offset = (page - 1) * pageSize;
      const answer = (items: Doc[], total: number): Page<Doc> => ({ items, meta: toMeta({ page, pageSize }, total) });
      const { itemsIn, countIn } = createQueries(model, filter, request);
      const key = `${list} ${JSON.stringify(filter)}`;
      let known = countsOf(key);
      if (!known) {
        const [items, total] = await Promise.all([
          offset <= SHORT_LIST ? itemsIn({}, offset) : [],
          countIn({}, { limit: SHORT_LIST + 1 }),
        ]);
        if (total <= SHORT_LIST) return answer(items, total);
        known = countsOf(key) ?? rememberCounts(key);
      }
      const shallow = offset <= LEAST_ROOM ? itemsIn({}, offset) : null;
      // It is awaited last: should it fail before, the process must not end for that.
      shallow?.catch(() => undefined);
      const counts = known;
      const { total, start } = await addUp(await segmentsOf(list, direction, ids), offset, (segment) =>
        // Anybody may ask for any range: of the segments at its ends nothing is remembered.
        segment.version === UNKNOWN || !isWithin(segment, ids)
          ? countIn(segment)
          : countOnce(counts, segment, () => countIn(segment, FOR_REMEMBERING)),
      );
      if (shallow) return answer(await shallow, total);
      if (!start) return answer([], total);
      const { after, upTo } = start.segment;
      return answer(await itemsIn(direction === 1 ? { after } : { upTo }, start.skip), total);
    },
  };
}

/** The longest unused one of the list that has the most: nobody's filters push out those of others. */
function keyToForget(keys: Iterable<string>): string {
  const byList = new Map<string, string[]>();
  let most: string[] = [];
  for (const key of keys) {
    const list = key.slice(0, key.indexOf(' '));
    const same = byList.get(list) ?? [];
    same.push(key);
    byList.set(list, same);
    if (same.length > most.length) most = same;
  }
  return most[0]!;
}

const isWithin = ({ after, upTo }: CountSegment, { from, to }: IdRange) =>
  (from === undefined || after >= from) && (to === undefined || (upTo ?? '~') < to);

/** The documents of a list, and how many there are, between further bounds. */
function createQueries<Doc extends { _id: string }>(
  model: Model<Doc>,
  filter: QueryFilter<Doc>,
  { pageSize, direction, ids = {}, hint }: LongListRequest,
) {
  const indexed = hint ? { hint } : {};
  function within({ after, upTo }: Partial<CountSegment>): QueryFilter<Doc> {
    const id = { ...withinIds(ids)._id, ...(after ? { $gt: after } : {}), ...(upTo ? { $lte: upTo } : {}) };
    return Object.keys(id).length === 0 ? filter : { ...filter, _id: id };
  }
  return {
    countIn: (bounds: Partial<CountSegment>, options: object = {}): Promise<number> =>
      model.countDocuments(within(bounds), { ...indexed, ...options }).exec(),
    itemsIn(bounds: Partial<CountSegment>, skip: number): Promise<Doc[]> {
      const read = (fields: { _id: 1 } | null) =>
        model
          .find(within(bounds), fields, indexed)
          .sort({ _id: direction })
          .skip(skip)
          .limit(pageSize)
          .lean<Doc[]>()
          .exec();
      const byIds = (found: string[]) =>
        model
          .find({ ...filter, _id: { $in: found } })
          .sort({ _id: direction })
          .lean<Doc[]>()
          .exec();
      return itemsAt<Doc>(skip, { documents: () => read(null), ids: () => read({ _id: 1 }), byIds });
    },
  };
}

/** @returns the sum, and in which segment the item behind `offset` others is */
async function addUp(
  segments: readonly CountSegment[],
  offset: number,
  count: (segment: CountSegment) => number | Promise<number>,
): Promise<{ total: number; start: { segment: CountSegment; skip: number } | null }> {
  let total = 0;
  let start: { segment: CountSegment; skip: number } | null = null;
  for (let from = 0; from < segments.length; from += COUNTED_AT_ONCE) {
    const some = segments.slice(from, from + COUNTED_AT_ONCE);
    const counted = some.map(count);
    // Of a thousand segments most are known, and need no wait.
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

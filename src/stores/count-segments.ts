/** Exact totals and deep pages of long lists at a cost that hardly grows with them.
 *
 *  The ids of a list are cut into segments of some thousands, each with a version that rises in the transaction that adds to it or changes in
 *  it what a filter looks at. So a count of a segment stands for as long as its version does, whatever the filter: a total is a sum of counts
 *  that are remembered, but for the few segments that changed, and a deep page is found by walking the sums and skipping within one segment. */
import mongoose, { type Model, type QueryFilter } from 'mongoose';
import { SCHEMA_OPTIONS, type Session } from './database.js';
import { type IdRange, itemsAt, type Page, toMeta, withinIds } from './paging.js';

interface CountSegmentDoc {
  _id: string;
  /** Names a collection and the owner of the list within it. */
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
  { _id: String, list: String, after: String, size: Number, room: Number, version: Number },
  { ...SCHEMA_OPTIONS, collection: 'countSegments' },
);
countSegmentSchema.index({ list: 1, after: 1, version: 1 });

const LEAST_ROOM = 2500;
/** A total looks at each segment, and counts those anew that changed: their number and their size both grow with the square root of the list. So
 *  many have the least room, behind them the room grows with their number: 10,000,000 ids are some 1,250 segments, of at most 16,000. */
const OF_LEAST_ROOM = 200;
/** Shorter lists are simply counted. */
const SHORT_LIST = 5000;
/** Filters whose counts are remembered. */
const MAX_FILTERS = 300;
const COUNTED_AT_ONCE = 8;
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

/** `after < id <= upTo`, as far as the request's own bounds let it. */
interface CountSegment {
  after: string;
  upTo: string | null;
  version: number;
}

interface Remembered {
  version: number;
  upTo: string | null;
  count: Promise<number>;
}

/** @param segments that the list has already */
export const roomOfNext = (segments: number): number => Math.floor(LEAST_ROOM * Math.max(1, segments / OF_LEAST_ROOM));

export type CountSegments = ReturnType<typeof createCountSegments>;

export function createCountSegments(connection: mongoose.Connection) {
  const segments = connection.model<CountSegmentDoc>('CountSegment', countSegmentSchema);
  const collection = segments.collection as unknown as mongoose.mongo.Collection<CountSegmentDoc>;
  /** By list and filter, least recently used first; within, by the start of the segment. */
  const remembered = new Map<string, Map<string, Remembered>>();

  function countsOf(key: string): Map<string, Remembered> | undefined {
    const counts = remembered.get(key);
    if (counts) {
      remembered.delete(key);
      remembered.set(key, counts);
    }
    return counts;
  }

  function rememberCounts(key: string): Map<string, Remembered> {
    const counts = new Map<string, Remembered>();
    remembered.set(key, counts);
    if (remembered.size > MAX_FILTERS) remembered.delete(remembered.keys().next().value!);
    return counts;
  }

  /** In the list's direction. */
  async function segmentsOf(list: string, direction: 1 | -1): Promise<CountSegment[]> {
    const found = await collection
      .find({ list }, { projection: { _id: 0, after: 1, version: 1 }, sort: { after: 1 }, batchSize: 100_000 })
      .toArray();
    // Of a list that nobody ever touched nothing may be remembered.
    if (found.length === 0) return [{ after: FIRST, version: UNKNOWN, upTo: null }];
    const ascending = found.map(({ after, version }, index) => ({
      after,
      version,
      upTo: found[index + 1]?.after ?? null,
    }));
    return direction === 1 ? ascending : ascending.reverse();
  }

  /** Called in the transaction that adds `ids` to the list, or that changes or removes what stands under them.
   *  @param added how many of them are new */
  async function touch(list: string, ids: readonly string[], added: number, session: Session): Promise<void> {
    if (ids.length === 0) return;
    const sorted = [...ids].sort();
    const [first, last] = [sorted[0]!, sorted.at(-1)!];
    const newest = await collection.findOneAndUpdate(
      { list, after: { $lt: last } },
      { $inc: { version: 1, size: added }, $setOnInsert: { _id: `${list}:`, after: FIRST } },
      { sort: { after: -1 }, upsert: true, returnDocument: 'before', session },
    );
    if (newest && newest.after >= first) {
      const [oldest] = await collection
        .find({ list, after: { $lt: first } }, { sort: { after: -1 }, limit: 1, session })
        .toArray();
      await collection.updateMany(
        { list, after: { $gte: oldest?.after ?? FIRST, $lt: newest.after } },
        { $inc: { version: 1 } },
        { session },
      );
    }
    const { size = 0, room = LEAST_ROOM } = newest ?? {};
    if (size < room && size + added >= room) {
      const next = roomOfNext(await collection.countDocuments({ list }, { session }));
      await collection.insertOne(
        { _id: `${list}:${last}`, list, after: last, size: 0, room: next, version: 0 },
        { session },
      );
    }
  }

  return {
    ensureIndexes: () => segments.createIndexes(),

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
      { page, pageSize, direction, ids = {}, hint }: LongListRequest,
    ): Promise<Page<Doc>> {
      const offset = (page - 1) * pageSize;
      const answer = (items: Doc[], total: number): Page<Doc> => ({ items, meta: toMeta({ page, pageSize }, total) });
      /** `bounds` narrow the ids further. */
      const within = (bounds: Partial<CountSegment> = {}): QueryFilter<Doc> => {
        const id = {
          ...withinIds(ids)._id,
          ...(bounds.after ? { $gt: bounds.after } : {}),
          ...(bounds.upTo ? { $lte: bounds.upTo } : {}),
        };
        return Object.keys(id).length === 0 ? filter : { ...filter, _id: id };
      };
      const indexed = hint ? { hint } : {};
      const items = (bounds: Partial<CountSegment>, skip: number) => {
        const window = (fields: { _id: 1 } | null) =>
          model
            .find(within(bounds), fields, indexed)
            .sort({ _id: direction })
            .skip(skip)
            .limit(pageSize)
            .lean<Doc[]>()
            .exec();
        const byIds = (ids: string[]) =>
          model
            .find({ ...filter, _id: { $in: ids } })
            .sort({ _id: direction })
            .lean<Doc[]>()
            .exec();
        return itemsAt<Doc>(skip, { documents: () => window(null), ids: () => window({ _id: 1 }), byIds });
      };

      const key = `${list} ${JSON.stringify(filter)}`;
      let ofWhole = countsOf(key);
      if (!ofWhole) {
        const [found, total] = await Promise.all([
          offset <= SHORT_LIST ? items({}, offset) : [],
          model.countDocuments(within(), { ...indexed, limit: SHORT_LIST + 1 }),
        ]);
        if (total <= SHORT_LIST) return answer(found, total);
        ofWhole = countsOf(key) ?? rememberCounts(key);
      }
      const keyOfParts = `${key} ${ids.from} ${ids.to}`;
      const ofParts = countsOf(keyOfParts) ?? rememberCounts(keyOfParts);

      const countOf = (segment: CountSegment): Promise<number> => {
        const { after, upTo, version } = segment;
        if (version === UNKNOWN) return model.countDocuments(within(segment), indexed).exec();
        const isWhole =
          (ids.from === undefined || after >= ids.from) && (ids.to === undefined || (upTo ?? '~') < ids.to);
        const counts = isWhole ? ofWhole : ofParts;
        const known = counts.get(after);
        if (known?.version === version && known.upTo === upTo) return known.count;
        const count = model.countDocuments(within(segment), indexed).exec();
        const fresh = { version, upTo, count };
        counts.set(after, fresh);
        count.catch(() => counts.get(after) === fresh && counts.delete(after));
        return count;
      };

      const isShallow = offset <= LEAST_ROOM;
      const shallow = isShallow ? items({}, offset) : null;
      // It is awaited last: should it fail before, the process must not end for that.
      shallow?.catch(() => undefined);
      const parts = (await segmentsOf(list, direction)).filter(
        ({ after, upTo }) =>
          (ids.from === undefined || upTo === null || upTo >= ids.from) && (ids.to === undefined || after < ids.to),
      );
      let total = 0;
      let start: { segment: CountSegment; skip: number } | null = null;
      for (let from = 0; from < parts.length; from += COUNTED_AT_ONCE) {
        const some = parts.slice(from, from + COUNTED_AT_ONCE);
        for (const [index, count] of (await Promise.all(some.map(countOf))).entries()) {
          if (!start && offset < total + count) start = { segment: some[index]!, skip: offset - total };
          total += count;
        }
      }
      if (shallow) return answer(await shallow, total);
      if (!start) return answer([], total);
      const { after, upTo } = start.segment;
      return answer(await items(direction === 1 ? { after } : { upTo }, start.skip), total);
    },
  };
}

/** Segments for counting and paging long lists at nearly constant cost.
 *
 *  A list's ids are cut into segments of some thousands. Each has a version that rises in the transaction that adds to it or changes a filtered field;
 *  `counted-pages.ts` caches counts by it. */
import type mongoose from 'mongoose';
import { type CountSegmentDoc, countSegmentModel, FIRST, LEAST_ROOM, ofList } from './count-segment-document.js';
import { createCountedPages } from './counted-pages.js';
import { makeIndexes, type Session } from './database.js';

/** A total visits each segment and recounts the changed ones, so number and size should both grow with the square root of the list. This many have the smallest
 *  capacity; later ones grow with their number: 10,000,000 ids make some 1,250 segments of at most 16,000. */
const OF_LEAST_ROOM = 200;

/** @param segments the list's number of segments */
export const roomOfNext = (segments: number): number => Math.floor(LEAST_ROOM * Math.max(1, segments / OF_LEAST_ROOM));

export type CountSegments = ReturnType<typeof createCountSegments>;

export function createCountSegments(connection: mongoose.Connection) {
  const segments = countSegmentModel(connection);
  const collection = segments.collection as unknown as Segments;
  return {
    ensureIndexes: () => makeIndexes(segments),

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

type Segments = mongoose.mongo.Collection<CountSegmentDoc>;

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

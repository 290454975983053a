/** Group commit: concurrent writes to the same document share a transaction, so that they neither
 *  wait for each other nor conflict. While one group is written, the next one gathers; a single
 *  write is made at once. */

import type { mongo } from 'mongoose';
import { ApiError } from './api-error.js';
import type { Collection } from './collection.js';
import { AlreadyMade, type Session, Taken } from './database.js';

/** Bounds the transaction. */
const MAX_GROUP = 100;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * @param write makes all writes of a group in one transaction, or none, and returns a result for
 * each. When it rejects because of an item, each item is written again alone, so that no item fails
 * for another's fault. Any other error rejects them all.
 * @returns a function that writes an item together with others of the same key, and resolves to
 * its result
 */
export function createGroupCommit<Item, Result>(write: (items: readonly Item[]) => Promise<readonly Result[]>) {
  /** By key: items waiting while a group is written. */
  const gathering = new Map<string, Waiting<Item, Result>[]>();

  async function writeGroup(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await write(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) resolve(results[index]!);
    } catch (error) {
      if (group.length > 1 && isOfOneItem(error)) for (const each of group) await writeGroup([each]);
      else for (const { reject } of group) reject(error);
    }
  }

  async function writeAll(key: string, waiting: Waiting<Item, Result>[]): Promise<void> {
    while (waiting.length > 0) await writeGroup(waiting.splice(0, MAX_GROUP));
    gathering.delete(key);
  }

  return (key: string, item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      const entry = { item, resolve, reject };
      const waiting = gathering.get(key);
      if (waiting) return void waiting.push(entry);
      const first = [entry];
      gathering.set(key, first);
      void writeAll(key, first);
    });
}

/** Otherwise, as when MongoDB is away, each would fail again, one after the other, after its
 *  own time-out. */
const isOfOneItem = (error: unknown) =>
  error instanceof ApiError || error instanceof AlreadyMade || error instanceof Taken;

/** Counts each text, in the order of first occurrence. */
export function countBy(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

/** Changes documents, each by its own update: in two round trips, however many they are.
 *  @param filter common to all. @param updates by id
 *  @returns those that there are, as they are now */
export async function changeEach<Doc extends { _id: string }>(
  collection: Collection<Doc>,
  filter: Partial<Doc>,
  updates: ReadonlyMap<string, mongo.UpdateFilter<Doc>>,
  session: Session,
): Promise<Map<string, Doc>> {
  const of = (_id: string | { $in: string[] }) => ({ ...filter, _id }) as mongo.Filter<Doc>;
  const [first] = updates;
  if (!first) return new Map();
  if (updates.size === 1) {
    const [id, update] = first;
    const changed = await collection.findOneAndUpdate(of(id), update, { session, returnDocument: 'after' });
    return new Map(changed && [[id, changed as Doc]]);
  }
  await collection.bulkWrite(
    [...updates].map(([id, update]) => ({ updateOne: { filter: of(id), update } })),
    { session },
  );
  const changed = await collection.find(of({ $in: [...updates.keys()] }), { session }).toArray();
  return new Map(changed.map((doc) => [doc._id, doc as Doc]));
}

/** Group commit: concurrent writes to the same document share a transaction, so that they neither
 *  wait for each other nor conflict. While one group is written, the next one gathers; a single
 *  write is made at once. */

import type { mongo } from 'mongoose';
import { ApiError } from './api-error.js';
import { mayBeCommitted } from './availability.js';
import type { Collection } from './collection.js';
import { AlreadyMade, type Session, Taken } from './database.js';
import { accountsOf, ownedBy } from './owners.js';

/** Bounds the transaction. */
const MAX_GROUP = 100;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Makes all writes of a group in one transaction, or none, and returns a result for each. */
type Write<Item, Result> = (items: readonly Item[]) => Promise<readonly Result[]>;

/**
 * @param write when it rejects because of an item, each item is written again alone, so that no
 * item fails for another's fault. Any other error rejects them all.
 * @returns a function that writes an item together with others of the same key, and resolves to
 * its result
 */
export function createGroupCommit<Item, Result>(write: Write<Item, Result>) {
  const groups = createGroups(write);
  return (key: string, item: Item): Promise<Result> =>
    new Promise((resolve, reject) => groups.add(key, [{ item, resolve, reject }]));
}

/**
 * Group commit over all keys. When a group fails, whatever the reason, each key of it is written
 * apart from the others as by `createGroupCommit`, until nothing of the key waits: so no key waits
 * for what another's documents are held by, or fails for its fault.
 * @param writeOnce makes the writes of several keys, and soon rejects where it cannot
 * @param write makes those of one key
 */
export function createJointCommit<Item, Result>(writeOnce: Write<Item, Result>, write: Write<Item, Result>) {
  const apart = createGroups(write);
  /** By key. */
  const waiting = new Map<string, Waiting<Item, Result>[]>();
  let isWriting = false;

  async function writeGroup(group: readonly [string, Waiting<Item, Result>][]): Promise<void> {
    try {
      const results = await writeOnce(group.map(([, { item }]) => item));
      for (const [index, [, { resolve }]] of group.entries()) resolve(results[index]!);
    } catch (error) {
      for (const [key, entries] of byKey(group)) {
        // What may be stored already is not stored again, and a database that is away stays so.
        if (mayBeCommitted(error)) for (const { reject } of entries) reject(error);
        else apart.add(key, [...entries, ...takeAll(waiting, key)]);
      }
    }
  }

  async function writeAll(): Promise<void> {
    isWriting = true;
    while (waiting.size > 0) await writeGroup(takeInTurn(waiting));
    isWriting = false;
  }

  return (key: string, item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      const entry = { item, resolve, reject };
      if (apart.has(key)) return apart.add(key, [entry]);
      addTo(waiting, key, entry);
      if (!isWriting) void writeAll();
    });
}

/** A group for each key at a time. */
function createGroups<Item, Result>(write: Write<Item, Result>) {
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

  return {
    has: (key: string): boolean => gathering.has(key),
    add(key: string, entries: Waiting<Item, Result>[]): void {
      const waiting = gathering.get(key);
      if (waiting) return void waiting.push(...entries);
      gathering.set(key, entries);
      void writeAll(key, entries);
    },
  };
}

/** Otherwise, as when MongoDB is away, each would fail again, one after the other, after its
 *  own time-out. */
const isOfOneItem = (error: unknown) =>
  error instanceof ApiError || error instanceof AlreadyMade || error instanceof Taken;

/** Takes one of each key after the other, so that a key with very many leaves room for the rest. */
function takeInTurn<Entry>(waiting: Map<string, Entry[]>): [string, Entry][] {
  const taken: [string, Entry][] = [];
  for (const [key, entries] of waiting) {
    taken.push([key, entries.shift()!]);
    // At the end, where this loop comes by again.
    waiting.delete(key);
    if (entries.length > 0) waiting.set(key, entries);
    if (taken.length === MAX_GROUP) break;
  }
  return taken;
}

function takeAll<Entry>(waiting: Map<string, Entry[]>, key: string): Entry[] {
  const entries = waiting.get(key) ?? [];
  waiting.delete(key);
  return entries;
}

function byKey<Entry>(entries: readonly (readonly [string, Entry])[]): Map<string, Entry[]> {
  const groups = new Map<string, Entry[]>();
  for (const [key, entry] of entries) addTo(groups, key, entry);
  return groups;
}

function addTo<Entry>(groups: Map<string, Entry[]>, key: string, entry: Entry): void {
  const group = groups.get(key);
  if (group) group.push(entry);
  else groups.set(key, [entry]);
}

/** Grouped by account, in the order of the ids: transactions that meet do so at the first document
 *  that both write. */
export const byAccount = <T extends { accountId: string }>(docs: readonly T[]): [string, T[]][] =>
  [...byKey(docs.map((doc) => [doc.accountId, doc]))].sort(([a], [b]) => (a < b ? -1 : 1));

/** What comes to the counts of a document. */
export interface Addition {
  _id: string;
  accountId: string;
  /** By field. */
  counts: Readonly<Record<string, number>>;
}

/** Adds to the counts of documents: in two round trips, however many there are.
 *  @param filter common to all
 *  @returns the document of each addition as it is now; null where the account has none */
export async function addCounts<Doc extends { _id: string; accountId: string }>(
  collection: Collection<Doc>,
  additions: readonly Addition[],
  session: Session,
  filter: Partial<Doc> = {},
): Promise<(Doc | null)[]> {
  const of = (_id: unknown, accountId: unknown) => ({ ...filter, _id, accountId }) as mongo.Filter<Doc>;
  const updateOf = ({ counts }: Addition) => ({ $inc: counts }) as mongo.UpdateFilter<Doc>;
  const sums = summedUp(additions);
  const [first] = sums;
  if (!first) return [];
  if (sums.length === 1) {
    const options = { session, returnDocument: 'after' } as const;
    const changed = await collection.findOneAndUpdate(of(first._id, first.accountId), updateOf(first), options);
    return additions.map(() => changed as Doc | null);
  }
  await collection.bulkWrite(
    sums.map((sum) => ({ updateOne: { filter: of(sum._id, sum.accountId), update: updateOf(sum) } })),
    { session },
  );
  const [ids, accountIds] = [sums.map(({ _id }) => _id), accountsOf(sums)];
  const found = await collection.find(of({ $in: ids }, { $in: accountIds }), { session }).toArray();
  const byId = new Map<string, Doc>(found.map((doc) => [doc._id, doc as Doc]));
  return additions.map(({ _id, accountId }) => ownedBy(accountId, byId.get(_id)));
}

/** One for each document of an account. */
function summedUp(additions: readonly Addition[]): Addition[] {
  const sums = new Map<string, Addition & { counts: Record<string, number> }>();
  for (const { _id, accountId, counts } of additions) {
    const key = `${accountId} ${_id}`;
    const sum = sums.get(key) ?? { _id, accountId, counts: {} };
    for (const [field, added] of Object.entries(counts)) sum.counts[field] = (sum.counts[field] ?? 0) + added;
    sums.set(key, sum);
  }
  return [...sums.values()];
}

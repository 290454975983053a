/** Group commit: writes to the same document that come in side by side are made in one transaction, so that they do not wait for each other or
 *  conflict. While one group is being written the next one gathers; a write that comes alone is made at once. */
import { AlreadyMade } from '../domain/already-made.js';
import { ApiError } from '../domain/api-error.js';
import { Taken } from './taken.js';

/** Bounds the transaction. */
const MAX_GROUP = 100;

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * @param write makes all writes of a group in one transaction, or none of them, and answers a result for each. When it rejects for the fault of
 *   an item, each is written again in a group of its own, so that no item fails for another's fault. Any other error rejects all of them.
 * @returns what writes one item together with others of the same key, and answers its result
 */
export function createGroupCommit<Item, Result>(write: (items: readonly Item[]) => Promise<readonly Result[]>) {
  /** By key: those who wait while a group is being written. */
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

/** When it is not, as while MongoDB is away, each would fail as well, one after the other and after its own time-out. */
const isOfOneItem = (error: unknown) =>
  error instanceof ApiError || error instanceof AlreadyMade || error instanceof Taken;

/** How often each of some texts occurs, in the order of their first occurrence. */
export function countBy(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

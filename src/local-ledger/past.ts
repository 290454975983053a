/** Entries as they were before the newest ledgers, for lagging answers. Kept in memory, because a
 *  lag also ends with the process. */
import type { Entry } from './entries.js';

/** Above this number of entries the oldest ledgers are dropped. */
const MAX_ENTRIES = 20_000;

/** Entries by key, as they were before a ledger; null for an entry that it created. */
export type Before = ReadonlyMap<string, Readonly<Entry> | null>;

export interface Past {
  /** Call it before the ledger is written, so that readers of new entries find the old
   *  ones here. */
  note(sequence: number, before: Before): void;
  forget(): void;
  /** @param entries all that match now. @returns all that matched after that ledger */
  asOf(sequence: number, matches: (entry: Readonly<Entry>) => boolean, entries: Entry[]): Entry[];
}

export function createPast(): Past {
  let ledgers: { sequence: number; before: Before }[] = [];
  let size = 0;

  return {
    note(sequence, before) {
      // A repeated write after a failure.
      if (ledgers.at(-1)?.sequence === sequence) size -= ledgers.pop()!.before.size;
      ledgers.push({ sequence, before });
      size += before.size;
      while (size > MAX_ENTRIES && ledgers.length > 1) size -= ledgers.shift()!.before.size;
    },
    forget() {
      ledgers = [];
      size = 0;
    },
    asOf(sequence, matches, entries) {
      if ((ledgers.at(-1)?.sequence ?? 0) <= sequence) return entries;
      const found = new Map(entries.map((entry) => [entry._id, entry]));
      for (let index = ledgers.length - 1; index >= 0 && ledgers[index]!.sequence > sequence; index--) {
        for (const [key, entry] of ledgers[index]!.before) {
          if (entry === null || !matches(entry)) found.delete(key);
          else found.set(key, entry as Entry);
        }
      }
      return [...found.values()].sort((a, b) => (a._id < b._id ? -1 : 1));
    },
  };
}

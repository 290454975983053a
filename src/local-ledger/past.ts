/** Entries as they were before the newest ledgers, for answers that lag. Kept in memory: a lag ends with the process, too. */
import type { Entry } from './entries.js';

/** The oldest ledgers are forgotten when more entries than this are kept. */
const MAX_ENTRIES = 20_000;

/** Entries by key, as they were before a ledger; null for what it made. */
export type Before = ReadonlyMap<string, Readonly<Entry> | null>;

export interface Past {
  /** Call it before the ledger is written, so that readers of the new entries find the old ones here. */
  note(sequence: number, before: Before): void;
  forget(): void;
  /** `entries` are all that match now; gives all that matched after that ledger. */
  asOf(sequence: number, matches: (entry: Readonly<Entry>) => boolean, entries: Entry[]): Entry[];
}

export function createPast(): Past {
  let ledgers: { sequence: number; before: Before }[] = [];
  let size = 0;

  return {
    note(sequence, before) {
      // A failed write is repeated.
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

/** Close times of recently seen ledgers. Any other ledger is dated by the newest known one before it. */
import type { LedgerClose } from '../domain/terms.js';

const MAX_KNOWN = 1000;
/** Close times are whole seconds: over a shorter span they give no pace. */
const TELLING_MS = 10_000;

export interface KnownCloses {
  note(close: LedgerClose): void;
  /** The newest known ledger up to this one; null when all known ones come later. */
  atOrBefore(ledger: number): LedgerClose | null;
  /** The newest known ledger that closed at or before a time. */
  closedAtOrBefore(time: Date): LedgerClose | null;
  /** Milliseconds from one ledger to the next; null while too little is known. */
  pace(): number | null;
  /** Call after a reset. */
  forget(): void;
}

export function createKnownCloses(): KnownCloses {
  /** Ordered by ledger. */
  let known: LedgerClose[] = [];
  return {
    note(close) {
      const at = known.findLastIndex(({ ledger }) => ledger <= close.ledger);
      if (known[at]?.ledger === close.ledger) return;
      known.splice(at + 1, 0, close);
      if (known.length > MAX_KNOWN) known = known.slice(-MAX_KNOWN / 2);
    },
    atOrBefore: (ledger) => known.findLast((close) => close.ledger <= ledger) ?? null,
    closedAtOrBefore: (time) => known.findLast((close) => close.closedAt <= time) ?? null,
    pace() {
      const [first, last] = [known[0], known.at(-1)];
      const ms = first && last ? last.closedAt.getTime() - first.closedAt.getTime() : 0;
      return ms < TELLING_MS ? null : ms / (last!.ledger - first!.ledger);
    },
    forget() {
      known = [];
    },
  };
}

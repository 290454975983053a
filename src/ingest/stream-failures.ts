/** Streams whose reading failed, each with its own pause, so that one that always fails is never in the way of the others. The pause grows while a stream
 *  stands still. In memory only: after a restart all are tried again. */
import type { StreamFailures } from './plan.js';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const MAX_REMEMBERED = 1000;

export function createStreamFailures() {
  const failures = new Map<string, { count: number; cursor: string; untilMs: number }>();
  return {
    all: failures as StreamFailures,
    /** Streams whose pause lasts. */
    waiting: (nowMs: number): string[] => [...failures].flatMap(([id, { untilMs }]) => (untilMs > nowMs ? [id] : [])),
    /** @param cursor where the reading began */
    failed({ _id: id, cursor }: { _id: string; cursor: string }, nowMs: number): void {
      const before = failures.get(id);
      const count = before?.cursor === cursor ? before.count + 1 : 1;
      if (failures.size >= MAX_REMEMBERED) failures.clear();
      failures.set(id, {
        count,
        cursor,
        untilMs: nowMs + Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (count - 1)),
      });
    },
    /** How often reading on from this cursor failed. */
    at: ({ _id: id, cursor }: { _id: string; cursor: string }): number => {
      const known = failures.get(id);
      return known?.cursor === cursor ? known.count : 0;
    },
    succeeded(id: string): void {
      failures.delete(id);
    },
  };
}

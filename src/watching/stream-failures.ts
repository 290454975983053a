/** Streams whose reading failed, each with a pause of its own, so that one that always fails does not delay the others. The pause grows until the stream's
 *  cursor moves. In memory only: a restart tries all again. */
import type { StreamFailures } from './plan.js';

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
const MAX_REMEMBERED = 1000;

export function createStreamFailures() {
  const failures = new Map<string, { count: number; cursor: string; untilMs: number }>();
  return {
    all: failures as StreamFailures,
    /** Ids of the streams that are paused. */
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
    /** Consecutive failures at this cursor. */
    at: ({ _id: id, cursor }: { _id: string; cursor: string }): number => {
      const known = failures.get(id);
      return known?.cursor === cursor ? known.count : 0;
    },
    succeeded(id: string): void {
      failures.delete(id);
    },
  };
}

/** A clock that stands still until a test advances it. Sleepers wake in the order of
 *  their times. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../src/kit/clock.js';

export interface ManualClock extends Clock {
  /** Advances the time and ends the sleeps that are over by then. */
  advance(ms: number): void;
  /** The current number of sleepers. */
  readonly sleepers: number;
}

export function manualClock(startMs = Date.parse('2026-01-02T03:04:05Z')): ManualClock {
  let nowMs = startMs;
  const sleeping = new Set<{ untilMs: number; wake: () => void }>();
  return {
    nowMs: () => nowMs,
    now: () => new Date(nowMs),
    random: () => 0.5,
    randomBytes: (size) => randomBytes(size),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (ms <= 0 || signal?.aborted) return resolve();
        const sleeper = { untilMs: nowMs + ms, wake: resolve };
        const wake = () => {
          sleeping.delete(sleeper);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        sleeper.wake = wake;
        sleeping.add(sleeper);
        signal?.addEventListener('abort', wake, { once: true });
      }),
    advance(ms) {
      nowMs += ms;
      const due = [...sleeping].filter(({ untilMs }) => untilMs <= nowMs).sort((a, b) => a.untilMs - b.untilMs);
      for (const { wake } of due) wake();
    },
    get sleepers() {
      return sleeping.size;
    },
  };
}

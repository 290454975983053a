/** A clock that advances to the next sleeper whenever nothing is running, so that hours pass in
 *  seconds. Database calls take no virtual time. */
import { randomBytes } from 'node:crypto';
import type { Clock } from '../../src/kit/clock.js';

export interface VirtualClock extends Clock {
  /** Lets time pass until `untilMs`. */
  run(untilMs: number): Promise<void>;
}

const TURNS = 4;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** @param isBusy whether something other than a sleep is awaited, such as the database */
export function virtualClock(startMs: number, isBusy: () => boolean): VirtualClock {
  let nowMs = startMs;
  const sleepers = new Set<{ untilMs: number; wake: () => void }>();

  async function quiet(): Promise<void> {
    for (let turns = 0; turns < TURNS; turns = isBusy() ? 0 : turns + 1) await turn();
  }

  return {
    nowMs: () => Math.floor(nowMs),
    now: () => new Date(nowMs),
    random: () => Math.random(),
    randomBytes: (size) => randomBytes(size),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (ms <= 0 || signal?.aborted) return resolve();
        const wake = () => {
          sleepers.delete(sleeper);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        const sleeper = { untilMs: nowMs + ms, wake };
        sleepers.add(sleeper);
        signal?.addEventListener('abort', wake, { once: true });
      }),
    async run(untilMs) {
      for (;;) {
        await quiet();
        let next: { untilMs: number; wake: () => void } | null = null;
        for (const each of sleepers) if (!next || each.untilMs < next.untilMs) next = each;
        if (!next || next.untilMs > untilMs) break;
        nowMs = Math.max(nowMs, next.untilMs);
        next.wake();
      }
      nowMs = untilMs;
    },
  };
}

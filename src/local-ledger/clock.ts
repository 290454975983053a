/** Time and randomness, passed in so that a test can advance or seed them. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  /** Resolves after `ms`, or at once (never rejects) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1). */
  random(): number;
  randomBytes(size: number): Buffer;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal }).catch(() => undefined);
  },
  random: () => Math.random(),
  randomBytes: (size) => randomBytes(size),
};

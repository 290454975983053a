/** The only reader of time, timers and randomness. Everything that is measured in seconds, hours or days takes a `Clock`,
 *  so that a test can advance it and a simulation can seed it. */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

export interface Clock {
  /** Milliseconds since the epoch. */
  nowMs(): number;
  now(): Date;
  /** Resolves after `ms`, or at once (never rejects) when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Uniform in [0, 1): jitter only, never secrets. */
  random(): number;
  /** Cryptographically strong outside of simulations. */
  randomBytes(size: number): Buffer;
}

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  now: () => new Date(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal }).catch(() => undefined);
  },
  random: () => Math.random(),
  randomBytes: (size) => randomBytes(size),
};

/** What the promise resolves to or rejects with; `late()` when that takes longer than `ms`. */
export async function within<T, Late>(
  clock: Pick<Clock, 'sleep'>,
  ms: number,
  promise: Promise<T>,
  late: () => Late,
): Promise<T | Late> {
  const settled = new AbortController();
  const timeout = clock.sleep(ms, settled.signal).then(() => (settled.signal.aborted ? (null as Late) : late()));
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    settled.abort();
  }
}

/** Milliseconds that pass evenly when the time of day is changed: for short deadlines between processes, which no `Clock` may stretch. */
export const monotonicMs = (): number => performance.now();

/** What leases go by: a time that only passes. */
export type MonotonicClock = Pick<Clock, 'nowMs' | 'sleep'>;

export const monotonicClock: MonotonicClock = { nowMs: monotonicMs, sleep: systemClock.sleep };

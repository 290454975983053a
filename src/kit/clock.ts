/** The only reader of time, timers and randomness. Everything measured in seconds, hours or days
 *  takes a `Clock`, so that tests can advance it and simulations can seed it. */
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

/** Settles as the promise does, or resolves to `late()` after `ms`. */
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

/** Monotonic milliseconds, for short deadlines between processes, which no `Clock` may stretch. */
export const monotonicMs = (): number => performance.now();

/** The clock of leases. */
export type MonotonicClock = Pick<Clock, 'nowMs' | 'sleep'>;

export const monotonicClock: MonotonicClock = { nowMs: monotonicMs, sleep: systemClock.sleep };

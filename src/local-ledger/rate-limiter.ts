/** Horizon's rate limit (GCRA per address), in force while there is a `rate_limit` fault. */
import type { Clock } from './clock.js';
import type { Faults } from './faults.js';

/** Horizon's default: a burst of 100 beyond the steady rate. */
const DEFAULT_BURST = 100;

export interface Spent {
  /** Whether nothing was left; then nothing was spent. */
  isRefused: boolean;
  limit: number;
  remaining: number;
  /** Until the bucket is full. */
  resetSeconds: number;
  /** Until the next unit is available. */
  retryAfterSeconds: number;
}

export interface RateLimiter {
  /** Spends one unit of the address. */
  spend(request: { method: string; path: string; address: string }): Spent;
}

export function createRateLimiter(faults: Faults, clock: Clock): RateLimiter {
  /** When the bucket of an address will be full again, in milliseconds since the epoch. */
  const fullAt = new Map<string, number>();

  return {
    spend({ method, path, address }) {
      const fault = faults.hit({ method, path }, ['rate_limit']);
      if (fault === null) {
        fullAt.clear();
        const limit = DEFAULT_BURST + 1;
        return { isRefused: false, limit, remaining: DEFAULT_BURST, resetSeconds: 1, retryAfterSeconds: 0 };
      }
      const nowMs = clock.nowMs();
      const intervalMs = 3_600_000 / fault.perHour;
      const after = Math.max(fullAt.get(address) ?? 0, nowMs) + intervalMs;
      const waitMs = after - nowMs - intervalMs * (fault.burst + 1);
      const isRefused = waitMs > 0;
      if (!isRefused) fullAt.set(address, after);
      const full = isRefused ? after - intervalMs : after;
      return {
        isRefused,
        limit: fault.burst + 1,
        remaining: Math.max(0, Math.floor(-waitMs / intervalMs)),
        resetSeconds: Math.ceil((full - nowMs) / 1000),
        retryAfterSeconds: Math.max(0, Math.ceil(waitMs / 1000)),
      };
    },
  };
}

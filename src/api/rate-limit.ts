/** Counts requests by key (an account, a client address) in this process. A key's minute begins with its first request. */
import type { Clock } from '../kit/clock.js';

const WINDOW_MS = 60_000;
/** Beyond them the oldest windows are forgotten: strangers with many addresses must not fill the memory. */
const MAX_KEYS = 100_000;

/** Counts `requests` (1 by default) for the key; a negative number takes back what was counted before its work, and turned out not to count. @returns 0 when they
 *  are within the limit, else the seconds to wait */
type RateLimit = (key: string, requests?: number) => number;

/** @param perMinute 0 turns the limit off */
export function createRateLimit(perMinute: number, clock: Pick<Clock, 'nowMs'>): RateLimit {
  if (perMinute === 0) return () => 0;
  const windows = new Map<string, { endsAtMs: number; count: number }>();
  let sweepAtMs = 0;

  const sweep = (nowMs: number) => {
    for (const [key, { endsAtMs }] of windows) if (endsAtMs <= nowMs) windows.delete(key);
    sweepAtMs = nowMs + WINDOW_MS;
  };
  const windowOf = (key: string, nowMs: number) => {
    const known = windows.get(key);
    // A window that ends later than any can began before the clock was set back.
    if (known && known.endsAtMs > nowMs && known.endsAtMs <= nowMs + WINDOW_MS) return known;
    const window = { endsAtMs: nowMs + WINDOW_MS, count: 0 };
    // Deleted first, so that the map stays in the order in which windows began.
    windows.delete(key);
    windows.set(key, window);
    if (windows.size > MAX_KEYS) windows.delete(windows.keys().next().value!);
    return window;
  };

  return (key, requests = 1) => {
    const nowMs = clock.nowMs();
    if (nowMs >= sweepAtMs) sweep(nowMs);
    const window = windowOf(key, nowMs);
    window.count = Math.max(0, window.count + requests);
    return window.count > perMinute ? Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000)) : 0;
  };
}

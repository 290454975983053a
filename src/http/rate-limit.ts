/** The request limit of each API key, counted in this process: a minute begins with a key's first request. */
import type { Clock } from '../clock.js';

const WINDOW_MS = 60_000;

/** `perMinute` 0 turns the limit off. The function that it returns counts one request, and answers 0 or the seconds to wait. */
export function createRateLimit(perMinute: number, clock: Clock): (keyId: string) => number {
  if (perMinute === 0) return () => 0;
  let windows = new Map<string, { endsAtMs: number; count: number }>();
  let sweepAtMs = 0;

  return (keyId) => {
    const nowMs = clock.nowMs();
    if (nowMs >= sweepAtMs) {
      windows = new Map([...windows].filter(([, window]) => window.endsAtMs > nowMs));
      sweepAtMs = nowMs + WINDOW_MS;
    }
    const window = windows.get(keyId);
    // One that ends later than any can began before the clock was set back.
    if (!window || window.endsAtMs <= nowMs || window.endsAtMs > nowMs + WINDOW_MS) {
      windows.set(keyId, { endsAtMs: nowMs + WINDOW_MS, count: 1 });
      return 0;
    }
    window.count += 1;
    return window.count > perMinute ? Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000)) : 0;
  };
}

/** A loop of steps with rests between them, which a wake-up cuts short. */
import type { Clock } from './clock.js';

interface Loop {
  /** Takes the next step now, or another one after the current step. */
  wake: () => void;
  /** Takes steps until the signal aborts. Never rejects, unless `onError` throws. */
  run(signal: AbortSignal): Promise<void>;
}

export function createLoop({
  step,
  onError,
  clock,
}: {
  /** @param wasWoken since the last step began. @returns milliseconds until the next one; 0 for none */
  step: (signal: AbortSignal, wasWoken: boolean) => Promise<number>;
  /** @returns milliseconds until the next step, which no wake-up cuts short */
  onError: (error: unknown) => number | Promise<number>;
  clock: Pick<Clock, 'sleep'>;
}): Loop {
  let isWoken = false;
  let nap: AbortController | null = null;
  const wake = () => {
    isWoken = true;
    nap?.abort();
  };

  async function rest(ms: number): Promise<void> {
    if (ms === 0 || isWoken) return;
    nap = new AbortController();
    await clock.sleep(ms, nap.signal);
    nap = null;
  }

  return {
    wake,
    async run(signal) {
      signal.addEventListener('abort', wake, { once: true });
      while (!signal.aborted) {
        const wasWoken = isWoken;
        isWoken = false;
        try {
          const restMs = await step(signal, wasWoken);
          if (!signal.aborted) await rest(restMs);
        } catch (error) {
          if (!signal.aborted) await clock.sleep(await onError(error), signal);
        }
      }
      signal.removeEventListener('abort', wake);
    },
  };
}

import type { Clock } from './clock.js';

/** Repeats a step, first after `ms`, until the signal aborts. Errors go to `onError` and do not end it. */
export async function every(
  ms: number,
  act: () => Promise<unknown>,
  { clock, signal, onError }: { clock: Pick<Clock, 'sleep'>; signal: AbortSignal; onError: (error: unknown) => void },
): Promise<void> {
  for (;;) {
    await clock.sleep(ms, signal);
    if (signal.aborted) return;
    await act().catch(onError);
  }
}

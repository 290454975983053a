import type { Clock } from '../clock.js';

/** Does something again and again, first after `ms`, until the signal aborts. What it throws goes to `onError`, and it goes on. */
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

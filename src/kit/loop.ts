/** Repetition and wake-ups inside one process: a loop of steps with rests between them, which a
 *  wake-up cuts short. */
import type { Clock } from './clock.js';

/** Repeats a step, first after `ms`, until the signal aborts. Errors go to `onError` and do not
 *  end it. */
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

/** Wake-ups inside one process. A signal only saves a wait: its listeners also look by themselves,
 *  at their interval, so a signal that is never raised, as when another process stored something,
 *  costs time and loses nothing. Any number of sources may raise the same one. */
interface Signal {
  raise: () => void;
  on(listener: () => void): void;
}

/** The signals of a process. */
export interface Signals {
  /** Events, or replays of them, wait for their numbers and deliveries. */
  eventsStored: Signal;
  /** Deliveries have become due. */
  deliveriesDue: Signal;
  /** Proofs of payments were asked for. */
  proofsAsked: Signal;
}

export const createSignals = (): Signals => ({
  eventsStored: createSignal(),
  deliveriesDue: createSignal(),
  proofsAsked: createSignal(),
});

function createSignal(): Signal {
  const listeners: (() => void)[] = [];
  return {
    raise: () => {
      for (const listener of listeners) listener();
    },
    on: (listener) => void listeners.push(listener),
  };
}

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
  /** @param wasWoken since the last step began. @returns milliseconds until the next one; 0
   *  for none */
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

/** What ends the reads of a list, also in MongoDB, wherever in the stores they are. */
import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<AbortSignal>();

/** Reads of lists within `work` end with the signal. @throws its reason */
export const readingUntil = <T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> => current.run(signal, work);

/** The option of such a read. */
export const untilEnd = (): { signal?: AbortSignal } => {
  const signal = current.getStore();
  return signal ? { signal } : {};
};

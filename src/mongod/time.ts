/** Real time: these processes outlive any clock that a test could advance. */
import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after `ms`, or at once (never rejects) when the signal aborts. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined);
}

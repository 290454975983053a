/** Work that one process does at a time, under a lease that is renewed while it lasts. A lease only saves work: the data sees to it that nothing is done twice. */
import type { Logger } from 'pino';
import type { Clock } from './clock.js';
import { every } from './every.js';
import type { LeaseStore } from './leases.js';

const RENEWALS = 3;

interface Lease {
  leases: Pick<LeaseStore, 'hold' | 'release'>;
  name: string;
  /** Unique per process. */
  holder: string;
  /** After a crash, other processes wait this long. */
  ms: number;
  clock: Pick<Clock, 'sleep'>;
  log: Logger;
}

/** Takes the lease, works, and gives it back.
 *  @param work ends soon after `held` aborts: with the signal, or when another process has the lease
 *  @returns null when another process has the lease. @throws what the work rejects with, or MongoDB when the lease is taken */
export async function whileHeld<T>(
  { leases, name, holder, ms, clock, log }: Lease,
  signal: AbortSignal,
  work: (held: AbortSignal) => Promise<T>,
): Promise<T | null> {
  if (!(await leases.hold(name, holder, ms))) return null;
  const over = new AbortController();
  const held = AbortSignal.any([signal, over.signal]);
  const renew = async () => {
    if (!(await leases.hold(name, holder, ms))) over.abort();
  };
  const onError = (err: unknown) => log.warn({ err, lease: name }, 'lease not renewed');
  const renewing = every(ms / RENEWALS, renew, { clock, signal: over.signal, onError });
  try {
    return await work(held);
  } finally {
    over.abort();
    await renewing;
    // Where MongoDB is away, the lease ends by itself.
    await leases.release(name, holder).catch(() => undefined);
  }
}

/** Ends the transactions that dead processes have left open. Each process has a lease of its own
 *  that says that it lives, and beside it stand the sessions of its transactions, stored before
 *  they are used. When the lease has ended, any other process ends these transactions. */
import type { Logger } from 'pino';
import type { MonotonicClock } from './clock.js';
import type { LeaseStore, SessionId } from './leases.js';
import { createLoop } from './loop.js';

/** With the time between two looks, this is how long a dead process's documents stay locked. */
const LEASE_MS = 4000;
const LOOK_MS = 1000;
/** The driver takes the session that was used last: more are never in use at once. */
const MAX_SESSIONS = 1000;

export interface Lifeline {
  /** Resolves once other processes know the session. */
  note(id: SessionId): Promise<void>;
  close(): Promise<void>;
}

interface LifelineDeps {
  leases: Pick<LeaseStore, 'live' | 'endTransactionsOfTheDead' | 'release'>;
  /** Unique per process. */
  process: string;
  /** Called with null when the lease was renewed, else with the error: every second a write shows
   *  whether MongoDB takes any. */
  onRenewal: (error: unknown) => void;
  clock: Pick<MonotonicClock, 'sleep'>;
  log: Logger;
}

export function startLifeline({ leases, process, onRenewal, clock, log }: LifelineDeps): Lifeline {
  const closing = new AbortController();
  /** By their ids, the one used last at the end. */
  const sessions = new Map<string, SessionId>();
  let writing: Promise<void> = Promise.resolve();
  let next: Promise<void> | null = null;

  /** One write at a time, so that none brings back an older list; those that wait share
   *  the next. */
  function live(): Promise<void> {
    next ??= writing.then(() => {
      next = null;
      const written = leases.live(process, LEASE_MS, [...sessions.values()]);
      writing = written.then(() => onRenewal(null), onRenewal);
      return written;
    });
    return next;
  }

  const step = async () => {
    await live();
    const dead = await leases.endTransactionsOfTheDead(LEASE_MS);
    if (dead.length > 0) log.info({ dead }, 'the transactions of processes that have died are ended');
    return LOOK_MS;
  };
  const onError = (err: unknown) => {
    log.warn({ err }, 'the transactions of dead processes are not looked for; trying again');
    return LOOK_MS;
  };
  const running = createLoop({ step, onError, clock }).run(closing.signal);

  return {
    async note(id) {
      const key = id.toString('hex');
      const isKnown = sessions.delete(key);
      sessions.set(key, id);
      if (isKnown) return;
      if (sessions.size > MAX_SESSIONS) sessions.delete(sessions.keys().next().value!);
      try {
        await live();
      } catch (error) {
        sessions.delete(key);
        throw error;
      }
    },
    async close() {
      closing.abort();
      await running;
      await writing;
      // Where MongoDB is away, the lease ends by itself.
      await leases.release(`process:${process}`, process).catch(() => undefined);
    },
  };
}

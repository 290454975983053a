/** Ends what a caller waits for (streams, waiting pulls, downloads) when the caller may call no
 *  more: the API key is revoked, replaced or expired, the session or its user has ended or changed.
 *  One query of each kind covers all that is open in the process. */
import type { Logger } from 'pino';
import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { ApiKeyStore } from './api-keys.js';
import type { SessionStore } from './sessions.js';
import type { UserStore } from './user-store.js';

/** Open answers end within 2 s. */
const LOOK_MS = 1000;
const ASKED_AT_ONCE = 1000;

export type KeyWatch = ReturnType<typeof createKeyWatch>;
/** Calls `end` soon after the caller may call no more. @returns a function that ends the watch */
export type WatchCaller = KeyWatch['watch'];

interface KeyWatchDeps {
  apiKeys: Pick<ApiKeyStore, 'workingOf'>;
  sessions: Pick<SessionStore, 'unendedOf'>;
  users: Pick<UserStore, 'revisionsOf'>;
  clock: Clock;
  log: Logger;
}

/** Hashes of tokens, with whom to tell of their end. */
function createWatched(workingOf: (hashes: readonly string[]) => Promise<readonly string[]>) {
  const watched = new Map<string, Set<() => void>>();
  return {
    size: () => watched.size,
    add(hash: string, end: () => void): () => void {
      const own = watched.get(hash) ?? new Set();
      watched.set(hash, own.add(end));
      return () => {
        own.delete(end);
        if (own.size === 0 && watched.get(hash) === own) watched.delete(hash);
      };
    },
    async look(): Promise<void> {
      const hashes = [...watched.keys()];
      for (let from = 0; from < hashes.length; from += ASKED_AT_ONCE) {
        const some = hashes.slice(from, from + ASKED_AT_ONCE);
        const working = new Set(await workingOf(some));
        for (const hash of some) if (!working.has(hash)) for (const end of [...(watched.get(hash) ?? [])]) end();
      }
    },
  };
}

export function createKeyWatch({ apiKeys, sessions, users, clock, log }: KeyWatchDeps) {
  async function workingSessions(hashes: readonly string[]): Promise<string[]> {
    const found = await sessions.unendedOf(hashes, clock.now());
    const revisions = await users.revisionsOf(found.flatMap(({ userId }) => userId ?? []));
    return found
      .filter(({ userId, userRevision }) => userId === undefined || revisions.get(userId) === userRevision)
      .map(({ _id }) => _id);
  }
  const keys = createWatched((hashes) => apiKeys.workingOf(hashes, clock.now()));
  const ofSessions = createWatched(workingSessions);
  const closing = new AbortController();
  let looking: Promise<void> | null = null;

  /** Runs while anything is watched. */
  async function lookOn(): Promise<void> {
    while (keys.size() + ofSessions.size() > 0 && !closing.signal.aborted) {
      await clock.sleep(LOOK_MS, closing.signal);
      if (closing.signal.aborted) break;
      // If the query fails, answers stay open: without the database they show nothing either.
      await Promise.all([keys.look(), ofSessions.look()]).catch((err) =>
        log.warn({ err }, 'callers of open answers not looked up'),
      );
    }
    looking = null;
  }

  return {
    watch({ keyHash, sessionHash }: Pick<Caller, 'keyHash' | 'sessionHash'>, end: () => void): () => void {
      const unwatch = [
        ...(keyHash === undefined ? [] : [keys.add(keyHash, end)]),
        ...(sessionHash === undefined ? [] : [ofSessions.add(sessionHash, end)]),
      ];
      if (unwatch.length > 0) looking ??= lookOn();
      return () => {
        for (const each of unwatch) each();
      };
    },
    async close(): Promise<void> {
      closing.abort();
      await looking;
    },
  };
}

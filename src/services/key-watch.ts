/** Ends open answers whose API key is revoked, replaced or expired. One query covers all open answers of the process. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import type { ApiKeyStore } from '../stores/api-keys.js';

/** Open answers end within 5 s of their key's end. */
const LOOK_MS = 2000;
const KEYS_PER_QUERY = 1000;

export type KeyWatch = ReturnType<typeof createKeyWatch>;

export function createKeyWatch(deps: { apiKeys: Pick<ApiKeyStore, 'workingOf'>; clock: Clock; log: Logger }) {
  const { apiKeys, clock, log } = deps;
  const watched = new Map<string, Set<() => void>>();
  const closing = new AbortController();
  let looking: Promise<void> | null = null;

  async function look(): Promise<void> {
    const hashes = [...watched.keys()];
    for (let from = 0; from < hashes.length; from += KEYS_PER_QUERY) {
      const some = hashes.slice(from, from + KEYS_PER_QUERY);
      const working = new Set(await apiKeys.workingOf(some, clock.now()));
      for (const hash of some) if (!working.has(hash)) for (const end of [...(watched.get(hash) ?? [])]) end();
    }
  }

  /** Runs while anything is watched. */
  async function lookOn(): Promise<void> {
    while (watched.size > 0 && !closing.signal.aborted) {
      await clock.sleep(LOOK_MS, closing.signal);
      // If the query fails, answers stay open: without the database they show nothing either.
      if (!closing.signal.aborted) await look().catch((err) => log.warn({ err }, 'keys of open streams not looked up'));
    }
    looking = null;
  }

  return {
    /** Calls `end` soon after the key with this hash stops working. @returns a function that ends the watch */
    watch(hash: string, end: () => void): () => void {
      const own = watched.get(hash) ?? new Set();
      watched.set(hash, own.add(end));
      looking ??= lookOn();
      return () => {
        own.delete(end);
        if (own.size === 0 && watched.get(hash) === own) watched.delete(hash);
      };
    },
    async close(): Promise<void> {
      closing.abort();
      await looking;
    },
  };
}

/** Who calls: an API key's owner and scope. Every look-up goes to the database, so a revoked, rotated or expired key is unknown at once in every process. */
import type { Logger } from 'pino';
import type { Clock } from '../clock.js';
import { hashApiKey, isApiKey } from '../domain/api-key.js';
import type { ApiKeyGrant, ApiKeyStore } from '../stores/api-keys.js';
import type { Caller } from './caller.js';

/** `lastUsedAt` is at most this much behind. */
const USE_RECORDED_EVERY_MS = 60_000;

export type Authentication = ReturnType<typeof createAuthentication>;

export function createAuthentication(deps: { apiKeys: ApiKeyStore; clock: Clock; log: Logger }) {
  const { apiKeys, clock, log } = deps;
  const recording = new Map<string, Promise<void>>();

  /** In the background: no request waits for it, and none fails with it. */
  function recordUse({ _id, accountId, lastUsedAt }: ApiKeyGrant, now: Date): void {
    const isRecent = lastUsedAt !== null && now.getTime() - lastUsedAt.getTime() < USE_RECORDED_EVERY_MS;
    if (isRecent || recording.has(_id)) return;
    const done = apiKeys
      .markUsed(accountId, _id, now)
      .catch((error: unknown) => log.warn({ err: error, keyId: _id }, 'use of an API key not recorded'))
      .finally(() => recording.delete(_id));
    recording.set(_id, done);
  }

  return {
    /** `token`: what follows `Bearer `. Null: no such key, or one that has expired. */
    async authenticate(token: string): Promise<Caller | null> {
      if (!isApiKey(token)) return null;
      const grant = await apiKeys.grantOf(hashApiKey(token));
      const now = clock.now();
      if (!grant || (grant.expiresAt !== null && grant.expiresAt <= now)) return null;
      recordUse(grant, now);
      return { accountId: grant.accountId, keyId: grant._id, scope: grant.scope };
    },

    /** Resolves when nothing is being recorded any more. */
    async close(): Promise<void> {
      await Promise.all(recording.values());
    },
  };
}

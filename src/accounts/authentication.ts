/** Authentication: the owner and scope of an API key. Keys are cached briefly
 *  (`KEY_REMEMBERED_MS`); revocation and rotation wait that long before they answer, so that no
 *  process accepts the old key afterwards. */
import type { Logger } from 'pino';
import type { Caller } from '../kit/caller.js';
import { type Clock, monotonicMs } from '../kit/clock.js';
import type { ForAccount } from '../stores.js';
import { hashApiKey, isApiKey, KEY_REMEMBERED_MS } from './api-key.js';
import type { ApiKeyGrant, ApiKeyStore } from './api-keys.js';

/** `lastUsedAt` is at most this much behind. */
const USE_RECORDED_EVERY_MS = 60_000;
const MAX_REMEMBERED = 10_000;

export type Authentication = ReturnType<typeof createAuthentication>;

export function createAuthentication(deps: {
  apiKeys: Pick<ApiKeyStore, 'grantOf'>;
  forAccount: ForAccount<'apiKeys'>;
  clock: Clock;
  log: Logger;
  rememberedMs?: number;
}) {
  const { apiKeys, forAccount, clock, log, rememberedMs = KEY_REMEMBERED_MS } = deps;
  /** By hash, oldest first. Dated by the request, because the answer may be as old. */
  const remembered = new Map<string, { askedMs: number; grant: Promise<ApiKeyGrant | null> }>();
  const recording = new Map<string, Promise<void>>();

  function grantOf(hash: string): Promise<ApiKeyGrant | null> {
    const known = remembered.get(hash);
    const askedMs = monotonicMs();
    if (known && askedMs - known.askedMs < rememberedMs) return known.grant;
    const grant = apiKeys.grantOf(hash);
    remembered.delete(hash);
    remembered.set(hash, { askedMs, grant });
    if (remembered.size > MAX_REMEMBERED) remembered.delete(remembered.keys().next().value!);
    const forget = () => void (remembered.get(hash)?.grant === grant && remembered.delete(hash));
    // Unknown keys and failed look-ups are not cached.
    grant.then((found) => found ?? forget(), forget);
    return grant;
  }

  /** In the background: requests neither wait for it nor fail with it. */
  function recordUse(grant: ApiKeyGrant, now: Date): void {
    const { _id, lastUsedAt } = grant;
    const isRecent = lastUsedAt !== null && now.getTime() - lastUsedAt.getTime() < USE_RECORDED_EVERY_MS;
    if (!isRecent && !recording.has(_id)) recording.set(_id, markUsed(grant, now));
  }

  async function markUsed(grant: ApiKeyGrant, now: Date): Promise<void> {
    const { _id, accountId } = grant;
    try {
      await forAccount(accountId).apiKeys.markUsed(_id, now);
      grant.lastUsedAt = now;
    } catch (error) {
      log.warn({ err: error, keyId: _id }, 'use of an API key not recorded');
    } finally {
      recording.delete(_id);
    }
  }

  async function authenticateHash(hash: string): Promise<Caller | null> {
    const grant = await grantOf(hash);
    const now = clock.now();
    if (!grant || (grant.expiresAt !== null && grant.expiresAt <= now)) return null;
    recordUse(grant, now);
    return { accountId: grant.accountId, keyId: grant._id, keyName: grant.name, scope: grant.scope, keyHash: hash };
  }

  return {
    /** `token`: the part after `Bearer `. Null for an unknown or expired key. */
    authenticate: async (token: string): Promise<Caller | null> =>
      isApiKey(token) ? authenticateHash(hashApiKey(token)) : null,

    /** The same for the hash of a key, as sessions keep it. */
    authenticateHash,

    /** Resolves when all pending uses are recorded. */
    async close(): Promise<void> {
      await Promise.all(recording.values());
    },
  };
}

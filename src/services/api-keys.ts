/** API keys of the caller's account. The full key is in the answer that made it and nowhere else. */
import type { Contract } from '../../contracts/index.js';
import type { Clock } from '../clock.js';
import { hashApiKey, maskApiKey, newApiKey } from '../domain/api-key.js';
import { conflict, invalid, notFound } from '../domain/failure.js';
import type { NewId } from '../domain/ids.js';
import type { ApiKeyDoc, ApiKeysStore } from '../stores/api-keys.js';
import type { ServiceOf } from './caller.js';

export function createApiKeysService(deps: {
  apiKeys: ApiKeysStore;
  clock: Clock;
  newId: NewId;
}): ServiceOf<Contract['apiKeys']> {
  const { apiKeys, clock, newId } = deps;
  const makeKey = () => {
    const key = newApiKey(clock);
    return { key, kept: { hash: hashApiKey(key), keyMasked: maskApiKey(key) } };
  };

  return {
    create: async (caller, { name, scope, expiresAt }) => {
      const now = clock.now();
      const expiry = expiresAt == null ? null : new Date(expiresAt);
      if (expiry && expiry <= now) {
        throw invalid({ path: 'expiresAt', message: 'Must be in the future.', code: 'too_small' });
      }
      const { key, kept } = makeKey();
      const id = caller.reservedId?.('key') ?? newId('key');
      const doc = { _id: id, name, scope, ...kept, lastUsedAt: null, expiresAt: expiry, createdAt: now };
      await apiKeys.put(caller.accountId, doc);
      return { ...toApiKey(doc), key };
    },

    list: async ({ accountId }, request) => {
      const { items, meta } = await apiKeys.list(accountId, request);
      return { items: items.map(toApiKey), meta };
    },

    rotate: async ({ accountId }, { id }) => {
      const { key, kept } = makeKey();
      const doc = await apiKeys.replaceKey(accountId, id, kept);
      if (!doc) throw notFound('API key');
      return { ...toApiKey(doc), key };
    },

    delete: async ({ accountId }, { id }) => {
      const outcome = await apiKeys.revoke(accountId, id, clock.now());
      if (outcome === 'unknown') throw notFound('API key');
      if (outcome === 'last_full') throw conflict('The last FULL key of an account cannot be revoked.');
      return { id, deleted: true };
    },
  };
}

export const toApiKey = (key: Omit<ApiKeyDoc, 'accountId'>) => ({
  id: key._id,
  name: key.name,
  scope: key.scope,
  keyMasked: key.keyMasked,
  lastUsedAt: key.lastUsedAt?.toISOString() ?? null,
  expiresAt: key.expiresAt?.toISOString() ?? null,
  createdAt: key.createdAt.toISOString(),
});

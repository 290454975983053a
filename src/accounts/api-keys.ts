/** API keys of the caller's account. A full key appears only in the answer that made it. */
import type { Contract } from '../../contracts/index.js';
import { mask } from '../domain/signature.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import { type Clock, systemClock } from '../kit/clock.js';
import type { NewId } from '../kit/ids.js';
import type { ForAccount } from '../stores.js';
import { hashApiKey, KEY_REMEMBERED_MS, newApiKey } from './api-key.js';
import type { ApiKeyDoc } from './api-key-store.js';
import type { Commit } from './commit.js';
import type { Quota } from './quota.js';

type Service = ServiceOf<Contract['apiKeys']>;

interface ApiKeyServiceDeps {
  forAccount: ForAccount<'apiKeys'>;
  commit: Commit;
  clock: Clock;
  newId: NewId;
  /** How long authentication remembers a key, on every process of this database. Milliseconds. */
  rememberedMs?: number;
  quota: Quota;
}

export function createApiKeyService(deps: ApiKeyServiceDeps): Service {
  const { forAccount, commit, clock, rememberedMs = KEY_REMEMBERED_MS } = deps;
  /** Resolves when no process remembers the earlier state. Measured as a duration, because clocks differ. */
  const untilForgotten = () => systemClock.sleep(rememberedMs * 1.2);

  return {
    create: create(deps),
    list: list(deps),

    async rotate(caller, { id }) {
      const { apiKeys } = forAccount(caller.accountId);
      const old = await apiKeys.byId(id);
      if (!old) throw notFound('API key');
      const { key, kept } = make(deps);
      const expiresAt = await endFor(deps, caller, old.expiresAt);
      const apiKey = await commit({ caller, subjectId: id }, (session) =>
        apiKeys.replaceKey(id, { ...kept, expiresAt }, session),
      );
      if (!apiKey) throw notFound('API key');
      await untilForgotten();
      return { ...toApiKey(apiKey), key };
    },

    async delete(caller, { id }) {
      const { apiKeys } = forAccount(caller.accountId);
      const now = clock.now();
      await commit({ caller, subjectId: id }, async (session) => {
        const apiKey = await apiKeys.byId(id, session);
        if (!apiKey) throw notFound('API key');
        const works = apiKey.expiresAt === null || apiKey.expiresAt > now;
        if (apiKey.scope === 'FULL' && works && !(await apiKeys.spareAnother(id, now, session))) {
          throw conflict('The last FULL key of an account cannot be revoked: create another one first, or rotate it.');
        }
        await apiKeys.remove(id, session);
      });
      await untilForgotten();
      return { id, deleted: true };
    },
  };
}

const make = ({ clock }: ApiKeyServiceDeps) => {
  const key = newApiKey(clock);
  return { key, kept: { hash: hashApiKey(key), keyMasked: mask(key) } };
};

/** The expiry of a new key: never later than that of the caller's own. An administrator has no key, so no limit. */
const endFor = async (
  { forAccount }: ApiKeyServiceDeps,
  { accountId, keyId }: Caller,
  wanted: Date | null,
): Promise<Date | null> => {
  const latest = (await forAccount(accountId).apiKeys.byId(keyId))?.expiresAt ?? null;
  return latest !== null && (wanted === null || wanted > latest) ? latest : wanted;
};

const create =
  (deps: ApiKeyServiceDeps): Service['create'] =>
  async (caller, { name, scope, expiresAt }) => {
    const { forAccount, newId, clock, quota } = deps;
    const { accountId, reservedId } = caller;
    const { apiKeys } = forAccount(accountId);
    const { key, kept } = make(deps);
    const apiKey: ApiKeyDoc = {
      _id: (reservedId ?? newId)('key'),
      accountId,
      name,
      scope,
      ...kept,
      lastUsedAt: null,
      expiresAt: await endFor(deps, caller, expiresAt ? new Date(expiresAt) : null),
      sparedCount: 0,
      createdAt: clock.now(),
    };
    // A creation repeated after a crash finds its key, with its activity recorded, and replaces it.
    const isMade = reservedId !== undefined && (await apiKeys.byId(apiKey._id)) !== null;
    if (isMade) await apiKeys.save(apiKey);
    else await quota({ caller, subjectId: apiKey._id }, (session) => apiKeys.save(apiKey, session));
    return { ...toApiKey(apiKey), key };
  };

const list =
  ({ forAccount }: ApiKeyServiceDeps): Service['list'] =>
  async ({ accountId }, request) => {
    const { apiKeys } = forAccount(accountId);
    const { items, meta } = await apiKeys.list(request);
    return { items: items.map(toApiKey), meta };
  };

const toApiKey = (apiKey: ApiKeyDoc) => ({
  id: apiKey._id,
  name: apiKey.name,
  scope: apiKey.scope,
  keyMasked: apiKey.keyMasked,
  lastUsedAt: apiKey.lastUsedAt?.toISOString() ?? null,
  expiresAt: apiKey.expiresAt?.toISOString() ?? null,
  createdAt: apiKey.createdAt.toISOString(),
});

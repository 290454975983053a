/** API keys of the caller's account. A full key appears only in the answer that made it. */
import type mongoose from 'mongoose';
import type { Contract } from '../../contracts/index.js';
import { mask } from '../domain/signature.js';
import { conflict, notFound } from '../kit/api-error.js';
import type { Caller, ServiceOf } from '../kit/caller.js';
import { type Clock, systemClock } from '../kit/clock.js';
import { type DocOf, define, nullable, openCollection, text } from '../kit/collection.js';
import type { Session } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { createPages, type PageRequest, pageOf } from '../kit/paging.js';
import { createLookup } from '../kit/tick-loader.js';
import type { ForAccount } from '../stores.js';
import type { Quota } from './account.js';
import { hashApiKey, KEY_REMEMBERED_MS, newApiKey } from './api-key.js';
import type { Commit } from './commit.js';

/** The fields that authentication needs. */
const GRANT = { hash: 1, accountId: 1, name: 1, scope: 1, lastUsedAt: 1, expiresAt: 1 } as const;
export type ApiKeyGrant = Pick<ApiKeyDoc, '_id' | keyof typeof GRANT>;

// API keys, valid or expired; revoking deletes the document. Only hashes are stored, never keys.

const API_KEYS = define(
  'api-keys',
  {
    _id: String,
    accountId: String,
    name: String,
    scope: text<'FULL' | 'READ'>(),
    /** SHA-256 of the key, hex. */
    hash: String,
    keyMasked: String,
    lastUsedAt: nullable(Date),
    expiresAt: nullable(Date),
    /** Counts revocations of other keys that relied on this one to remain. */
    sparedCount: Number,
    createdAt: Date,
  },
  [{ key: { hash: 1 }, unique: true }, { key: { accountId: 1, _id: -1 } }],
);

interface ApiKeyDoc extends DocOf<typeof API_KEYS> {}

/** What works across accounts: for authentication and administration, which do not know the
 *  account yet. */
export type ApiKeyStore = ReturnType<typeof createApiKeyStore>['system'];

export function createApiKeyStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const keys = openCollection<ApiKeyDoc>(connection, API_KEYS);
  const page = createPages(keys);
  const working = (now: Date): mongoose.mongo.Filter<ApiKeyDoc> => ({
    $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }],
  });
  return { keys, page, working };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ keys, page, working }: Opened, accountId: string) => ({
  /** Stores the key as this account's, replacing one with the same id, so that a creation repeated
   *  after a crash returns a working key. */
  async save(key: ApiKeyDoc, session?: Session): Promise<void> {
    await keys.replaceOne(
      { _id: key._id, accountId },
      { ...key, accountId },
      {
        upsert: true,
        session,
      },
    );
  },
  count: (session: Session) => keys.countDocuments({ accountId }, { session }),
  byId: (id: string, session?: Session) => keys.findOne({ _id: id, accountId }, { session }),
  list: (request: PageRequest) => page({ accountId }, request),

  /** Replaces the key's hash; the old key stops working. */
  replaceKey: (id: string, key: Pick<ApiKeyDoc, 'hash' | 'keyMasked' | 'expiresAt'>, session?: Session) =>
    keys.findOneAndUpdate(
      { _id: id, accountId },
      { $set: { ...key, lastUsedAt: null } },
      { returnDocument: 'after', session },
    ),
  /** Writes to a working FULL key other than `id`, so that removing that key concurrently
   *  conflicts. False when there is none. */
  async spareAnother(id: string, now: Date, session: Session): Promise<boolean> {
    const { matchedCount } = await keys.updateOne(
      { accountId, _id: { $ne: id }, scope: 'FULL', ...working(now) },
      { $inc: { sparedCount: 1 } },
      { session },
    );
    return matchedCount === 1;
  },
  async remove(id: string, session: Session): Promise<void> {
    await keys.deleteOne({ _id: id, accountId }, { session });
  },
  async markUsed(id: string, at: Date): Promise<void> {
    await keys.updateOne({ _id: id, accountId }, { $max: { lastUsedAt: at } });
  },
});

const ofAllAccounts = ({ keys, working }: Opened) => ({
  grantOf: createLookup(
    (hashes) => keys.find<ApiKeyGrant>({ hash: { $in: hashes } }, { projection: GRANT }).toArray(),
    ({ hash }) => hash,
  ),
  /** Those of these hashes whose keys work at `now`. */
  async workingOf(hashes: readonly string[], now: Date): Promise<string[]> {
    const found = await keys
      .find({ hash: { $in: hashes }, ...working(now) })
      .project({ hash: 1 })
      .toArray();
    return found.map(({ hash }) => hash);
  },
  async ownerOf(id: string): Promise<string | null> {
    const key = await keys.findOne({ _id: id }, { projection: { accountId: 1 } });
    return key?.accountId ?? null;
  },
});

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
  /** Resolves when no process remembers the earlier state. Measured as a duration, because
   *  clocks differ. */
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

/** The expiry of a new key: never later than that of the caller's own. An administrator has no key,
 *  so no limit. */
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
  async (caller, request) => {
    const { apiKeys } = forAccount(caller.accountId);
    const { items, meta } = await apiKeys.list(pageOf(caller, request));
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

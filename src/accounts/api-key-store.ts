/** API keys, valid or expired; revoking deletes the document. Only hashes are stored, never keys. */
import mongoose, { type QueryFilter } from 'mongoose';
import { makeIndexes, SCHEMA_OPTIONS, type Session } from '../kit/database.js';
import { createPages, type PageRequest } from '../kit/paging.js';

export interface ApiKeyDoc {
  _id: string;
  accountId: string;
  name: string;
  scope: 'FULL' | 'READ';
  /** SHA-256 of the key, hex. */
  hash: string;
  keyMasked: string;
  lastUsedAt: Date | null;
  expiresAt: Date | null;
  /** Counts revocations of other keys that relied on this one to remain. */
  sparedCount: number;
  createdAt: Date;
}

/** The fields that authentication needs. */
export type ApiKeyGrant = Pick<ApiKeyDoc, '_id' | 'accountId' | 'name' | 'scope' | 'lastUsedAt' | 'expiresAt'>;

const apiKeySchema = new mongoose.Schema<ApiKeyDoc>(
  {
    _id: String,
    accountId: String,
    name: String,
    scope: String,
    hash: String,
    keyMasked: String,
    lastUsedAt: { type: Date, default: null },
    expiresAt: { type: Date, default: null },
    sparedCount: Number,
    createdAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'api-keys' },
);
apiKeySchema.index({ hash: 1 }, { unique: true });
apiKeySchema.index({ accountId: 1, _id: -1 });

/** What works across accounts: for authentication and administration, which do not know the account yet. */
export type ApiKeyStore = ReturnType<typeof createApiKeyStore>['system'];

export function createApiKeyStore(connection: mongoose.Connection) {
  const opened = openModel(connection);
  return {
    ensureIndexes: () => makeIndexes(opened.keys),
    forAccount: (accountId: string) => ofAccount(opened, accountId),
    system: ofAllAccounts(opened),
  };
}

function openModel(connection: mongoose.Connection) {
  const keys = connection.model<ApiKeyDoc>('ApiKey', apiKeySchema);
  const page = createPages(keys);
  const working = (now: Date): QueryFilter<ApiKeyDoc> => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] });
  return { keys, page, working };
}

type Opened = ReturnType<typeof openModel>;

const ofAccount = ({ keys, page, working }: Opened, accountId: string) => ({
  /** Stores the key as this account's, replacing one with the same id, so that a creation repeated after a crash returns a working key. */
  async save(key: ApiKeyDoc, session?: Session): Promise<void> {
    await keys.collection.replaceOne({ _id: key._id as never, accountId }, { ...key, accountId } as never, {
      upsert: true,
      session,
    });
  },
  count: (session: Session) => keys.countDocuments({ accountId }, { session }).exec(),
  byId: (id: string, session?: Session) =>
    keys
      .findOne({ _id: id, accountId })
      .session(session ?? null)
      .lean<ApiKeyDoc>()
      .exec(),
  list: (request: PageRequest) => page({ accountId }, request),

  /** Replaces the key's hash; the old key stops working. */
  replaceKey: (id: string, key: Pick<ApiKeyDoc, 'hash' | 'keyMasked' | 'expiresAt'>, session?: Session) =>
    keys
      .findOneAndUpdate(
        { _id: id, accountId },
        { $set: { ...key, lastUsedAt: null } },
        { returnDocument: 'after', session },
      )
      .lean<ApiKeyDoc>()
      .exec(),
  /** Writes to a working FULL key other than `id`, so that removing that key concurrently conflicts. False when there is none. */
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
  grantOf: (hash: string) =>
    keys
      .findOne({ hash })
      .select({ accountId: 1, name: 1, scope: 1, lastUsedAt: 1, expiresAt: 1 })
      .lean<ApiKeyGrant>()
      .exec(),
  /** Those of these hashes whose keys work at `now`. */
  async workingOf(hashes: readonly string[], now: Date): Promise<string[]> {
    const found = await keys
      .find({ hash: { $in: hashes }, ...working(now) })
      .select({ hash: 1 })
      .lean<Pick<ApiKeyDoc, 'hash'>[]>();
    return found.map(({ hash }) => hash);
  },
  async ownerOf(id: string): Promise<string | null> {
    const key = await keys.findOne({ _id: id }).select({ accountId: 1 }).lean<ApiKeyDoc>();
    return key?.accountId ?? null;
  },
});

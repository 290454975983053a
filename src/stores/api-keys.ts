/** Collection `api_keys`: one document a key that works or has expired; a revoked key is gone. No key is in it, only hashes. */
import { type Connection, type QueryFilter, Schema } from 'mongoose';
import { type PageRequest, page } from './paging.js';

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
  createdAt: Date;
  /** How many revocations have counted on this key as the one that remains. */
  sparedBy?: number;
}

/** What a request is judged by. */
export type ApiKeyGrant = Pick<ApiKeyDoc, '_id' | 'accountId' | 'scope' | 'lastUsedAt' | 'expiresAt'>;

const schema = new Schema<ApiKeyDoc>(
  {
    _id: { type: String, required: true },
    accountId: { type: String, required: true },
    name: { type: String, required: true },
    scope: { type: String, required: true, enum: ['FULL', 'READ'] },
    hash: { type: String, required: true },
    keyMasked: { type: String, required: true },
    lastUsedAt: { type: Date, default: null },
    expiresAt: { type: Date, default: null },
    createdAt: { type: Date, required: true },
    sparedBy: Number,
  },
  { collection: 'api_keys', versionKey: false, autoIndex: false, autoCreate: false, strict: 'throw' },
);
schema.index({ hash: 1 }, { unique: true });
schema.index({ accountId: 1, _id: -1 });

const working = (now: Date): QueryFilter<ApiKeyDoc> => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] });
const works = ({ expiresAt }: ApiKeyDoc, now: Date) => expiresAt === null || expiresAt > now;

export type ApiKeysStore = ReturnType<typeof createApiKeysStore>;

export function createApiKeysStore(connection: Connection) {
  const model = connection.model<ApiKeyDoc>('ApiKey', schema);
  return {
    ensureIndexes: (): Promise<void> => model.createIndexes(),

    /** Puts the key in, in the place of one with the same id: a creation that is done again after a crash shows a key that works. */
    put: async (accountId: string, key: Omit<ApiKeyDoc, 'accountId'>): Promise<void> => {
      await model.replaceOne({ _id: key._id, accountId }, { ...key, accountId }, { upsert: true });
    },

    list: (accountId: string, request: PageRequest) => page(model, { accountId }, request),

    /** Gives the record a new key, not used yet. The old key is unknown from then on. */
    replaceKey: (
      accountId: string,
      id: string,
      key: Pick<ApiKeyDoc, 'hash' | 'keyMasked'>,
    ): Promise<ApiKeyDoc | null> =>
      model
        .findOneAndUpdate({ _id: id, accountId }, { $set: { ...key, lastUsedAt: null } }, { returnDocument: 'after' })
        .lean<ApiKeyDoc>()
        .exec(),

    /** Removes the key, unless it is the last FULL key of the account that works. Two revocations at a time cannot remove the last two:
     *  each writes to a key that it leaves, so one of them conflicts and is done again. */
    revoke: (accountId: string, id: string, now: Date): Promise<'revoked' | 'unknown' | 'last_full'> =>
      connection.transaction(async (session) => {
        const key = await model.findOne({ _id: id, accountId }, null, { session }).lean<ApiKeyDoc>();
        if (!key) return 'unknown';
        if (key.scope === 'FULL' && works(key, now)) {
          const other: QueryFilter<ApiKeyDoc> = { accountId, _id: { $ne: id }, scope: 'FULL', ...working(now) };
          const { matchedCount } = await model.updateOne(other, { $inc: { sparedBy: 1 } }, { session });
          if (matchedCount === 0) return 'last_full';
        }
        await model.deleteOne({ _id: id, accountId }, { session });
        return 'revoked';
      }),

    /** Of whatever account: who presents the key is its owner. */
    grantOf: (hash: string): Promise<ApiKeyGrant | null> =>
      model
        .findOne({ hash })
        .select({ accountId: 1, scope: 1, lastUsedAt: 1, expiresAt: 1 })
        .lean<ApiKeyGrant>()
        .exec(),

    /** For administration, which knows a key by its id alone. */
    ownerOf: async (id: string): Promise<string | null> =>
      (await model.findById(id).select({ accountId: 1 }).lean<ApiKeyDoc>())?.accountId ?? null,

    markUsed: async (accountId: string, id: string, at: Date): Promise<void> => {
      await model.updateOne({ _id: id, accountId }, { $max: { lastUsedAt: at } });
    },
  };
}

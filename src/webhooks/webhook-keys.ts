/** The key pairs that sign deliveries of all accounts. A signing key never changes: it ends some time after the next one begins to sign. */
import mongoose from 'mongoose';
import { isDuplicateKey, makeIndexes, SCHEMA_OPTIONS, type Session } from '../kit/database.js';

export interface WebhookKeyDoc {
  /** `whk_` and a serial number: of two processes making the next key at once, one succeeds. */
  _id: string;
  number: number;
  publicKey: string;
  /** The private key, sealed for this id. */
  sealed: string;
  /** When it began to sign. */
  createdAt: Date;
  /** While it does not sign yet: the last account told of it. */
  toldTo?: string;
}

const webhookKeySchema = new mongoose.Schema<WebhookKeyDoc>(
  {
    _id: String,
    number: Number,
    publicKey: String,
    sealed: String,
    createdAt: Date,
    toldTo: { type: String, required: false },
  },
  { ...SCHEMA_OPTIONS, collection: 'webhookKeys' },
);
webhookKeySchema.index({ number: -1 }, { unique: true });

/** MongoDB's filter for a missing field. */
const NONE = null as unknown as undefined;

export type WebhookKeyStore = ReturnType<typeof createWebhookKeyStore>;

export function createWebhookKeyStore(connection: mongoose.Connection) {
  const keys = connection.model<WebhookKeyDoc>('WebhookKey', webhookKeySchema);
  const collection = keys.collection as unknown as mongoose.mongo.Collection<WebhookKeyDoc>;
  return {
    ensureIndexes: () => makeIndexes(keys),
    /** Keys that sign or signed. */
    newest: (limit: number): Promise<WebhookKeyDoc[]> =>
      collection.find({ toldTo: NONE }).sort({ number: -1 }).limit(limit).toArray(),
    /** The key that does not sign yet; null for none. */
    coming: (): Promise<WebhookKeyDoc | null> => collection.findOne({ toldTo: { $ne: NONE } }),
    byId: (id: string): Promise<WebhookKeyDoc | null> => collection.findOne({ _id: id }),
    /** @returns false when another process has made a key with this number */
    async insert(key: WebhookKeyDoc): Promise<boolean> {
      try {
        await collection.insertOne(key);
        return true;
      } catch (error) {
        if (isDuplicateKey(error)) return false;
        throw error;
      }
    },
    /** Notes that more accounts were told. @returns false when another process has done so */
    async tell(id: string, from: string, to: string, session: Session): Promise<boolean> {
      const { matchedCount } = await collection.updateOne(
        { _id: id, toldTo: from },
        { $set: { toldTo: to } },
        { session },
      );
      return matchedCount === 1;
    },
    /** Activates it once all accounts were told. @returns false when another process has done so */
    async begin(id: string, from: string, createdAt: Date, session?: Session): Promise<boolean> {
      const begun = { $unset: { toldTo: 1 }, $set: { createdAt } } as const;
      const { matchedCount } = await collection.updateOne({ _id: id, toldTo: from }, begun, session ? { session } : {});
      return matchedCount === 1;
    },
  };
}

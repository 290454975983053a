/** The key pairs that sign deliveries of all accounts. A key is never changed: that a newer one was made, and when, says when it ends. */
import mongoose from 'mongoose';
import { isDuplicateKey, makeIndexes, SCHEMA_OPTIONS } from './database.js';

export interface WebhookKeyDoc {
  /** `whk_` and a number that counts up: two processes that make the next key at once meet in it. */
  _id: string;
  number: number;
  publicKey: string;
  /** The private key, sealed for this id. */
  sealed: string;
  createdAt: Date;
}

const webhookKeySchema = new mongoose.Schema<WebhookKeyDoc>(
  { _id: String, number: Number, publicKey: String, sealed: String, createdAt: Date },
  { ...SCHEMA_OPTIONS, collection: 'webhookKeys' },
);
webhookKeySchema.index({ number: -1 }, { unique: true });

export type WebhookKeyStore = ReturnType<typeof createWebhookKeyStore>;

export function createWebhookKeyStore(connection: mongoose.Connection) {
  const keys = connection.model<WebhookKeyDoc>('WebhookKey', webhookKeySchema);
  const collection = keys.collection as unknown as mongoose.mongo.Collection<WebhookKeyDoc>;
  return {
    ensureIndexes: () => makeIndexes(keys),
    newest: (limit: number): Promise<WebhookKeyDoc[]> => collection.find().sort({ number: -1 }).limit(limit).toArray(),
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
  };
}

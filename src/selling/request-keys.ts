/** The key pair that signs payment requests (SEP-7). There is one, and it never changes: wallets warn about a domain whose key changed. */
import mongoose from 'mongoose';
import { isDuplicateKey, makeIndexes, SCHEMA_OPTIONS } from '../kit/database.js';

export interface RequestKeyDoc {
  /** Constant, so that two processes making the key at once collide. */
  _id: 'rqk_1';
  /** G… address. */
  publicKey: string;
  /** The private key, sealed for this id. */
  sealed: string;
  createdAt: Date;
}

const requestKeySchema = new mongoose.Schema<RequestKeyDoc>(
  { _id: String, publicKey: String, sealed: String, createdAt: Date } as never,
  { ...SCHEMA_OPTIONS, collection: 'requestKeys' },
);

export type RequestKeyStore = ReturnType<typeof createRequestKeyStore>;

export function createRequestKeyStore(connection: mongoose.Connection) {
  const keys = connection.model<RequestKeyDoc>('RequestKey', requestKeySchema);
  const collection = keys.collection as unknown as mongoose.mongo.Collection<RequestKeyDoc>;
  return {
    ensureIndexes: () => makeIndexes(keys),
    find: (): Promise<RequestKeyDoc | null> => collection.findOne({ _id: 'rqk_1' }),
    /** Does nothing if another process has made it. */
    async insert(key: RequestKeyDoc): Promise<void> {
      try {
        await collection.insertOne(key);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },
  };
}

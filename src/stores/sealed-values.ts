/** Every sealed value of the database, wherever it lies: what has to be resealed when the secrets key changes. */
import type mongoose from 'mongoose';

export interface SealedValue {
  /** Id of the row that it was sealed for. */
  owner: string;
  sealed: string;
  /** False when the value has changed since it was read, or is gone. */
  replace(by: string): Promise<boolean>;
}

const BATCH = 100;

/** One after the other, read in batches. */
export async function* sealedValues(db: mongoose.mongo.Db): AsyncGenerator<SealedValue> {
  const installation = db.collection<{ _id: string; sealedProbe: string }>('installation');
  for await (const { _id, sealedProbe: sealed } of installation.find({})) {
    yield {
      owner: PROBE_OWNER,
      sealed,
      replace: async (by) =>
        (await installation.updateOne({ _id, sealedProbe: sealed }, { $set: { sealedProbe: by } })).modifiedCount > 0,
    };
  }
  for (const name of ['webhookKeys', 'requestKeys']) {
    const keys = db.collection<{ _id: string; sealed: string }>(name);
    const found = keys.find({}, { projection: { sealed: 1 }, batchSize: BATCH }).sort({ _id: 1 });
    for await (const { _id, sealed } of found) {
      yield {
        owner: _id,
        sealed,
        replace: async (by) => (await keys.updateOne({ _id, sealed }, { $set: { sealed: by } })).modifiedCount > 0,
      };
    }
  }
  const webhooks = db.collection<{ _id: string; secrets: { sealed: string }[] }>('webhooks');
  const cursor = webhooks.find({}, { projection: { 'secrets.sealed': 1 }, batchSize: BATCH }).sort({ _id: 1 });
  for await (const { _id, secrets } of cursor) {
    for (const { sealed } of secrets) {
      const filter = { _id, 'secrets.sealed': sealed };
      yield {
        owner: _id,
        sealed,
        replace: async (by) =>
          (await webhooks.updateOne(filter, { $set: { 'secrets.$.sealed': by } })).modifiedCount > 0,
      };
    }
  }
}

/** The installation's probe belongs to no row; it was sealed for this name. */
export const PROBE_OWNER = 'stellar-collect';

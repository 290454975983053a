/** All sealed values of the database, for resealing when the secrets key changes. */
import type mongoose from 'mongoose';
import type { Session } from '../kit/database.js';

export interface SealedRow {
  /** Id of the row that the values are sealed for. */
  owner: string;
  /** Null for values of the installation. */
  accountId: string | null;
  sealed: string[];
  /** False when the value has changed since it was read, or is gone. */
  replace(sealed: string, by: string, session?: Session): Promise<boolean>;
}

const BATCH = 100;

/** One after the other, read in batches. */
export async function* sealedRows(db: mongoose.mongo.Db): AsyncGenerator<SealedRow> {
  const installation = db.collection<{ _id: string; sealedProbe: string }>('installation');
  for await (const { _id, sealedProbe } of installation.find({})) {
    yield {
      ...{ owner: PROBE_OWNER, accountId: null, sealed: [sealedProbe] },
      replace: async (sealed, by, session) =>
        isDone(
          await installation.updateOne({ _id, sealedProbe: sealed }, { $set: { sealedProbe: by } }, within(session)),
        ),
    };
  }
  for (const name of ['webhookKeys', 'requestKeys']) {
    const keys = db.collection<{ _id: string; sealed: string }>(name);
    const found = keys.find({}, { projection: { sealed: 1 }, batchSize: BATCH }).sort({ _id: 1 });
    for await (const { _id, sealed: only } of found) {
      yield {
        ...{ owner: _id, accountId: null, sealed: [only] },
        replace: async (sealed, by, session) =>
          isDone(await keys.updateOne({ _id, sealed }, { $set: { sealed: by } }, within(session))),
      };
    }
  }
  yield* sealedWebhooks(db);
}

async function* sealedWebhooks(db: mongoose.mongo.Db): AsyncGenerator<SealedRow> {
  const webhooks = db.collection<{ _id: string; accountId: string; secrets: { sealed: string }[] }>('webhooks');
  const projection = { accountId: 1, 'secrets.sealed': 1 } as const;
  for await (const { _id, accountId, secrets } of webhooks
    .find({}, { projection, batchSize: BATCH })
    .sort({ _id: 1 })) {
    yield {
      ...{ owner: _id, accountId, sealed: secrets.map(({ sealed }) => sealed) },
      replace: async (sealed, by, session) => {
        const filter = { _id, 'secrets.sealed': sealed };
        return isDone(await webhooks.updateOne(filter, { $set: { 'secrets.$.sealed': by } }, within(session)));
      },
    };
  }
}

const within = (session: Session | undefined) => (session ? { session } : {});
const isDone = ({ modifiedCount }: { modifiedCount: number }): boolean => modifiedCount > 0;

/** The installation's probe belongs to no row; it was sealed for this name. */
export const PROBE_OWNER = 'stellar-collect';

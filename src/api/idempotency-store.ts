/** Claims on Idempotency-Keys: one document for each method, path, account and key, with the run that has the claim, and then its answer. */
import mongoose from 'mongoose';
import { isDuplicateKey, makeIndexes, SCHEMA_OPTIONS } from '../kit/database.js';

export interface ClaimDoc {
  /** Names account, method, path and key. */
  _id: string;
  accountId: string;
  bodyHash: string;
  /** Suffix of the created resource's id, the same in every run of the request. */
  reservedSuffix: string;
  /** Names the run that may store the answer. */
  runner: string;
  /** Without an answer by then, the run has died, and another may take over. */
  runsUntil: Date;
  /** JSON `{status, body}`; null while the request runs. */
  answer: string | null;
  expiresAt: Date;
}

const claimSchema = new mongoose.Schema<ClaimDoc>(
  {
    _id: String,
    accountId: String,
    bodyHash: String,
    reservedSuffix: String,
    runner: String,
    runsUntil: Date,
    answer: { type: String, default: null },
    expiresAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'idempotency' },
);
// Clean-up only, an hour late because clocks differ: the service's clock decides whether a claim has expired.
claimSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 3600 });

export function createIdempotencyStore(connection: mongoose.Connection) {
  const claims = connection.model<ClaimDoc>('IdempotencyClaim', claimSchema);
  return {
    ensureIndexes: () => makeIndexes(claims),

    forAccount: (accountId: string) => ({
      /** Stores the claim as this account's and returns null, or returns the one that is there. */
      async claim(claim: ClaimDoc): Promise<ClaimDoc | null> {
        const upsert = () =>
          claims
            .findOneAndUpdate(
              { _id: claim._id, accountId },
              { $setOnInsert: { ...claim, accountId } },
              { upsert: true, returnDocument: 'before' },
            )
            .lean<ClaimDoc>();
        // Concurrent upserts may collide in the `_id`: MongoDB retries only those with a filter of one field.
        return upsert().catch((error: unknown) => {
          if (!isDuplicateKey(error)) throw error;
          return upsert();
        });
      },
      /** Replaces a claim that is unchanged since it was seen. */
      async replace({ _id, runner, runsUntil }: ClaimDoc, next: ClaimDoc): Promise<boolean> {
        const { matchedCount } = await claims.replaceOne({ _id, accountId, runner, runsUntil }, { ...next, accountId });
        return matchedCount === 1;
      },

      // The functions below do nothing once another run has taken over.

      async prolong(id: string, runner: string, runsUntil: Date): Promise<void> {
        await claims.updateOne({ _id: id, accountId, runner }, { $set: { runsUntil } });
      },
      async answer(id: string, runner: string, answer: string): Promise<void> {
        await claims.updateOne({ _id: id, accountId, runner }, { $set: { answer } });
      },
      async release(id: string, runner: string): Promise<void> {
        await claims.deleteOne({ _id: id, accountId, runner });
      },
    }),
  };
}

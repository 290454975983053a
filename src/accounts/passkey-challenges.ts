/** Challenges for passkeys: each may be answered once, and only for a short time. */
import mongoose from 'mongoose';
import { makeIndexes, SCHEMA_OPTIONS } from '../kit/database.js';

interface PasskeyChallengeDoc {
  /** The challenge, base64url. */
  _id: string;
  /** User whose invitation it is for; null for signing in. */
  userId: string | null;
  expiresAt: Date;
}

const challengeSchema = new mongoose.Schema<PasskeyChallengeDoc>(
  { _id: String, userId: { type: String, default: null }, expiresAt: Date },
  { ...SCHEMA_OPTIONS, collection: 'passkeyChallenges' },
);
// Clean-up only: readers compare the end with the clock.
challengeSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

export type PasskeyChallengeStore = ReturnType<typeof createPasskeyChallengeStore>;

export function createPasskeyChallengeStore(connection: mongoose.Connection) {
  const challenges = connection.model<PasskeyChallengeDoc>('PasskeyChallenge', challengeSchema);
  const collection = challenges.collection as unknown as mongoose.mongo.Collection<PasskeyChallengeDoc>;
  return {
    ensureIndexes: () => makeIndexes(challenges),
    async insert(challenge: string, userId: string | null, expiresAt: Date): Promise<void> {
      await collection.insertOne({ _id: challenge, userId, expiresAt });
    },
    /** Uses it up. @returns when it ends; null when it is not valid for this purpose */
    async take(challenge: string, userId: string | null, now: Date): Promise<Date | null> {
      const taken = await collection.findOneAndDelete({ _id: challenge, userId, expiresAt: { $gt: now } });
      return taken?.expiresAt ?? null;
    },
  };
}

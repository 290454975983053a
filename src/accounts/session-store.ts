/** Sessions of the dashboard. Only the hash of a token is stored; permissions follow from the session's user or API key. */
import mongoose from 'mongoose';
import { makeIndexes, SCHEMA_OPTIONS } from '../kit/database.js';

export interface SessionDoc {
  /** SHA-256 of the token, hex. */
  _id: string;
  accountId: string;
  /** The API key that signed in. Missing for a user. */
  keyId?: string;
  /** SHA-256 of that key: rotating, revoking or expiring it ends the session. */
  keyHash?: string;
  /** The user who signed in. Missing for a key. */
  userId?: string;
  /** The user's version at sign-in: changing or removing the user ends the session. */
  userRevision?: number;
  createdAt: Date;
  expiresAt: Date;
}

const sessionSchema = new mongoose.Schema<SessionDoc>(
  {
    _id: String,
    accountId: String,
    keyId: String,
    keyHash: String,
    userId: String,
    userRevision: Number,
    createdAt: Date,
    expiresAt: Date,
  },
  { ...SCHEMA_OPTIONS, collection: 'sessions' },
);
sessionSchema.index({ keyId: 1, createdAt: -1 });
sessionSchema.index({ userId: 1, createdAt: -1 });
// Clean-up only: readers compare a session's end with the clock.
sessionSchema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });

export type SessionStore = ReturnType<typeof createSessionStore>;

export function createSessionStore(connection: mongoose.Connection) {
  const sessions = connection.model<SessionDoc>('Session', sessionSchema);
  return {
    ensureIndexes: () => makeIndexes(sessions),
    /** Stores the session, and removes the oldest ones of its user or key beyond `max`. */
    async insert(session: SessionDoc, max: number): Promise<void> {
      await sessions.create([session]);
      const surplus = await sessions
        .find(session.userId ? { userId: session.userId } : { keyId: session.keyId })
        .sort({ createdAt: -1, _id: -1 })
        .skip(max)
        .select({ _id: 1 })
        .lean<{ _id: string }[]>();
      if (surplus.length > 0) await sessions.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } });
    },
    /** Those of these that have not ended by themselves: their users may have changed since. */
    unendedOf: (ids: readonly string[], now: Date) =>
      sessions
        .find({ _id: { $in: [...ids] }, expiresAt: { $gt: now } })
        .lean<SessionDoc[]>()
        .exec(),
    byId: (id: string) => sessions.findById(id).lean<SessionDoc>().exec(),
    async remove(id: string): Promise<void> {
      await sessions.deleteOne({ _id: id });
    },
  };
}

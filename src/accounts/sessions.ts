/** Sessions of the dashboard: a user or an API key opens one. It ends with a change of the user,
 *  with the key, at sign-out, or after 12 hours. Processes cache no sessions, so that an end takes
 *  effect everywhere at once. Behind them: their cookie. */
import type { IncomingMessage } from 'node:http';
import { parseCookie, stringifySetCookie } from 'cookie';
import type mongoose from 'mongoose';
import type { Language } from '../../contracts/languages.js';
import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, openCollection, optional } from '../kit/collection.js';
import { hashToken, isToken, newToken } from '../kit/ids.js';
import { hashApiKey } from './api-key.js';
import type { Authentication } from './authentication.js';
import type { UserDoc, UserStore } from './user-store.js';

// Sessions of the dashboard. Only the hash of a token is stored; permissions follow from the
// session's user or API key.

const SESSIONS = define(
  'sessions',
  {
    /** SHA-256 of the token, hex. */
    _id: String,
    accountId: String,
    /** The API key that signed in. Missing for a user. */
    keyId: optional(String),
    /** SHA-256 of that key: rotating, revoking or expiring it ends the session. */
    keyHash: optional(String),
    /** The user who signed in. Missing for a key. */
    userId: optional(String),
    /** The user's version at sign-in: changing or removing the user ends the session. */
    userRevision: optional(Number),
    createdAt: Date,
    expiresAt: Date,
  },
  [
    { key: { keyId: 1, createdAt: -1 } },
    { key: { userId: 1, createdAt: -1 } },
    // Clean-up only: readers compare a session's end with the clock.
    { key: { expiresAt: 1 }, expireAfterSeconds: 0 },
  ],
);

interface SessionDoc extends DocOf<typeof SESSIONS> {}

export type SessionStore = ReturnType<typeof createSessionStore>;

export function createSessionStore(connection: mongoose.Connection) {
  const sessions = openCollection<SessionDoc>(connection, SESSIONS);
  return {
    /** Stores the session, and removes the oldest ones of its user or key beyond `max`. */
    async insert(session: SessionDoc, max: number): Promise<void> {
      await sessions.insertOne(session);
      const surplus = await sessions
        .find(session.userId ? { userId: session.userId } : { keyId: session.keyId })
        .sort({ createdAt: -1, _id: -1 })
        .skip(max)
        .project({ _id: 1 })
        .toArray();
      if (surplus.length > 0) await sessions.deleteMany({ _id: { $in: surplus.map(({ _id }) => _id) } });
    },
    /** Those of these that have not ended by themselves: their users may have changed since. */
    unendedOf: (ids: readonly string[], now: Date) =>
      sessions.find({ _id: { $in: [...ids] }, expiresAt: { $gt: now } }).toArray(),
    byId: (id: string) => sessions.findOne({ _id: id }),
    async remove(id: string): Promise<void> {
      await sessions.deleteOne({ _id: id });
    },
  };
}

export const SESSION_MS = 12 * 3_600_000;
/** Further ones end the oldest. */
const MAX_SESSIONS = 50;

export interface OpenSession {
  caller: Caller;
  /** For the cookie; not stored. */
  token: string;
}

export function createSessions(deps: {
  sessions: SessionStore;
  users: Pick<UserStore, 'byId' | 'setLanguage'>;
  authentication: Pick<Authentication, 'authenticateHash' | 'authenticate'>;
  clock: Clock;
}) {
  const { sessions, users, authentication, clock } = deps;

  type Owner = Pick<SessionDoc, 'accountId' | 'keyId' | 'keyHash' | 'userId' | 'userRevision'>;

  async function insert(owner: Owner): Promise<string> {
    const token = newToken(clock);
    const now = clock.now();
    const expiresAt = new Date(now.getTime() + SESSION_MS);
    await sessions.insert({ _id: hashToken(token), ...owner, createdAt: now, expiresAt }, MAX_SESSIONS);
    return token;
  }

  async function userOf({ userId, userRevision }: SessionDoc): Promise<Caller | null> {
    const user = await users.byId(userId!);
    return user?.status === 'ACTIVE' && user.revision === userRevision ? toCaller(user) : null;
  }

  return {
    /** Signs in, ignoring blanks around the key. @returns null for an unknown, revoked or
     *  expired key */
    async open(pastedKey: string): Promise<OpenSession | null> {
      const key = pastedKey.trim();
      const caller = await authentication.authenticate(key);
      if (!caller) return null;
      const { accountId, keyId } = caller;
      return { caller, token: await insert({ accountId, keyId, keyHash: hashApiKey(key) }) };
    },

    /** Signs in an authenticated user. */
    async openFor(user: UserDoc): Promise<OpenSession> {
      const { _id: userId, accountId, revision: userRevision } = user;
      return { caller: toCaller(user), token: await insert({ accountId, userId, userRevision }) };
    },

    /** @returns the session's caller; null when it has ended, and for a malformed token */
    async callerOf(token: string): Promise<Caller | null> {
      if (!isToken(token)) return null;
      const session = await sessions.byId(hashToken(token));
      if (!session || session.expiresAt <= clock.now()) return null;
      const caller = await (session.userId ? userOf(session) : authentication.authenticateHash(session.keyHash!));
      return caller && { ...caller, sessionHash: session._id };
    },

    /** The user's choice. It ends no session. */
    speak: (userId: string, language: Language | null) => users.setLanguage(userId, language),

    /** Signs out; harmless for an ended session. */
    async end(token: string): Promise<void> {
      if (isToken(token)) await sessions.remove(hashToken(token));
    },
  };
}

export const toCaller = ({ _id: id, accountId, name, role, language }: UserDoc): Caller => ({
  accountId,
  keyId: '',
  scope: role === 'VIEWER' ? 'READ' : 'FULL',
  user: { id, name, role, language },
});

// The cookie with a session's token. Scripts cannot read it, and other sites cannot make a browser
// send it.

export interface SessionCookie {
  /** Token of the request's session; `''` without one. */
  read(req: IncomingMessage): string;
  /** The `Set-Cookie` that keeps the token. */
  set(token: string): string;
  /** The `Set-Cookie` that forgets it. */
  clear(): string;
}

/** @param publicUrl for https the browser sends the cookie only over https, and takes it from this
 *  host alone; else it is for the service's path */
export function createSessionCookie(publicUrl: string, lifetimeMs: number): SessionCookie {
  const { protocol, pathname } = new URL(publicUrl);
  const isSecure = protocol === 'https:';
  // Browsers accept this prefix only with Secure, for the whole of one host: neither plain http nor
  // a neighbour's domain can set the cookie.
  const name = isSecure ? '__Host-dashboard' : 'dashboard';
  // Not the dashboard's alone: the page of a checkout shows its shop what it no longer
  // shows others.
  const path = isSecure ? '/' : pathname.replace(/\/+$/, '') || '/';
  const attributes = { path, httpOnly: true, sameSite: 'strict', secure: isSecure } as const;
  return {
    read: ({ headers }) => parseCookie(headers.cookie ?? '')[name] ?? '',
    set: (value) => stringifySetCookie({ name, value, maxAge: lifetimeMs / 1000, ...attributes }),
    clear: () => stringifySetCookie({ name, value: '', maxAge: 0, ...attributes }),
  };
}

/** Sessions of the dashboard: a user or an API key opens one. It ends with a change of the user, with the key, at sign-out, or after 12 hours. Processes cache
 *  no sessions, so that an end takes effect everywhere at once. */

import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { hashToken, isToken, newToken } from '../kit/token.js';
import { hashApiKey } from './api-key.js';
import type { Authentication } from './authentication.js';
import type { SessionDoc, SessionStore } from './session-store.js';
import type { UserDoc, UserStore } from './user-store.js';

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
  users: Pick<UserStore, 'byId'>;
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
    /** Signs in, ignoring blanks around the key. @returns null for an unknown, revoked or expired key */
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

    /** Signs out; harmless for an ended session. */
    async end(token: string): Promise<void> {
      if (isToken(token)) await sessions.remove(hashToken(token));
    },
  };
}

export const toCaller = ({ _id: id, accountId, name, role }: UserDoc): Caller => ({
  accountId,
  keyId: '',
  scope: role === 'VIEWER' ? 'READ' : 'FULL',
  user: { id, name, role },
});

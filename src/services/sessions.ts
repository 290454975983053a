/** Sessions of the dashboard: an API key opens one, and it ends with the key, at sign-out, or after 12 hours. Nothing of a session is
 *  remembered in a process, so that what ends it ends it everywhere at once. */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.js';
import { hashApiKey } from '../domain/api-key.js';
import type { SessionStore } from '../stores/sessions.js';
import type { Authentication } from './authentication.js';
import type { Caller } from './caller.js';

export const SESSION_MS = 12 * 3_600_000;
/** Further ones end the oldest. */
const MAX_SESSIONS_PER_KEY = 50;
/** 256 bits in base64url. */
const TOKEN = /^[\w-]{43}$/;

export interface OpenSession {
  caller: Caller;
  /** For the cookie; it is nowhere else. */
  token: string;
}

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions(deps: {
  sessions: SessionStore;
  authentication: Pick<Authentication, 'authenticateHash' | 'authenticate'>;
  clock: Clock;
}) {
  const { sessions, authentication, clock } = deps;
  const idOf = (token: string) => createHash('sha256').update(token).digest('hex');

  return {
    /** Signs in. Blanks around the key do not count. @returns null for a key that is unknown, revoked or expired */
    async open(pastedKey: string): Promise<OpenSession | null> {
      const key = pastedKey.trim();
      const caller = await authentication.authenticate(key);
      if (!caller) return null;
      const token = clock.randomBytes(32).toString('base64url');
      const now = clock.now();
      const { accountId, keyId } = caller;
      const end = new Date(now.getTime() + SESSION_MS);
      const owner = { accountId, keyId, keyHash: hashApiKey(key) };
      await sessions.insert({ _id: idOf(token), ...owner, createdAt: now, expiresAt: end }, MAX_SESSIONS_PER_KEY);
      return { caller, token };
    },

    /** Whose session it is. @returns null for one that has ended, and for what is no token */
    async callerOf(token: string): Promise<Caller | null> {
      if (!TOKEN.test(token)) return null;
      const session = await sessions.byId(idOf(token));
      if (!session || session.expiresAt <= clock.now()) return null;
      return authentication.authenticateHash(session.keyHash);
    },

    /** Signs out. A session that has ended already is left as it is. */
    async end(token: string): Promise<void> {
      if (TOKEN.test(token)) await sessions.remove(idOf(token));
    },
  };
}

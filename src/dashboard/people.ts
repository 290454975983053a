/** Signs users in: first by an invitation, which creates a passkey, then by that passkey. */

import type { IncomingMessage } from 'node:http';
import type {
  AuthenticationResponseJSON,
  PublicKeyCredentialRequestOptionsJSON,
  RegistrationResponseJSON,
} from '@simplewebauthn/server';
import express, { type Request, type Response, type Router } from 'express';
import { sendJson } from '../api/answer.js';
import { readBody } from '../api/rest-body.js';
import { ApiError, invalid, rateLimited } from '../domain/api-error.js';
import type { Invited, PasskeyUser } from '../services/passkeys.js';
import type { OpenSession } from '../services/sessions.js';

export interface PeopleDeps {
  passkeys: {
    invited(token: string): Promise<Invited | null>;
    accept(token: string, response: RegistrationResponseJSON, address: string): Promise<PasskeyUser | null>;
    signInOptions(): Promise<PublicKeyCredentialRequestOptionsJSON>;
    signIn(response: AuthenticationResponseJSON): Promise<PasskeyUser | null>;
  };
  sessions: { openFor(user: PasskeyUser): Promise<OpenSession> };
  /** Counts requests without a session by client address. */
  strangerLimit: (address: string) => number;
  /** Counts failed attempts to sign in by client address. */
  signInLimit: (address: string) => number;
  addressOf: (req: IncomingMessage) => string;
  /** Answers with the session and its cookie. */
  admit(req: Request, res: Response, session: OpenSession): Promise<void>;
}

/** A router for `/dashboard/passkey` and `/dashboard/invitation`: `POST …/options` returns a challenge, `POST …` takes the response. */
export function createPeopleRouter(deps: PeopleDeps): Router {
  const { passkeys, sessions, strangerLimit, signInLimit, addressOf, admit } = deps;

  const refuse = (req: Request, code: 'unauthorized' | 'not_found', message: string): ApiError => {
    const waitSeconds = signInLimit(addressOf(req));
    return waitSeconds > 0 ? rateLimited(waitSeconds) : new ApiError(code, message);
  };
  const count = (req: Request) => {
    const waitSeconds = strangerLimit(addressOf(req));
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
  };
  const isOver = (req: Request) =>
    refuse(req, 'not_found', 'This invitation was already used or has ended. Ask for a new one.');

  const router = express.Router();
  router.post('/dashboard/passkey/options', async (req, res) => {
    count(req);
    sendData(res, await passkeys.signInOptions());
  });
  router.post('/dashboard/passkey', async (req, res) => {
    const { response } = await bodyOf(req, res);
    const user = await passkeys.signIn(response as AuthenticationResponseJSON);
    if (!user) throw refuse(req, 'unauthorized', 'This passkey does not sign in here.');
    await admit(req, res, await sessions.openFor(user));
  });
  router.post('/dashboard/invitation/options', async (req, res) => {
    count(req);
    const { token } = await bodyOf(req, res);
    const invited = typeof token === 'string' ? await passkeys.invited(token) : null;
    if (!invited) throw isOver(req);
    sendData(res, invited);
  });
  router.post('/dashboard/invitation', async (req, res) => {
    const { token, response } = await bodyOf(req, res);
    if (typeof token !== 'string') throw isOver(req);
    const user = await passkeys.accept(token, response as RegistrationResponseJSON, addressOf(req));
    if (!user) throw isOver(req);
    await admit(req, res, await sessions.openFor(user));
  });
  return router;
}

async function bodyOf(req: Request, res: Response): Promise<{ token?: unknown; response: object }> {
  const { token, response = {} } = (await readBody(req, res)) ?? {};
  if (typeof response === 'object' && response !== null) return { token, response };
  throw invalid({ path: 'response', message: 'Must be an object.', code: 'invalid_type' });
}

export const sendData = (res: Response, data: unknown) => sendJson(res, 200, JSON.stringify({ data, error: null }));

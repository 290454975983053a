/** Lets people in: the first one sets the installation up, the others come by an invitation, which
 *  creates a passkey, and then by that passkey. */

import type { IncomingMessage } from 'node:http';
import type { PublicKeyCredentialRequestOptionsJSON } from '@simplewebauthn/server';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { setup as setupContract } from '../../contracts/setup.js';
import type { Invited, OpenSession, PasskeyUser, SessionCookie, Setup } from '../accounts/index.js';
import { sendJson } from '../api/answer.js';
import { parseInput } from '../api/input.js';
import { readBody } from '../api/rest-body.js';
import { ApiError, badRequest, rateLimited } from '../kit/api-error.js';
import type { Clock } from '../kit/clock.js';

export interface PeopleDeps {
  passkeys: {
    invited(token: string): Promise<Invited | null>;
    accept(token: string, sent: unknown, from: { address: string; device: string | null }): Promise<PasskeyUser | null>;
    signInOptions(): Promise<PublicKeyCredentialRequestOptionsJSON>;
    signIn(sent: unknown, address: string): Promise<PasskeyUser | null>;
  };
  sessions: { openFor(user: PasskeyUser): Promise<OpenSession>; end(token: string): Promise<void> };
  setup: Setup;
  cookie: SessionCookie;
  clock: Pick<Clock, 'now'>;
  /** Counts requests without a session by client address. */
  strangerLimit: (address: string) => number;
  /** Counts attempts to sign in by client address; one that succeeds is taken back with `-1`. */
  signInLimit: (address: string, attempts?: number) => number;
  /** The same for codes of the setup. */
  setupLimit: (address: string, attempts?: number) => number;
  addressOf: (req: IncomingMessage) => string;
  /** Answers with the session and its cookie. */
  admit(req: Request, res: Response, session: OpenSession): Promise<void>;
}

/** A router for `/dashboard/passkey` and `/dashboard/invitation`: `POST …/options` returns a
 *  challenge, `POST …` takes the response. */
export function createPeopleRouter(deps: PeopleDeps): Router {
  const { passkeys, sessions, strangerLimit, signInLimit, addressOf, admit } = deps;

  const count = (limit: (address: string) => number, req: Request) => {
    const waitSeconds = limit(addressOf(req));
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
  };
  /** Counted before its work, so that broken attempts count as well, and what is refused
   *  does nothing. */
  const attempted = async <Found>(req: Request, refusal: () => ApiError, work: () => Promise<Found | null>) => {
    count(signInLimit, req);
    const found = await work();
    if (!found) throw refusal();
    signInLimit(addressOf(req), -1);
    return found;
  };
  const isOver = () => new ApiError('not_found', 'This invitation was already used or has ended. Ask for a new one.');
  const isUnknown = () => new ApiError('unauthorized', 'This passkey does not sign in here.');

  const router = express.Router();
  router.post('/dashboard/passkey/options', async (req, res) => {
    count(strangerLimit, req);
    sendData(res, await passkeys.signInOptions());
  });
  router.post('/dashboard/passkey', async (req, res) => {
    const user = await attempted(req, isUnknown, async () =>
      passkeys.signIn((await readBody(req, res))?.response, addressOf(req)),
    );
    await admit(req, res, await sessions.openFor(user));
  });
  router.post('/dashboard/invitation/options', async (req, res) => {
    count(strangerLimit, req);
    const invited = await attempted(req, isOver, async () => {
      const { token } = (await readBody(req, res)) ?? {};
      return typeof token === 'string' ? passkeys.invited(token) : null;
    });
    sendData(res, invited);
  });
  router.post('/dashboard/invitation', async (req, res) => {
    const user = await attempted(req, isOver, async () => {
      const { token, response } = (await readBody(req, res)) ?? {};
      const from = { address: addressOf(req), device: deviceOf(req.headers['user-agent']) };
      return typeof token === 'string' ? passkeys.accept(token, response, from) : null;
    });
    await admit(req, res, await sessions.openFor(user));
  });
  return router;
}

/** `POST /dashboard/setup`. @param refuseParameters runs once it is known that there is something
 *  to set up */
export function createSetupRouter(deps: Omit<PeopleDeps, 'admit'>, refuseParameters: RequestHandler): Router {
  const { setup, sessions, cookie, strangerLimit, setupLimit, addressOf, clock } = deps;
  const limited = (waitSeconds: number) => {
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
  };
  const isOver: RequestHandler = async (req, _res, next) => {
    limited(strangerLimit(addressOf(req)));
    if ((await setup.stage()) === 'DONE') throw new ApiError('not_found', 'This installation is set up.');
    next();
  };
  const router = express.Router();
  router.post('/dashboard/setup', isOver, refuseParameters, async (req, res) => {
    const body = await readBody(req, res);
    if (body === null) throw badRequest('The body must be a JSON object.');
    const address = addressOf(req);
    limited(setupLimit(address));
    await setup.check(body.code);
    setupLimit(address, -1);
    const input = parseInput(setupContract.enter, body, { now: clock.now(), networks: [], allowPrivate: false });
    const { session, ...made } = await setup.enter(input, address);
    await sessions.end(cookie.read(req));
    res.setHeader('Set-Cookie', cookie.set(session.token));
    if (made.apiKey !== null) res.on('finish', () => void setup.shown(made.userId));
    sendData(res, made);
  });
  return router;
}

/** By which its user tells one passkey from another. */
const deviceOf = (userAgent = ''): string | null =>
  /iPhone|iPad|Android|Windows|Macintosh|CrOS|Linux/.exec(userAgent)?.[0].replace('Macintosh', 'Mac') ?? null;

export const sendData = (res: Response, data: unknown) => sendJson(res, 200, JSON.stringify({ data, error: null }));

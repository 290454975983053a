/** The dashboard over HTTP: the application's files, its session, and the API's procedures for
 *  requests with a session. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type Request, type RequestHandler, type Response, type Router } from 'express';
import { contract } from '../../contracts/index.js';
import { LANGUAGES, type Language } from '../../contracts/languages.js';
import type { Network } from '../../contracts/networks.js';
import type { Operation } from '../../contracts/operation.js';
import type { OpenSession, SessionCookie } from '../accounts/index.js';
import { type CallerOf, mayCall } from '../api/authorize.js';
import { cutFaults, seedFaults, unknownParameter } from '../api/input.js';
import { readBody } from '../api/rest-body.js';
import { acceptedLanguage } from '../domain/accepted-language.js';
import { ApiError, badRequestOf, conflict, invalid, rateLimited } from '../kit/api-error.js';
import type { Caller, Services } from '../kit/caller.js';
import { createFiles, createIsForeign, FIXED_FILES, strictHeaders } from './files.js';
import { createPeopleRouter, createSetupRouter, type PeopleDeps, sendData } from './people.js';

export interface DashboardDeps {
  sessions: {
    open(key: string): Promise<{ caller: Caller; token: string } | null>;
    callerOf(token: string): Promise<Caller | null>;
    /** Stores the user's choice; null: as the browser prefers. */
    speak(userId: string, language: Language | null): Promise<void>;
  } & PeopleDeps['sessions'];
  passkeys: PeopleDeps['passkeys'];
  setup: PeopleDeps['setup'];
  cookie: SessionCookie;
  clock: PeopleDeps['clock'];
  /** Base URL in the browser; may have a path. */
  publicUrl: string;
  networks: readonly Network[];
  account: Pick<Services['account'], 'get'>;
  /** Serves the procedures to callers that `callerOf` admits. */
  trpc: (callerOf: CallerOf) => (req: IncomingMessage, res: ServerResponse, requestId: string) => Promise<unknown>;
  /** Serves REST to them, for downloads, which have no procedure. */
  rest: (callerOf: CallerOf) => (req: IncomingMessage, res: ServerResponse, requestId: string) => Promise<unknown>;
  /** Counts calls against the account's limit, like the API. @returns seconds to wait; 0 when the
   *  calls may go ahead */
  accountLimit: (accountId: string, calls: number) => number;
  /** Counts requests without a session by client address. */
  strangerLimit: (address: string) => number;
  /** Counts attempts to sign in by client address; one that succeeds is taken back with `-1`. */
  signInLimit: (address: string, attempts?: number) => number;
  /** Counts wrong codes of the setup in the same way. */
  setupLimit: (address: string, attempts?: number) => number;
  /** Counts requests for pages and files by client address. */
  fileLimit: (address: string) => number;
  addressOf: (req: IncomingMessage) => string;
}

const ONE_YEAR = 'public, max-age=31536000, immutable';
const NOT_BUILT = 'The dashboard has not been built: run "npm run build".\n';

/** @returns a router for the root that serves `/dashboard` and its subpaths. Errors go to the
 *  app's handler. */
export function createDashboard(deps: DashboardDeps): Router {
  const { sessions, cookie, addressOf, accountLimit, strangerLimit } = deps;
  const isForeign = createIsForeign(deps.publicUrl);
  const callerOf = createCallerOf(deps, isForeign);
  const trpc = deps.trpc(callerOf);
  const rest = deps.rest(callerOf);

  const refuseForeign: RequestHandler = (req, _res, next) => {
    if (isForeign(req)) throw foreignPage();
    next();
  };

  async function describe(caller: Caller) {
    const account = await deps.account.get(caller, {});
    const { scope, keyId, user = null } = caller;
    return { account, scope, keyId, user, may: namesFor(caller), networks: deps.networks };
  }

  async function admit(req: Request, res: Response, session: OpenSession): Promise<void> {
    await sessions.end(cookie.read(req));
    res.setHeader('Set-Cookie', cookie.set(session.token));
    sendData(res, await describe(session.caller));
  }

  async function sessionOfKey(req: Request, res: Response): Promise<OpenSession> {
    const { key } = (await readBody(req, res)) ?? {};
    if (typeof key !== 'string') throw invalid({ path: 'key', message: 'Enter an API key.', code: 'required' });
    const [seed] = seedFaults({ key });
    if (seed) throw invalid(seed);
    const session = await sessions.open(key);
    if (!session) throw new ApiError('unauthorized', 'This API key is unknown, revoked or expired.');
    return session;
  }

  async function signIn(req: Request, res: Response): Promise<void> {
    // Counted before its work, so that broken attempts count as well. Only a valid key is served
    // regardless of other requests from its address.
    const refusedFor = deps.signInLimit(addressOf(req));
    const session = await sessionOfKey(req, res).catch((error: unknown) => {
      throw refusedFor > 0 && error instanceof ApiError ? rateLimited(refusedFor) : error;
    });
    deps.signInLimit(addressOf(req), -1);
    const waitSeconds = accountLimit(session.caller.accountId, 1);
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    await admit(req, res, session);
  }

  const router = express.Router();
  router.use('/dashboard', strictHeaders);
  router.use(['/dashboard/trpc', '/dashboard/api'], async (req, _res, next) => {
    if (!isStream(req)) return next();
    // It counts, and needs a session, like any other request.
    await callerOf(req);
    throw new ApiError('forbidden', 'Event streams need an API key.');
  });
  router.use('/dashboard/trpc', async (req, res) => {
    await trpc(req, res, res.locals.requestId);
  });
  // Only for downloads: writes go through tRPC.
  router.use('/dashboard/api', async (req, res, next) => {
    if (req.method !== 'GET') return next();
    await rest(req, res, res.locals.requestId);
  });
  router.use('/dashboard/session', refuseForeign, refuseParameters);
  router.post('/dashboard/session', signIn);
  router.get('/dashboard/session', async (req, res) => sendData(res, await describe(await callerOf(req))));
  router.patch('/dashboard/session', async (req, res) => {
    const caller = await callerOf(req);
    if (!caller.user) throw conflict('You are signed in with an API key, which has no language.');
    const { language = null } = (await readBody(req, res)) ?? {};
    const chosen = LANGUAGES.find((each) => each === language) ?? null;
    if (language !== chosen)
      throw invalid({ path: 'language', message: `Choose one of ${LANGUAGES.join(', ')}, or null.`, code: 'invalid' });
    await sessions.speak(caller.user.id, chosen);
    sendData(res, await describe({ ...caller, user: { ...caller.user, language: chosen } }));
  });
  router.delete('/dashboard/session', async (req, res) => {
    const waitSeconds = strangerLimit(addressOf(req));
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    await sessions.end(cookie.read(req));
    res.setHeader('Set-Cookie', cookie.clear());
    sendData(res, { signedOut: true });
  });
  router.post('/dashboard/setup', refuseForeign);
  router.use(createSetupRouter(deps, refuseParameters));
  router.use(['/dashboard/passkey', '/dashboard/invitation'], refuseForeign, refuseParameters);
  router.use(createPeopleRouter({ ...deps, admit }));
  router.use('/dashboard', createFileRouter(deps));
  return router;
}

function createFileRouter(deps: DashboardDeps): Router {
  const { publicUrl, setup, fileLimit, addressOf } = deps;
  const base = new URL(publicUrl).pathname.replace(/\/+$/, '');
  const files = createFiles(base);
  const router = express.Router();
  router.use((req, _res, next) => {
    const waitSeconds = fileLimit(addressOf(req));
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    next();
  });
  router.get('/assets/:name', async (req, res, next) => {
    const encoding = req.acceptsEncodings('br', 'gzip', 'identity') || 'identity';
    const body = await files.asset(req.params.name, encoding as 'br' | 'gzip' | 'identity');
    if (body === null) return next();
    res.set({ 'cache-control': ONE_YEAR, vary: 'Accept-Encoding' });
    if (encoding !== 'identity') res.set('content-encoding', encoding);
    res.type(req.params.name.split('.').at(-1)!).send(body);
  });
  for (const name of FIXED_FILES) {
    router.get(`/${name}`, async (_req, res, next) => {
      const body = await files.fixed(name);
      if (body === null) return next();
      res
        .set('cache-control', 'no-cache')
        .type(name === 'pos.webmanifest' ? 'application/manifest+json' : name.split('.').at(-1)!);
      res.send(body);
    });
  }
  // The application does its own routing, so every other address gets its page.
  router.get(/^(?!\/assets\/)/, async (req, res) => {
    // The page itself says when MongoDB is away.
    const stage = await setup.stage().catch(() => null);
    const isSetup = /^\/setup\/?$/.test(req.path);
    if (stage === 'NEW' && !isSetup) return res.redirect(302, `${base}/dashboard/setup`);
    if (stage === 'DONE' && isSetup) return res.redirect(302, `${base}/dashboard`);
    const page = await files.page(await languageOf(deps, req));
    if (page === null) return void res.status(503).type('text').send(NOT_BUILT);
    res.type('html').send(page);
  });
  return router;
}

/** The user's choice, else the browser's. The page comes without a database too. */
async function languageOf({ sessions, cookie }: DashboardDeps, req: IncomingMessage): Promise<Language> {
  const caller = await sessions.callerOf(cookie.read(req)).catch(() => null);
  return caller?.user?.language ?? acceptedLanguage(req.headers['accept-language']);
}

/** Finds the caller by the session's cookie. */
function createCallerOf(
  { sessions, cookie, accountLimit, strangerLimit, addressOf }: DashboardDeps,
  isForeign: (req: IncomingMessage) => boolean,
): CallerOf {
  return async (req, calls = 1) => {
    if (isForeign(req)) throw foreignPage();
    const caller = await sessions.callerOf(cookie.read(req));
    const address = addressOf(req);
    const waitSeconds = caller ? accountLimit(caller.accountId, calls) : strangerLimit(address);
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    if (!caller) throw new ApiError('unauthorized', 'Sign in: there is no session, or it has ended.');
    return { ...caller, address };
  };
}

const refuseParameters: RequestHandler = (req, _res, next) => {
  const strays = cutFaults(Object.keys(req.query), unknownParameter);
  if (strays.length > 0) throw badRequestOf(strays);
  next();
};

/** The procedure and the path of every operation that streams. */
const STREAMS = Object.entries(contract).flatMap(([resource, operations]) =>
  Object.entries(operations as Record<string, Operation>).flatMap(([name, { streams, path }]) =>
    streams ? [`${resource}.${name}`, path] : [],
  ),
);

/** Event streams are for API keys: they would outlast a sign-out. */
const isStream = (req: Request): boolean => {
  const path = decoded(req.path);
  return STREAMS.some((name) => path.includes(name));
};

/** An undecodable path stays as it is, and names no procedure. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** The procedures that the caller may call; the application offers only these. */
const namesFor = (caller: Caller): string[] =>
  Object.entries(contract).flatMap(([resource, operations]) =>
    Object.entries(operations as Record<string, Operation>).flatMap(([name, operation]) =>
      mayCall(caller, operation) ? `${resource}.${name}` : [],
    ),
  );

const foreignPage = () => new ApiError('forbidden', 'This request comes from a page that is not the dashboard.');

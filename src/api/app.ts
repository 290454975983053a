/** The express app: REST, tRPC, docs, hosted pages, health and metrics. Every answer has an
 *  `X-Request-Id`; every error but a page's has the envelope. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import compression from 'compression';
import express, { type ErrorRequestHandler, type Request, type RequestHandler, Router } from 'express';
import helmet from 'helmet';
import type { Logger } from 'pino';
import { Histogram, type Registry } from 'prom-client';
import swaggerUi from 'swagger-ui-express';
import type { Network } from '../../contracts/networks.js';
import type { WatchCaller } from '../accounts/index.js';
import { createDashboard, type DashboardDeps } from '../dashboard/router.js';
import { ApiError, notFound, rateLimited } from '../kit/api-error.js';
import type { Caller, Services } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import type { Download, ExportService } from '../selling/index.js';
import { sendError, sendJson } from './answer.js';
import { createCallerOf, createRateLimit } from './authorize.js';
import { clientAddressOf, dropForwardedPorts, isDirectLocalRequest, isForwarded } from './client-address.js';
import { createEventStreams, EVENT_STREAM } from './event-stream.js';
import { createHealth } from './health.js';
import type { Idempotency } from './idempotency.js';
import type { Readiness } from './readiness.js';
import { createRest } from './rest.js';
import { createRouter, type RouterDeps } from './router.js';
import { createRequestIds } from './server.js';
import { createTrpcHttp } from './trpc-http.js';

// Answers are sent compressed to clients that take them so. Only what is read is: an answer that
// shows a secret (a new key, a webhook's secret) is to a POST, so no length tells of one. Event
// streams and files are sent as they come, and what has its own encoding keeps it.

const compressAnswers = (): RequestHandler =>
  compression({
    filter(req, res) {
      const isStream = String(res.getHeader('content-type')).startsWith(EVENT_STREAM);
      const isFile = res.hasHeader('content-disposition');
      return req.method === 'GET' && !isStream && !isFile && compression.filter(req, res);
    },
  });

// Swagger UI over the committed openapi.json. It forgets the API key when the page is closed or
// reloaded: what a browser stores for this origin could be read by any script that ever runs on a
// payment page of the same origin.

/** Serves `/docs` and `/openapi.json`, the latter byte for byte where the service has no path of
 *  its own, and sends `/` to the docs.
 *  @param base path of the service as callers see it, `/pay` or empty: a proxy takes it off */
function createDocs(openapiJson: Buffer, base: string): Router {
  const docs = Router();
  const served = base === '' ? openapiJson : withServer(openapiJson, base);
  const compressed = gzipSync(served);
  const sendDocument: RequestHandler = (req, res) => {
    // Tools of other origins may read it: it holds nothing that is not public.
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.type('application/json').vary('Accept-Encoding');
    if (req.acceptsEncodings('gzip', 'identity') !== 'gzip') return void res.send(served);
    res.set('Content-Encoding', 'gzip').send(compressed);
  };
  docs.get('/openapi.json', sendDocument);
  // With upgradeInsecureRequests the page would stay blank over plain http on any host
  // but localhost.
  const security = helmet({
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
    strictTransportSecurity: false,
  });
  const page = swaggerUi.setup(undefined, {
    customSiteTitle: 'stellar-collect API',
    swaggerOptions: { url: `${base}/openapi.json`, persistAuthorization: false, displayRequestDuration: true },
  });
  docs.get('/', (_req, res) => res.redirect(`${base}/docs/`));
  // Its files are named relative to the page, so the last slash matters.
  docs.get(/^\/docs$/, (_req, res) => res.redirect(301, `${base}/docs/`));
  // Swagger UI's middleware would refuse this one by itself, without the envelope.
  docs.use(/^\/docs\/.*package\.json$/, (_req, _res, next) => next('router'));
  docs.use('/docs', security, swaggerUi.serve);
  docs.get('/docs', page);
  return docs;
}

const withServer = (openapiJson: Buffer, url: string): Buffer =>
  Buffer.from(JSON.stringify({ ...JSON.parse(openapiJson.toString()), servers: [{ url }] }));

export interface HttpApi {
  services: Services;
  storedRules: RouterDeps['storedRules'];
  exports: ExportService;
  /** The caller with this key; null for an unknown, revoked or expired one. */
  authenticate: (token: string) => Promise<Caller | null>;
  idempotency: Idempotency;
  guard: RouterDeps['guard'];
  listing: RouterDeps['listing'];
  watch: WatchCaller;
  /** The watched networks. */
  networks: readonly Network[];
  /** A `horizonUrl` may lead to this machine and be http. */
  allowPrivate: boolean;
  /** Authenticated requests of an account; 0 turns the limit off. */
  rateLimitPerMinute: number;
  /** Requests without a key, by client address; 0 turns the limit off. */
  publicRateLimitPerMinute?: number;
  /** The committed openapi.json. */
  openapiJson: Buffer;
  /** The keys that verify deliveries, as they are published; absent where there are none. */
  webhookKeys?: () => Promise<object>;
  /** Null where payment requests are not signed. */
  stellarToml?: string | null;
  /** The hosted pages with their own paths, `/p/…`. They count their visitors themselves. */
  pages: express.Router;
  dashboard: Pick<DashboardDeps, 'sessions' | 'passkeys' | 'setup' | 'cookie' | 'publicUrl'>;
}

/** A minute's failed attempts to sign in to the dashboard from one client address. */
const SIGN_IN_ATTEMPTS = 20;
/** A minute's wrong codes of the setup from one client address. */
const SETUP_ATTEMPTS = 10;

export interface HttpDeps {
  checkReadiness: () => Promise<Readiness>;
  metrics: Registry;
  log: Logger;
  clock: Clock;
  /** Express's `trust proxy`: whose `X-Forwarded-For` is believed. */
  trustProxy?: false | number | string;
  /** True when metrics and the reasons of `/health/ready` are served on a port of their own; else
   *  direct connections of local addresses see them here. */
  hasMetricsPort?: boolean;
  /** Absent in a process that is no API: it answers health and metrics only. */
  api?: HttpApi;
}

export function createHttpApp(deps: HttpDeps): express.Express {
  const { log, clock, api, trustProxy = false, hasMetricsPort = false } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');
  app.set('trust proxy', trustProxy);
  const onInternalError = (error: unknown, requestId: string) => log.error({ err: error, requestId }, 'request failed');

  const newRequestId = createRequestIds(clock);
  app.use((_req, res, next) => {
    const requestId = newRequestId();
    res.locals.requestId = requestId;
    res.setHeader('X-Request-Id', requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  });
  if (trustProxy === false) app.use(warnOfProxy(log));
  else {
    app.use((req, _res, next) => {
      dropForwardedPorts(req);
      next();
    });
  }
  const showsDetails = (req: Request) => !hasMetricsPort && isDirectLocalRequest(req);
  app.use(createHealth({ ...deps, showsDetails }));
  if (api) mountApi(app, { ...deps, api, onInternalError });

  const unknownPath: RequestHandler = () => {
    throw notFound('page');
  };
  const answerError: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
    sendError(res, asApiError(error), res.locals.requestId, onInternalError);
  };
  app.use(unknownPath, answerError);
  return app;
}

type MountDeps = HttpDeps & { api: HttpApi; onInternalError: (error: unknown, requestId: string) => void };

function mountApi(app: express.Express, { metrics, clock, api, onInternalError }: MountDeps): void {
  const {
    services,
    storedRules,
    exports,
    idempotency,
    guard,
    networks,
    allowPrivate,
    rateLimitPerMinute,
    publicRateLimitPerMinute = 0,
  } = api;
  const observe = createObserve(metrics, clock);
  const validationContext = () => ({ now: clock.now(), networks, allowPrivate });
  const router = createRouter({ services, storedRules, idempotency, validationContext, guard, listing: api.listing });
  const publicLimit = () => createRateLimit(publicRateLimitPerMinute, clock);
  const addressOf = (req: IncomingMessage) => clientAddressOf(req as Request);
  const accountLimit = createRateLimit(rateLimitPerMinute, clock);
  const callerOf = createCallerOf({
    authenticate: api.authenticate,
    accountLimit,
    strangerLimit: publicLimit(),
    addressOf,
  });
  const eventStreams = createEventStreams(clock);
  app.use(compressAnswers());
  const { watch } = api;
  const restDeps = { router, validationContext, eventStreams, watch, onInternalError, exportOf: byName(exports) };
  const rest = createRest({ ...restDeps, callerOf });
  const trpc = createTrpcHttp({ router, callerOf, onInternalError });
  app.use('/api/v1', async (req, res) => {
    const startedAtMs = clock.nowMs();
    res.setHeader('Cache-Control', 'no-store');
    const name = await rest(req, res, res.locals.requestId);
    observe(name ?? 'none', res, startedAtMs);
  });
  app.use('/trpc', async (req, res) => {
    const startedAtMs = clock.nowMs();
    res.setHeader('Cache-Control', 'no-store');
    await trpc(req, res, res.locals.requestId);
    observe('trpc', res, startedAtMs);
  });
  app.use(api.pages);
  // Requests without a key are counted apart from wrong keys, each kind by itself, so that none
  // locks an address out of the others.
  const dashboard = createDashboard({
    ...api.dashboard,
    ...{ networks, clock },
    account: { get: (...call) => guard(() => services.account.get(...call)) },
    trpc: (callerOf) => createTrpcHttp({ router, callerOf, onInternalError }),
    rest: (callerOf) => createRest({ ...restDeps, callerOf }),
    accountLimit,
    strangerLimit: publicLimit(),
    signInLimit: createRateLimit(SIGN_IN_ATTEMPTS, clock),
    setupLimit: createRateLimit(SETUP_ATTEMPTS, clock),
    fileLimit: publicLimit(),
    addressOf,
  });
  app.use(dashboard);
  const docsLimit = publicLimit();
  app.use((req, _res, next) => {
    const waitSeconds = docsLimit(clientAddressOf(req));
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    next();
  });
  const base = new URL(api.dashboard.publicUrl).pathname.replace(/\/+$/, '');
  app.get('/', (req, res, next) => {
    // Programs get the answer of an unknown path.
    if (req.accepts(['json', 'html']) !== 'html') return next();
    res.set('cache-control', 'no-store').redirect(303, `${base}/dashboard`);
  });
  mountWellKnown(app, api);
  app.use(createDocs(api.openapiJson, base));
}

function mountWellKnown(app: express.Express, { webhookKeys, stellarToml }: HttpApi): void {
  if (webhookKeys) {
    app.get('/.well-known/webhook-keys.json', async (_req, res) => {
      res.setHeader('Cache-Control', 'public, max-age=300');
      sendJson(res, 200, JSON.stringify(await webhookKeys()));
    });
  }
  if (stellarToml) {
    // Wallets in a browser send requests from any origin.
    app.get('/.well-known/stellar.toml', (_req, res) => {
      res.set({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*' });
      res.set('cross-origin-resource-policy', 'cross-origin').type('text/plain').send(stellarToml);
    });
  }
}

/** Makes the file of a download: `payments.export`. */
const byName = (exports: ExportService) => (name: string) =>
  exports[name.split('.', 1)[0] as keyof ExportService].export as (caller: Caller, input: object) => Download;

function createObserve(metrics: Registry, clock: Clock) {
  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer.',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [metrics],
  });
  return (route: string, res: ServerResponse, startedAtMs: number) => {
    // A stream lasts as long as its reader likes.
    if (String(res.getHeader('content-type')).startsWith(EVENT_STREAM)) return;
    seconds.observe({ route, status: res.statusCode }, (clock.nowMs() - startedAtMs) / 1000);
  };
}

/** Behind an untrusted proxy, all visitors share one address and its limits: warn the
 *  operator once. */
function warnOfProxy(log: Logger): RequestHandler {
  let warned = false;
  return (req, _res, next) => {
    if (!warned && isForwarded(req)) {
      warned = true;
      log.warn('A proxy forwards requests, but TRUST_PROXY is not set: all visitors share its address and its limits.');
    }
    next();
  };
}

/** Express itself refuses only faulty requests. */
function asApiError(error: unknown): unknown {
  const { status } = error as { status?: number };
  const isClients = error instanceof URIError || (status !== undefined && status >= 400 && status < 500);
  return isClients ? new ApiError('bad_request', 'The request is malformed.') : error;
}

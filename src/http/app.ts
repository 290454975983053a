/** The express app: REST, tRPC, docs, hosted pages, health and metrics. Every answer has an `X-Request-Id`; every error but a page's has the envelope. */
import type { ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { Histogram, type Registry } from 'prom-client';
import type { Network } from '../../contracts/networks.js';
import { createCallerOf } from '../api/bearer.js';
import { createRest, sendError } from '../api/rest.js';
import { createRouter } from '../api/router.js';
import { createTrpcHttp } from '../api/trpc-http.js';
import type { Clock } from '../clock.js';
import { ApiError, notFound } from '../domain/api-error.js';
import type { Caller, Services } from '../services/caller.js';
import type { Idempotency } from '../services/idempotency.js';
import { createDocs } from './docs.js';
import { createRateLimit } from './rate-limit.js';
import { createRequestIds } from './request-id.js';

export interface HttpDeps {
  /** Why the process is not ready; empty when it is. */
  unreadiness: () => Promise<readonly string[]>;
  metrics: Registry;
  log: Logger;
  clock: Clock;
  /** Absent in a process that is no API: it answers health and metrics only. */
  api?: {
    services: Services;
    /** The caller whose key this is; null for one that is unknown, revoked or expired. */
    authenticate: (token: string) => Promise<Caller | null>;
    idempotency: Idempotency;
    /** Those that the service watches. */
    networks: readonly Network[];
    /** Per API key; 0 turns the limit off. */
    rateLimitPerMinute: number;
    /** The committed openapi.json. */
    openapiJson: Buffer;
    /** The hosted pages with their own paths, `/p/…`. */
    pages: express.Router;
  };
}

export function createHttpApp(deps: HttpDeps): express.Express {
  const { unreadiness, metrics, log, clock, api } = deps;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.enable('case sensitive routing');

  const seconds = new Histogram({
    name: 'http_request_duration_seconds',
    help: 'Time from the arrival of a request to the end of its answer.',
    labelNames: ['route', 'status'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10],
    registers: [metrics],
  });
  const observe = (route: string, res: ServerResponse, startedAtMs: number) =>
    seconds.observe({ route, status: res.statusCode }, (clock.nowMs() - startedAtMs) / 1000);

  const newRequestId = createRequestIds(clock);
  const onInternalError = (error: unknown, requestId: string) => log.error({ err: error, requestId }, 'request failed');

  app.use((_req, res, next) => {
    const requestId = newRequestId();
    res.locals.requestId = requestId;
    res.setHeader('X-Request-Id', requestId);
    res.setHeader('X-Content-Type-Options', 'nosniff');
    next();
  });

  if (api) {
    const { services, idempotency, networks, rateLimitPerMinute } = api;
    const validationContext = () => ({ now: clock.now(), networks });
    const rateLimit = createRateLimit(rateLimitPerMinute, clock);
    const router = createRouter({ services, idempotency, validationContext, rateLimit });
    const callerOf = createCallerOf(api.authenticate);
    const rest = createRest({ router, validationContext, callerOf, onInternalError });
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
    app.use(createDocs(api.openapiJson));
    app.get('/', (_req, res) => res.redirect('/docs/'));
  }

  app.get('/health/live', (_req, res) => {
    res.json({ status: 'ok' });
  });
  app.get('/health/ready', async (_req, res) => {
    const reasons = await unreadiness();
    const isReady = reasons.length === 0;
    res.status(isReady ? 200 : 503).json({ status: isReady ? 'ok' : 'unavailable', reasons });
  });
  app.get('/metrics', async (_req, res) => {
    res.type(metrics.contentType).send(await metrics.metrics());
  });

  const unknownPath: RequestHandler = () => {
    throw notFound('page');
  };
  const answerError: ErrorRequestHandler = (error: unknown, _req, res, _next) => {
    const { status } = error as { status?: number };
    const isClients = error instanceof URIError || (status !== undefined && status >= 400 && status < 500);
    const failure = isClients ? new ApiError('bad_request', 'The request is malformed.') : error;
    sendError(res, failure, res.locals.requestId, onInternalError);
  };
  app.use(unknownPath, answerError);
  return app;
}

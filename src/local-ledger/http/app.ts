/** The ledger's HTTP interface: Horizon and Stellar RPC behind the fault gate, the control
 *  endpoints before it. */
import express, { type ErrorRequestHandler, type RequestHandler } from 'express';
import { MongoClientClosedError, MongoError } from 'mongodb';
import type { Logger } from 'pino';
import type { Ledger } from '../ledger.js';
import { sendProblem } from './answer.js';
import { archiveRoutes } from './archive-routes.js';
import { claimableBalanceRoutes } from './claimable-balance-routes.js';
import { controlRoutes } from './control-routes.js';
import { faultGate } from './fault-gate.js';
import { friendbotRoutes } from './friendbot-routes.js';
import { historyRoutes } from './history-routes.js';
import { hostGuard } from './host-guard.js';
import { offerRoutes } from './offer-routes.js';
import { Problem } from './problem.js';
import { rateLimit } from './rate-limit.js';
import { rpcRoutes } from './rpc-routes.js';
import { stateRoutes } from './state-routes.js';
import { submitRoutes } from './submit-routes.js';

/** @param listensOn returns the host given for listening */
export function createApp(ledger: Ledger, log: Logger, listensOn: () => string): express.Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(hostGuard(listensOn));
  // Before the CORS headers: no web page may make a developer's ledger misbehave.
  app.use(controlRoutes(ledger));
  app.use(commonHeaders);
  app.use(rpcRoutes(ledger, log));
  app.use(rateLimit(ledger));
  app.use(faultGate(ledger));
  app.use(archiveRoutes(ledger));
  app.use(stateRoutes(ledger));
  app.use(claimableBalanceRoutes(ledger));
  app.use(offerRoutes(ledger));
  app.use(historyRoutes(ledger));
  app.use(submitRoutes(ledger));
  app.use(friendbotRoutes(ledger));
  app.use(() => {
    throw new Problem('not_found');
  });
  app.use(onError(log));
  return app;
}

const commonHeaders: RequestHandler = (req, res, next) => {
  res.setHeader('Cache-Control', 'no-cache, no-store, max-age=0');
  res.setHeader('Vary', 'Origin');
  if (req.headers.origin !== undefined) {
    res.setHeader('Access-Control-Allow-Origin', '*');
    res.setHeader('Access-Control-Expose-Headers', 'Date, Latest-Ledger');
  }
  if (req.method !== 'OPTIONS') return next();
  res.setHeader('Access-Control-Allow-Methods', 'GET, POST, DELETE');
  res.setHeader('Access-Control-Allow-Headers', req.headers['access-control-request-headers'] ?? '*');
  res.status(200).end();
};

function onError(log: Logger): ErrorRequestHandler {
  return (error, _req, res, _next) => {
    if (res.headersSent) return void res.socket?.destroy();
    sendProblem(res, toProblem(error));
  };

  function toProblem(error: unknown): Problem {
    if (error instanceof Problem) return error;
    if (error instanceof MongoError) {
      // The request was under way when the ledger was closed: its connection is gone.
      const isClosed = error instanceof MongoClientClosedError;
      if (!isClosed) log.warn({ err: error }, 'the local ledger has no database at the moment');
      return new Problem('service_unavailable');
    }
    const { type } = error as { type?: unknown };
    if (type === 'entity.too.large') return new Problem('request_too_large');
    // Express and its body parsers report the client's mistakes with a status below 500.
    const { status } = error as { status?: unknown };
    if (typeof status === 'number' && status < 500) return new Problem('bad_request');
    log.error({ err: error }, 'the local ledger could not answer');
    return new Problem('server_error');
  }
}

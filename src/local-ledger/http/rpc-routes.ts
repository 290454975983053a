/** Stellar RPC: JSON-RPC 2.0 over `POST /rpc`. Faults match a call by the path `/rpc/` and
 *  its method. */
import express, { type ErrorRequestHandler, type RequestHandler, Router } from 'express';
import type { Logger } from 'pino';
import type { Ledger } from '../ledger.js';
import { answerBody, errorAnswer, methodOf } from '../rpc/call.js';
import { PARSE_ERROR, RpcError } from '../rpc/error.js';
import { baseUrl } from './answer.js';
import { faultGate } from './fault-gate.js';
import { rateLimit } from './rate-limit.js';

const MAX_BODY = '512kb';
/** The most calls in one body. */
const MAX_BATCH = 100;

export function rpcRoutes(ledger: Ledger, log: Logger): Router {
  const router = Router();
  const onFailure = (error: unknown) =>
    log.error({ err: error }, 'the local ledger could not answer a call of its RPC');

  const answer: RequestHandler = async (req, res) => {
    const isTooMany = Array.isArray(req.body) && req.body.length > MAX_BATCH;
    if (isTooMany) return void res.status(413).type('text').end(`at most ${MAX_BATCH} calls in one request`);
    const found = await answerBody({ ledger, base: baseUrl(req), onFailure }, req.body);
    if (found === null) return void res.status(204).end();
    res.status(200).setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify(found));
  };

  const nameCall: RequestHandler = (req, res, next) => {
    res.locals.faultPath = `/rpc/${methodOf(req.body)}`;
    next();
  };

  const onBadBody: ErrorRequestHandler = (error, _req, res, next) => {
    const { type } = error as { type?: unknown };
    if (type === 'entity.too.large') return void res.status(413).type('text').end('request body too large');
    if (type !== 'entity.parse.failed') return next(error);
    res.status(200).setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify(errorAnswer(null, new RpcError(PARSE_ERROR, 'parse error'))));
  };

  const needJson: RequestHandler = (req, res, next) => {
    // A web page cannot send this type to another origin without a preflight request.
    if (req.is('application/json')) return next();
    res.status(415).type('text').end('send application/json');
  };

  const readBody = express.json({ limit: MAX_BODY, strict: false });
  router.post('/rpc', needJson, readBody, onBadBody, nameCall, rateLimit(ledger), faultGate(ledger), answer);
  router.all('/rpc', (_req, res) => void res.status(405).setHeader('Allow', 'POST').type('text').end('send POST'));
  return router;
}

/** Horizon's rate limit headers and its refusal. Streams have neither: they spend one unit for
 *  each ledger. */
import type { RequestHandler } from 'express';
import type { Ledger } from '../ledger.js';
import { faultPath, sendProblem } from './answer.js';
import { Problem } from './problem.js';

export function rateLimit(ledger: Ledger): RequestHandler {
  return (req, res, next) => {
    if (req.headers.accept?.includes('text/event-stream')) return next();
    const { method, socket } = req;
    const spent = ledger.rateLimiter.spend({ method, path: faultPath(req, res), address: socket.remoteAddress ?? '' });
    res.setHeader('X-RateLimit-Limit', String(spent.limit));
    res.setHeader('X-RateLimit-Remaining', String(spent.remaining));
    res.setHeader('X-RateLimit-Reset', String(spent.resetSeconds));
    if (!spent.isRefused) return next();
    res.setHeader('Retry-After', String(spent.retryAfterSeconds));
    sendProblem(res, new Problem('rate_limit_exceeded'));
  };
}

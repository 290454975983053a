/** Horizon's rate limit headers, and the limit itself (GCRA per address) while a `rate_limit` fault asks for it. */
import type { RequestHandler } from 'express';
import type { Ledger } from '../ledger.js';
import { sendProblem } from './answer.js';
import { Problem } from './problem.js';

/** What Horizon shows by default: a burst of 100 and the one that flows. */
const DEFAULT_BURST = 100;

export function rateLimit(ledger: Ledger): RequestHandler {
  /** When the bucket of an address will be full again, in milliseconds since the epoch. */
  const fullAt = new Map<string, number>();

  return (req, res, next) => {
    if (req.headers.accept?.includes('text/event-stream')) return next();
    const limit = ledger.faults.hit({ method: req.method, path: req.path }, ['rate_limit']);
    if (limit?.kind !== 'rate_limit') {
      fullAt.clear();
      res.setHeader('X-RateLimit-Limit', String(DEFAULT_BURST + 1));
      res.setHeader('X-RateLimit-Remaining', String(DEFAULT_BURST));
      res.setHeader('X-RateLimit-Reset', '1');
      return next();
    }
    const nowMs = ledger.clock.nowMs();
    const address = req.socket.remoteAddress ?? '';
    const intervalMs = 3_600_000 / limit.perHour;
    const after = Math.max(fullAt.get(address) ?? 0, nowMs) + intervalMs;
    const waitMs = after - nowMs - intervalMs * (limit.burst + 1);
    const isAllowed = waitMs <= 0;
    if (isAllowed) fullAt.set(address, after);
    const full = isAllowed ? after : after - intervalMs;
    res.setHeader('X-RateLimit-Limit', String(limit.burst + 1));
    res.setHeader('X-RateLimit-Remaining', String(Math.max(0, Math.floor(-waitMs / intervalMs))));
    res.setHeader('X-RateLimit-Reset', String(Math.ceil((full - nowMs) / 1000)));
    if (isAllowed) return next();
    res.setHeader('Retry-After', String(Math.ceil(waitMs / 1000)));
    sendProblem(res, new Problem('rate_limit_exceeded'));
  };
}

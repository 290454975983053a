/** Stands before every endpoint of Horizon and Stellar RPC, and misbehaves as the faults say. */
import type { Request, RequestHandler, Response } from 'express';
import type { RequestFault } from '../faults.js';
import type { Ledger } from '../ledger.js';
import { faultPath, sendProblem } from './answer.js';
import { Problem } from './problem.js';

const HTML = '<!DOCTYPE html><html><head><title>Just a moment</title></head><body><h1>Please wait</h1></body></html>';

const AT_THE_GATE = [
  'rate_limited',
  'unavailable',
  'stale_history',
  'server_error',
  'not_found',
  'timeout',
  'html',
  'bad_gateway',
  'cut_json',
  'hang',
  'reset_connection',
  'lost_answer',
  'slow',
] as const satisfies RequestFault['kind'][];

export function faultGate(ledger: Ledger): RequestHandler {
  return async (req, res, next) => {
    const fault = ledger.faults.hit({ method: req.method, path: faultPath(req, res) }, AT_THE_GATE);
    if (fault === null) return next();
    await misbehave(fault, req, res, next);
  };

  async function misbehave(fault: RequestFault, req: Request, res: Response, next: () => void): Promise<void> {
    switch (fault.kind) {
      case 'rate_limited':
        res.setHeader('Retry-After', String(fault.retryAfterSeconds));
        res.setHeader('X-RateLimit-Remaining', '0');
        return sendProblem(res, new Problem('rate_limit_exceeded'));
      case 'unavailable':
        if (fault.retryAfterSeconds !== undefined) res.setHeader('Retry-After', String(fault.retryAfterSeconds));
        return sendProblem(res, new Problem('service_unavailable'));
      case 'stale_history': {
        const { latest } = ledger.visible();
        const extras = { history_latest_ledger: latest, core_latest_ledger: ledger.head().sequence };
        return sendProblem(res, new Problem('stale_history', extras));
      }
      case 'server_error':
        return sendProblem(res, new Problem('server_error'));
      case 'not_found':
        return sendProblem(res, new Problem('not_found'));
      case 'timeout':
        if (!fault.emptyBody) return sendProblem(res, new Problem('timeout'));
        return void res.status(504).end();
      case 'html':
        return void res.status(200).type('html').send(HTML);
      case 'bad_gateway':
        return void res.status(502).type('html').send(HTML);
      case 'cut_json':
        cutShort(req, res);
        return next();
      case 'hang':
        // Only the client's timeout, or closing the ledger, ends the connection.
        return;
      case 'reset_connection':
        return void res.socket?.resetAndDestroy();
      case 'lost_answer':
        res.end = (() => {
          res.socket?.resetAndDestroy();
          return res;
        }) as typeof res.end;
        return next();
      case 'slow':
        await ledger.clock.sleep(fault.delayMs);
        return next();
      default:
        return next();
    }
  }
}

/** Sends only the first half of the body, as if it were complete. */
function cutShort(req: Request, res: Response): void {
  // Without gzip: the JSON should break, not the compression.
  delete req.headers['accept-encoding'];
  const end = res.end.bind(res) as (body?: unknown) => Response;
  res.end = ((body?: unknown) =>
    end(typeof body === 'string' ? body.slice(0, Math.floor(body.length / 2)) : body)) as typeof res.end;
}

/** Writes answers as Horizon does: headers, indentation, escapes, gzip on request. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { Problem } from './problem.js';

const compress = promisify(gzip);
/** Compressing smaller bodies is not worth the work (nor does Horizon). */
const GZIP_FROM_BYTES = 1400;

const ESCAPES: Record<string, string> = { '&': '\\u0026', '<': '\\u003c', '>': '\\u003e' };

/** JSON as Go writes it, with HTML characters escaped. */
export const toJson = (body: unknown, indent = 2): string =>
  JSON.stringify(body, null, indent).replace(/[&<>]/g, (character) => ESCAPES[character]!);

export async function sendHal(req: Request, res: Response, body: unknown, status = 200): Promise<void> {
  const text = toJson(body);
  res.status(status);
  res.setHeader('Content-Type', 'application/hal+json; charset=utf-8');
  res.setHeader('Content-Disposition', 'inline');
  if (text.length >= GZIP_FROM_BYTES && /\bgzip\b/.test(req.headers['accept-encoding'] ?? '')) {
    const packed = await compress(text, { level: 1 });
    res.setHeader('Content-Encoding', 'gzip');
    res.end(packed);
  } else {
    res.end(text);
  }
}

/** The path by which faults match a request: its own, or `/rpc/` and the method for a call of
 *  Stellar RPC. */
export const faultPath = (req: Request, res: Response): string =>
  typeof res.locals.faultPath === 'string' ? res.locals.faultPath : req.path;

/** A problem body; for a call of Stellar RPC a line of text, as its proxies answer. */
export function sendProblem(res: Response, problem: Problem): void {
  res.status(problem.status);
  if (typeof res.locals.faultPath === 'string') return void res.type('text').end(problem.message);
  res.setHeader('Content-Type', 'application/problem+json; charset=utf-8');
  res.end(toJson(problem.body()));
}

/** Scheme and host that the client used. */
export const baseUrl = (req: Request): string => {
  const scheme = req.headers['x-forwarded-proto'] === 'https' ? 'https' : 'http';
  return `${scheme}://${req.headers.host ?? 'localhost'}`;
};

export type Format = 'json' | 'stream';

/** The format that the client accepts. Throws `not_acceptable` if none fits. */
export function negotiate(req: Request, canStream: boolean): Format {
  const accepted = (req.headers.accept ?? '*/*').split(',').map((type) => type.split(';')[0]!.trim().toLowerCase());
  for (const type of accepted) {
    if (type === 'text/event-stream' && canStream) return 'stream';
    if (['*/*', 'application/*', 'application/json', 'application/hal+json', ''].includes(type)) return 'json';
  }
  throw new Problem('not_acceptable');
}

/** Form bodies of POST requests, urlencoded or multipart, as a flat record. */
import express, { type Request, type RequestHandler } from 'express';
import { parameter } from './parameters.js';
import { Problem } from './problem.js';

const MAX_BODY = '200kb';

/** Reads the raw body, which `formField` interprets. */
export const readForm: RequestHandler[] = [
  (req, _res, next) => {
    const type = contentType(req);
    const isForm = type === '' || type === 'application/x-www-form-urlencoded' || type === 'multipart/form-data';
    if (!isForm) throw new Problem('unsupported_media_type');
    next();
  },
  express.raw({ type: () => true, limit: MAX_BODY }),
];

const contentType = (req: Request): string => (req.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();

/** A field of the form, otherwise of the query; empty if it is in neither. */
export async function formField(req: Request, name: string): Promise<string> {
  const body: unknown = req.body;
  if (Buffer.isBuffer(body) && body.length > 0) {
    const type = contentType(req) === '' ? 'application/x-www-form-urlencoded' : req.headers['content-type']!;
    const form = await new globalThis.Response(body, { headers: { 'content-type': type } }).formData().catch(() => {
      throw new Problem('bad_request');
    });
    const value = form.get(name);
    if (typeof value === 'string') return value;
  }
  return parameter(req, name);
}

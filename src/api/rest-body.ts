/** Reads a JSON body: an object of at most 102,400 bytes, or a clear `bad_request`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { raw } from 'express';
import { ApiError } from '../kit/api-error.js';

export const MAX_BODY_BYTES = 102_400;

const readBytes = raw({ limit: MAX_BODY_BYTES, type: () => true });
const utf8 = new TextDecoder('utf-8', { fatal: true });
const JSON_TYPE = /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i;

const bad = (message: string) => new ApiError('bad_request', message);

/** The object in the body; null when there is no body at all. */
export async function readBody(req: IncomingMessage, res: ServerResponse): Promise<Record<string, unknown> | null> {
  const bytes = await new Promise<Buffer | undefined>((resolve, reject) => {
    readBytes(req as never, res as never, (error?: unknown) => {
      if (error === undefined) resolve((req as { body?: Buffer }).body);
      else reject(failureOf(error));
    });
  });
  if (bytes === undefined || bytes.length === 0) return null;
  if (!JSON_TYPE.test(req.headers['content-type'] ?? ''))
    throw bad('The body must have Content-Type application/json.');
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(bytes));
  } catch {
    throw bad('The body is not valid JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw bad('The body must be a JSON object.');
  return value as Record<string, unknown>;
}

/** body-parser's errors name their kind in `type`; those without a status of a client's mistake
 *  are ours. */
function failureOf(error: unknown): unknown {
  const { status, type } = error as { status?: number; type?: string };
  if (status === undefined || status >= 500) return error;
  if (type === 'entity.too.large') return bad(`The body is larger than ${MAX_BODY_BYTES} bytes.`);
  if (type === 'encoding.unsupported') return bad('The Content-Encoding of the body is not supported.');
  return bad('The body could not be read.');
}

/** JSON-RPC 2.0 over HTTP: one call, one answer. Anything but an answer to the call is the server's
 *  error, never data. */
import { z } from 'zod';
import type { Response } from '../request.js';
import { SourceError } from '../source.js';

// Schemas of fields that several Stellar RPC answers share. They check a field and convert it to
// the domain's type.

export const ledgerNumber = z.int().positive();
export const base64 = z.base64();

/** Seconds since the epoch as a number or decimal text, or a time as text. */
export const moment = z.union([
  z
    .union([z.int().nonnegative(), z.string().regex(/^\d{1,12}$/)])
    .transform((seconds) => new Date(Number(seconds) * 1000)),
  z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
]);

/** Sends a body. @throws SourceError */
type Post = (body: string) => Promise<Response>;

/** @throws SourceError, including `RpcError` */
export type Call = <T>(method: string, params: object | null, schema: z.ZodType<T>) => Promise<T>;

/** The server understood the call and refused it. */
export class RpcError extends SourceError {
  constructor(readonly code: number) {
    super(`error ${code}`, { kind: code === TOO_MUCH_WORK ? 'slow' : 'server' });
  }
}

/** The ledgers of the call are too old or too new for the server. */
export const OUT_OF_RANGE = -32600;
export const INVALID_PARAMS = -32602;
/** The call took longer than the server allows. */
const TOO_MUCH_WORK = -32001;

/** Only a 429 may ask for a longer pause: a proxy's guess at the end of an outage must not
 *  prolong it. */
const LONGEST_PAUSE_MS = 60_000;

const answerSchema = z.union([
  z.object({ id: z.int(), error: z.object({ code: z.int() }) }),
  z.object({ id: z.int(), result: z.unknown().refine((result) => result !== undefined) }),
]);

export function createCall(post: Post): Call {
  let lastId = 0;
  return async (method, params, schema) => {
    lastId += 1;
    const id = lastId;
    const call = { jsonrpc: '2.0', id, method, ...(params ? { params } : {}) };
    const { status, body, retryAfterMs } = await post(JSON.stringify(call));
    if (status !== 200) {
      const pauseMs = retryAfterMs === null || status === 429 ? retryAfterMs : Math.min(retryAfterMs, LONGEST_PAUSE_MS);
      throw new SourceError(`status ${status}`, { retryAfterMs: pauseMs, kind: status === 504 ? 'slow' : 'server' });
    }
    const answer = answerSchema.safeParse(body).data;
    // A proxy may answer with HTML, or with the answer to another call.
    if (answer?.id !== id) throw new SourceError(body === undefined ? 'no JSON' : 'no answer to the call');
    if ('error' in answer) throw new RpcError(answer.error.code);
    const result = schema.safeParse(answer.result);
    if (!result.success) throw new SourceError(`invalid answer to ${method}`);
    return result.data;
  };
}

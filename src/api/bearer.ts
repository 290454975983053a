/** Who sends a request: looked up before anything of it is read, so that a stranger costs little. */
import type { IncomingMessage } from 'node:http';
import { ApiError } from '../domain/api-error.js';
import type { Caller } from '../services/caller.js';

/** Longer than any key; what is longer is not worth a look-up. */
const BEARER = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

/** `authenticate` takes what follows `Bearer ` and answers null for a key that is unknown, revoked or expired.
 *  The function that it becomes throws ApiError `unauthorized`. */
export function createCallerOf(authenticate: (token: string) => Promise<Caller | null>) {
  return async (req: IncomingMessage): Promise<Caller> => {
    const { authorization } = req.headers;
    if (authorization === undefined)
      throw new ApiError('unauthorized', 'Send an API key: "Authorization: Bearer sk_…".');
    const token = BEARER.exec(authorization)?.[1];
    const caller = token === undefined ? null : await authenticate(token);
    if (!caller) throw new ApiError('unauthorized', 'The API key is unknown, revoked or expired.');
    return caller;
  };
}

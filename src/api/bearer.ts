/** Authenticates and counts a request before reading the rest of it, so that strangers cost little. */
import type { IncomingMessage } from 'node:http';
import { ApiError, rateLimited } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';

/** Longer than any key: longer tokens are refused without a look-up. */
const BEARER = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

interface CallerDeps {
  /** Takes what follows `Bearer `. @returns null for a key that is unknown, revoked or expired */
  authenticate: (token: string) => Promise<Caller | null>;
  /** Counts authenticated calls by account. @returns the seconds to wait, 0 when the calls are let through */
  accountLimit: (accountId: string, calls: number) => number;
  /** Counts requests without a valid key by client address. @returns as above */
  strangerLimit: (address: string) => number;
  addressOf: (req: IncomingMessage) => string;
}

/** @param calls how many calls the request makes: a tRPC batch makes several
 *  @throws ApiError `unauthorized`, `rate_limited` */
export type CallerOf = (req: IncomingMessage, calls?: number) => Promise<Caller>;

export function createCallerOf(deps: CallerDeps): CallerOf {
  const { authenticate, accountLimit, strangerLimit, addressOf } = deps;
  return async (req, calls = 1) => {
    const { authorization } = req.headers;
    const token = BEARER.exec(authorization ?? '')?.[1];
    // A valid key is served regardless of other requests from its address.
    const caller = token === undefined ? null : await authenticate(token);
    const address = addressOf(req);
    const waitSeconds = caller ? accountLimit(caller.accountId, calls) : strangerLimit(address);
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
    if (caller) return { ...caller, address };
    throw new ApiError(
      'unauthorized',
      token === undefined
        ? 'Send an API key: "Authorization: Bearer sk_…".'
        : 'The API key is unknown, revoked or expired.',
    );
  };
}

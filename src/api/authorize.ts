/** Decides which caller may call which operation, for procedures, REST, downloads and streams
 *  alike: its key or session, and the limit of its requests. */
import type { IncomingMessage } from 'node:http';
import type { Operation } from '../../contracts/operation.js';
import { ApiError, rateLimited } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';

// Authenticates and counts a request before reading the rest of it, so that strangers cost little.

/** Longer than any key: longer tokens are refused without a look-up. */
const BEARER = /^Bearer +([\x21-\x7e]{1,256}) *$/i;

interface CallerDeps {
  /** Takes what follows `Bearer `. @returns null for a key that is unknown, revoked or expired */
  authenticate: (token: string) => Promise<Caller | null>;
  /** Counts authenticated calls by account. @returns the seconds to wait, 0 when the calls are
   *  let through */
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

// Counts requests by key (an account, a client address) in this process. A key's minute begins with
// its first request.

const WINDOW_MS = 60_000;
/** Beyond them the oldest windows are forgotten: strangers with many addresses must not fill
 *  the memory. */
const MAX_KEYS = 100_000;

/** Counts `requests` (1 by default) for the key; a negative number takes back what was counted
 *  before its work, and turned out not to count. @returns 0 when they are within the limit, else
 *  the seconds to wait */
type RateLimit = (key: string, requests?: number) => number;

/** @param perMinute 0 turns the limit off */
export function createRateLimit(perMinute: number, clock: Pick<Clock, 'nowMs'>): RateLimit {
  if (perMinute === 0) return () => 0;
  const windows = new Map<string, { endsAtMs: number; count: number }>();
  let sweepAtMs = 0;

  const sweep = (nowMs: number) => {
    for (const [key, { endsAtMs }] of windows) if (endsAtMs <= nowMs) windows.delete(key);
    sweepAtMs = nowMs + WINDOW_MS;
  };
  const windowOf = (key: string, nowMs: number) => {
    const known = windows.get(key);
    // A window that ends later than any can began before the clock was set back.
    if (known && known.endsAtMs > nowMs && known.endsAtMs <= nowMs + WINDOW_MS) return known;
    const window = { endsAtMs: nowMs + WINDOW_MS, count: 0 };
    // Deleted first, so that the map stays in the order in which windows began.
    windows.delete(key);
    windows.set(key, window);
    if (windows.size > MAX_KEYS) windows.delete(windows.keys().next().value!);
    return window;
  };

  return (key, requests = 1) => {
    const nowMs = clock.nowMs();
    if (nowMs >= sweepAtMs) sweep(nowMs);
    const window = windowOf(key, nowMs);
    window.count = Math.max(0, window.count + requests);
    return window.count > perMinute ? Math.max(1, Math.ceil((window.endsAtMs - nowMs) / 1000)) : 0;
  };
}

type Asking = Pick<Caller, 'user' | 'scope'>;

/** A user by the role, an API key by its scope. */
export const mayCall = ({ user, scope }: Asking, operation: Operation): boolean =>
  user ? operation.roles.includes(user.role) : scope === 'FULL' || (operation.readOnly && !operation.needsFullKey);

/** @throws ApiError `forbidden` */
export function authorize(caller: Asking, operation: Operation): void {
  if (mayCall(caller, operation)) return;
  throw new ApiError('forbidden', refusalOf(caller, operation));
}

function refusalOf({ user }: Asking, { readOnly }: Operation): string {
  if (user) return `The role ${user.role} does not allow this.`;
  return readOnly ? 'This operation needs a FULL API key.' : 'This API key may only read.';
}

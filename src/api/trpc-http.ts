/** tRPC over HTTP: the same router, key, limits and error objects as REST. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { getTRPCErrorFromUnknown, getTRPCErrorShape, initTRPC } from '@trpc/server';
import { nodeHTTPRequestHandler } from '@trpc/server/adapters/node-http';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import { ERRORS } from '../../contracts/errors.js';
import type { ApiErrorShape, AppRouter } from '../client/index.js';
import { badRequest } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import { sendJson } from './answer.js';
import { apiErrorIn, errorBodyOf } from './input.js';
import { idempotencyKeyOf, type RestDeps } from './rest.js';
import { MAX_BODY_BYTES } from './rest-body.js';

// The root of tRPC: what a call carries, and how a failure looks to a tRPC client. No stack and no
// cause ever leaves.

/** The context of every call, over tRPC or REST. The API key has been checked. */
export interface ApiContext {
  caller: Caller;
  requestId: string;
  /** Header `Idempotency-Key`. */
  idempotencyKey: string | null;
  /** Streams go out as they are, and not as a tRPC client expects them. */
  isRest?: true;
  /** Names in the input that the contract knows but REST takes from the path alone. */
  strays?: readonly string[];
  /** For a call in a batch, whose body is limited only as a whole. */
  maxInputBytes?: number;
}

/** Interval of a stream's pings. A client that misses two of them reconnects. */
const PING_MS = 15_000;

export const t = initTRPC.context<ApiContext>().create({
  isDev: false,
  sse: { ping: { enabled: true, intervalMs: PING_MS }, client: { reconnectAfterInactivityMs: 3 * PING_MS } },
  /** A failure takes its codes from the table; what tRPC itself refuses keeps tRPC's. Both carry
   *  REST's error object in `data.error`. */
  errorFormatter({ error, shape, ctx }): ApiErrorShape {
    const { body } = errorBodyOf(error, ctx?.requestId ?? 'unknown');
    const known = apiErrorIn(error) ? ERRORS[body.code] : null;
    const code = known?.trpc ?? shape.data.code;
    return {
      message: body.message,
      code: TRPC_ERROR_CODES_BY_KEY[code],
      data: { code, httpStatus: known?.status ?? shape.data.httpStatus, path: shape.data.path, error: body },
    };
  },
});

const MAX_BATCH_SIZE = 20;
/** tRPC decodes the path before it splits it. */
const COMMA = /,|%2c/i;

/** Answers a request whose url is relative to `/trpc`. Never rejects. */
export function createTrpcHttp(deps: Omit<RestDeps, 'validationContext' | 'eventStreams' | 'exportOf' | 'watch'>) {
  const { router, callerOf, onInternalError } = deps;
  const isStream = (path: string) =>
    (router._def.procedures as unknown as Record<string, { _def: { type: string } }>)[path]?._def.type ===
    'subscription';

  /** @param calls of a batch; null for a call by itself */
  function answerRefused(res: ServerResponse, refusal: unknown, calls: number | null, requestId: string): void {
    if (errorBodyOf(refusal, requestId).isInternal) onInternalError(refusal, requestId);
    const error = getTRPCErrorShape({
      config: router._def._config,
      error: getTRPCErrorFromUnknown(refusal),
      ...{ type: 'unknown', path: undefined, input: undefined, ctx: { requestId } as never },
    }) as unknown as ApiErrorShape;
    const wait = apiErrorIn(refusal)?.retryAfterSeconds;
    if (wait !== undefined) res.setHeader('Retry-After', wait);
    const answer = calls === null ? { error } : Array.from({ length: calls }, () => ({ error }));
    sendJson(res, error.data.httpStatus, JSON.stringify(answer));
  }

  return async (req: IncomingMessage, res: ServerResponse, requestId: string): Promise<void> => {
    const [path, query] = pathAndQueryOf(req);
    // Every call of a batch counts, also those of procedures that do not exist.
    const isBatch = query.get('batch') === '1';
    const named = isBatch ? path.split(COMMA).length : 1;
    const calls = Math.min(named, MAX_BATCH_SIZE);
    const idempotencyKey = idempotencyKeyOf(req);
    let caller: Caller | null = null;
    let refusal: unknown;
    try {
      caller = await callerOf(req, calls);
      // Two calls alike would be taken for one and its repetition.
      if (named > 1 && idempotencyKey !== null)
        throw badRequest('A batch with an Idempotency-Key may have one call only.');
    } catch (error) {
      refusal = error;
    }
    // A client that has already hung up would go unnoticed, and its stream would keep its place.
    if (res.destroyed) return;
    // Not left to tRPC, which answers what it refuses by itself before it looks at the caller. A
    // stream gets its refusal as an event.
    if (refusal !== undefined && !isStream(path)) return answerRefused(res, refusal, isBatch ? calls : null, requestId);
    await nodeHTTPRequestHandler<AppRouter, IncomingMessage, ServerResponse>({
      req,
      res,
      path,
      router,
      maxBatchSize: MAX_BATCH_SIZE,
      maxBodySize: calls * MAX_BODY_BYTES,
      // An error given here answers every call of the request before its procedure is even looked
      // up, so no call ever sees a missing caller.
      middleware: (_req, _res, next) => next(refusal as Error | undefined),
      createContext: (): ApiContext => ({
        caller: caller as Caller,
        requestId,
        idempotencyKey,
        ...(isBatch ? { maxInputBytes: MAX_BODY_BYTES } : {}),
      }),
      onError: ({ error }) => {
        if (errorBodyOf(error, requestId).isInternal) onInternalError(error.cause ?? error, requestId);
      },
      responseMeta: ({ errors }) => {
        const waits = errors.map((error) => apiErrorIn(error)?.retryAfterSeconds ?? 0);
        const longest = Math.max(0, ...waits);
        return longest > 0 ? { headers: { 'retry-after': String(longest) } } : {};
      },
    });
  };
}

function pathAndQueryOf(req: IncomingMessage): [path: string, query: URLSearchParams] {
  const [path = '', query = ''] = (req.url ?? '/').split(/\?(.*)/s, 2);
  return [path.slice(1), new URLSearchParams(query)];
}

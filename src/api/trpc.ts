/** The root of tRPC: what a call carries, and how a failure looks to a tRPC client. No stack and no cause ever leaves. */
import { initTRPC } from '@trpc/server';
import { TRPC_ERROR_CODES_BY_KEY } from '@trpc/server/rpc';
import { ERRORS } from '../../contracts/errors.js';
import type { ApiErrorShape } from '../client/index.js';
import type { Caller } from '../kit/caller.js';
import { apiErrorIn, errorBodyOf } from './errors.js';

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
  /** A failure takes its codes from the table; what tRPC itself refuses keeps tRPC's. Both carry REST's error object in `data.error`. */
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

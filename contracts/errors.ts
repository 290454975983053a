/** The only table of API errors: code, HTTP status and tRPC code. */
import { z } from 'zod';

export const ERRORS = {
  bad_request: {
    status: 400,
    trpc: 'BAD_REQUEST',
    description: 'The request is malformed, or a query parameter is invalid.',
  },
  unauthorized: {
    status: 401,
    trpc: 'UNAUTHORIZED',
    description: 'The API key is missing, unknown, revoked or expired.',
  },
  forbidden: {
    status: 403,
    trpc: 'FORBIDDEN',
    description:
      'The API key has scope READ and the operation writes or needs a FULL key, or the role of the user may not do it.',
  },
  not_found: {
    status: 404,
    trpc: 'NOT_FOUND',
    description: 'There is no such resource, or it belongs to another account.',
  },
  conflict: { status: 409, trpc: 'CONFLICT', description: 'The state of the resource does not allow the operation.' },
  validation_error: {
    status: 422,
    trpc: 'UNPROCESSABLE_CONTENT',
    description: 'The body does not match the schema; `details` has one entry per error.',
  },
  rate_limited: {
    status: 429,
    trpc: 'TOO_MANY_REQUESTS',
    description:
      'Too many requests of this account, or of this address without a key; `Retry-After` says for how many seconds to wait.',
  },
  unavailable: {
    status: 503,
    trpc: 'SERVICE_UNAVAILABLE',
    description:
      'The database or the ledger does not answer at the moment; `Retry-After` says for how many seconds to wait. A change may have been made: repeat it with the same Idempotency-Key.',
  },
  internal: {
    status: 500,
    trpc: 'INTERNAL_SERVER_ERROR',
    description: 'An unexpected error on the server; the message names the request id.',
  },
} as const;

/** Codes of errors, for programs. */
export type ErrorCode = keyof typeof ERRORS;
export const ERROR_CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

/** One error in a request. `path` is dotted (`"price"`, `"events.0"`), and `""` for the
 *  whole body. */
export const fieldErrorSchema = z
  .object({
    path: z.string().meta({ description: 'Path of the field, dotted: `price`, `events.0`.', examples: ['price'] }),
    message: z.string().meta({ description: 'What is wrong, for a person.' }),
    code: z.string().meta({
      description: 'What is wrong, for a program: `required`, `invalid_type`, `too_big`, `unrecognized_key`, …',
      examples: ['required'],
    }),
  })
  .meta({ id: 'FieldError' });
/** One error in a request, an entry of `details`.
 *  @interface */
export type FieldError = z.infer<typeof fieldErrorSchema>;

export const errorSchema = z
  .object({
    message: z.string(),
    code: z.enum(ERROR_CODES),
    details: z.array(fieldErrorSchema).optional().meta({ description: 'Only with `validation_error`.' }),
  })
  .meta({ id: 'Error' });
/** The `error` of an answer.
 *  @interface */
export type ErrorBody = z.infer<typeof errorSchema>;

/** Errors that the API answers, from the one table in contracts/errors. Anything else that is thrown is an internal error. */
import type { ErrorCode, FieldError } from '../../contracts/errors.js';

export class ApiError extends Error {
  override readonly name = 'ApiError';
  constructor(
    readonly code: Exclude<ErrorCode, 'internal'>,
    message: string,
    readonly details?: FieldError[],
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

export const notFound = (what: string) => new ApiError('not_found', `There is no such ${what}.`);
export const badRequest = (message: string) => new ApiError('bad_request', message);
export const rateLimited = (waitSeconds: number) =>
  new ApiError('rate_limited', `Too many requests: try again in ${waitSeconds} s.`, undefined, waitSeconds);
export const conflict = (message: string) => new ApiError('conflict', message);
/** What is wrong with the body, or with what it points at: one entry per field. */
export const invalid = (...errors: [FieldError, ...FieldError[]]) =>
  new ApiError(
    'validation_error',
    errors.length === 1 ? errors[0].message : `The body has ${errors.length} errors.`,
    errors,
  );

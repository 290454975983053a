/** Failures: what a caller did that cannot be, from the one table in contracts/errors. Anything else that is thrown is a fault of ours. */
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
export const conflict = (message: string) => new ApiError('conflict', message);
/** Faults in what the body says or points at. */
export const invalid = (...faults: [FieldError, ...FieldError[]]) =>
  new ApiError(
    'validation_error',
    faults.length === 1 ? faults[0].message : `The body has ${faults.length} faults.`,
    faults,
  );

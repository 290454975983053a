/** Turns whatever was thrown into the one error object: failures as they are, everything else as `internal` with nothing but the request id. */
import { TRPCError } from '@trpc/server';
import { ERRORS, type ErrorBody } from '../../contracts/errors.js';
import { ApiError } from '../kit/api-error.js';

/** The failure in an error, which tRPC may have wrapped; null for a fault of ours. */
export function apiErrorIn(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  if (error instanceof Error && error.cause instanceof ApiError) return error.cause;
  return null;
}

/** Codes of tRPC for requests that it could not even begin with; every other code comes from a failure, or is a fault. */
const MALFORMED: ReadonlySet<string> = new Set([
  'PARSE_ERROR',
  'BAD_REQUEST',
  'METHOD_NOT_SUPPORTED',
  'UNSUPPORTED_MEDIA_TYPE',
  'PAYLOAD_TOO_LARGE',
  'CLIENT_CLOSED_REQUEST',
]);

/** The error object that answers `error`, and whether it is a fault that has to be logged. */
export function errorBodyOf(error: unknown, requestId: string): { body: ErrorBody; isInternal: boolean } {
  const failure = apiErrorIn(error);
  if (failure) {
    const { message, code, details } = failure;
    return { body: details ? { message, code, details } : { message, code }, isInternal: false };
  }
  if (error instanceof TRPCError) {
    if (error.code === 'NOT_FOUND') return { body: { message: error.message, code: 'not_found' }, isInternal: false };
    if (MALFORMED.has(error.code)) {
      // With a cause the message is that of some parser.
      const message = error.cause ? ERRORS.bad_request.description : error.message;
      return { body: { message, code: 'bad_request' }, isInternal: false };
    }
  }
  return {
    body: { message: `Something went wrong here. Request id: ${requestId}`, code: 'internal' },
    isInternal: true,
  };
}

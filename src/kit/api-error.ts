/** The API's errors, from the table in contracts/errors, and the faults of a body that names what
 *  is not there. Any other thrown error is an internal error. */
import type { ErrorCode, FieldError } from '../../contracts/errors.js';

// Faults of a body that names missing resources.

const noSuch = (path: string, what: string): FieldError => ({
  path,
  message: `There is no such ${what}.`,
  code: 'not_found',
});

export const NO_SUCH = {
  wallet: noSuch('walletId', 'wallet'),
  product: noSuch('productId', 'product'),
  link: noSuch('paymentLinkId', 'payment link'),
  checkout: noSuch('checkoutId', 'checkout'),
};

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
/** Faults outside the body go into the message: details are for bodies. */
export const badRequestOf = (faults: readonly FieldError[]) =>
  badRequest(faults.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(' '));
export const rateLimited = (waitSeconds: number) =>
  new ApiError('rate_limited', `Too many requests: try again in ${waitSeconds} s.`, undefined, waitSeconds);
/** Outages are often over by then. */
const AWAY_RETRY_SECONDS = 5;
export const unavailable = (message: string) => new ApiError('unavailable', message, undefined, AWAY_RETRY_SECONDS);
export const conflict = (message: string) => new ApiError('conflict', message);
/** Faults of the body, or of what it refers to: one entry per field. */
export const invalid = (...errors: [FieldError, ...FieldError[]]) =>
  new ApiError(
    'validation_error',
    errors.length === 1 ? errors[0].message : `The body has ${errors.length} errors.`,
    errors,
  );

/** Merges changes into a resource. What was stored before is not refused by a rule of today.
 *  @param rules between its fields @throws ApiError when the changes, or what follows from them, do
 *  not fit the rest */
export function withChanges<T extends object>(
  before: T,
  given: Partial<T>,
  rules: (merged: Readonly<Record<string, unknown>>) => FieldError[],
): T {
  const merged = { ...before, ...given };
  const old = rules({ ...before } as Record<string, unknown>);
  const [fault, ...others] = rules({ ...merged } as Record<string, unknown>).filter(
    ({ path, message }) => path in given || !old.some((each) => each.path === path && each.message === message),
  );
  if (fault) throw invalid(fault, ...others);
  return merged;
}

/** The error that calls throw. */
import { TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { ErrorBody, FieldError } from './contract.js';
import type { AppRouter } from './procedures.js';

/** A failed call. `data.error` is REST's error object; `data` is null when the service did
 *  not answer. */
export class CallError extends TRPCClientError<AppRouter> {
  /** Field errors; empty when no field is at fault. */
  readonly details: readonly FieldError[];

  /** @param service its URL */
  constructor(error: TRPCClientError<AppRouter>, service: string) {
    const body = error.data?.error;
    super(body ? messageOf(body) : `The call to ${service} failed: ${error.message}${codeOf(error)}`, {
      ...(error.shape ? { result: { error: error.shape } } : {}),
      ...(error.cause ? { cause: error.cause } : {}),
      ...(error.meta ? { meta: error.meta } : {}),
    });
    // tRPC's constructor sets its own prototype.
    Object.setPrototypeOf(this, CallError.prototype);
    this.details = body?.details ?? [];
  }
}

/** Why there was no answer, such as ECONNREFUSED. */
function codeOf({ cause }: Error): string {
  const { code } = ((cause as Error | undefined)?.cause ?? {}) as { code?: unknown };
  return typeof code === 'string' ? ` (${code})` : '';
}

/** Includes the field errors, because a log shows only the message. */
function messageOf({ message, details = [] }: ErrorBody): string {
  const faults = details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  if (faults.length === 0) return message;
  return faults.length === 1 ? faults[0]! : `${message} ${faults.join(' ')}`;
}

/** The first link: turns every failure of the others into a `CallError`. */
export const callErrors =
  (service: string): TRPCLink<AppRouter> =>
  () =>
  ({ op, next }) =>
    observable((observer) =>
      next(op).subscribe({
        ...observer,
        error: (error) => observer.error(new CallError(error, service)),
      }),
    );

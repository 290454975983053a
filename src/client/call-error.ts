/** The error that calls throw. */
import { TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { ErrorBody, FieldError } from './contract.js';
import type { AppRouter } from './procedures.js';

/** A failed call. `data.error` is REST's error object; `data` is null when the service did not answer. */
export class CallError extends TRPCClientError<AppRouter> {
  /** Field errors; empty when no field is at fault. */
  readonly details: readonly FieldError[];

  constructor(error: TRPCClientError<AppRouter>) {
    const body = error.data?.error;
    super(body ? messageOf(body) : error.message, {
      ...(error.shape ? { result: { error: error.shape } } : {}),
      ...(error.cause ? { cause: error.cause } : {}),
      ...(error.meta ? { meta: error.meta } : {}),
    });
    // tRPC's constructor sets its own prototype.
    Object.setPrototypeOf(this, CallError.prototype);
    this.details = body?.details ?? [];
  }
}

/** Includes the field errors, because a log shows only the message. */
function messageOf({ message, details = [] }: ErrorBody): string {
  const faults = details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  if (faults.length === 0) return message;
  return faults.length === 1 ? faults[0]! : `${message} ${faults.join(' ')}`;
}

/** The first link: turns every failure of the others into a `CallError`. */
export const callErrors: TRPCLink<AppRouter> =
  () =>
  ({ op, next }) =>
    observable((observer) =>
      next(op).subscribe({
        ...observer,
        error: (error) => observer.error(new CallError(error)),
      }),
    );

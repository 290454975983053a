/** What a call throws. */
import { TRPCClientError, type TRPCLink } from '@trpc/client';
import { observable } from '@trpc/server/observable';
import type { ErrorBody, FieldError } from './contract.js';
import type { AppRouter } from './procedures.js';

/** A call that failed. `data.error` is REST's error object; null `data`: no answer came from the service. */
export class CallError extends TRPCClientError<AppRouter> {
  /** What is wrong with which field; empty where no field is at fault. */
  readonly details: readonly FieldError[];

  constructor(error: TRPCClientError<AppRouter>) {
    const body = error.data?.error;
    super(body ? messageOf(body) : error.message, {
      ...(error.shape ? { result: { error: error.shape } } : {}),
      ...(error.cause ? { cause: error.cause } : {}),
      ...(error.meta ? { meta: error.meta } : {}),
    });
    // tRPC's constructor makes each one its own.
    Object.setPrototypeOf(this, CallError.prototype);
    this.details = body?.details ?? [];
  }
}

/** Names each field that is at fault: a log shows the message alone. */
function messageOf({ message, details = [] }: ErrorBody): string {
  const faults = details.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  if (faults.length === 0) return message;
  return faults.length === 1 ? faults[0]! : `${message} ${faults.join(' ')}`;
}

/** Before the other links: every failure that comes through it is a `CallError`. */
export const callErrors: TRPCLink<AppRouter> =
  () =>
  ({ op, next }) =>
    observable((observer) =>
      next(op).subscribe({
        ...observer,
        error: (error) => observer.error(new CallError(error)),
      }),
    );

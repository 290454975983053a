/** Failures: what a caller did that cannot be, from the one table in contracts/errors. Anything else that is thrown is a fault of ours. */
import type { ErrorCode, Fault } from '../../contracts/errors.js';

export class Failure extends Error {
  override readonly name = 'Failure';
  constructor(
    readonly code: Exclude<ErrorCode, 'internal'>,
    message: string,
    readonly details?: Fault[],
    readonly retryAfterSeconds?: number,
  ) {
    super(message);
  }
}

export const notFound = (what: string) => new Failure('not_found', `There is no such ${what}.`);
export const conflict = (message: string) => new Failure('conflict', message);
/** Faults in what the body says or points at. */
export const invalid = (...faults: [Fault, ...Fault[]]) =>
  new Failure(
    'validation_error',
    faults.length === 1 ? faults[0].message : `The body has ${faults.length} faults.`,
    faults,
  );

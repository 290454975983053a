/** Checks what a caller sent against the contract, and names every fault of it in one failure. */
import type { z } from 'zod';
import type { Fault } from '../../contracts/errors.js';
import type { Operation, ParsedInputOf } from '../../contracts/operation.js';
import { Failure, invalid } from '../domain/failure.js';

/** The input with defaults filled in. An absent one counts as `{}`.
 *  @throws Failure `validation_error` for an operation with a body, `bad_request` for one without. */
export function parseInput<Op extends Operation>(operation: Op, input: unknown): ParsedInputOf<Op> {
  const result = operation.input.safeParse(input === undefined ? {} : input, { reportInput: true });
  if (result.success) return result.data as ParsedInputOf<Op>;
  throw refusal(operation, faultsOf(result.error));
}

/** `faults` has at least one. */
export function refusal(operation: Operation, faults: Fault[]): Failure {
  if (operation.hasBody) return invalid(faults[0]!, ...faults.slice(1));
  return new Failure(
    'bad_request',
    faults.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(' '),
  );
}

export function faultsOf(error: z.ZodError): Fault[] {
  return error.issues.flatMap((issue): Fault[] => {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownField(path ? `${path}.${key}` : key));
    }
    if (issue.code === 'custom') {
      const code: unknown = issue.params?.code;
      return [{ path, message: issue.message, code: typeof code === 'string' ? code : 'invalid' }];
    }
    if (issue.input === undefined && path !== '') return [{ path, message: 'Required.', code: 'required' }];
    return [{ path, message: issue.message, code: issue.code }];
  });
}

export const unknownField = (path: string): Fault => ({
  path,
  message: 'There is no such field.',
  code: 'unrecognized_key',
});

/** Checks what a caller sent against the contract, and names every fault of it in one failure. */
import type { z } from 'zod';
import type { FieldError } from '../../contracts/errors.js';
import type { Operation, ParsedInputOf, ValidationContext } from '../../contracts/operation.js';
import { ApiError, invalid } from '../domain/api-error.js';

/** The input with defaults filled in. An absent one counts as `{}`.
 *  @throws ApiError `validation_error` for an operation with a body, `bad_request` for one without. */
export function parseInput<Op extends Operation>(
  operation: Op,
  input: unknown,
  validationContext: ValidationContext,
): ParsedInputOf<Op> {
  const given = input === undefined ? {} : input;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ApiError('bad_request', 'The input must be an object.');
  }
  const result = operation.input.safeParse(given, CHECK);
  if (result.success) return result.data as ParsedInputOf<Op>;
  throw refusal(operation, allFieldErrors(operation, given, validationContext));
}

/** `faults` has at least one. */
export function refusal(operation: Operation, faults: FieldError[]): ApiError {
  if (operation.hasBody) return invalid(faults[0]!, ...faults.slice(1));
  return new ApiError(
    'bad_request',
    faults.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(' '),
  );
}

/** Every fault of a body, those that it has only now and here included. */
export function allFieldErrors(operation: Operation, body: object, validationContext: ValidationContext): FieldError[] {
  const result = operation.input.safeParse(body, CHECK);
  const passing = operation.contextRules?.({ ...body }, validationContext) ?? [];
  return [...(result.success ? [] : fieldErrorsOf(result.error)), ...passing];
}

function fieldErrorsOf(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue): FieldError[] => {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => unknownField(path ? `${path}.${key}` : key));
    }
    if (issue.code === 'custom') {
      const code: unknown = issue.params?.code;
      return [{ path, message: issue.message, code: typeof code === 'string' ? code : 'invalid' }];
    }
    // Only moments are unions: they have several formats.
    const code = issue.code === 'invalid_union' ? 'invalid_format' : issue.code;
    return [{ path, message: issue.message, code: issue.input === undefined ? 'required' : code }];
  });
}

const entries = (count: number | bigint) => `${count} ${Number(count) === 1 ? 'entry' : 'entries'}`;

/** Messages where a contract has none of its own. */
const messageOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return 'Required.';
  if (issue.code === 'invalid_value') return `Must be one of ${issue.values.join(', ')}.`;
  // What the contract says of a key stands one level below.
  if (issue.code === 'invalid_key') return issue.issues[0]?.message;
  if (issue.code === 'too_small' && issue.origin === 'array') return `Must have at least ${entries(issue.minimum)}.`;
  if (issue.code === 'too_big' && issue.origin === 'array') return `Must have at most ${entries(issue.maximum)}.`;
  if (issue.code !== 'invalid_type') return undefined;
  if (issue.expected === 'record') return 'Must be an object.';
  if (issue.expected === 'boolean') return 'Must be true or false.';
  return `Must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}.`;
};
const CHECK = { reportInput: true, error: messageOf };

export const unknownField = (path: string): FieldError => ({
  path,
  message: 'There is no such field.',
  code: 'unrecognized_key',
});

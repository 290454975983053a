/** Checks what a caller sent against the contract, and names every fault of it in one failure. */
import { TRPCError } from '@trpc/server';
import type { z } from 'zod';
import { ERRORS, type ErrorBody, type FieldError } from '../../contracts/errors.js';
import type { Operation, ParsedInputOf, ValidationContext } from '../../contracts/operation.js';
import { isSecretSeed } from '../domain/strkey.js';
import { ApiError, badRequestOf, invalid } from '../kit/api-error.js';

// Turns whatever was thrown into the one error object: failures as they are, everything else as
// `internal` with nothing but the request id.

/** The failure in an error, which tRPC may have wrapped; null for a fault of ours. */
export function apiErrorIn(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  if (error instanceof Error && error.cause instanceof ApiError) return error.cause;
  return null;
}

/** Codes of tRPC for requests that it could not even begin with; every other code comes from a
 *  failure, or is a fault. */
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

/** The input with defaults filled in. An absent one counts as `{}`.
 *  @throws ApiError `validation_error` for an operation with a body, `bad_request` for
 *  one without. */
export function parseInput<Op extends Operation>(
  operation: Op,
  input: unknown,
  validationContext: ValidationContext,
): ParsedInputOf<Op> {
  const { parsed, faults } = checkInput(operation, input, validationContext);
  if (parsed === null) throw refusal(operation, faults.list());
  return parsed as ParsedInputOf<Op>;
}

/** @param strays names in the input that it may not have, though the contract knows them; they
 *  come first
 *  @returns the input with defaults filled in, or null and every fault that it has; those that it
 *  has only now and here are told where there are others
 *  @throws ApiError `bad_request` when the input is no object */
export function checkInput(
  operation: Operation,
  input: unknown,
  validationContext: ValidationContext,
  strays: readonly string[] = [],
): { parsed: Record<string, unknown> | null; faults: Faults } {
  const given = input === undefined ? {} : input;
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new ApiError('bad_request', 'The input must be an object.');
  }
  const faults = new Faults().add(strays.length, (index) => unknownIn(operation)(strays[index]!));
  faults.addAll(seedFaults(given));
  const result = operation.input.safeParse(given, CHECK);
  addLasting(faults, operation, given, result);
  if (result.success && faults.count === 0) return { parsed: result.data as Record<string, unknown>, faults };
  faults.addAll(operation.contextRules?.({ ...given }, validationContext) ?? []);
  return { parsed: null, faults };
}

/** A secret seed is refused wherever it is the whole of a value: it must never be stored. */
export function seedFaults(value: unknown, path = '', depth = 0): FieldError[] {
  if (typeof value === 'string') return isSecretSeed(value.trim()) ? [{ path, ...SEED }] : [];
  if (typeof value !== 'object' || value === null || depth > DEEPEST) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    seedFaults(each, path === '' ? name : `${path}.${name}`, depth + 1),
  );
}

/** No contract goes deeper. */
const DEEPEST = 10;

const SEED = {
  message:
    'This is a secret seed, which gives away all its money. It was not stored: send the address, which begins with G.',
  code: 'secret_seed',
};

/** Faults that are listed; of further ones only the number is given. */
const MOST_FAULTS = 50;

/** Faults in their order, at most one more than are listed: the last one then says how many more
 *  there are. No more are made than that. */
class Faults {
  readonly #listed: FieldError[] = [];
  count = 0;

  /** @param faultAt called for those that are listed */
  add(count: number, faultAt: (index: number) => FieldError): this {
    const left = Math.min(count, MOST_FAULTS - this.#listed.length);
    for (let index = 0; index < left; index++) this.#listed.push(faultAt(index));
    this.count += count;
    return this;
  }

  addAll(faults: readonly FieldError[]): this {
    return this.add(faults.length, (index) => faults[index]!);
  }

  /** Adds those that are not listed yet. */
  addNew(faults: readonly FieldError[]): this {
    return this.addAll(
      faults.filter(({ path, code }) => !this.#listed.some((known) => known.path === path && known.code === code)),
    );
  }

  list(): FieldError[] {
    const more = this.count - this.#listed.length;
    if (more === 0) return this.#listed;
    const message = `There ${more === 1 ? 'is 1 more error' : `are ${more} more errors`}, not listed here.`;
    return [...this.#listed, { path: '', message, code: 'more_errors' }];
  }
}

/** Shortens a list of faults. */
export const cutFaults = (names: readonly string[], faultOf: (name: string) => FieldError): FieldError[] =>
  new Faults().add(names.length, (index) => faultOf(names[index]!)).list();

/** `faults` has at least one. */
export function refusal(operation: Operation, faults: FieldError[]): ApiError {
  if (!operation.hasBody) return badRequestOf(faults);
  if (faults.length > MOST_FAULTS)
    return new ApiError('validation_error', `The body has more than ${MOST_FAULTS} errors.`, faults);
  return invalid(faults[0]!, ...faults.slice(1));
}

/** The rules see what was sent: in Zod's result some of it may be missing, and of an invalid body
 *  there is none. */
function addLasting(
  faults: Faults,
  operation: Operation,
  sent: object,
  { error }: z.ZodSafeParseResult<unknown>,
): void {
  const unknown = unknownIn(operation);
  for (const issue of error?.issues ?? []) {
    const path = issue.path.join('.');
    if (issue.code === 'unrecognized_keys') {
      const { keys } = issue;
      faults.add(keys.length, (index) => unknown(path ? `${path}.${keys[index]}` : keys[index]!));
    } else faults.add(1, () => ({ path, ...meaningOf(issue) }));
  }
  faults.addAll(operation.rules?.({ ...sent }) ?? []);
}

function meaningOf(issue: z.core.$ZodIssue): Omit<FieldError, 'path'> {
  const { message } = issue;
  if (issue.code === 'custom') {
    const code: unknown = issue.params?.code;
    return { message, code: typeof code === 'string' ? code : 'invalid' };
  }
  // Only moments are unions: they have several formats.
  const code = issue.code === 'invalid_union' ? 'invalid_format' : issue.code;
  return { message, code: issue.input === undefined ? 'required' : code };
}

const entries = (count: number | bigint) => `${count} ${Number(count) === 1 ? 'entry' : 'entries'}`;

/** Messages where a contract has none of its own. */
const messageOf: z.core.$ZodErrorMap = (issue) => {
  if (issue.input === undefined) return 'Required.';
  if (issue.code === 'invalid_value') return `Must be one of ${issue.values.join(', ')}.`;
  // The contract's issues for a key are one level below.
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

export const unknownParameter = (path: string): FieldError => ({
  path: path || '""',
  message: 'There is no such parameter.',
  code: 'unrecognized_key',
});

const unknownIn = ({ hasBody }: Operation) => (hasBody ? unknownField : unknownParameter);

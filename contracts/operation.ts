/** One object for each operation, from which its tRPC procedure, REST route and OpenAPI operation
 *  are built. */
import { z } from 'zod';
import type { ErrorCode, FieldError } from './errors.js';
import type { Network } from './networks.js';
import { MANAGERS, READERS, type Role } from './roles.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Shape = z.ZodRawShape;

/** The effect of a call on stored data: it only reads, only adds, or changes existing data. */
export type Effect = 'reads' | 'adds' | 'changes';

/** An operation's name without dots: its operationId, and the name of its tool for assistants. */
export const operationIdOf = (resource: string, name: string): string => `${resource}_${name}`;

/** A body as it was sent, valid or not. */
export type RawBody = Readonly<Record<string, unknown>>;

/** What context rules know besides the request. */
export interface ValidationContext {
  now: Date;
  /** Networks that the service watches. */
  networks: readonly Network[];
  /** URLs may be http and lead to private addresses. */
  allowPrivate: boolean;
}

/** Rules that depend on the time or on this service's settings. They run after the look-up of the
 *  Idempotency-Key, so that a replay of an earlier request stays valid. Their errors are listed
 *  together with those of other rules. */
export type ContextRules = (body: RawBody, validationContext: ValidationContext) => FieldError[];

/** Rules between several fields. They get the body (for a GET the query) as sent, valid or not and
 *  without defaults: so one answer lists all errors, and the rules see fields that Zod drops. */
export type Rules = (body: RawBody) => FieldError[];

interface OperationDefinition<
  M extends Method,
  P extends Shape,
  Q extends Shape,
  B extends Shape,
  O extends z.ZodType,
> {
  method: M;
  /** Relative to `/api/v1`, with parameters in braces. */
  path: `/${string}`;
  effect: Effect;
  /** Roles of users that may call it. Defaults to OWNER and MANAGER, with VIEWER when it
   *  only reads. */
  roles?: readonly Role[];
  /** READ keys may not call it although it only reads. */
  needsFullKey?: true;
  summary: string;
  description: string;
  tag: string;
  /** 201 for a create, 200 otherwise. */
  status?: 200 | 201;
  params?: P;
  query?: Q;
  body?: B;
  /** A missing body counts as `{}`. */
  bodyOptional?: true;
  rules?: Rules;
  contextRules?: ContextRules;
  /** The procedure's result; `listOf(item)` for a list. */
  output: O;
  /** Error codes that do not follow from the other fields: mostly `conflict`. */
  errors?: readonly ErrorCode[];
  /** Dotted path of a secret in the output. A replay (Idempotency-Key) leaves it out. */
  secretField?: string;
  /** The file that REST sends instead of the envelope for `format=<format>`. */
  file?: { format: string; name: string; type: string };
  /** `query` is required when calls without one are refused. */
  examples?: { body?: Record<string, unknown>; query?: Record<string, string> };
}

/** One operation of the API: its REST route, and the schemas of input and output. */
export interface Operation<
  M extends Method = Method,
  P extends Shape = Shape,
  Q extends Shape = Shape,
  B extends Shape = Shape,
  O extends z.ZodType = z.ZodType,
> extends Omit<OperationDefinition<M, P, Q, B, O>, 'params' | 'query' | 'body' | 'status' | 'roles'> {
  status: 200 | 201;
  roles: readonly Role[];
  params: P;
  query: Q;
  body: B;
  hasBody: boolean;
  /** The answer is a stream: `text/event-stream` over REST, a subscription over tRPC. `output` is
   *  the data of one event of the stream. */
  streams?: true;
  /** It only reads. READ keys may call it, unless `needsFullKey`. */
  readOnly: boolean;
  /** With an Idempotency-Key it happens once. */
  takesKey: boolean;
  /** The result is `{items, meta}`, over REST as `data` and `meta`. */
  isList: boolean;
  /** Parameters, query and body in one object: the input over tRPC, which REST is converted to. It
   *  does not include the rules. */
  input: z.ZodObject<P & Q & B>;
}

/** Turns a definition into an operation. Unknown fields of a body are errors, and so are unknown
 *  query parameters. */
export function operation<
  M extends Method,
  O extends z.ZodType,
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends Shape = Record<never, never>,
>(definition: OperationDefinition<M, P, Q, B, O>): Operation<M, P, Q, B, O> {
  const { params = {} as P, query = {} as Q, body = {} as B, status = 200 } = definition;
  const hasBody = definition.body !== undefined;
  const input = z.strictObject({ ...params, ...query, ...body } as P & Q & B) as z.ZodObject<P & Q & B>;
  const roles = definition.roles ?? (definition.effect === 'reads' ? READERS : MANAGERS);
  const isList = definition.output instanceof z.ZodObject && 'items' in definition.output.shape;
  return {
    ...definition,
    isList,
    status,
    roles,
    params,
    query,
    body,
    hasBody,
    readOnly: definition.effect === 'reads',
    takesKey: definition.method === 'POST' || definition.method === 'PATCH',
    input,
  };
}

/** An operation that streams: `lastEventId` of its input is REST's header `Last-Event-ID`. */
export const streamOperation = <M extends Method, O extends z.ZodType, Q extends Shape>(
  definition: OperationDefinition<M, Record<never, never>, Q, Record<never, never>, O>,
) => ({ ...operation(definition), streams: true as const });

/** Input of a call: `InputOf<Contract['products']['create']>`. Fields with defaults
 *  are optional. */
export type InputOf<Op> = Op extends { input: infer I extends z.ZodType } ? z.input<I> : never;
/** The parsed input, with defaults filled in. */
export type ParsedInputOf<Op> = Op extends { input: infer I extends z.ZodType } ? z.output<I> : never;
/** Result of a call: `OutputOf<Contract['products']['create']>`. */
export type OutputOf<Op> = Op extends { output: infer O extends z.ZodType } ? z.output<O> : never;

/** One object per operation, from which the tRPC procedure, the REST route and the OpenAPI operation are all built. */
import { z } from 'zod';
import type { ErrorCode, FieldError } from './errors.js';
import type { Network } from './networks.js';
import { MANAGERS, READERS, type Role } from './roles.js';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Shape = z.ZodRawShape;

/** What a call does to what is stored: it only reads, only adds, or changes what was there. */
export type Effect = 'reads' | 'adds' | 'changes';

/** The name of an operation where dots are not welcome: its operationId, and the name of its tool for assistants. */
export const operationIdOf = (resource: string, name: string): string => `${resource}_${name}`;

/** A body as it was sent, valid or not. */
export type RawBody = Readonly<Record<string, unknown>>;

/** What a rule may know besides the request. */
export interface ValidationContext {
  now: Date;
  /** Those that the service watches. */
  networks: readonly Network[];
  /** URLs may lead to this machine and be http. */
  allowPrivate: boolean;
}

/** Rules that depend on the moment or on this service's settings. They run after the Idempotency-Key was looked up, so that a replay of an
 *  earlier request stays valid. When a body breaks other rules, their errors are listed together. */
export type ContextRules = (body: RawBody, validationContext: ValidationContext) => FieldError[];

/** Rules that concern several fields at once. They see the body (of a GET the query) as it was sent, valid or not and without defaults: so one answer
 *  lists all errors, and nothing that Zod leaves out escapes them. */
export type Rules = (body: RawBody) => FieldError[];

interface OperationDefinition<
  M extends Method,
  P extends Shape,
  Q extends Shape,
  B extends Shape,
  O extends z.ZodType,
> {
  method: M;
  /** Below `/api/v1`, parameters in braces. */
  path: `/${string}`;
  effect: Effect;
  /** Roles of users that may call it. Without them OWNER and MANAGER, and VIEWER where it only reads. */
  roles?: readonly Role[];
  /** A READ key may not call it although it only reads. */
  needsFullKey?: true;
  summary: string;
  description: string;
  tag: string;
  /** 201 for a create, 200 otherwise. */
  status?: 200 | 201;
  params?: P;
  query?: Q;
  body?: B;
  /** No body counts as `{}`. */
  bodyOptional?: true;
  rules?: Rules;
  contextRules?: ContextRules;
  /** What the procedure returns; of a list `listOf(item)`. */
  output: O;
  /** Error codes beyond those that follow from the rest: mostly `conflict`. */
  errors?: readonly ErrorCode[];
  /** Dotted name of the field that holds a secret. A replay (Idempotency-Key) leaves it out. */
  secretField?: string;
  /** Name of the file that REST answers instead of the envelope for `format=csv`. */
  csvFile?: string;
  /** `query`: where a call without one is refused. */
  examples?: { body?: Record<string, unknown>; query?: Record<string, string> };
}

/** One call of the API: its place in REST, and the schemas of what goes in and comes out. */
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
  /** Its answer goes on: `text/event-stream` over REST, a subscription over tRPC. `output` is the data of one event of the stream. */
  streams?: true;
  /** It only reads. A READ key may call it, unless `needsFullKey`. */
  readOnly: boolean;
  /** It answers `{items, meta}`, over REST as `data` and `meta`. */
  isList: boolean;
  /** Parameters, query and body in one object: what tRPC takes and REST is turned into. The rules are apart from it. */
  input: z.ZodObject<P & Q & B>;
}

/** Turns a definition into an operation. Unknown fields of a body are errors, and so are unknown query parameters. */
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
    input,
  };
}

/** An operation that streams: `lastEventId` of its input is REST's header `Last-Event-ID`. */
export const streamOperation = <M extends Method, O extends z.ZodType, Q extends Shape>(
  definition: OperationDefinition<M, Record<never, never>, Q, Record<never, never>, O>,
) => ({ ...operation(definition), streams: true as const });

/** What a call takes: `InputOf<Contract['products']['create']>`. Defaults may be left out. */
export type InputOf<Op> = Op extends { input: infer I extends z.ZodType } ? z.input<I> : never;
/** The input after Zod: defaults filled in. */
export type ParsedInputOf<Op> = Op extends { input: infer I extends z.ZodType } ? z.output<I> : never;
/** What a call answers: `OutputOf<Contract['products']['create']>`. */
export type OutputOf<Op> = Op extends { output: infer O extends z.ZodType } ? z.output<O> : never;

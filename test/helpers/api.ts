/** Calls the contract's operations over REST and tRPC with results of one shape; every REST answer
 *  is checked against openapi.json. */
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import type { ErrorBody, ErrorCode } from '../../contracts/errors.js';
import { ERRORS } from '../../contracts/errors.js';
import { contract } from '../../contracts/index.js';
import type { Operation } from '../../contracts/operation.js';

/** All operations with a single answer; streams have their own tests. */
export const operations: ReadonlyMap<string, Operation> = new Map(
  Object.entries(contract)
    .flatMap(([resource, byName]) =>
      Object.entries(byName as Record<string, Operation>).map(
        ([name, operation]) => [`${resource}.${name}`, operation] as const,
      ),
    )
    .filter(([, operation]) => !operation.streams),
);

export type Transport = 'REST' | 'tRPC';
export const TRANSPORTS: readonly Transport[] = ['REST', 'tRPC'];

/** The same for both transports: the result, or REST's error object. */
export interface Outcome {
  outcome: 'ok' | ErrorCode;
  status: number;
  data?: any;
  meta?: { page: number; pageSize: number; total: number; totalPages: number };
  error?: ErrorBody;
  headers: Headers;
}

export interface CallOptions {
  idempotencyKey?: string;
}

/** @param input as over tRPC: parameters, query and body in one object */
export async function call(
  transport: Transport,
  origin: string,
  apiKey: string | null,
  name: string,
  input: Record<string, unknown> = {},
  { idempotencyKey }: CallOptions = {},
): Promise<Outcome> {
  const headers = {
    ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
  };
  return (transport === 'REST' ? callRest : callTrpc)(origin, headers, name, input);
}

async function callRest(origin: string, headers: Record<string, string>, name: string, input: Record<string, unknown>) {
  const operation = operations.get(name)!;
  const path = operation.path.replace(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(String(input[param])));
  const query = new URLSearchParams();
  const fields = Object.entries(input).filter(
    ([field, value]) => value !== undefined && !Object.hasOwn(operation.params, field),
  );
  if (!operation.hasBody) {
    for (const [field, value] of fields) for (const one of [value].flat()) query.append(field, String(one));
  }
  const search = query.size > 0 ? `?${query}` : '';
  return request(origin, operation.method, `${path}${search}`, {
    headers: { ...headers, ...(operation.hasBody ? { 'content-type': 'application/json' } : {}) },
    ...(operation.hasBody ? { body: JSON.stringify(Object.fromEntries(fields)) } : {}),
  });
}

/** Any request under `/api/v1`; the answer of a known operation must match openapi.json. */
export async function request(origin: string, method: string, path: string, init: RequestInit = {}): Promise<Outcome> {
  // Packed answers would cost 3 % of the tests' CPU.
  const asked = { 'accept-encoding': 'identity', ...(init.headers as Record<string, string>) };
  const response = await fetch(`${origin}/api/v1${path}`, { method, ...init, headers: asked });
  const text = await response.text();
  const fault = faultOfAnswer(method, path.split('?', 1)[0]!, response, text);
  if (fault) throw new Error(`${method} /api/v1${path}: ${fault}\n${text.slice(0, 2000)}`);
  const { status, headers } = response;
  if (method === 'HEAD' || isCsv(response)) return { outcome: 'ok', status, headers };
  const { data, error, meta } = JSON.parse(text);
  return { outcome: error?.code ?? 'ok', status, data, meta, error: error ?? undefined, headers };
}

async function callTrpc(origin: string, headers: Record<string, string>, name: string, input: Record<string, unknown>) {
  const operation = operations.get(name)!;
  const json = JSON.stringify(input);
  const response = await (operation.readOnly
    ? fetch(`${origin}/trpc/${name}?input=${encodeURIComponent(json)}`, { headers })
    : fetch(`${origin}/trpc/${name}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: json,
      }));
  const answer = (await response.json()) as any;
  const { status } = response;
  if (!response.headers.get('x-request-id')) throw new Error('an answer without X-Request-Id');
  if (!answer.error) {
    const { data } = answer.result;
    const { items = data, meta } = operation.isList ? data : {};
    const fault = faultOfBody(schemaOf(name, operation.status), {
      data: items,
      error: null,
      ...(meta ? { meta } : {}),
    });
    if (fault) throw new Error(`${name} over tRPC: ${fault}`);
    return { outcome: 'ok' as const, status, data: items, meta, headers: response.headers };
  }
  const { code, error, stack } = answer.error.data;
  if (stack !== undefined) throw new Error('a stack left the service');
  const { trpc, status: ownStatus } = ERRORS[error.code as ErrorCode];
  if (code !== trpc || status !== ownStatus || answer.error.message !== error.message) {
    throw new Error(`tRPC says ${code} ${status} ${answer.error.message}, its error object ${JSON.stringify(error)}`);
  }
  return { outcome: error.code as ErrorCode, status, error, headers: response.headers };
}

const document = JSON.parse(readFileSync(new URL('../../openapi.json', import.meta.url), 'utf8'));
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ ...exactly(document), $id: 'api' });
const validators = new Map<string, ValidateFunction>();

/** The document allows further fields in answers, for later versions; this refuses them. */
function exactly(value: any): any {
  if (Array.isArray(value)) return value.map(exactly);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, exactly(inner)]));
  return copy.type === 'object' && copy.properties ? { ...copy, additionalProperties: false } : copy;
}

const routes = Object.entries<any>(document.paths).map(([template, byMethod]) => ({
  template,
  pattern: new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`),
  byMethod,
}));

/** Counts of answers by operation and status: `products.create 201`. */
export const answered = new Map<string, number>();

/** The fault of a REST answer; null when it matches the document. */
function faultOfAnswer(method: string, path: string, response: Response, text: string): string | null {
  const { status, headers } = response;
  if (!/^req_\w+$/.test(headers.get('x-request-id') ?? '')) return 'there is no X-Request-Id';
  if (headers.has('x-powered-by') || headers.has('etag')) return 'a header says too much';
  if (method === 'HEAD') return text === '' ? null : 'a HEAD has a body';

  const route = routes.find(
    ({ pattern, byMethod }) => pattern.test(`/api/v1${path}`) && method.toLowerCase() in byMethod,
  );
  const operation = route?.byMethod[method.toLowerCase()];
  const name = operation?.operationId.replace('_', '.') ?? 'none';
  answered.set(`${name} ${status}`, (answered.get(`${name} ${status}`) ?? 0) + 1);
  const pointer = operation ? schemaOf(name, status) : ERROR_SCHEMA;
  if (pointer === null) return `status ${status} of ${name} is not documented`;
  if (isCsv(response)) return 'text/csv' in contentOf(name, status) ? null : 'no CSV is documented';
  if (headers.get('content-type') !== 'application/json; charset=utf-8') return 'the Content-Type is wrong';
  const body = JSON.parse(text) as any;
  const fault = faultOfBody(pointer, body);
  if (fault) return fault;
  if (body.error && ERRORS[body.error.code as ErrorCode].status !== status)
    return 'status and code do not belong together';
  if (body.error && (body.error.code === 'validation_error') !== (body.error.details !== undefined)) {
    return 'details belong to validation errors, and to them only';
  }
  return null;
}

const isCsv = ({ headers }: Response) => headers.get('content-type')?.startsWith('text/csv;') === true;

const ERROR_SCHEMA = '#/components/schemas/ErrorResponse';
const resolve = (ref: string) =>
  ref
    .slice(2)
    .split('/')
    .reduce((at, key) => at[key], document);

/** The documented content of an answer, by content type; empty for an undocumented status. */
function contentOf(name: string, status: number): Record<string, any> {
  const { method, path } = operations.get(name)!;
  const documented = document.paths[`/api/v1${path}`][method.toLowerCase()].responses[status] ?? {};
  return (documented.$ref ? resolve(documented.$ref) : documented).content ?? {};
}

/** Pointer to the documented schema of an answer; null when there is none. */
const schemaOf = (name: string, status: number): string | null =>
  contentOf(name, status)['application/json']?.schema.$ref ?? null;

function faultOfBody(pointer: string | null, body: unknown): string | null {
  if (pointer === null) return 'the status is not documented';
  const validate = validators.get(pointer) ?? ajv.compile({ $ref: `api${pointer}` });
  validators.set(pointer, validate);
  return validate(body) ? null : ajv.errorsText(validate.errors);
}

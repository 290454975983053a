/** Writes openapi.json from the contracts; with `--check` it writes nothing and exits with 1 when
 *  the committed file is stale. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { initTRPC } from '@trpc/server';
import { generateOpenApiDocument, type OpenApiMeta } from 'trpc-to-openapi';
import { z } from 'zod';
import { errorEnvelope } from '../contracts/envelope.js';
import { ERRORS, type ErrorCode } from '../contracts/errors.js';
import { EVENT_TYPES } from '../contracts/event-kinds.js';
import { webhookPayloadSchema } from '../contracts/events.js';
import { downloads } from '../contracts/exports.js';
import { contract } from '../contracts/index.js';
import { type Operation, operationIdOf } from '../contracts/operation.js';

const FILE = new URL('../openapi.json', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
const PREFIX = '/api/v1';

const DESCRIPTION = `Payment collection on Stellar: products, payment links with a memo each, hosted payment pages, signed webhooks.

**Authentication.** Every request carries \`Authorization: Bearer <API key>\`; what a key sees belongs to its account.

**Answers.** Every body is one envelope: \`{data, error: null}\` or \`{data: null, error: {message, code, details?}}\`; lists add \`meta\`. Every answer has \`X-Request-Id\`.

**Amounts** are decimal strings with at most 7 decimals. **Timestamps** are ISO 8601 in UTC. **Ids** have a prefix for their type and sort by creation time.

**Repeating a POST or PATCH safely.** Send an \`Idempotency-Key\`: for 24 h the same key and body get the first answer again, without a secret that it showed.

The same operations are served over tRPC at \`/trpc\`: the operation id \`products_create\` is the procedure \`products.create\`.`;

const TAGS: Record<string, string> = {
  Account: 'Owner of everything that its API keys can reach.',
  'API keys': 'Keys of programs. A key is shown once, when it is created or rotated.',
  Users:
    'People who sign in to the dashboard with a passkey. `x-roles` of an operation lists the roles that may call it.',
  Wallets: 'Stellar accounts whose incoming payments are read.',
  Products: 'What is sold: at a fixed price or one that the customer chooses, in one asset, to one wallet.',
  'Payment links': 'Hosted payment pages. The memo of a link tells which payments are for it.',
  Coupons: 'Codes that take something off an order, as often as they are meant to.',
  Checkouts:
    'One order each: a memo, a page and an end of its own. Partial payments add up; EXPIRED means proven unpaid.',
  Payments: 'Money that came to a wallet, and how it was judged.',
  Events: 'What happened, kept for consumers that poll.',
  Webhooks: 'Endpoints that receive events as signed requests (Standard Webhooks 1.0).',
  Deliveries: 'One event on its way to one webhook, with every attempt.',
  Rates: 'What assets are worth in currencies: as sampled, or as the account sets them.',
  Reports: 'Sums over many payments, exact to the stroop.',
  Activity: 'Changes and their actors, written with the change and never altered or removed.',
};

type Json = Record<string, unknown>;
interface OperationObject extends Json {
  parameters?: { name: string; schema: Json; [key: string]: unknown }[];
  requestBody?: { required?: boolean; content: { 'application/json': { schema: Json; examples?: Json } } };
  responses: Record<string, { content: unknown; [key: string]: unknown }>;
}

const operationsOf = (tree: object, isDownload: boolean) =>
  Object.entries(tree).flatMap(([resource, byName]) =>
    Object.entries(byName as Record<string, Operation>).map(([name, operation]) => ({
      id: operationIdOf(resource, name),
      operation,
      isDownload,
    })),
  );
const everything = [...operationsOf(contract, false), ...operationsOf(downloads, true)];

const operations = everything.filter(({ operation }) => !operation.streams);
const streams = everything.filter(({ operation }) => operation.streams);

const envelopes = new Map<string, z.ZodType>();

/** The envelope around a procedure's result: one component for each resource and each list. */
function envelopeOf(operation: Operation): z.ZodType {
  const { output, isList } = operation;
  const list = isList && output instanceof z.ZodObject ? output.shape : null;
  const items = list && (list.items as z.ZodArray<z.ZodType>);
  const array = output instanceof z.ZodArray ? (output as z.ZodArray<z.ZodType>) : null;
  const name = ((items ?? array)?.element ?? output).meta()?.id;
  // Two answers of one name would share the first one's schema.
  if (name === undefined) throw new Error(`the output of ${operation.path} has no id`);
  const id = `${String(name)}${items ? 'List' : array ? 's' : ''}Response`;
  const envelope = list
    ? z.object({ data: list.items as z.ZodType, error: z.null(), meta: list.meta as z.ZodType })
    : z.object({ data: output, error: z.null() });
  // Reused, because two schemas with one id would clash.
  if (!envelopes.has(id)) envelopes.set(id, envelope.meta({ id }));
  return envelopes.get(id)!;
}

/** The generator does not support arrays in a query: it gets their items, and `mended` restores
 *  the array. */
function itemsOf(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return itemsOf(schema.unwrap() as z.ZodType).optional();
  return schema instanceof z.ZodArray ? (schema.element as z.ZodType) : schema;
}
const isArray = (schema: unknown): boolean =>
  schema instanceof z.ZodArray || (schema instanceof z.ZodOptional && isArray(schema.unwrap()));

function generated(): Json {
  const t = initTRPC.meta<OpenApiMeta>().create();
  const procedures = operations.map(({ id, operation }) => {
    const { method, path, summary, description, tag, params, query, body } = operation;
    const queryItems = Object.entries(query).map(([name, schema]) => [name, itemsOf(schema as z.ZodType)]);
    const route = { method, path: `${PREFIX}${path}`, operationId: id } as const;
    const procedure = t.procedure
      .meta({ openapi: { ...route, tags: [tag], errorResponses: [], summary, description } })
      .input(z.strictObject({ ...params, ...Object.fromEntries(queryItems), ...body }))
      .output(envelopeOf(operation));
    const unused = async () => undefined as never;
    return [id, operation.readOnly ? procedure.query(unused) : procedure.mutation(unused)] as const;
  });
  const document = generateOpenApiDocument(t.router(Object.fromEntries(procedures)) as never, {
    title: 'stellar-collect',
    description: DESCRIPTION,
    version,
    openApiVersion: '3.1.0',
    baseUrl: '/',
    license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        description: 'An API key: `sk_…`. The cli makes the first one of an account.',
      },
    },
    defs: { ErrorResponse: errorEnvelope, WebhookPayload: webhookPayloadSchema },
  });
  // The following steps work on plain JSON.
  return JSON.parse(JSON.stringify(document)) as Json;
}

/** The errors of an operation that follow from its contract. */
function errorsOf(operation: Operation): ErrorCode[] {
  const { method, readOnly, needsFullKey, hasBody, takesKey, params, errors = [] } = operation;
  const possible: Record<ErrorCode, boolean> = {
    // A URL may be too long for any operation.
    bad_request: true,
    unauthorized: true,
    forbidden: !readOnly || needsFullKey === true || errors.includes('forbidden'),
    not_found: Object.keys(params).length > 0 || errors.includes('not_found'),
    conflict: takesKey || errors.includes('conflict'),
    validation_error: hasBody || method === 'POST' || errors.includes('validation_error'),
    rate_limited: true,
    // All operations need the database.
    unavailable: true,
    internal: true,
  };
  return (Object.keys(possible) as ErrorCode[]).filter((code) => possible[code]);
}

const pascal = (name: string) =>
  name.replace(/(^|[._-])(\w)/g, (_, _separator, letter: string) => letter.toUpperCase());
const REQUEST_ID = { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } };

function mended(document: Json): Json {
  const { components, paths, ...head } = document as {
    components: { schemas: Record<string, Json>; [key: string]: unknown };
    paths: Record<string, Record<string, OperationObject>>;
  } & Json;
  const { schemas, ...otherComponents } = components;
  const requestBodies: Json = {};

  for (const { id, operation, isDownload } of operations) {
    const target = paths[`${PREFIX}${operation.path}`]![operation.method.toLowerCase()]!;
    for (const parameter of target.parameters ?? []) {
      const { name, schema } = parameter;
      const { description = schema.description } = metaOf(operation.params[name] ?? operation.query[name]);
      delete schema.description;
      if (description !== undefined) parameter.description = description;
      if (isArray(operation.query[name])) parameter.schema = { type: 'array', items: schema };
    }
    target['x-roles'] = operation.roles;
    if (operation.takesKey) {
      target.parameters = [...(target.parameters ?? []), { $ref: '#/components/parameters/IdempotencyKey' } as never];
    }
    if (target.requestBody) {
      const content = target.requestBody.content['application/json'];
      if (operation.examples?.body) content.examples = { example: { value: operation.examples.body } };
      content.schema = { title: `${pascal(id)}Body`, ...content.schema };
      // Kept out of the schemas, where openapi-typescript would treat fields with defaults
      // as required.
      requestBodies[pascal(id)] = { ...target.requestBody, required: !operation.bodyOptional };
      target.requestBody = { $ref: `#/components/requestBodies/${pascal(id)}` } as never;
    }
    // The generator supports only 200, and errors of another shape.
    const content = isDownload
      ? FILE_CONTENT
      : { ...(target.responses['200']!.content as object), ...contentOf(operation.file) };
    const description = isDownload ? 'The file, as it is made.' : answerDescription(operation);
    target.responses = { [operation.status]: { description, headers: REQUEST_ID, content } };
    for (const code of errorsOf(operation)) {
      target.responses[ERRORS[code].status] = { $ref: `#/components/responses/${pascal(code)}` } as never;
    }
    if (operation.secretField) {
      const named = schemas[schemaNameOf(operation)]!;
      named.required = (named.required as string[]).filter((field) => field !== operation.secretField);
    }
  }

  for (const { id, operation } of streams) {
    paths[`${PREFIX}${operation.path}`] = { [operation.method.toLowerCase()]: streamOperation(id, operation) };
  }

  const tags = Object.entries(TAGS).map(([name, description]) => ({ name, description }));
  const used = new Set(everything.map(({ operation }) => operation.tag));
  const odd = [...used].filter((tag) => !(tag in TAGS));
  if (odd.length > 0) throw new Error(`no description of the tags ${odd.join(', ')}`);

  return tidy({
    ...head,
    tags,
    paths: paths,
    webhooks: webhookRequests(),
    components: {
      ...otherComponents,
      schemas: componentsOf(schemas),
      requestBodies,
      responses: errorResponses(),
      parameters: {
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          description: 'Makes repeating the request safe for 24 h. The same key with another body is a `conflict`.',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
        },
      },
      headers: {
        RequestId: { description: 'Names this request in the logs.', schema: { type: 'string' } },
        RetryAfter: {
          description: 'Seconds to wait before the next request.',
          schema: { type: 'integer', minimum: 1 },
        },
      },
    },
  }) as Json;
}

/** A file of JSON is described by the answer's own schema. */
const contentOf = (file: Operation['file']) =>
  file && file.type !== 'application/json' ? { [file.type]: { schema: { type: 'string' } } } : {};
const CSV_CONTENT = { 'text/csv': { schema: { type: 'string' } } };
const FILE_CONTENT = { ...CSV_CONTENT, 'application/x-ndjson': { schema: { type: 'string' } } };

/** The generator does not support streams. */
function streamOperation(id: string, operation: Operation): OperationObject {
  const { summary, description, tag, query } = operation;
  const parameters = Object.entries(query).map(([name, schema]) => {
    const { description = '', ...type } = z.toJSONSchema(schema as z.ZodType, { io: 'input' });
    delete type.$schema;
    return { name, in: 'query', description, schema: type };
  });
  const header = {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The `id` of the last event that arrived: the stream goes on after it. Wins over the query.',
    schema: { type: 'string' },
  };
  const answer = {
    description: `Events as they happen. The \`data\` of each is a \`${String(metaOf(operation.output).id)}\`, as JSON on one line.`,
    headers: REQUEST_ID,
    content: { 'text/event-stream': { schema: { type: 'string' } } },
  };
  const failures = errorsOf(operation).map((code) => [
    ERRORS[code].status,
    { $ref: `#/components/responses/${pascal(code)}` },
  ]);
  return {
    operationId: id,
    summary,
    description,
    tags: [tag],
    'x-roles': operation.roles,
    security: [{ apiKey: [] }],
    parameters: [...parameters, header],
    responses: { 200: answer, ...Object.fromEntries(failures) },
  };
}

const metaOf = (schema: unknown): Json => (schema instanceof z.ZodType ? (schema.meta() ?? {}) : {});
const schemaNameOf = ({ output }: Operation): string => String(metaOf(output).id);

function answerDescription({ method, status, isList }: Operation): string {
  if (isList) return 'One page.';
  if (status === 201) return 'Created.';
  return method === 'DELETE' ? 'Deleted.' : method === 'GET' ? 'Found.' : 'Done.';
}

function errorResponses(): Json {
  return Object.fromEntries(
    (Object.keys(ERRORS) as ErrorCode[]).map((code) => {
      const details =
        code === 'validation_error' ? { details: [{ path: 'price', message: 'Required.', code: 'required' }] } : {};
      const error = { message: ERRORS[code].description, code, ...details };
      const retryAfter =
        code === 'rate_limited' || code === 'unavailable'
          ? { 'Retry-After': { $ref: '#/components/headers/RetryAfter' } }
          : {};
      const answer = {
        description: ERRORS[code].description,
        headers: { ...REQUEST_ID, ...retryAfter },
        content: {
          'application/json': {
            schema: { $ref: '#/components/schemas/ErrorResponse' },
            examples: { [code]: { value: { data: null, error } } },
          },
        },
      };
      return [pascal(code), answer];
    }),
  );
}

/** The requests that the service sends to a webhook. */
function webhookRequests(): Json {
  const header = (name: string, description: string, example: string) => ({
    name,
    in: 'header',
    required: true,
    description,
    schema: { type: 'string' },
    example,
  });
  const request = (type: (typeof EVENT_TYPES)[number]) => ({
    post: {
      operationId: `deliver_${type.replaceAll('.', '_')}`,
      summary: type,
      description:
        'Signed after Standard Webhooks 1.0. Any 2xx answer within the timeout counts as delivered; anything else is tried again.',
      tags: ['Webhooks'],
      security: [],
      parameters: [
        header('webhook-id', "The event's id, the same on every attempt.", 'evt_01jd3k5v9ye6rbh2x7q0w4tznc'),
        header('webhook-timestamp', 'Seconds since the epoch, of the attempt.', '1763717400'),
        header(
          'webhook-signature',
          '`v1,` and the base64 HMAC-SHA256 of `id.timestamp.body`, and `v1a,` and the base64 Ed25519 signature of the same by the keys at `/.well-known/webhook-keys.json`; several, separated by a blank, for 24 h after a rotation.',
          'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: '#/components/schemas/WebhookPayload' } } },
      },
      responses: {
        '2XX': { description: 'Received.' },
        '410': { description: 'Gone: the webhook is paused.' },
        default: { description: 'Tried again later. `Retry-After` of a 429 or 503 is honoured up to 24 h.' },
      },
    },
  });
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, request(type)]));
}

/** The generator duplicates a schema that is used in a list and in `defs`: the copy is called
 *  XOutput and is dropped. */
function componentsOf(schemas: Record<string, Json>): Json {
  const once = Object.entries(schemas).filter(
    ([name]) => !/^ExportedFile/.test(name) && !(name.endsWith(OUTPUT) && name.slice(0, -OUTPUT.length) in schemas),
  );
  const components = once.map(([name, schema]) => [name, open(schema)] as const);
  return Object.fromEntries(components.sort(([a], [b]) => (a < b ? -1 : 1)));
}
const OUTPUT = 'Output';

/** Lets answers have further fields, so that clients tolerate fields of later versions. */
function open(schema: unknown): unknown {
  return mapped(schema, (name, value) => !(name === 'additionalProperties' && value === false));
}

/** Removes noise: the limits of JavaScript's integers, and Zod's patterns of dates. */
function tidy(document: Json): unknown {
  return mapped(document, (name, value, siblings) => {
    if (name === 'maximum') return value !== Number.MAX_SAFE_INTEGER;
    if (name === 'minimum') return value !== Number.MIN_SAFE_INTEGER;
    if (name === 'pattern') return !('format' in siblings);
    // When a contract states the type of a union, its members add nothing.
    return !(name === 'anyOf' && 'type' in siblings);
  });
}

function mapped(value: unknown, keep: (name: string, value: unknown, siblings: Json) => boolean): unknown {
  if (Array.isArray(value)) return value.map((item) => mapped(item, keep));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name, inner]) => keep(name, inner, value as Json));
  return Object.fromEntries(
    kept.map(([name, inner]) => [name, name === '$ref' ? String(inner).replace(/Output$/, '') : mapped(inner, keep)]),
  );
}

const text = `${JSON.stringify(mended(generated()), null, 2)}\n`;
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (!existsSync(FILE) || readFileSync(FILE, 'utf8') !== text) {
  console.error('openapi.json is stale: run `npm run openapi` and commit the file.');
  process.exit(1);
}

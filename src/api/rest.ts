/** REST as a thin adapter over the tRPC procedures: it turns a request into their input, and what
 *  they return into the envelope. Behind it: routes, queries, downloads. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { callTRPCProcedure } from '@trpc/server';
import { z } from 'zod';
import { downloads } from '../../contracts/exports.js';
import { contract } from '../../contracts/index.js';
import type { Operation, ValidationContext } from '../../contracts/operation.js';
import type { WatchCaller } from '../accounts/index.js';
import { statementCsv } from '../audit/index.js';
import type { AppRouter } from '../client/index.js';
import { ApiError, badRequestOf, notFound } from '../kit/api-error.js';
import type { Caller, StreamedEvent } from '../kit/caller.js';
import { CSV_TYPE, type CsvForm } from '../kit/csv.js';
import type { Download } from '../selling/index.js';
import { JSON_TYPE, type OnInternalError, sendError, sendJson, sendText } from './answer.js';
import { authorize, type CallerOf } from './authorize.js';
import type { EventStreams } from './event-stream.js';
import { cutFaults, parseInput, unknownField, unknownParameter } from './input.js';
import { readBody } from './rest-body.js';
import type { ApiContext } from './trpc-http.js';

export interface RestDeps {
  router: AppRouter;
  validationContext: () => ValidationContext;
  callerOf: CallerOf;
  /** Makes the file of a download. */
  exportOf: (name: string) => (caller: Caller, input: object) => Download;
  eventStreams: EventStreams;
  /** Ends a download when its caller may call no more. */
  watch: WatchCaller;
  onInternalError: OnInternalError;
}

/** Answers a request whose url is relative to `/api/v1`. Never rejects.
 *  @returns the operation's name for the metrics, null when there is none */
export function createRest(deps: RestDeps) {
  const { router, validationContext, callerOf, eventStreams, exportOf, watch, onInternalError } = deps;

  return async (req: IncomingMessage, res: ServerResponse, requestId: string): Promise<string | null> => {
    let route: Route | null = null;
    try {
      // First, even on unknown paths: without a key nothing is revealed.
      const caller = await callerOf(req);
      const [path, query] = splitUrl(req.url ?? '/');
      const found = findRoute(req.method ?? '', path);
      if (!found) throw notFound('endpoint');
      route = found.route;
      const { operation, name, type } = route;
      if (type === 'download') {
        authorize(caller, operation);
        const input = parseInput(operation, route.readQuery(query), validationContext());
        await sendDownload(req, res, exportOf(name)(caller, input), (end) => watch(caller, end));
        return name;
      }
      const signal = operation.readOnly ? hangUpOf(res, operation) : undefined;
      const ctx: ApiContext = { caller, requestId, idempotencyKey: idempotencyKeyOf(req), isRest: true };
      const getRawInput = async () => {
        const { sent, params } = await readInput(req, res, found.route, found.params, query);
        // A body or a query may not speak for the path; the contract itself cannot see
        // the difference.
        ctx.strays = Object.keys(params).filter((name) => Object.hasOwn(sent, name));
        return { ...sent, ...params };
      };
      const result = await callTRPCProcedure({
        router,
        path: name,
        type,
        ctx,
        getRawInput,
        signal,
        batchIndex: 0,
      });
      if (operation.streams) {
        await eventStreams.send(req, res, result as AsyncGenerator<StreamedEvent>);
        res.end();
      } else if (operation.file && route.readQuery(query).format === operation.file.format) {
        const { type, textOf } = FILES[name]!;
        res.setHeader('Content-Disposition', `attachment; filename="${operation.file.name}"`);
        sendText(res, 200, type, textOf(result as never, route.readQuery(query)));
      } else sendJson(res, operation.status, envelopeOf(operation, result));
    } catch (error) {
      sendError(res, error, requestId, onInternalError);
    }
    return route?.name ?? null;
  };
}

/** The files of operations with a `file`. */
const FILES: Record<string, { type: string; textOf: (result: never, form: CsvForm) => string }> = {
  'wallets.statement': { type: CSV_TYPE, textOf: statementCsv },
  'payments.proof': { type: JSON_TYPE, textOf: ({ proof }: { proof: unknown }) => JSON.stringify(proof) },
};

/** Aborts when the client has hung up, or has the whole answer of a stream, as after a HEAD. */
function hangUpOf(res: ServerResponse, { streams }: Operation): AbortSignal {
  const hungUp = new AbortController();
  // Each abort makes an error, which costs more than the rest of this.
  res.once('close', () => (streams || !res.writableFinished) && hungUp.abort());
  if (res.destroyed) hungUp.abort();
  return hungUp.signal;
}

/** Called by the procedure after it has let the caller in, so a stranger's or a reader's body is
 *  never read. */
async function readInput(
  req: IncomingMessage,
  res: ServerResponse,
  { operation, readQuery }: Route,
  encodedParams: Record<string, string>,
  query: string,
): Promise<{ sent: Record<string, unknown>; params: Record<string, string> }> {
  const params = decodeAll(encodedParams);
  const parameters = readQuery(query);
  const takesQuery = operation.method === 'DELETE' && Object.keys(operation.query).length > 0;
  if (operation.method === 'GET' || takesQuery) {
    const lastEventId = operation.streams && req.headers['last-event-id'];
    return { sent: { ...parameters, ...(lastEventId === undefined ? {} : { lastEventId }) }, params };
  }
  const strays = cutFaults(Object.keys(parameters), unknownParameter);
  if (strays.length > 0) throw badRequestOf(strays);
  if (operation.method === 'DELETE') return { sent: {}, params };
  const read = await readBody(req, res);
  const body = read === null && operation.bodyOptional ? {} : read;
  if (!operation.hasBody) {
    const faults = cutFaults(Object.keys(body ?? {}), unknownField);
    if (faults.length > 0) throw new ApiError('validation_error', 'This operation takes no body.', faults);
    return { sent: {}, params };
  }
  if (body === null) throw new ApiError('bad_request', 'The request needs a JSON body.');
  return { sent: body, params };
}

function envelopeOf(operation: Operation, result: unknown): string {
  if (!operation.isList) return JSON.stringify({ data: result, error: null });
  const { items, meta } = result as { items: unknown[]; meta: unknown };
  return JSON.stringify({ data: items, error: null, meta });
}

function splitUrl(url: string): [path: string, query: string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

const decodeAll = (params: Record<string, string>) =>
  Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeId(text)]));

/** Undecodable text stays as it is: a malformed id, which belongs to nothing. */
function decodeId(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Duplicates arrive joined, which is as good a key as any. */
export const idempotencyKeyOf = (req: IncomingMessage): string | null => {
  const key = req.headers['idempotency-key'];
  return typeof key === 'string' ? key : null;
};

// Which operation a method and a path mean. Segments are compared exactly; a wrong method is as
// unknown as a wrong path.

interface Route {
  operation: Operation;
  /** Name of the tRPC procedure, such as `products.create`; downloads have one of the same form. */
  name: string;
  type: 'query' | 'mutation' | 'subscription' | 'download';
  readQuery: QueryReader;
}

interface Node {
  segments: Map<string, Node>;
  parameter: { name: string; node: Node } | null;
  routes: Map<string, Route>;
}

const newNode = (): Node => ({ segments: new Map(), parameter: null, routes: new Map() });

const root = newNode();
function addRoutes(tree: object, typeOf: (operation: Operation) => Route['type']): void {
  for (const [resource, operations] of Object.entries(tree)) {
    for (const [name, operation] of Object.entries(operations as Record<string, Operation>)) {
      const route = {
        operation,
        name: `${resource}.${name}`,
        type: typeOf(operation),
        readQuery: queryReader(operation),
      };
      nodeOf(operation.path).routes.set(operation.method, route);
    }
  }
}

function nodeOf(path: string): Node {
  let node = root;
  for (const segment of path.split('/').slice(1)) {
    if (segment.startsWith('{')) {
      node.parameter ??= { name: segment.slice(1, -1), node: newNode() };
      node = node.parameter.node;
    } else {
      const next = node.segments.get(segment) ?? newNode();
      node.segments.set(segment, next);
      node = next;
    }
  }
  return node;
}

addRoutes(contract, ({ streams, readOnly }) => (streams ? 'subscription' : readOnly ? 'query' : 'mutation'));
addRoutes(downloads, () => 'download');

/** `path` below `/api/v1`, without the query. The parameters are still encoded. */
function findRoute(method: string, path: string): { route: Route; params: Record<string, string> } | null {
  let node = root;
  const params: Record<string, string> = {};
  for (const segment of path.split('/').slice(1)) {
    const next = node.segments.get(segment);
    if (next) {
      node = next;
    } else if (node.parameter && segment !== '') {
      params[node.parameter.name] = segment;
      node = node.parameter.node;
    } else {
      return null;
    }
  }
  const route = node.routes.get(method === 'HEAD' ? 'GET' : method);
  return route ? { route, params } : null;
}

// Converts query text to values by the contract's types. Text of another form stays as it is, for
// the contract to refuse.

type QueryReader = (query: string) => Record<string, unknown>;

/** Unknown names are passed on as text, for the contract to refuse. */
function queryReader(operation: Operation): QueryReader {
  const kinds = new Map(Object.entries(operation.query).map(([name, schema]) => [name, kindOf(schema as z.ZodType)]));
  return (query) => {
    if (query === '') return {};
    // URLSearchParams puts U+FFFD where it cannot decode.
    if (query.includes('%')) refuseUndecodable(query);
    const sent = new Map<string, string[]>();
    for (const [name, text] of new URLSearchParams(query)) {
      const texts = sent.get(name);
      if (texts) texts.push(text);
      else sent.set(name, [text]);
    }
    // A name may be `__proto__`, which an assignment would not keep.
    return Object.fromEntries([...sent].map(([name, texts]) => [name, valueIn(texts, kinds.get(name) ?? 'text')]));
  };
}

/** A parameter that was sent twice has no single value: the contract refuses the array. */
const valueIn = (texts: string[], kind: Kind): unknown =>
  kind === 'array' || texts.length > 1 ? texts : typedValue(texts[0]!, kind);

/** @throws ApiError `bad_request` */
function refuseUndecodable(query: string): void {
  try {
    decodeURIComponent(query);
  } catch {
    throw new ApiError('bad_request', 'The URL is not encoded correctly.');
  }
}

type Kind = 'array' | 'number' | 'boolean' | 'text';

function kindOf(schema: z.ZodType): Kind {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return kindOf(schema.unwrap() as z.ZodType);
  if (schema instanceof z.ZodArray) return 'array';
  if (schema instanceof z.ZodNumber) return 'number';
  return schema instanceof z.ZodBoolean ? 'boolean' : 'text';
}

function typedValue(text: string, kind: Kind): unknown {
  if (kind === 'number' && /^\d+$/.test(text)) return Number(text);
  if (kind === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}

// Sends a file while it is made: no faster than the client takes it, and no longer than the client
// stays.

/** As long as MongoDB keeps the moment that the file is of. */
const MAX_MS = 300_000;

/** Resolves when the file is sent, or the client has hung up.
 *  @throws what its making failed with: after the first byte the connection is closed, so that no
 *  client takes a part for the whole */
async function sendDownload(
  req: IncomingMessage,
  res: ServerResponse,
  download: Download,
  watch: (end: () => void) => () => void,
): Promise<void> {
  const ended = new AbortController();
  const unwatch = watch(() => ended.abort());
  try {
    await send(req, res, download, ended.signal);
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    if (res.headersSent) return void res.destroy();
    throw new ApiError('unauthorized', 'The API key or the session has ended.');
  } finally {
    unwatch();
  }
}

/** @param ended aborts when the caller may call no more */
async function send(req: IncomingMessage, res: ServerResponse, download: Download, ended: AbortSignal): Promise<void> {
  const chunks = download.chunks[Symbol.asyncIterator]();
  // A failure before the first chunk is still answered as an error.
  const first = await Promise.race([chunks.next(), rejectedBy(ended)]).catch((error) => {
    // The chunk may still come: its reading is over then.
    void chunks.return?.();
    throw error;
  });
  res.statusCode = 200;
  res.setHeader('Content-Type', download.contentType);
  res.setHeader('Content-Disposition', `attachment; filename="${download.fileName}"`);
  if (req.method === 'HEAD' || first.done) {
    await chunks.return?.();
    res.end();
    return;
  }
  const texts = async function* () {
    try {
      yield first.value.text;
      for await (const { text } of { [Symbol.asyncIterator]: () => chunks }) yield text;
    } finally {
      await chunks.return?.();
    }
  };
  try {
    await pipeline(Readable.from(texts(), { highWaterMark: 1 }), res, {
      signal: AbortSignal.any([AbortSignal.timeout(MAX_MS), ended]),
    });
  } catch (error) {
    const isOver = res.closed || res.destroyed;
    res.destroy();
    const { code, name } = error as { code?: string; name?: string };
    if (isOver && (code === 'ERR_STREAM_PREMATURE_CLOSE' || name === 'AbortError')) return;
    throw error;
  }
}

const rejectedBy = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

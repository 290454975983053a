/** REST as a thin adapter over the tRPC procedures: it turns a request into their input, and what they return into the envelope. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { callTRPCProcedure } from '@trpc/server';
import { ERRORS } from '../../contracts/errors.js';
import type { Operation, ValidationContext } from '../../contracts/operation.js';
import type { AppRouter } from '../client/index.js';
import { ApiError, notFound } from '../domain/api-error.js';
import { CSV_TYPE } from '../domain/csv.js';
import { statementCsv } from '../resources/statement.js';
import type { Caller, StreamedEvent } from '../services/caller.js';
import type { Download } from '../services/exports.js';
import type { CallerOf } from './bearer.js';
import { sendDownload } from './download.js';
import { apiErrorIn, errorBodyOf } from './errors.js';
import { EVENT_STREAM, type EventStreams } from './event-stream.js';
import { allFieldErrors, parseInput, refusal, unknownField } from './input.js';
import { readBody } from './rest-body.js';
import { findRoute, type Route } from './rest-routes.js';
import type { ApiContext } from './trpc.js';

export interface RestDeps {
  router: AppRouter;
  validationContext: () => ValidationContext;
  callerOf: CallerOf;
  /** What makes the file of a download. */
  exportOf: (name: string) => (caller: Caller, input: object) => Download;
  eventStreams: EventStreams;
  /** Told of every fault of ours. */
  onInternalError: (error: unknown, requestId: string) => void;
}

/** Answers a request whose url is relative to `/api/v1`. Never rejects.
 *  @returns the operation's name for the metrics, null when there is none */
export function createRest(deps: RestDeps) {
  const { router, validationContext, callerOf, eventStreams, exportOf, onInternalError } = deps;

  return async (req: IncomingMessage, res: ServerResponse, requestId: string): Promise<string | null> => {
    let route: Route | null = null;
    try {
      // First of all, even on a path that does not exist: who has no key learns nothing.
      const caller = await callerOf(req);
      const [path, query] = splitUrl(req.url ?? '/');
      const found = findRoute(req.method ?? '', path);
      if (!found) throw notFound('endpoint');
      route = found.route;
      const { operation, name, type } = route;
      if (type === 'download') {
        const input = parseInput(operation, route.readQuery(query), validationContext());
        await sendDownload(req, res, exportOf(name)(caller, input));
        return name;
      }
      const signal = operation.readOnly ? hangUpOf(res) : undefined;
      const ctx: ApiContext = { caller, requestId, idempotencyKey: idempotencyKeyOf(req), isRest: true };
      const getRawInput = () => readInput(req, res, found.route, found.params, query, validationContext);
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
      } else if (operation.csvFile && route.readQuery(query).format === 'csv') {
        res.setHeader('Content-Disposition', `attachment; filename="${operation.csvFile}"`);
        sendText(res, 200, CSV_TYPE, CSV_OF[name]!(result as never));
      } else sendJson(res, operation.status, envelopeOf(operation, result));
    } catch (error) {
      sendError(res, error, requestId, onInternalError);
    }
    return route?.name ?? null;
  };
}

/** The lines of an operation with a `csvFile`. */
const CSV_OF: Record<string, (result: never) => string> = { 'wallets.statement': statementCsv };

/** Aborts when nobody waits for the answer any more: the client has hung up or has all of it, as after a HEAD for a stream. */
function hangUpOf(res: ServerResponse): AbortSignal {
  const hungUp = new AbortController();
  res.once('close', () => hungUp.abort());
  if (res.destroyed) hungUp.abort();
  return hungUp.signal;
}

/** Called by the procedure after it has let the caller in, so a stranger's or a reader's body is never read. */
async function readInput(
  req: IncomingMessage,
  res: ServerResponse,
  { operation, readQuery }: Route,
  encodedParams: Record<string, string>,
  query: string,
  validationContext: RestDeps['validationContext'],
): Promise<Record<string, unknown>> {
  const params = decodeAll(encodedParams);
  if (operation.method === 'GET' || operation.method === 'DELETE') {
    const lastEventId = operation.streams && req.headers['last-event-id'];
    return { ...readQuery(query), ...params, ...(lastEventId === undefined ? {} : { lastEventId }) };
  }
  const sent = await readBody(req, res);
  const body = sent === null && operation.bodyOptional ? {} : sent;
  if (!operation.hasBody) {
    const faults = Object.keys(body ?? {}).map(unknownField);
    if (faults.length > 0) throw new ApiError('validation_error', 'This operation takes no body.', faults);
    return params;
  }
  if (body === null) throw new ApiError('bad_request', 'The request needs a JSON body.');
  // A body may not speak for the path; the contract itself cannot see the difference.
  const clashes = Object.keys(params).filter((name) => Object.hasOwn(body, name));
  if (clashes.length === 0) return { ...body, ...params };
  const others = allFieldErrors(operation, { ...body, ...params }, validationContext());
  throw refusal(operation, [...clashes.map(unknownField), ...others]);
}

function envelopeOf(operation: Operation, result: unknown): string {
  if (!operation.isList) return JSON.stringify({ data: result, error: null });
  const { items, meta } = result as { items: unknown[]; meta: unknown };
  return JSON.stringify({ data: items, error: null, meta });
}

/** Answers any error with the envelope. When an answer has already begun, a stream ends and the connection of any other is dropped. */
export function sendError(
  res: ServerResponse,
  error: unknown,
  requestId: string,
  onInternalError: RestDeps['onInternalError'],
): void {
  const { body, isInternal } = errorBodyOf(error, requestId);
  if (isInternal) onInternalError(error, requestId);
  if (res.headersSent) {
    if (res.getHeader('content-type') === EVENT_STREAM) res.end();
    else res.destroy();
    return;
  }
  if (body.code === 'unauthorized') res.setHeader('WWW-Authenticate', 'Bearer');
  const retryAfterSeconds = apiErrorIn(error)?.retryAfterSeconds;
  if (retryAfterSeconds !== undefined) res.setHeader('Retry-After', retryAfterSeconds);
  sendJson(res, ERRORS[body.code].status, JSON.stringify({ data: null, error: body }));
}

export const sendJson = (res: ServerResponse, status: number, json: string): void =>
  sendText(res, status, 'application/json; charset=utf-8', json);

function sendText(res: ServerResponse, status: number, type: string, text: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

function splitUrl(url: string): [path: string, query: string] {
  const mark = url.indexOf('?');
  return mark < 0 ? [url, ''] : [url.slice(0, mark), url.slice(mark + 1)];
}

const decodeAll = (params: Record<string, string>) =>
  Object.fromEntries(Object.entries(params).map(([name, text]) => [name, decodeId(text)]));

/** What cannot be decoded stays as it is: an id of the wrong form, which belongs to nothing. */
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

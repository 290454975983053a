/** REST as a thin adapter over the tRPC procedures: it turns a request into their input, and what
 *  they return into the envelope. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { callTRPCProcedure } from '@trpc/server';
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
import { sendDownload } from './download.js';
import type { EventStreams } from './event-stream.js';
import { cutFaults, parseInput, unknownField, unknownParameter } from './input.js';
import { readBody } from './rest-body.js';
import { findRoute, type Route } from './rest-routes.js';
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

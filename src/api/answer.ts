/** How answers are written: JSON and text with their length, and any error in the envelope. */
import type { ServerResponse } from 'node:http';
import { ERRORS } from '../../contracts/errors.js';
import { EVENT_STREAM } from './event-stream.js';
import { apiErrorIn, errorBodyOf } from './input.js';

/** Told of every fault of ours. */
export type OnInternalError = (error: unknown, requestId: string) => void;

/** Answers any error with the envelope. When an answer has already begun, a stream ends and the
 *  connection of any other is dropped. */
export function sendError(
  res: ServerResponse,
  error: unknown,
  requestId: string,
  onInternalError: OnInternalError,
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

export const JSON_TYPE = 'application/json; charset=utf-8';

export const sendJson = (res: ServerResponse, status: number, json: string): void =>
  sendText(res, status, JSON_TYPE, json);

export function sendText(res: ServerResponse, status: number, type: string, text: string): void {
  res.statusCode = status;
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', Buffer.byteLength(text));
  res.end(text);
}

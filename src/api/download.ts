/** Sends a file while it is made: no faster than the client takes it, and no longer than the
 *  client stays. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError } from '../kit/api-error.js';
import type { Download } from '../selling/index.js';

/** As long as MongoDB keeps the moment that the file is of. */
const MAX_MS = 300_000;

/** Resolves when the file is sent, or the client has hung up.
 *  @throws what its making failed with: after the first byte the connection is closed, so that no
 *  client takes a part for the whole */
export async function sendDownload(
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
  const first = await Promise.race([chunks.next(), rejectedBy(ended)]);
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

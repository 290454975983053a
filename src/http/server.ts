/** The listening socket: opens, and closes without cutting off an answer. Broken HTTP gets the envelope too. */
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import type { Clock } from '../clock.js';
import { StartupError } from '../domain/startup-error.js';
import { createRequestIds } from './request-id.js';

export interface HttpServer {
  port: number;
  /** How many are open. */
  connections(): Promise<number>;
  /** Stops accepting, lets what is in flight finish for at most `graceMs`, then drops what is left. */
  close(graceMs: number): Promise<void>;
}

/** A connection on which nothing moves for so long is dropped: its reader takes no answer any more. Event streams beat more often. */
const IDLE_MS = 120_000;

/** @param options.setting the name of the setting that `port` comes from, for messages
 *  @throws StartupError when the address is taken or cannot be listened on */
export async function listen(
  app: Express,
  host: string,
  port: number,
  clock: Clock,
  options: { setting?: string; idleMs?: number } = {},
): Promise<HttpServer> {
  const { setting = 'PORT', idleMs = IDLE_MS } = options;
  const server = createServer({ keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 60_000 }, app);
  server.setTimeout(idleMs);
  const newRequestId = createRequestIds(clock);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuse(error, socket, newRequestId()));
  let isClosing = false;
  server.on('request', (_req, res) => {
    // A connection that is kept alive would stay open after the answer that was in flight.
    res.once('close', () => isClosing && setImmediate(() => server.closeIdleConnections()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(startupError(error, host, port, setting)));
    server.listen({ host, port }, resolve);
  });

  return {
    port: (server.address() as AddressInfo).port,
    connections: () =>
      new Promise((resolve, reject) =>
        server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async close(graceMs) {
      isClosing = true;
      const done = new AbortController();
      void clock.sleep(graceMs, done.signal).then(() => server.closeAllConnections());
      await new Promise<void>((resolve) => server.close(() => resolve()));
      done.abort();
    },
  };
}

/** The parser gave up before there was a request: answered by hand, with no express in sight. */
function refuse(error: NodeJS.ErrnoException, socket: Socket, requestId: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const message =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? 'The headers are too large.'
      : 'The request is not valid HTTP, or came too slowly.';
  const body = JSON.stringify({ data: null, error: { message, code: 'bad_request' } });
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

function startupError(error: NodeJS.ErrnoException, host: string, port: number, setting: string): Error {
  const at = `${setting} ${port}`;
  if (error.code === 'EADDRINUSE') return new StartupError(`${at} is taken on ${host}: set ${setting} to a free one.`);
  if (error.code === 'EACCES') return new StartupError(`${at} needs privileges: set ${setting} to one above 1023.`);
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') {
    return new StartupError(`HOST ${host} is no address of this machine.`);
  }
  return error;
}

/** The listening socket: opens, and closes without cutting off an answer. Broken HTTP gets the
 *  envelope too. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Express } from 'express';
import type { Clock } from '../kit/clock.js';
import { StartupError } from '../kit/startup-error.js';

interface HttpServer {
  port: number;
  /** How many are open. */
  connections(): Promise<number>;
  /** Stops accepting, waits at most `graceMs` for requests in flight, then drops the rest. */
  close(graceMs: number): Promise<void>;
}

/** A connection idle for this long is dropped: its reader takes no answer any more. Event streams
 *  send heartbeats more often. */
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
  const newRequestId = createRequestIds(clock);
  // Node itself would refuse a request without Host, without the envelope.
  const timeouts = { keepAliveTimeout: 65_000, headersTimeout: 20_000, requestTimeout: 60_000 };
  const server = createServer({ ...timeouts, requireHostHeader: false }, (req, res) => {
    const fault = hostFault(req);
    if (fault === null) app(req, res);
    else answer(res, 400, fault, newRequestId());
  });
  server.setTimeout(idleMs);
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (error.code === 'ECONNRESET' || !socket.writable) socket.destroy();
    else refuse(socket, messageOf(error), newRequestId());
  });
  server.on('connect', (_req, socket: Socket) => refuse(socket, 'This server is not a proxy.', newRequestId()));
  server.on('checkExpectation', (_req, res: ServerResponse) => {
    answer(res, 417, 'The header Expect may only be 100-continue.', newRequestId());
  });
  let isClosing = false;
  server.on('request', (_req, res) => {
    // A connection that is kept alive would stay open after the answer that was in flight.
    res.once('close', () => isClosing && setImmediate(() => server.closeIdleConnections()));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(listenError(error, host, port, setting)));
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

/** The fault of a request's `Host`; null if none. With two, proxy and service might use
 *  different ones. */
function hostFault({ httpVersion, rawHeaders }: IncomingMessage): string | null {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
  if (hosts > 1) return 'The request has more than one Host.';
  return hosts === 0 && httpVersion === '1.1' ? 'The request has no Host.' : null;
}

const bodyOf = (message: string) => JSON.stringify({ data: null, error: { message, code: 'bad_request' } });

/** For a request that the app does not get to see. Its body is not read, so the connection ends. */
function answer(res: ServerResponse, status: number, message: string, requestId: string): void {
  const body = bodyOf(message);
  res.writeHead(status, {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    'X-Request-Id': requestId,
    Connection: 'close',
  });
  res.end(body);
}

const messageOf = ({ code }: NodeJS.ErrnoException): string =>
  code === 'HPE_HEADER_OVERFLOW' ? 'The headers are too large.' : 'The request is not valid HTTP, or came too slowly.';

/** The parser gave up before there was a request, or gave the connection away: answered by hand,
 *  with no express in sight. */
function refuse(socket: Socket, message: string, requestId: string): void {
  const body = bodyOf(message);
  const head = [
    'HTTP/1.1 400 Bad Request',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`);
}

/** Advice for an address that cannot be listened on. */
export function listenError(error: NodeJS.ErrnoException, host: string, port: number, setting: string): StartupError {
  const at = `${setting} ${port}`;
  if (error.code === 'EADDRINUSE') return new StartupError(`${at} is taken on ${host}: set ${setting} to a free one.`);
  if (error.code === 'EACCES') return new StartupError(`${at} needs privileges: set ${setting} to one above 1023.`);
  return new StartupError(`HOST ${host} is not an address of this machine (${error.code ?? error.message}).`);
}

// Names for requests, in answers and logs: a random start of this process, and a count.

export function createRequestIds(clock: Clock): () => string {
  const start = clock.randomBytes(6).toString('hex');
  let count = 0;
  return () => `req_${start}${(count++).toString(36).padStart(5, '0')}`;
}

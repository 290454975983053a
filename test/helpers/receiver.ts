/** A merchant's endpoint: a real HTTPS server on loopback with a certificate of its own authority,
 *  which behaves as a test tells it and records its requests. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { generate } from 'selfsigned';
import { Webhook } from 'standardwebhooks';
import type { WebhookPayload } from '../../contracts/events.js';

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
  /** Time at which it was complete, ms since the epoch. */
  at: number;
  /** Open requests at this path when it arrived, itself included. */
  open: number;
}

export interface Behaviour {
  status?: number;
  headers?: Record<string, string>;
  /** Delay before the answer. */
  delayMs?: number;
  /** It is not answered before this. */
  after?: Promise<unknown>;
  /** Text that is sent literally, or a number of bytes, sent as fast as they are read. */
  body?: string | number;
  /** `hang`: no answer. `reset`: resets the connection. `cut`: resets it within a 200's body.
   *  `drip`: a 200 with an endless body, a byte every 20 ms. */
  trouble?: 'hang' | 'reset' | 'cut' | 'drip';
}

/** @param nth counts the requests to this path, from 1 */
export type Behave = (request: Received, nth: number) => Behaviour;

export interface Receiver {
  origin: string;
  port: number;
  /** PEM of the authority to trust. */
  ca: string;
  requests: Received[];
  connections: number;
  at(path: string): Received[];
  behave(behave: Behave): void;
  /** Resolves when `check` holds; rejects after `ms`. */
  until(check: () => boolean, ms?: number): Promise<void>;
  close(): Promise<void>;
}

interface Options {
  /** Address to listen on. */
  host?: string;
  /** Names in the certificate. */
  names?: string[];
  notAfter?: Date;
  behave?: Behave;
}

let authority: Promise<{ key: string; cert: string }> | null = null;

/** The authority of all receivers of this process. */
export function testAuthority(): Promise<{ key: string; cert: string }> {
  authority ??= makeAuthority('Test authority');
  return authority;
}

export async function makeAuthority(name: string): Promise<{ key: string; cert: string }> {
  const made = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { key: made.private, cert: made.cert };
}

export async function startReceiver(options: Options = {}): Promise<Receiver> {
  const { host = '127.0.0.1', names = ['localhost', 'hook.test'], notAfter } = options;
  const ca = await testAuthority();
  const certificate = await generate([{ name: 'commonName', value: names[0] ?? host }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca,
    ...(notAfter ? { notBeforeDate: new Date(notAfter.getTime() - 86_400_000), notAfterDate: notAfter } : {}),
    extensions: [
      {
        name: 'subjectAltName',
        altNames: [
          ...names.map((value) => ({ type: 2 as const, value })),
          ...['127.0.0.1', '127.0.0.2', '::1'].map((ip) => ({ type: 7 as const, ip })),
        ],
      },
    ],
  });

  let behave: Behave = options.behave ?? (() => ({}));
  const counts = new Map<string, number>();
  const open = new Map<string, number>();
  const sockets = new Set<Duplex>();
  const waiting = new Set<() => void>();
  const timers = new Set<NodeJS.Timeout>();

  const server = createServer({ key: certificate.private, cert: certificate.cert }, (request, response) => {
    const path = request.url ?? '';
    open.set(path, (open.get(path) ?? 0) + 1);
    const openNow = open.get(path)!;
    response.once('close', () => open.set(path, open.get(path)! - 1));
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
      const received = { path, headers, body: Buffer.concat(chunks).toString(), at: Date.now(), open: openNow };
      const nth = (counts.get(path) ?? 0) + 1;
      counts.set(path, nth);
      receiver.requests.push(received);
      const behaviour = behave(received, nth);
      const answerLater = () => {
        const timer = setTimeout(() => {
          timers.delete(timer);
          answer(behaviour, request, response);
        }, behaviour.delayMs ?? 0);
        timers.add(timer);
      };
      if (behaviour.after) void behaviour.after.then(answerLater);
      else answerLater();
      for (const check of waiting) check();
    });
  });
  server.on('connection', (socket) => {
    receiver.connections += 1;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const { port } = server.address() as AddressInfo;

  const receiver: Receiver = {
    origin: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    ca: ca.cert,
    requests: [],
    connections: 0,
    at: (path) => receiver.requests.filter((request) => request.path === path),
    behave: (next) => {
      behave = next;
    },
    until: (check, ms = 30_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => done(() => reject(new Error('the receiver waited in vain'))), ms);
        const look = () => check() && done(resolve);
        const done = (end: () => void) => {
          clearTimeout(timer);
          clearInterval(ticker);
          waiting.delete(look);
          end();
        };
        const ticker = setInterval(look, 20);
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        for (const timer of timers) clearTimeout(timer);
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  return receiver;
}

function answer(behaviour: Behaviour, request: IncomingMessage, response: ServerResponse): void {
  const { status = 200, headers = {}, body = 'ok', trouble } = behaviour;
  if (trouble === 'hang') return;
  if (trouble === 'reset') {
    request.socket.destroy();
    return;
  }
  response.on('error', () => undefined);
  if (trouble === 'cut') {
    response.writeHead(200, { 'content-length': '100' });
    response.write('half', () => request.socket.destroy());
    return;
  }
  response.writeHead(status, headers);
  if (trouble === 'drip') {
    const drip = setInterval(() => response.write('.'), 20);
    response.once('close', () => clearInterval(drip));
  } else if (typeof body === 'number') {
    let left = body;
    const pump = () => {
      while (left > 0 && !response.destroyed) {
        left -= 65_536;
        if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', pump);
      }
      response.end();
    };
    pump();
  } else {
    response.end(body);
  }
}

/** Verifies a delivery with the independent package, like a merchant, as of the attempt's time.
 *  @throws when the signature is not of this secret */
export function verified(request: Received, secret: string): WebhookPayload {
  const seconds = Number(request.headers['webhook-timestamp']);
  const headers = { ...request.headers, 'webhook-timestamp': String(seconds) };
  const realNow = Date.now;
  // The package compares with Date.now(), but the test's clock may be ahead.
  Date.now = () => seconds * 1000;
  try {
    return new Webhook(secret).verify(request.body, headers) as WebhookPayload;
  } finally {
    Date.now = realNow;
  }
}

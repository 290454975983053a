/** Signs and posts to untrusted endpoints: https only, to checked addresses with verified
 *  certificates, without following redirects, within one time-out. */

import type { KeyObject } from 'node:crypto';
import type { Socket } from 'node:net';
import { Agent, Client, type Dispatcher, errors, Pool } from 'undici';
import { type AttemptResult, parseRetryAfter } from '../domain/retry.js';
import { type SignatureHeaders, signatureHeaders, signWithKey } from '../domain/signature.js';
import { type SentEvent, toEventBody } from '../events/index.js';
import { type Clock, monotonicMs } from '../kit/clock.js';
import type { SecretBox } from '../kit/secrets.js';
import { createAddressGuard, createConnector, createHostResolver, isPublicAddress, type Resolve } from './resolver.js';
import type { WebhookDoc } from './webhook-store.js';

// A connection that reports the status of an answer as soon as its status line arrives. undici
// reports it after the headers, and never if they are too large, malformed or endless.

const STATUS_LINE = /^HTTP\/1\.[01] ([2-5]\d\d)/;
/** Length of a status line up to the code. */
const CODE_ENDS = 'HTTP/1.1 200'.length;

interface StatusOptions extends Dispatcher.DispatchOptions {
  /** Called when the request has its connection. */
  onClient(client: StatusClient): void;
}

/** One request at a time: undici's `pipelining` is 1. */
class StatusClient extends Client {
  readonly #connected: { socket: Socket | null };

  /** @param options with a connector */
  constructor(origin: string | URL, options: Client.Options) {
    const { connect } = options;
    if (typeof connect !== 'function') throw new TypeError('a connector is needed');
    const connected: { socket: Socket | null } = { socket: null };
    super(origin, {
      ...options,
      connect: (target, callback) =>
        connect(target, (...result) => {
          connected.socket = result[1];
          callback(...result);
        }),
    });
    this.#connected = connected;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if ('onClient' in options) (options as StatusOptions).onClient(this);
    return super.dispatch(options, handler);
  }

  /** Call when a request starts. Does not call back if an interim answer (1xx) comes first.
   *
   *  undici reads the socket when it is readable. Node emits each piece as `data` before undici
   *  parses it. */
  hearStatus(onStatus: (status: number) => void): void {
    const { socket } = this.#connected;
    let line = '';
    const onData = (piece: Buffer) => {
      line += piece.toString('latin1', 0, CODE_ENDS - line.length);
      if (line.length < CODE_ENDS) return;
      socket?.removeListener('data', onData);
      const code = STATUS_LINE.exec(line)?.[1];
      if (code !== undefined) onStatus(Number(code));
    };
    socket?.on('data', onData);
  }
}

// Builds a request to an endpoint: the body of an event and the headers that sign it.

/** The same bytes on every call for an event. */
export const toBody = (event: SentEvent): Buffer => Buffer.from(toEventBody(event));

type Secret = WebhookDoc['secrets'][number];

/** Opened secrets, cached by the webhook as read, so that attempts do not open them again. */
const opened = new WeakMap<Secret, string>();

function open(secret: Secret, webhookId: string, secrets: SecretBox): string {
  const known = opened.get(secret) ?? secrets.open(secret.sealed, webhookId);
  opened.set(secret, known);
  return known;
}

/** The body of an event at a moment, to be signed by the webhook's secrets and by `keys`, the
 *  service's own. */
export interface Signable {
  eventId: string;
  body: Buffer;
  at: Date;
  keys: readonly KeyObject[];
}

/** Signs with every secret of the webhook that is valid at the moment, and with the keys. @throws
 *  when a secret was sealed with another SECRETS_KEY */
export async function signedHeaders(
  webhook: Pick<WebhookDoc, '_id' | 'secrets'>,
  { eventId, body, at, keys }: Signable,
  secrets: SecretBox,
): Promise<SignatureHeaders> {
  const valid = webhook.secrets.filter(({ until }) => until === null || until > at);
  const headers = signatureHeaders({
    id: eventId,
    timestampSeconds: Math.floor(at.getTime() / 1000),
    body,
    secrets: valid.map((secret) => open(secret, webhook._id, secrets)),
  });
  if (keys.length === 0) return headers;
  const timestamp = headers['webhook-timestamp'];
  const own = await Promise.all(keys.map((key) => signWithKey(key, eventId, timestamp, body)));
  return { ...headers, 'webhook-signature': [headers['webhook-signature'], ...own].join(' ') };
}

// Describes why an attempt failed in a few stable words. Merchants see them, so they reveal nothing
// about addresses, certificates or code.

/** One text for both, so as not to reveal which names exist in the operator's network. */
const NO_ADDRESS = 'host not found or not allowed';

const REASONS: Readonly<Record<string, string>> = {
  ADDRESS_NOT_ALLOWED: NO_ADDRESS,
  ENOTFOUND: NO_ADDRESS,
  EAI_AGAIN: NO_ADDRESS,
  EAI_FAIL: NO_ADDRESS,
  ENODATA: NO_ADDRESS,
  ECONNREFUSED: 'connection refused',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'host unreachable',
  EADDRNOTAVAIL: 'host unreachable',
  ETIMEDOUT: 'timed out',
  UND_ERR_CONNECT_TIMEOUT: 'timed out',
  UND_ERR_HEADERS_TIMEOUT: 'timed out',
  UND_ERR_BODY_TIMEOUT: 'timed out',
  ECONNRESET: 'connection closed',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_HEADERS_OVERFLOW: 'invalid answer',
  CERT_HAS_EXPIRED: 'certificate expired',
  ERR_TLS_CERT_ALTNAME_INVALID: 'certificate is for another host',
};

/** OpenSSL's verdicts on a chain without a trusted root. */
const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]);

const codeOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';

export const isUntrustedCertificate = (error: unknown): boolean => UNTRUSTED.has(codeOf(error));

function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (UNTRUSTED.has(code) || code.startsWith('CERT_')) return REASONS[code] ?? 'certificate not trusted';
  if (error instanceof errors.HTTPParserError) return 'invalid answer';
  if (code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_'))
    return REASONS[code] ?? 'TLS failed';
  return REASONS[code] ?? 'request failed';
}

/** @returns null for a success */
function reasonOfStatus(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? 'redirect not followed' : `answered ${status}`;
}

/** Longer answers are cut off here. */
const MAX_BODY_BYTES = 4096;
/** Share of the time-out for the look-up, which distinguishes a host without addresses from one
 *  that does not answer. */
const LOOKUP_SHARE = 0.8;
const USER_AGENT = 'stellar-collect-webhooks/1';
/** Interim answers have a lower status. */
const FINAL_STATUS = 200;
const ASKS_TO_WAIT = new Set([429, 503]);

export interface PostResult extends AttemptResult {
  durationMs: number;
}

export interface Poster {
  /** One attempt; never rejects. */
  post(url: string, headers: Readonly<Record<string, string>>, body: Buffer): Promise<PostResult>;
  /** Cuts open connections. */
  close(): Promise<void>;
}

export interface PosterOptions {
  /** Allows targets on private and loopback addresses. */
  allowPrivate: boolean;
  /** For the whole attempt: look-up, connection, handshake, answer. */
  timeoutMs: number;
  clock: Clock;
  /** PEM trusted in addition for loopback hosts, and only while private targets are allowed. Called
   *  when such a certificate is not trusted. */
  developmentCa?: () => string | null;
  /** For tests. */
  resolve?: Resolve;
  nameServers?: readonly string[];
  isAllowed?: (address: string) => boolean;
}

export function createPoster(options: PosterOptions): Poster {
  const { allowPrivate, timeoutMs, clock, developmentCa = null, isAllowed = isPublicAddress } = options;
  const resolver = createHostResolver({ timeoutMs: timeoutMs * LOOKUP_SHARE, servers: options.nameServers });
  const resolve = options.resolve ?? resolver.resolve;
  // An open connection leads to the address checked when it was opened, so reusing it needs no
  // second check.
  const connect = createConnector({
    guard: createAddressGuard(allowPrivate ? () => true : isAllowed, resolve),
    timeoutMs,
    developmentCa: allowPrivate ? developmentCa : null,
  });
  const agent = new Agent({
    factory: (origin, options) =>
      new Pool(origin, { ...options, connect, factory: (...given) => new StatusClient(...given) }),
    // The time-out below covers the whole attempt.
    headersTimeout: 0,
    bodyTimeout: 0,
  });

  return {
    post: (url, headers, body) =>
      new Promise((settle) => {
        const startedMs = monotonicMs();
        const target = URL.canParse(url) ? new URL(url) : null;
        if (target?.protocol !== 'https:') {
          return settle({ responseStatus: null, error: 'not an https URL', retryAfterMs: null, durationMs: 0 });
        }
        const exchange = new Exchange(timeoutMs, ({ responseStatus, error, retryAfter }) => {
          const asksToWait = retryAfter !== null && ASKS_TO_WAIT.has(responseStatus ?? 0);
          const retryAfterMs = asksToWait ? parseRetryAfter(retryAfter, clock.nowMs()) : null;
          settle({ responseStatus, error, retryAfterMs, durationMs: Math.round(monotonicMs() - startedMs) });
        });
        try {
          const request: StatusOptions & Agent.DispatchOptions = {
            origin: target.origin,
            path: target.pathname + target.search,
            method: 'POST',
            headers: { 'content-type': 'application/json', 'user-agent': USER_AGENT, ...headers },
            body,
            onClient: (client) => exchange.goesBy(client),
          };
          agent.dispatch(request, exchange);
        } catch (error) {
          exchange.end(reasonOf(error));
        }
      }),
    async close() {
      resolver.close();
      await agent.destroy();
    },
  };
}

interface Exchanged {
  responseStatus: number | null;
  error: string | null;
  retryAfter: string | null;
}

/** One request and its answer. Ends once: with the answer, a fault of the connection or the
 *  time-out, whichever comes first. Once there is a status, it decides, however headers and body
 *  end: an endpoint that answered 2xx has the event and must not get it twice. */
class Exchange implements Dispatcher.DispatchHandler {
  #client: StatusClient | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #status: number | null = null;
  #retryAfter: string | null = null;
  #bodyBytes = 0;
  #ended = false;
  readonly #timer: NodeJS.Timeout;

  constructor(
    timeoutMs: number,
    private readonly onEnd: (exchanged: Exchanged) => void,
  ) {
    // A network deadline: it runs in real time, not by the service's clock.
    this.#timer = setTimeout(() => this.#cut('timed out'), timeoutMs);
  }

  /** @param fault the failure if there is no status yet */
  end(fault: string): void {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    const error = this.#status === null ? fault : reasonOfStatus(this.#status);
    this.onEnd({ responseStatus: this.#status, error, retryAfter: this.#retryAfter });
  }

  goesBy(client: StatusClient): void {
    this.#client = client;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // The connection came too late: do not send a request that was given up.
    if (this.#ended) controller.abort(new Error('given up'));
    this.#client?.hearStatus((status) => {
      this.#status = status;
    });
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Record<string, unknown>): void {
    if (status < FINAL_STATUS) return;
    this.#status = status;
    this.#retryAfter = typeof headers['retry-after'] === 'string' ? headers['retry-after'] : null;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bodyBytes += chunk.length;
    if (this.#bodyBytes > MAX_BODY_BYTES) this.#cut('invalid answer');
  }

  onResponseEnd(): void {
    clearTimeout(this.#timer);
    // End only after undici has freed the connection, in the next tick of the event loop, so that
    // the next post reuses it.
    queueMicrotask(() => setImmediate(() => this.end('invalid answer')));
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.end(reasonOf(error));
  }

  #cut(fault: string): void {
    this.end(fault);
    this.#controller?.abort(new Error('cut'));
  }
}

/** Posts to untrusted endpoints: https only, to checked addresses with verified certificates, without following redirects, within one time-out. */
import { Agent, type Dispatcher, Pool } from 'undici';
import { type AttemptResult, parseRetryAfter } from '../domain/retry.js';
import { type Clock, monotonicMs } from '../kit/clock.js';
import { createAddressGuard, isPublicAddress } from './address.js';
import { createConnector } from './connect.js';
import { reasonOf, reasonOfStatus } from './reason.js';
import { createHostResolver, type Resolve } from './resolver.js';
import { StatusClient, type StatusOptions } from './status-client.js';

/** Longer answers are cut off here. */
const MAX_BODY_BYTES = 4096;
/** Share of the time-out for the look-up, which distinguishes a host without addresses from one that does not answer. */
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
  /** PEM trusted in addition for loopback hosts, and only while private targets are allowed. Called when such a certificate is not trusted. */
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
  // An open connection leads to the address checked when it was opened, so reusing it needs no second check.
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

/** One request and its answer. Ends once: with the answer, a fault of the connection or the time-out, whichever comes first. Once there is a status, it
 *  decides, however headers and body end: an endpoint that answered 2xx has the event and must not get it twice. */
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
    // End only after undici has freed the connection, in the next tick of the event loop, so that the next post reuses it.
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
